// The services as parameters of tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "realtime/service.h"

namespace timerbench {

inline std::vector<std::string_view> names_of_all() {
  std::vector<std::string_view> names;
  for (const ServiceBackend& service : services()) names.push_back(service.traits.name);
  return names;
}

// Those that a ManualClock can drive.
inline std::vector<std::string_view> names_without_own_clock() {
  std::vector<std::string_view> names;
  for (const ServiceBackend& service : services()) {
    if (!service.traits.own_clock) names.push_back(service.traits.name);
  }
  return names;
}

inline const ServiceBackend& service_named(std::string_view name) {
  return *std::ranges::find(services(), name,
                            [](const ServiceBackend& service) { return service.traits.name; });
}

inline std::string test_name(const testing::TestParamInfo<std::string_view>& info) {
  return std::string(info.param);
}

}  // namespace timerbench
