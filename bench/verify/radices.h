// The usual numbers of slots per level in wheels. Mistakes happen where one level wraps, or several
// together.
#pragma once

#include <array>

#include "core/timer_queue.h"

namespace timerbench {

inline constexpr std::array<Tick, 9> kRadices = {16, 20, 32, 64, 100, 256, 512, 1024, 4096};

}  // namespace timerbench
