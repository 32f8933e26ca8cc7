#include "verify/durable_audit.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "durable/worker.h"
#include "system/child_process.h"

namespace timerbench {
namespace {

constexpr Tick kMs = 1'000'000;
constexpr Tick kLongLease = 60'000 * kMs;
constexpr Tick kShortLease = 100 * kMs;

// How long a worker finds nothing before it ends: longer than a short lease and a delay.
std::chrono::nanoseconds patience_of(const DurableTraits& traits) {
  return std::chrono::seconds(1) + std::chrono::nanoseconds(3 * traits.resolution);
}

std::unique_ptr<DurableQueue> open(DurableEngine& engine, const std::string& name, Tick lease) {
  return engine.open({.queue = name, .lease = lease});
}

// Writes an id to whoever audits.
using Tell = std::function<void(DurableId)>;

// A process that works and tells ids, until it ends or is killed.
class ToldProcess {
 public:
  explicit ToldProcess(const std::function<void(const Tell&)>& work) {
    std::array<int, 2> pipe_ends;
    if (pipe(pipe_ends.data()) != 0)
      throw std::system_error(errno, std::generic_category(), "pipe");
    process_ = start_child([&] {
      close(pipe_ends[0]);
      run(work, pipe_ends[1]);
    });
    close(pipe_ends[1]);
    report_ = pipe_ends[0];
  }
  ToldProcess(const ToldProcess&) = delete;
  ToldProcess& operator=(const ToldProcess&) = delete;
  ~ToldProcess() {
    if (process_ > 0) {
      kill();
      await_end();
    }
  }

  void kill() const { ::kill(process_, SIGKILL); }

  // Returns when it has told so many ids, and a busy machine may take its time for that; else, after
  // ten seconds, when it has told fewer.
  void await_told(std::size_t count) const {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    for (int bytes = 0; std::chrono::steady_clock::now() < give_up;) {
      ioctl(report_, FIONREAD, &bytes);
      if (static_cast<std::size_t>(bytes) >= count * sizeof(DurableId)) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  // Returns the ids when it has ended.
  std::vector<DurableId> await_end() {
    std::vector<DurableId> ids;
    for (DurableId id; read(report_, &id, sizeof(id)) == sizeof(id);) ids.push_back(id);
    close(report_);
    waitpid(std::exchange(process_, 0), &status_, 0);
    return ids;
  }

  bool has_succeeded() const { return WIFEXITED(status_) && WEXITSTATUS(status_) == EXIT_SUCCESS; }

 private:
  static void run(const std::function<void(const Tell&)>& work, int report) {
    try {
      work([report](DurableId id) {
        // Fewer bytes than a pipe takes as a whole.
        if (write(report, &id, sizeof(id)) != sizeof(id)) _exit(EXIT_FAILURE);
      });
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
      _exit(EXIT_FAILURE);
    }
  }

  pid_t process_ = 0;
  int report_ = -1;
  int status_ = 0;
};

// Arms timers that are due within 50 ms. Who ends in peace may post some.
void produce(DurableQueue& queue, DurableId first, DurableId end, const Tell& tell,
             bool posts = false) {
  for (DurableId id = first; id < end; ++id) {
    const DurableTimer timer{id, unix_now() + id % 50 * kMs, "payload"};
    if (posts && id % 2 == 1) {
      queue.post({&timer, 1});
    } else {
      queue.schedule({&timer, 1});
    }
    tell(id);
  }
}

// Tells what it handles. Ends when nothing was due for `patience`.
void work(DurableQueue& queue, Delivery delivery, Tick lease, std::chrono::nanoseconds patience,
          const Tell& tell) {
  DurableWorker worker(queue, {.delivery = delivery, .batch = 10, .lease = lease});
  auto last = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - last < patience) {
    if (worker.step([&](const DurableTimer& timer) { tell(timer.id); }).handled > 0) {
      last = std::chrono::steady_clock::now();
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

// Each timer is handed out once, and completed.
std::optional<std::string> audit_many_processes(DurableEngine& engine, const DurableTraits& traits,
                                                const std::string& name) {
  constexpr DurableId kClients = 3, kEach = 150;
  std::vector<std::unique_ptr<ToldProcess>> producers, workers;
  for (DurableId i = 0; i < kClients; ++i) {
    producers.push_back(std::make_unique<ToldProcess>([&, i](const Tell& tell) {
      produce(*open(engine, name, kLongLease), i * kEach, (i + 1) * kEach, tell, /*posts=*/true);
    }));
    workers.push_back(std::make_unique<ToldProcess>([&](const Tell& tell) {
      work(*open(engine, name, kLongLease), Delivery::at_least_once, kLongLease,
           patience_of(traits), tell);
    }));
  }
  std::vector<DurableId> armed, fired;
  const auto collect = [](auto& processes, std::vector<DurableId>& ids) {
    bool all_succeeded = true;
    for (const auto& process : processes) {
      std::ranges::copy(process->await_end(), std::back_inserter(ids));
      all_succeeded &= process->has_succeeded();
    }
    std::ranges::sort(ids);
    return all_succeeded;
  };
  const bool producers_succeeded = collect(producers, armed);
  const bool workers_succeeded = collect(workers, fired);
  if (!producers_succeeded) return "a producer failed";
  if (!workers_succeeded) return "a worker failed";
  if (fired != armed) {
    std::vector<DurableId> lost, more;
    std::ranges::set_difference(armed, fired, std::back_inserter(lost));
    std::ranges::set_difference(fired, armed, std::back_inserter(more));
    return fmt::format("rule 5: of {} timers {} were never handed out, and {} once too often",
                       armed.size(), lost.size(), more.size());
  }
  const std::size_t left = engine.open({.queue = name})->size();
  if (left > 0) return fmt::format("rule 3: {} timers are left after all were completed", left);
  return std::nullopt;
}

// Producers and workers are killed again and again, and the last worker is not.
struct KilledClients {
  std::vector<DurableId> armed, handled;  // what they told
  bool last_succeeded;
};

KilledClients kill_clients(DurableEngine& engine, const DurableTraits& traits,
                           const std::string& name, Delivery delivery) {
  constexpr DurableId kRounds = 4;
  KilledClients told{};
  const auto add = [](std::vector<DurableId>& all, ToldProcess& process) {
    std::ranges::copy(process.await_end(), std::back_inserter(all));
  };
  const auto work_until_killed = [&](const Tell& tell) {
    work(*open(engine, name, kShortLease), delivery, kShortLease, patience_of(traits), tell);
  };
  for (DurableId round = 0; round < kRounds; ++round) {
    ToldProcess producer([&](const Tell& tell) {
      produce(*open(engine, name, kShortLease), round * 1'000'000, (round + 1) * 1'000'000, tell);
    });
    ToldProcess worker(work_until_killed);
    producer.await_told(20 + 13 * round);
    producer.kill();
    // The worker has the most to do when delays that were rounded up end.
    std::this_thread::sleep_for(std::chrono::nanoseconds(traits.resolution));
    worker.kill();
    add(told.armed, producer);
    add(told.handled, worker);
  }
  ToldProcess last(work_until_killed);
  add(told.handled, last);
  told.last_succeeded = last.has_succeeded();
  std::ranges::sort(told.armed);
  std::ranges::sort(told.handled);
  return told;
}

std::optional<std::string> audit_end(DurableEngine& engine, const std::string& name,
                                     const KilledClients& told) {
  if (!told.last_succeeded) return "a worker failed";
  if (told.armed.empty()) return "no timer was armed within ten seconds";
  const std::size_t left = engine.open({.queue = name})->size();
  if (left > 0) return fmt::format("rule 3: {} timers are left after all were completed", left);
  return std::nullopt;
}

// What was acknowledged fires although producers and workers are killed.
std::optional<std::string> audit_killed_clients(DurableEngine& engine, const DurableTraits& traits,
                                                const std::string& name) {
  const KilledClients told = kill_clients(engine, traits, name, Delivery::at_least_once);
  const std::set<DurableId> handled(told.handled.begin(), told.handled.end());
  std::vector<DurableId> lost;
  std::ranges::set_difference(told.armed, handled, std::back_inserter(lost));
  if (told.last_succeeded && !lost.empty()) {
    return fmt::format("rule 2: of {} timers {} were not handed out after their holders had died",
                       told.armed.size(), lost.size());
  }
  return audit_end(engine, name, told);
}

// Nothing is handled twice, although workers are killed, if it is completed before.
std::optional<std::string> audit_killed_at_most_once(DurableEngine& engine,
                                                     const DurableTraits& traits,
                                                     const std::string& name) {
  const KilledClients told = kill_clients(engine, traits, name, Delivery::at_most_once);
  if (const auto twice = std::ranges::adjacent_find(told.handled); twice != told.handled.end()) {
    return fmt::format("rule 3: complete() has let timer {} be handled twice", *twice);
  }
  if (told.last_succeeded && told.handled.empty()) return "rule 3: no timer was ever handled";
  return audit_end(engine, name, told);
}

// Claims what is due, until nothing has been for as long as the patience. Returns the ids.
std::vector<DurableId> claim_all(DurableEngine& engine, const DurableTraits& traits,
                                 const std::string& name) {
  const auto queue = open(engine, name, kLongLease);
  std::vector<DurableId> ids;
  auto last = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - last < patience_of(traits)) {
    const Claims claims = queue->claim(100, kLongLease);
    for (const ClaimedTimer& claim : claims.timers) ids.push_back(claim.timer.id);
    if (!claims.timers.empty()) last = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::ranges::sort(ids);
  return ids;
}

// What was acknowledged is handed out after the engine was killed, as far as it promises that.
std::optional<std::string> audit_killed_engine(DurableEngine& engine, const DurableTraits& traits,
                                               const std::string& name) {
  ToldProcess producer(
      [&](const Tell& tell) { produce(*open(engine, name, kLongLease), 0, 1'000'000, tell); });
  producer.await_told(50);
  producer.kill();
  const std::vector<DurableId> armed = producer.await_end();  // in this order
  if (armed.empty()) return "no timer was armed within ten seconds";
  if (traits.promise.when_killed == Kept::but_the_latest) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(traits.promise.latest));
  }
  engine.restart();
  const std::vector<DurableId> kept = claim_all(engine, traits, name);
  std::vector<DurableId> lost, more;
  std::ranges::set_difference(armed, kept, std::back_inserter(lost));
  std::ranges::set_difference(kept, armed, std::back_inserter(more));
  if (!lost.empty() && traits.promise.when_killed != Kept::none) {
    return fmt::format("its promise: of {} acknowledged timers {} are gone after kill -9",
                       armed.size(), lost.size());
  }
  if (more.size() > 1) {  // one may have had no answer
    return fmt::format("rule 1: {} timers were handed out that were not armed, or twice",
                       more.size());
  }
  return std::nullopt;
}

}  // namespace

std::string_view DurableAudit::left_out(const DurableEngine& engine,
                                        const DurableTraits& traits) const {
  if (needs == Needs::processes && traits.shared_by == SharedBy::threads) {
    return "one process has the queue alone";
  }
  if (needs == Needs::a_restart && !engine.is_restartable()) return "the server is the user's";
  return "";
}

std::span<const DurableAudit> durable_audits() {
  static constexpr DurableAudit kAudits[] = {
      {"many_processes", DurableAudit::Needs::processes, audit_many_processes},
      {"killed_clients", DurableAudit::Needs::processes, audit_killed_clients},
      {"killed_at_most_once", DurableAudit::Needs::processes, audit_killed_at_most_once},
      {"killed_engine", DurableAudit::Needs::a_restart, audit_killed_engine},
  };
  return kAudits;
}

}  // namespace timerbench
