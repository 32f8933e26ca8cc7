// What breaks while a durable queue is used: the roster of faults, and a run with one of them.
//
// In a run, producers arm timers and cancel some, and workers fire them. After a while the fault
// strikes, some of them again and again, and each time it mends what it broke. Then the producers
// end, and the workers fire what is left. The ledger tells what became of each timer. All that is random
// comes from the seed of the run: when the fault strikes, whom it hits, and the deadlines. What the
// processes interleave is not repeatable, so a seed repeats the fault and not each step.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>

#include "core/backend_error.h"
#include "durable/engine.h"
#include "faults/client_connections.h"
#include "faults/crew.h"
#include "faults/loop_disk.h"
#include "faults/own_network.h"
#include "faults/survival_audit.h"
#include "system/stop.h"

namespace timerbench {

struct Fault;

// What a fault works on.
struct FaultScene {
  const Fault& fault;
  DurableEngine& engine;
  const DurableTraits& traits;
  Crew& crew;
  SurvivalLedger& ledger;
  LoopDisk* disk;       // that the engine's files are on; nullptr unless Fault::needs_disk
  OwnNetwork* network;  // of the engine; nullptr unless the fault needs one
  ClientConnections* connections;  // nullptr unless Fault::breaks_connections
  std::mt19937_64& random;
  const StopFlag& stop;
};

struct Fault {
  std::string_view name;
  std::string_view summary;
  // What the engine promises to keep when this happens.
  Kept (*promised)(const DurablePromise&);
  // Why it cannot happen to such a queue; empty if it can. See left_out().
  std::string_view (*possible)(DurableEngine&, const DurableTraits&);
  // Breaks something and mends it. Tells the ledger nothing.
  void (*strike)(FaultScene&);
  bool is_repeated = false;  // strikes again, 1 to 3 s after it has mended, while time is left
  // A queue that does not say in this time that it holds nothing more is not back.
  std::chrono::seconds longest_recovery{60};
  std::string_view engine_switch = "";  // that it turns on and off
  bool is_busy = false;  // producers rest hardly, and timers are large; it strikes within 2 s more
  bool needs_disk = false;
  bool needs_network = false;
  bool breaks_connections = false;  // needs a network too, unless they are over unix sockets
  Delivery delivery = Delivery::at_least_once;
  Handlers handlers = Handlers::quick;
};

std::span<const Fault> faults();

// Why it cannot happen to such a queue; empty if it can.
std::string_view left_out(const Fault& fault, DurableEngine& engine, const DurableTraits& traits);

// How long a run may be quiet although something is missing, before that counts as lost.
std::chrono::nanoseconds patience_with(const DurableTraits& traits);

// Something happened to the engine that the fault has not done, so the run tells nothing.
class DisturbedRun : public BackendError {
 public:
  using BackendError::BackendError;
};

// Throws DoesNotStartAgain, which is a finding; DisturbedRun; other kinds of BackendError if the run
// cannot go on; and Interrupted. `queue` is a name that nobody has used; `striking` is for how long a
// fault strikes that is repeated. REQUIRES: left_out() is empty; this process has one thread.
void run_fault(const Fault& fault, DurableEngine& engine, const DurableTraits& traits,
               LoopDisk* disk, OwnNetwork* network, const std::string& queue, std::uint64_t seed,
               std::chrono::nanoseconds striking, SurvivalLedger& ledger, const StopFlag& stop);

// What the run must keep.
SurvivalTerms terms_of(const Fault& fault, const DurableTraits& traits);

}  // namespace timerbench
