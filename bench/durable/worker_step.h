// What a worker does, again and again.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "durable/bench.h"
#include "durable/clients.h"
#include "durable/durable_queue.h"
#include "durable/ledger.h"

namespace timerbench {

// Claims what is due, at most `batch` timers, and completes it. Returns when something may be due
// next; 0 if something was. Throws BackendError if a timer is handed out before `deadline_of` it.
template <class DeadlineOf>
Tick claim_and_complete(DurableQueue& queue, std::size_t batch, DurableLedger& ledger,
                        ClientReport& report, const DeadlineOf& deadline_of) {
  const auto begin = std::chrono::steady_clock::now();
  const Claims claims = queue.claim(batch, kLease);
  if (claims.timers.empty()) return claims.next_wakeup;
  report.add(Timed::claim, ns_since(begin));  // one that finds nothing is another operation
  for (const ClaimedTimer& claim : claims.timers) {
    const DurableId id = claim.timer.id;
    const Tick now = unix_now(), deadline = deadline_of(id);
    if (now < deadline) {
      throw BackendError(fmt::format("wrong: timer {} is {} ns early", id, deadline - now));
    }
    ledger.handed_out(id, now);
  }
  const std::vector<bool> held =
      timed(report, Timed::complete, [&] { return queue.complete(claims.timers); });
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (!held[i]) continue;
    ledger.completed(claims.timers[i].timer.id);
    report.add_timers(1);
  }
  return 0;
}

// The same for timers whose deadlines nobody checks.
inline Tick claim_and_complete(DurableQueue& queue, std::size_t batch, DurableLedger& ledger,
                               ClientReport& report) {
  return claim_and_complete(queue, batch, ledger, report, [](DurableId) { return Tick{0}; });
}

// Waits until `next`, or until the queue wakes it because something earlier was armed.
inline void await_next(DurableQueue& queue, Tick next) {
  const Tick now = unix_now();
  if (next > now) {
    queue.await_earlier(next, std::chrono::nanoseconds(std::min(next - now, kLongestAwait)));
  }
}

}  // namespace timerbench
