// The contract of durable timer queues as scenarios: calls for each rule that expose a queue that
// breaks it.
//
// The clock stands still until it is set, so answers do not depend on the load of the machine. What
// several processes do at once, and what they lose when they are killed, is left to
// verify/durable_audit.h.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "durable/engine.h"

namespace timerbench {

// What a scenario works with: an engine, a clock, and names of queues that no other scenario has.
class DurableScene {
 public:
  static constexpr Tick kMs = 1'000'000;
  // A whole millisecond, so that no queue rounds.
  static constexpr Tick kStart = 1'800'000'000'000 * kMs;
  static constexpr Tick kLease = 1'000 * kMs;

  DurableScene(DurableEngine& engine, const DurableTraits& traits, std::string name)
      : traits(traits), engine_(engine), name_(std::move(name)) {}

  std::unique_ptr<DurableQueue> open(std::string_view suffix = "") {
    return engine_.open({.queue = name_ + std::string(suffix), .now = [this] { return now; }});
  }

  // Throws std::invalid_argument for a name that no queue may have.
  void try_to_open(const std::string& whole_name) { engine_.open({.queue = whole_name}); }

  Tick now = kStart;
  const DurableTraits& traits;

 private:
  DurableEngine& engine_;
  const std::string name_;
};

// Throws ContractViolation, or what the queue throws.
struct DurableScenario {
  std::string_view name;
  void (*run)(DurableScene&);
};

std::span<const DurableScenario> durable_contract();

}  // namespace timerbench
