// Exactly once: every arming of a run has fired, been cancelled, been moved, or been handed back.
//
// The caller lists its armings and how it ended each, the handler lists the fires, and stop()
// returns the pending timers. After the run they are matched by id and deadline.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "services/timer_service.h"

namespace timerbench {

// What the caller did to an arming, which decides how it may end.
enum class Ending : std::uint8_t {
  fire,             // cancel() was too late: it has fired or is about to
  fire_or_pending,  // nothing was done to it
  fire_or_move,     // schedule() of the same id: the service does not say whether it fired before
  cancel,           // cancel() prevented the fire
};

struct Arming {
  Tick deadline;
  Tick made;  // when schedule() was called
  TimerId id;
  Ending ending = Ending::fire_or_pending;
};

struct Fire {
  Tick deadline;
  Tick at;
  TimerId id;
  std::uint32_t alarm;  // of the thread that ran the handler
};

struct Accounts {
  std::uint64_t armed = 0;  // = fired + moved + cancelled + pending, unless there is a violation
  std::uint64_t fired = 0;
  std::uint64_t moved = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t pending = 0;
  std::string violation{};  // empty, or "2 lost: neither fired nor handed back (timer 17 first)"
};

// Sorts the lists by id and deadline and matches them. Calls visit() for every arming with its
// fire, or with nullptr. O(n log n).
Accounts settle_accounts(std::vector<Arming>& armings, std::vector<Fire>& fires,
                         std::vector<PendingTimer>& pending,
                         const std::function<void(const Arming&, const Fire*)>& visit);

}  // namespace timerbench
