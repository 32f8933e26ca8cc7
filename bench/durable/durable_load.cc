#include "durable/durable_load.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "durable/bench.h"
#include "durable/clients.h"
#include "durable/ledger.h"
#include "durable/worker_step.h"
#include "system/supervised_program.h"

namespace timerbench {
namespace {

constexpr DurableId kIdsOfAClient = DurableId{1} << 40;

void churn(DurableBench& bench, const DurableLoad& load, DurableFigures& figures,
           const StopFlag& stop) {
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
          timed(report, Timed::arm, [&] { return queue.schedule(batch), true; });
          for (const DurableTimer& timer : batch) {
            if (!timed(report, Timed::cancel, [&] { return queue.cancel(timer.id); })) {
              throw BackendError(fmt::format("wrong: timer {} is gone", timer.id));
            }
          }
          report.add_timers(batch.size());
        }
      },
      figures, stop);
  bench.audit(load.pending, figures);
}

// Kills the engine, and returns whether it hands out a timer once it is back. With many timers that
// takes longer than its own patience.
bool fires_after_crash(DurableBench& bench) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  bool is_killed = false;
  for (;;) {
    try {
      if (!std::exchange(is_killed, true)) bench.engine().restart();
      return !bench.open()->claim(1, kLease).timers.empty();
    } catch (const BackendError& error) {
      throw_if_interrupted();
      if (std::chrono::steady_clock::now() >= give_up) {
        throw ProgramFailure(
            fmt::format("timeout: it is not back 30 s after kill -9: {}", error.what()));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
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
  const DurableTimer due{0, unix_now(), "due"};
  bench.open()->schedule({&due, 1});
  bench.close();
  const auto begin = std::chrono::steady_clock::now();
  const bool has_fired = fires_after_crash(bench);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  figures.restart_seconds = elapsed.count();
  if (!has_fired && contender.traits.promise.when_killed == Kept::all) {
    figures.failure = "wrong: a due timer is gone after kill -9";
  }
  return figures;
}

DurableFigures measure_fire(const DurableLoad& load, std::uint64_t timers,
                            const DurableContender& contender, const StopFlag& stop) {
  DurableBench bench(load, contender);
  bench.prefill(0, timers, unix_now());
  DurableLedger ledger(timers);
  for (DurableId id = 0; id < timers; ++id) ledger.armed(id);
  Clients workers(load.clients);
  DurableFigures figures;
  constexpr double kMostSeconds = 60;
  bench.run(
      workers, kMostSeconds,
      [&](DurableQueue& queue, std::size_t, ClientReport& report) {
        // An hour away is what was armed before; another worker may hold the rest of the due ones.
        while (!workers.is_over() && claim_and_complete(queue, load.batch, ledger, report) == 0) {
        }
      },
      figures, stop);
  const std::uint64_t completed = ledger.sums().completed;
  if (const std::string why = ledger.contradiction(); !why.empty()) {
    figures.failure = "wrong: " + why;
  } else if (figures.failure.empty() && completed != timers) {
    figures.failure =
        fmt::format("wrong: of {} timers {} were never completed", timers, timers - completed);
  }
  bench.audit(load.pending, figures);
  return figures;
}

DurableFigures measure_idle(const DurableLoad& load, const DurableContender& contender,
                            const StopFlag& stop) {
  DurableBench bench(load, contender);
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
