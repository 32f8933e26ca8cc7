// A service under a clock that the test sets.
#pragma once

#include <gtest/gtest.h>

#include "verify/manual_scene.h"

namespace timerbench {

template <class Service>
class ServiceTest : public testing::Test {
 protected:
  void advance_to(Tick instant) { scene_.advance_to(instant); }
  Fires fires() { return scene_.fires(); }

  ManualScene scene_;
  ManualClock& clock_ = scene_.clock;
  std::function<void(TimerId)>& on_fire_ = scene_.on_fire;
  Service service_{scene_.config(Service::traits)};
};

}  // namespace timerbench
