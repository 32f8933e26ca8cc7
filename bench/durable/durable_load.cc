#include "durable/durable_load.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "durable/clients.h"
#include "system/process_tree.h"
#include "system/temporary_folder.h"

namespace timerbench {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono_literals::operator""ms;

constexpr Tick kMinute = 60'000'000'000;
constexpr Tick kHalfASecond = 500'000'000;
constexpr Tick kLease = kMinute;
constexpr std::size_t kPrefillBatch = 1000;
constexpr DurableId kFirstPrefilled = DurableId{1} << 48;
constexpr DurableId kIdsOfAClient = DurableId{1} << 40;
constexpr const char* kQueue = "load";
constexpr std::size_t kFirst = 0, kSecond = 1, kLateness = 2;  // kinds of durations

template <class Call>
void timed(ClientReport& report, std::size_t kind, const Call& call) {
  const auto begin = Steady::now();
  call();
  report.add(kind, std::chrono::duration<double, std::nano>(Steady::now() - begin).count());
}

std::uint64_t bytes_in(const std::vector<std::filesystem::path>& folders) {
  std::uint64_t bytes = 0;
  std::error_code ignored;
  for (const auto& folder : folders) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, ignored)) {
      if (entry.is_regular_file(ignored)) bytes += entry.file_size(ignored);
    }
  }
  return bytes;
}

// An engine with timers, for one load.
class Bench {
 public:
  Bench(const DurableLoad& load, const DurableContender& contender)
      : load_(load), contender_(contender) {
    if (load.clients > kMostClients) {
      throw BackendError(
          fmt::format("{} clients are too many; take up to {}", load.clients, kMostClients));
    }
    if (load.payload > kLongestPayload) {
      throw BackendError(
          fmt::format("{} bytes are too many; take up to {}", load.payload, kLongestPayload));
    }
    engine_ = contender.start(folder_.path());
  }

  DurableEngine& engine() { return *engine_; }
  SharedBy shared_by() const { return contender_.traits.shared_by; }
  static DurableConfig config() { return {.queue = kQueue}; }
  std::unique_ptr<DurableQueue> open() { return engine_->open(config()); }

  // Arms timers of these ids. A queue of one process stays open until close().
  void prefill(DurableId first, std::uint64_t count, Tick deadline) {
    const ProcessTreeUsage before = usage();
    const std::uint64_t disk_before = bytes_in(engine_->folders());
    if (shared_by() == SharedBy::threads && !keeper_) keeper_ = open();
    const auto queue = open();
    const std::string payload(load_.payload, 'x');
    std::vector<DurableTimer> batch;
    for (std::uint64_t i = 0; i < count; ++i) {
      throw_if_interrupted();
      batch.push_back({first + i, deadline, payload});
      if (batch.size() < kPrefillBatch && i + 1 < count) continue;
      queue->schedule(batch);
      batch.clear();
    }
    const auto per_timer = [&](std::uint64_t more, std::uint64_t less) {
      return more > less ? static_cast<double>(more - less) / static_cast<double>(count) : 0;
    };
    memory_ = per_timer(usage().bytes, before.bytes);
    disk_ = per_timer(bytes_in(engine_->folders()), disk_before);
  }

  void close() { keeper_.reset(); }

  // Runs the clients, and fills in what they have counted.
  void run(Clients& clients, double seconds, const Clients::Work& work, DurableFigures& figures,
           const StopFlag& stop) {
    const double before = usage().cpu_seconds;
    try {
      figures.seconds = clients.run(*engine_, shared_by(), config(), seconds, work, stop);
    } catch (const BackendError& error) {
      figures.failure = error.what();
      if (!figures.failure.starts_with("wrong:")) throw;
      return;
    }
    if (!engine_->processes().empty()) figures.server_cpu_seconds = usage().cpu_seconds - before;
    for (std::size_t i = 0; i < clients.count(); ++i) {
      figures.timers += clients[i].timers();
      figures.calls += clients[i].calls();
      figures.client_cpu_seconds += clients[i].cpu_seconds();
      clients[i].add_to(kFirst, figures.first);
      clients[i].add_to(kSecond, figures.second);
    }
    figures.bytes_in_memory = memory_;
    figures.bytes_on_disk = disk_;
  }

  // What is in the queue, which must be `wanted`.
  void audit(std::uint64_t wanted, DurableFigures& figures) {
    const std::uint64_t size = open()->size();
    if (size == wanted || !figures.failure.empty()) return;
    figures.failure = fmt::format("wrong: {} timers are left instead of {}", size, wanted);
  }

 private:
  // Of the server; of this process, if it has the timers itself.
  ProcessTreeUsage usage() {
    std::vector<pid_t> roots = engine_->processes();
    if (shared_by() == SharedBy::threads) roots.push_back(getpid());
    return usage_of_trees(roots);
  }

  const DurableLoad& load_;
  const DurableContender& contender_;
  const TemporaryFolder folder_{"timerbench-load"};
  std::unique_ptr<DurableEngine> engine_;
  std::unique_ptr<DurableQueue> keeper_;
  double memory_ = 0, disk_ = 0;
};

// How often each timer was completed, counted by all processes.
class Ledger {
 public:
  explicit Ledger(std::uint64_t timers)
      : timers_(timers),
        memory_(mmap(nullptr, kHead + timers, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                     -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    completed_ = static_cast<std::atomic<std::uint64_t>*>(memory_);
    counts_ = reinterpret_cast<std::atomic<std::uint8_t>*>(static_cast<char*>(memory_) + kHead);
  }
  ~Ledger() { munmap(memory_, kHead + timers_); }
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  void add(DurableId id) {
    if (id >= timers_) return;
    ++counts_[id];
    ++*completed_;
  }

  std::uint64_t completed() const { return *completed_; }

  std::uint64_t count(std::uint8_t times) const {
    return static_cast<std::uint64_t>(std::count_if(
        counts_, counts_ + timers_, [&](const auto& count) { return count == times; }));
  }

  // Sets the failure unless each timer below `armed` was completed once.
  void audit(std::uint64_t armed, DurableFigures& figures) const {
    const std::uint64_t once = count(1), never = count(0) - (timers_ - armed);
    if (once == armed || !figures.failure.empty()) return;
    figures.failure = fmt::format("wrong: of {} timers {} were never completed, {} more than once",
                                  armed, never, armed - once - never);
  }

 private:
  static constexpr std::size_t kHead = 64;

  const std::uint64_t timers_;
  void* const memory_;
  std::atomic<std::uint64_t>* completed_;
  std::atomic<std::uint8_t>* counts_;
};

// A worker's step: whatever is due, at most a batch. Returns when something may be due next; 0 if
// something was.
template <class Handle>
Tick claim_and_complete(DurableQueue& queue, std::size_t batch, Ledger& ledger,
                        ClientReport& report, const Handle& handle) {
  Claims claims;
  timed(report, kFirst, [&] { claims = queue.claim(batch, kLease); });
  if (claims.timers.empty()) return claims.next_wakeup;
  for (const ClaimedTimer& claim : claims.timers) handle(claim.timer);
  std::vector<bool> held;
  timed(report, kSecond, [&] { held = queue.complete(claims.timers); });
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (held[i]) ledger.add(claims.timers[i].timer.id);
  }
  report.add_timers(claims.timers.size());
  return 0;
}

void churn(Bench& bench, const DurableLoad& load, DurableFigures& figures, const StopFlag& stop) {
  Clients clients(load.clients);
  bench.run(
      clients, load.seconds,
      [&](DurableQueue& queue, std::size_t client, ClientReport& report) {
        const std::string payload(load.payload, 'x');
        DurableId id = client * kIdsOfAClient;
        std::vector<DurableTimer> batch(load.batch);
        while (!clients.is_over()) {
          const Tick deadline = unix_now() + 30 * kMinute;
          for (DurableTimer& timer : batch) timer = {id++, deadline, payload};
          timed(report, kFirst, [&] { queue.schedule(batch); });
          for (const DurableTimer& timer : batch) {
            bool was_there = false;
            timed(report, kSecond, [&] { was_there = queue.cancel(timer.id); });
            if (!was_there) throw BackendError(fmt::format("wrong: timer {} is gone", timer.id));
          }
          report.add_timers(batch.size());
        }
      },
      figures, stop);
  bench.audit(load.pending, figures);
}

// Arms each timer half a second before its deadline.
void produce(DurableQueue& queue, std::uint64_t timers, const auto& deadline_of,
             const std::string& payload, const Clients& clients) {
  std::vector<DurableTimer> batch;
  for (DurableId id = 0; id < timers && !clients.is_over();) {
    const Tick until = unix_now() + kHalfASecond;
    batch.clear();
    for (; id < timers && deadline_of(id) <= until && batch.size() < kPrefillBatch; ++id) {
      batch.push_back({id, deadline_of(id), payload});
    }
    if (batch.empty()) {
      std::this_thread::sleep_for(5ms);
    } else {
      queue.schedule(batch);
    }
  }
}

void work(DurableQueue& queue, std::size_t batch, std::uint64_t timers, const auto& deadline_of,
          Ledger& ledger, ClientReport& report, const Clients& clients) {
  while (!clients.is_over() && ledger.completed() < timers) {
    const Tick next = claim_and_complete(queue, batch, ledger, report, [&](const auto& timer) {
      const Tick now = unix_now(), deadline = deadline_of(timer.id);
      if (now < deadline) {
        throw BackendError(fmt::format("wrong: timer {} is {} ns early", timer.id, deadline - now));
      }
      report.add(kLateness, static_cast<double>(now - deadline));
    });
    const Tick now = unix_now();
    if (next <= now) continue;
    queue.await_earlier(next, std::chrono::nanoseconds(std::min(next - now, kLongestAwait)));
  }
}

}  // namespace

DurableFigures measure_churn(const DurableLoad& load, const DurableContender& contender,
                             const StopFlag& stop) {
  Bench bench(load, contender);
  bench.prefill(kFirstPrefilled, load.pending, unix_now() + 60 * kMinute);
  DurableFigures figures;
  churn(bench, load, figures, stop);
  return figures;
}

DurableFigures measure_pending(const DurableLoad& load, const DurableContender& contender,
                               const StopFlag& stop) {
  Bench bench(load, contender);
  bench.prefill(kFirstPrefilled, load.pending, unix_now() + 60 * kMinute);
  DurableFigures figures;
  churn(bench, load, figures, stop);
  const DurableTimer due{0, unix_now(), "due"};
  bench.open()->schedule({&due, 1});
  bench.close();
  const auto begin = Steady::now();
  bench.engine().restart();
  const auto queue = bench.open();
  const bool has_fired = !queue->claim(1, kLease).timers.empty();
  figures.restart_seconds = std::chrono::duration<double>(Steady::now() - begin).count();
  if (!has_fired && contender.traits.promise.when_killed == Kept::all) {
    figures.failure = "wrong: a due timer is gone after kill -9";
  }
  return figures;
}

DurableFigures measure_fire(const DurableLoad& load, std::uint64_t timers,
                            const DurableContender& contender, const StopFlag& stop) {
  Bench bench(load, contender);
  bench.prefill(kFirstPrefilled, load.pending, unix_now() + 60 * kMinute);
  bench.prefill(0, timers, unix_now());
  Ledger ledger(timers);
  Clients workers(load.clients);
  DurableFigures figures;
  constexpr double kMostSeconds = 60;
  bench.run(
      workers, kMostSeconds,
      [&](DurableQueue& queue, std::size_t, ClientReport& report) {
        // An hour away is what was armed before; another worker may hold the rest of the due ones.
        while (!workers.is_over() &&
               claim_and_complete(queue, load.batch, ledger, report, [](const auto&) {}) == 0) {
        }
      },
      figures, stop);
  ledger.audit(timers, figures);
  bench.audit(load.pending, figures);
  return figures;
}

DurableFigures measure_late(const DurableLoad& load, double rate, const DurableContender& contender,
                            const StopFlag& stop) {
  Bench bench(load, contender);
  bench.prefill(kFirstPrefilled, load.pending, unix_now() + 60 * kMinute);
  const auto timers = static_cast<std::uint64_t>(rate * load.seconds);
  const Tick begin = unix_now() + 2 * kHalfASecond;  // of the deadlines
  const auto deadline_of = [&](DurableId id) {
    return begin + static_cast<Tick>(static_cast<double>(id) * 1e9 / rate);
  };
  Ledger ledger(timers);
  Clients clients(load.clients + 1);  // the first is the producer
  DurableFigures figures;
  constexpr double kGrace = 2;  // seconds for what is late, and for the first deadline
  bench.run(
      clients, load.seconds + kGrace,
      [&](DurableQueue& queue, std::size_t client, ClientReport& report) {
        if (client == 0) {
          produce(queue, timers, deadline_of, std::string(load.payload, 'x'), clients);
        } else {
          work(queue, load.batch, timers, deadline_of, ledger, report, clients);
        }
      },
      figures, stop);
  for (std::size_t i = 0; i < clients.count(); ++i) clients[i].add_to(kLateness, figures.lateness);
  figures.first = figures.second = {};  // of unlike clients
  figures.offered_per_second = rate;
  figures.armed = timers;
  figures.saturated = figures.timers < timers;
  if (!figures.saturated) {
    ledger.audit(timers, figures);
    bench.audit(load.pending, figures);
  }
  return figures;
}

}  // namespace timerbench
