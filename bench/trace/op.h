// One operation of a trace, in eight bytes, so that reading the trace does not dominate the cost.
#pragma once

#include <cstdint>

#include "core/timer_queue.h"

namespace timerbench {

//  id < capacity, arg != kCancel : schedule(id, now + arg)
//  id < capacity, arg == kCancel : cancel(id)
//  id == kAdvance                : now += arg; advance(now)
struct Op {
  TimerId id;
  std::uint32_t arg;

  friend bool operator==(const Op&, const Op&) = default;
};
static_assert(sizeof(Op) == 8);

inline constexpr TimerId kAdvance = ~TimerId{0};
inline constexpr std::uint32_t kCancel = ~std::uint32_t{0};
inline constexpr std::uint32_t kMaxDelay = kCancel - 1;

constexpr Op schedule_op(TimerId id, std::uint32_t delay) { return {id, delay}; }
constexpr Op cancel_op(TimerId id) { return {id, kCancel}; }
constexpr Op advance_op(std::uint32_t ticks) { return {kAdvance, ticks}; }

}  // namespace timerbench
