// A durable timer queue whose client is a program of another language, over a bridge.
//
// The program is called with what finds the engine, and the name of the queue. It answers these
// requests of bridge.h (ids, instants, durations and tokens are numbers as text, since JavaScript
// has no integers beyond 2^53; instants are in ns since 1970, and durations in ns):
//
//   {"call": "schedule", "timers": [[ID, DEADLINE, PAYLOAD], ...]}                   {}
//   {"call": "cancel", "id": ID}                                      {"done": BOOLEAN}
//   {"call": "claim", "most": N, "lease": LEASE, "token": TOKEN}
//                            {"timers": [[ID, DEADLINE, PAYLOAD], ...], "next": INSTANT or null}
//   {"call": "complete", "claims": [[ID, TOKEN], ...]}         {"held": [BOOLEAN, ...]}
//   {"call": "giveBack", "claims": [[ID, TOKEN], ...]}                               {}
//   {"call": "first"}                                         {"first": INSTANT or null}
//   {"call": "size"}                                                        {"size": N}
//   {"call": "ready"}, when it has started: is the engine there?                     {}
//
// `first` tells when something that nobody holds is due first, as far as the program knows; 0: it
// is.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "durable/bridge.h"
#include "durable/durable_queue.h"
#include "durable/tokens.h"

namespace timerbench {

class BridgedQueue : public DurableQueue {
 public:
  static constexpr Tick kPollInterval = 50'000'000;

  void schedule(std::span<const DurableTimer> timers) override;
  bool cancel(DurableId id) override;
  Claims claim(std::size_t most, Tick lease) override;
  std::vector<bool> complete(std::span<const ClaimedTimer> claims) override;
  void give_back(std::span<const ClaimedTimer> claims) override;
  bool await_earlier(Tick next_wakeup, std::chrono::nanoseconds longest) override;
  std::size_t size() override;
  std::vector<pid_t> helpers() const override { return bridge_->processes(); }

 protected:
  // Sends at most so many timers with a request. Throws BackendUnavailable.
  BridgedQueue(Bridge::Program program, std::size_t together);

 private:
  // A new one if the old one has ended, which takes a second.
  Bridge& bridge();

  const Bridge::Program program_;
  const std::size_t together_;
  Tokens tokens_;
  std::unique_ptr<Bridge> bridge_;
};

}  // namespace timerbench
