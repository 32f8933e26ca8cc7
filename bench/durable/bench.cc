#include "durable/bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "system/allocations.h"
#include "system/entries.h"
#include "system/process_tree.h"
#include "system/supervised_program.h"
#include "system/tcp_bytes.h"

namespace timerbench {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kPrefillBatch = 1000;
constexpr DurableId kFirstPrefilled = DurableId{1} << 48;

std::uint64_t bytes_in(const std::vector<std::filesystem::path>& folders) {
  std::uint64_t bytes = 0;
  for (const auto& folder : folders) {
    for_each_entry<std::filesystem::recursive_directory_iterator>(folder, [&](const auto& entry) {
      std::error_code gone;
      if (!entry.is_regular_file(gone)) return;
      const std::uint64_t size = entry.file_size(gone);
      if (!gone) bytes += size;
    });
  }
  return bytes;
}

double per_timer(std::uint64_t more, std::uint64_t less, std::uint64_t timers) {
  return more > less && timers > 0 ? static_cast<double>(more - less) / static_cast<double>(timers)
                                   : 0;
}

}  // namespace

// What processes have used up to now.
struct DurableBench::Look {
  ProcessTreeUsage server;
  std::optional<std::uint64_t> syncs;
  std::optional<TcpBytes> network;            // of the clients too
  std::optional<std::uint64_t> socket_bytes;  // over unix sockets, if these are counted

  // Nothing if there is no connection, or if the kernel does not tell.
  std::optional<std::uint64_t> network_bytes(bool has_server) const {
    if (!network || network->connections == 0) return socket_bytes;
    // What one end sends, the other receives.
    return network->sent + (has_server ? 0 : network->received) + socket_bytes.value_or(0);
  }
};

DurableBench::DurableBench(const DurableLoad& load, const DurableContender& contender)
    : load_(load), contender_(contender) {
  if (load.clients + load.producers > kMostClients + 1) {
    throw BackendError(
        fmt::format("{} clients are too many; take up to {}", load.clients, kMostClients));
  }
  if (load.batch > kMostBatch) {
    throw BackendError(
        fmt::format("{} timers a call are too many; take up to {}", load.batch, kMostBatch));
  }
  if (load.shards < 1 || load.shards > kMostShards) {
    throw BackendError(
        fmt::format("there cannot be {} shards; take 1 to {}", load.shards, kMostShards));
  }
  if (load.payload > kLongestPayload) {
    throw BackendError(
        fmt::format("{} bytes are too many; take up to {}", load.payload, kLongestPayload));
  }
  syncs_.also_of([&] { engine_ = contender.start(folder_.path()); });
  if (shared_by() == SharedBy::threads) keeper_ = open();
  const std::uint64_t memory_before = bytes_in_memory();
  const std::uint64_t disk_before = bytes_in(engine_->folders());
  const auto begin = Steady::now();
  prefill(kFirstPrefilled, load.pending, unix_now() + 60 * kMinute);
  const std::chrono::duration<double> elapsed = Steady::now() - begin;
  if (load.pending > 0) seconds_to_arm_ = elapsed.count() / static_cast<double>(load.pending);
  memory_a_timer_ = per_timer(bytes_in_memory(), memory_before, load.pending);
  disk_a_timer_ = per_timer(bytes_in(engine_->folders()), disk_before, load.pending);
}

double DurableBench::most_seconds_to_arm(std::uint64_t count) {
  return 45 * std::max(static_cast<double>(count) / 1e6, 1.0);
}

void DurableBench::prefill(DurableId first, std::uint64_t count, Tick deadline) {
  constexpr double kLook = 5;  // seconds, after which it is known how long the whole takes
  const auto queue = open();
  const std::string payload(load_.payload, 'x');
  const auto begin = Steady::now();
  std::vector<DurableTimer> batch;
  for (std::uint64_t i = 0; i < count; ++i) {
    throw_if_interrupted();
    batch.push_back({first + i, deadline, payload});
    if (batch.size() < kPrefillBatch && i + 1 < count) continue;
    queue->schedule(batch);
    batch.clear();
    const std::chrono::duration<double> elapsed = Steady::now() - begin;
    const double whole = elapsed.count() * static_cast<double>(count) / static_cast<double>(i + 1);
    if (elapsed.count() > kLook && whole > most_seconds_to_arm(count)) {
      throw ProgramFailure(fmt::format(
          "timeout: to arm {} timers before the load would take {:.0f} s; at most {:.0f} s are "
          "allowed",
          count, whole, most_seconds_to_arm(count)));
    }
  }
}

Tick DurableBench::time_to_arm(std::uint64_t count) const {
  return static_cast<Tick>(static_cast<double>(count) * seconds_to_arm_ * 1e9);
}

void DurableBench::count_bytes_on_sockets() {
  for (const auto& socket : engine_->sockets()) {
    proxies_.push_back(std::make_unique<Proxy>(socket));
  }
}

void DurableBench::run(Clients& clients, double seconds, const Clients::Work& work,
                       DurableFigures& figures, const StopFlag& stop) {
  Look before, after;
  const auto look_again = [&] { before = std::exchange(after, look()); };
  try {
    figures.seconds = clients.run(*engine_, shared_by(), config(), seconds, work, look_again, stop);
  } catch (const BackendError& error) {
    figures.failure = error.what();
    if (!figures.failure.starts_with("wrong:")) throw;
    return;
  }
  const bool has_server = !engine_->processes().empty();
  if (has_server) {
    figures.server_cpu_seconds = after.server.cpu_seconds - before.server.cpu_seconds;
    figures.server_living_cpu_seconds =
        after.server.living_cpu_seconds - before.server.living_cpu_seconds;
    figures.server_wakeups = growth(before.server.wakeups, after.server.wakeups);
  }
  if (before.syncs && after.syncs) figures.syncs = *after.syncs - *before.syncs;
  if (const auto bytes = after.network_bytes(has_server)) {
    figures.network_bytes = growth(before.network_bytes(has_server).value_or(0), *bytes);
  }
  for (std::size_t i = 0; i < clients.count(); ++i) {
    figures.timers += clients[i].timers();
    left_ += clients[i].left();
    figures.client_cpu_seconds += clients[i].cpu_seconds();
    figures.client_wakeups += clients[i].wakeups();
    figures.arm += clients[i].durations(Timed::arm);
    figures.cancel += clients[i].durations(Timed::cancel);
    figures.claim += clients[i].durations(Timed::claim);
    figures.complete += clients[i].durations(Timed::complete);
  }
  figures.bytes_in_memory = memory_a_timer_;
  figures.bytes_on_disk = disk_a_timer_;
}

void DurableBench::audit(std::uint64_t wanted, DurableFigures& figures) {
  const std::uint64_t size = open()->size();
  wanted += left_;
  if (size == wanted || !figures.failure.empty()) return;
  figures.failure = fmt::format("wrong: {} timers are left instead of {}", size, wanted);
}

DurableBench::Look DurableBench::look() {
  std::vector<pid_t> roots = engine_->processes();
  Look look{.server = usage_of_trees(roots), .syncs = {}, .network = {}, .socket_bytes = {}};
  if (engine_->is_restartable() && syncs_.counts(processes_of_trees(roots))) {
    look.syncs = syncs_.count();
  }
  roots.push_back(getpid());
  look.network = tcp_bytes_of(processes_of_trees(roots));
  for (const auto& proxy : proxies_) {
    look.socket_bytes = look.socket_bytes.value_or(0) + proxy->bytes();
  }
  return look;
}

std::uint64_t DurableBench::bytes_in_memory() {
  std::vector<pid_t> roots = engine_->processes();
  if (shared_by() == SharedBy::threads) roots.push_back(getpid());
  return usage_of_trees(roots).bytes;
}

}  // namespace timerbench
