// The slots of a level in the wheels of this field: where levels wrap, and wrap together, mistakes
// are made.
#pragma once

#include <array>

#include "core/timer_queue.h"

namespace timerbench {

inline constexpr std::array<Tick, 9> kRadices = {16, 20, 32, 64, 100, 256, 512, 1024, 4096};

}  // namespace timerbench
