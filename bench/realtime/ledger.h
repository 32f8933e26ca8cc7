// Exactly once: every arming of a run has fired, been cancelled, been moved away, or is handed back.
//
// Who arms keeps a list of armings and of what it did to each; the handler keeps a list of fires, and
// stop() gives one of what was pending. All name a timer by id and deadline, by which they are
// matched after the run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "services/timer_service.h"

namespace timerbench {

// What happened to an arming, and so how it may end.
enum class Ending : std::uint8_t {
  fire,             // cancel() said that it was too late: it has fired or is about to
  fire_or_pending,  // nothing was done to it
  fire_or_move,     // schedule() of the same id: whether it fired before, the service does not say
  cancel,           // cancel() said that it prevented the fire
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

// Sorts the lists by id and deadline and matches them. Visits every arming with its fire, or with
// nullptr. O(n log n).
Accounts settle_accounts(std::vector<Arming>& armings, std::vector<Fire>& fires,
                         std::vector<PendingTimer>& pending,
                         const std::function<void(const Arming&, const Fire*)>& visit);

}  // namespace timerbench
