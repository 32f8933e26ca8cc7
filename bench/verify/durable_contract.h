// The contract of durable timer queues as scenarios: calls for each rule that expose a queue that
// breaks it.
//
// The clock stands still until it is set, so answers do not depend on the load of the machine. Only
// an engine with a clock of its own must be waited for; then a scenario on a busy machine may find
// what is no fault, and is played again. What several processes do at once, and what they lose when
// they are killed, is left to verify/durable_audit.h.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "durable/engine.h"

namespace timerbench {

// What a scenario works with: an engine, a clock, and names of queues that no other scenario has.
class DurableScene {
 public:
  static constexpr Tick kMs = 1'000'000;
  // A whole millisecond, so that no queue rounds.
  static constexpr Tick kStart = 1'800'000'000'000 * kMs;

  DurableScene(DurableEngine& engine, const DurableTraits& traits, std::string name)
      : traits(traits),
        unit(traits.own_clock ? traits.resolution : kMs),
        start(traits.own_clock ? unix_now() : kStart),
        lease(100 * unit),
        engine_(engine),
        name_(std::move(name)),
        now_(start),
        arrived_(start) {}

  // On an own clock a scenario begins when its clients are open, which may take them a while.
  std::unique_ptr<DurableQueue> open(std::string_view suffix = "") {
    auto queue = engine_.open({.queue = name_ + std::string(suffix),
                               .now = [this] { return now(); },
                               .patience = patience,
                               .lease = lease});
    if (traits.own_clock) start = arrived_ = unix_now();
    return queue;
  }

  // Throws std::invalid_argument for a name that no queue may have.
  void try_to_open(const std::string& whole_name) { engine_.open({.queue = whole_name}); }

  DurableEngine& engine() { return engine_; }

  Tick now() const { return traits.own_clock ? unix_now() : now_; }
  // When what is due at `instant` must be handed out: on an own clock up to a unit later, because
  // deadlines are rounded up.
  Tick latest(Tick instant) const;
  // Sets the clock, or waits, until then.
  void go_to(Tick instant);
  // To the last moment when that is not due; on an own clock to a quarter of a unit before it.
  void go_before(Tick instant);

  // Whether the machine was so busy that a scenario on an own clock proves nothing.
  bool is_disturbed() const;

  const DurableTraits& traits;
  const Tick unit;  // all times of scenarios are multiples of it
  Tick start;       // of the scenario
  // Of all clients that are opened after they were set.
  Tick lease;
  std::chrono::milliseconds patience = DurableConfig().patience;

 private:
  void wait_until(Tick instant);

  DurableEngine& engine_;
  const std::string name_;
  Tick now_;
  Tick arrived_;  // the last instant that was waited for
  bool was_late_ = false;
};

// What a scenario asks of a queue beyond the contract.
enum class ScenarioNeeds { nothing, a_clock_that_is_set, takes_from_holders, a_private_server };

struct DurableScenario {
  std::string_view name;
  void (*scenario)(DurableScene&);
  ScenarioNeeds needs = ScenarioNeeds::nothing;

  // Why it says nothing of such a queue; empty if it does.
  std::string_view left_out(DurableEngine& engine, const DurableTraits& traits) const;

  // Throws ContractViolation, or what the queue throws. Its queues have its name.
  void run(DurableEngine& engine, const DurableTraits& traits) const;
};

std::span<const DurableScenario> durable_contract();

}  // namespace timerbench
