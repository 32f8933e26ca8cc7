#include "durable/durable_load.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "durable/bench.h"
#include "durable/clients.h"
#include "durable/ledger.h"
#include "durable/worker_step.h"
#include "system/child_process.h"
#include "system/supervised_program.h"

namespace timerbench {
namespace {

// A client arms ids of its own, which are not those that are due at once: some may be left.
constexpr DurableId kIdsOfAClient = DurableId{1} << 40;

// So many timers are due at once, and the workers claim `batch` with a call.
DurableFigures fire(DurableBench& bench, const DurableLoad& load, std::uint64_t timers,
                    std::size_t workers, std::size_t batch, const StopFlag& stop,
                    double most_seconds = kMostSecondsToFire) {
  bench.prefill(0, timers, unix_now());
  DurableLedger ledger(timers);
  for (DurableId id = 0; id < timers; ++id) ledger.armed(id);
  Clients clients(workers);
  DurableFigures figures;
  bench.run(
      clients, most_seconds,
      [&](DurableQueue& queue, std::size_t, ClientReport& report) {
        // An hour away is what was armed before; another worker may hold the rest of the due ones.
        while (!clients.is_over() && claim_and_complete(queue, batch, ledger, report) == 0) {
        }
      },
      figures, stop);
  const std::uint64_t completed = ledger.sums().completed;
  if (const std::string why = ledger.contradiction(); !why.empty()) {
    figures.failure = "wrong: " + why;
  } else if (completed < timers && clients.ran_out()) {
    throw ProgramFailure(fmt::format("timeout: of {} due timers {} were completed in {} s", timers,
                                     completed, most_seconds));
  } else if (figures.failure.empty() && completed != timers) {
    figures.failure =
        fmt::format("wrong: of {} timers {} were never completed", timers, timers - completed);
  }
  bench.audit(load.pending, figures);
  return figures;
}

void churn(DurableBench& bench, const DurableLoad& load, DurableFigures& figures,
           const StopFlag& stop) {
  Clients clients(load.clients);
  bench.run(
      clients, load.seconds,
      [&](DurableQueue& queue, std::size_t client, ClientReport& report) {
        const std::string payload(load.payload, 'x');
        DurableId id = (client + 1) * kIdsOfAClient;
        std::vector<DurableTimer> batch(load.batch);
        while (!clients.is_over()) {
          const Tick deadline = unix_now() + 30 * kMinute;
          for (DurableTimer& timer : batch) timer = {id++, deadline, payload};
          timed(report, Timed::arm, [&] { return queue.schedule(batch), true; });
          std::size_t cancelled = 0;
          for (const DurableTimer& timer : batch) {
            if (clients.is_over()) break;  // a large batch may take long
            if (!timed(report, Timed::cancel, [&] { return queue.cancel(timer.id); })) {
              throw BackendError(fmt::format("wrong: timer {} is gone", timer.id));
            }
            ++cancelled;
          }
          report.add_timers(cancelled);
          report.add_left(batch.size() - cancelled);
        }
      },
      figures, stop);
  const auto timers_per_second = [&](const Durations& calls, std::size_t timers_a_call) {
    return calls.count() > 0
               ? static_cast<double>(load.clients * timers_a_call) * 1e9 / calls.mean()
               : 0;
  };
  figures.schedules_per_second = timers_per_second(figures.arm, load.batch);
  figures.cancels_per_second = timers_per_second(figures.cancel, 1);
  bench.audit(load.pending, figures);
  if (load.fires == 0 || !figures.failure.empty()) return;
  const DurableFigures fired = fire(bench, load, load.fires, /*workers=*/1, kFiredAtOnce, stop);
  figures.failure = fired.failure;
  figures.fires_per_second = static_cast<double>(fired.timers) / fired.seconds;
}

// Some for each master of a cluster.
constexpr DurableId kDueInACrash = 64;

// Arms what is due, one by one, and lets it become old enough that it must survive. Returns the
// queue, which may write the rest when it is closed.
std::unique_ptr<DurableQueue> arm_what_is_due(DurableBench& bench, const DurablePromise& promise) {
  auto queue = bench.open();
  for (DurableId id = 0; id < kDueInACrash; ++id) {
    const DurableTimer timer{id, unix_now()};
    queue->schedule({&timer, 1});
  }
  if (promise.when_killed == Kept::but_the_latest) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(promise.latest));
  }
  return queue;
}

// Of an engine that is in its clients: arms in a process that is then killed, as a user's would be.
// REQUIRES: nobody has opened the engine.
void arm_and_be_killed(DurableBench& bench, const DurablePromise& promise) {
  const pid_t client = start_child([&] {
    try {
      const auto queue = arm_what_is_due(bench, promise);
      raise(SIGKILL);
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
    }
  });
  int status = 0;
  waitpid(client, &status, 0);
  if (!WIFSIGNALED(status)) throw BackendError("a client could not arm what is due");
}

bool has_ended(pid_t process) { return kill(process, 0) != 0 && errno == ESRCH; }

struct Recovery {
  std::size_t fired = 0;
  Restart restart{};
};

// Kills the engine, and claims what is due from the moment when it is dead: a replica may have taken
// over before restart() returns, which also waits for the next replica.
Recovery recover(DurableBench& bench) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::minutes kLongest{2};  // for many timers to be read
  constexpr std::chrono::seconds kLongestLull{2};
  constexpr Tick kShortLease = 1'000'000'000;  // should the answer to a claim be lost
  const std::vector<pid_t> servers = bench.engine().processes();
  const auto begin = Clock::now();
  const std::shared_future<void> restart =
      std::async(std::launch::async, [&bench] { bench.engine().restart(); });
  const auto is_restarted = [&] {
    return restart.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  while (!is_restarted() && std::ranges::none_of(servers, has_ended)) std::this_thread::yield();

  std::unique_ptr<DurableQueue> queue;
  std::set<DurableId> fired;
  Recovery recovery;
  for (auto last_news = begin; fired.size() < kDueInACrash;) {
    throw_if_interrupted();
    if (!is_restarted()) last_news = Clock::now();
    try {
      if (!queue) queue = bench.open();
      const auto claims = queue->claim(kDueInACrash, kShortLease).timers;
      const std::size_t before = fired.size();
      for (const ClaimedTimer& claim : claims) fired.insert(claim.timer.id);
      if (fired.size() > before) {
        last_news = Clock::now();
        recovery.restart.last_seconds = std::chrono::duration<double>(last_news - begin).count();
        if (before == 0) recovery.restart.first_seconds = recovery.restart.last_seconds;
      }
      if (Clock::now() - last_news > kLongestLull) break;  // the rest is lost
    } catch (const BackendError& error) {
      if (is_restarted()) restart.get();  // throws why it does not start again
      last_news = Clock::now();
      if (last_news - begin >= kLongest) {
        throw ProgramFailure(fmt::format("timeout: it is not back {} s after kill -9: {}",
                                         std::chrono::seconds(kLongest).count(), error.what()));
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  recovery.fired = fired.size();
  if (recovery.fired < kDueInACrash) restart.get();  // throws what is the cause
  return recovery;
}

}  // namespace

DurableFigures measure_churn(const DurableLoad& load, const DurableContender& contender,
                             const StopFlag& stop) {
  DurableBench bench(load, contender);
  DurableFigures figures;
  churn(bench, load, figures, stop);
  return figures;
}

DurableFigures measure_pending(const DurableLoad& load, const DurableContender& contender,
                               const StopFlag& stop) {
  DurableBench bench(load, contender);
  DurableFigures figures;
  churn(bench, load, figures, stop);
  const bool is_in_its_clients =
      bench.engine().is_restartable() && bench.engine().processes().empty();
  bench.close();
  if (is_in_its_clients) {
    arm_and_be_killed(bench, contender.traits.promise);
  } else {
    arm_what_is_due(bench, contender.traits.promise);
  }
  const Recovery recovery = recover(bench);
  if (recovery.fired > 0) figures.restart = recovery.restart;
  if (recovery.fired < kDueInACrash && contender.traits.promise.when_killed != Kept::none) {
    figures.failure = fmt::format("wrong: of {} due timers {} are gone after kill -9", kDueInACrash,
                                  kDueInACrash - recovery.fired);
  }
  return figures;
}

DurableFigures measure_fire(const DurableLoad& load, std::uint64_t timers,
                            const DurableContender& contender, const StopFlag& stop,
                            double most_seconds) {
  DurableBench bench(load, contender);
  return fire(bench, load, timers, load.clients, load.batch, stop, most_seconds);
}

DurableFigures measure_idle(const DurableLoad& load, const DurableContender& contender,
                            const StopFlag& stop) {
  DurableBench bench(load, contender);
  bench.count_bytes_on_sockets();
  DurableLedger nothing(0);
  Clients workers(load.clients);
  DurableFigures figures;
  bench.run(
      workers, load.seconds,
      [&](DurableQueue& queue, std::size_t, ClientReport& report) {
        while (!workers.is_over()) {
          await_next(queue, claim_and_complete(queue, load.batch, nothing, report,
                                               [](DurableId) { return kNever; }));
        }
      },
      figures, stop);
  bench.audit(load.pending, figures);
  return figures;
}

}  // namespace timerbench
