// A private engine with timers in it, for one load.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "durable/clients.h"
#include "durable/durable_load.h"
#include "durable/engine.h"
#include "durable/proxy.h"
#include "durable/sync_counter.h"
#include "system/stop.h"
#include "system/temporary_folder.h"

namespace timerbench {

inline constexpr Tick kMinute = 60'000'000'000;
inline constexpr Tick kLease = kMinute;

class DurableBench {
 public:
  // Starts the engine, and arms load.pending timers that are due in an hour. Throws BackendError, and
  // ProgramFailure if it would take too long to arm them.
  DurableBench(const DurableLoad& load, const DurableContender& contender);

  DurableEngine& engine() { return *engine_; }
  std::unique_ptr<DurableQueue> open() { return engine_->open(config()); }

  // How long it may take to arm so many timers before a load: with it a cell takes a minute, or a
  // minute for each million of them.
  static double most_seconds_to_arm(std::uint64_t count);

  // Arms timers of these ids.
  void prefill(DurableId first, std::uint64_t count, Tick deadline);

  // How long a client takes to arm so many, 1000 with a call.
  Tick time_to_arm(std::uint64_t count) const;

  // From now on what clients and servers send over unix sockets is counted. REQUIRES: no client is
  // connected.
  void count_bytes_on_sockets();

  // A queue of one process stays open, until this is called.
  void close() { keeper_.reset(); }

  // Runs the clients, and fills in what they have counted, and what the engine has used meanwhile.
  void run(Clients& clients, double seconds, const Clients::Work& work, DurableFigures& figures,
           const StopFlag& stop);

  // What is in the queue, which must be `wanted` and what the clients have left there.
  void audit(std::uint64_t wanted, DurableFigures& figures);

 private:
  DurableConfig config() const {
    return {.queue = "load", .lease = kLease, .shards = load_.shards};
  }

  SharedBy shared_by() const { return contender_.traits.shared_by; }
  struct Look;
  Look look();
  // Of the server; of this process, if it has the timers itself.
  std::uint64_t bytes_in_memory();

  const DurableLoad& load_;
  const DurableContender& contender_;
  const TemporaryFolder folder_{"timerbench-load"};
  const SyncCounter syncs_;
  std::unique_ptr<DurableEngine> engine_;
  std::unique_ptr<DurableQueue> keeper_;
  std::vector<std::unique_ptr<Proxy>> proxies_;   // on the engine's sockets
  std::uint64_t left_ = 0;                        // by clients, in the queue
  double seconds_to_arm_ = 0;                     // a timer, of those that were armed first
  double memory_a_timer_ = 0, disk_a_timer_ = 0;  // likewise
};

inline double ns_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

// Calls, and reports how long that took.
template <class Call>
auto timed(ClientReport& report, Timed what, const Call& call) {
  const auto begin = std::chrono::steady_clock::now();
  auto result = call();
  report.add(what, ns_since(begin));
  return result;
}

}  // namespace timerbench
