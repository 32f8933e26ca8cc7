// The load `timed`: a plan, run by producers and workers on the wall clock.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "durable/bench.h"
#include "durable/clients.h"
#include "durable/durable_load.h"
#include "durable/ledger.h"
#include "durable/shared_array.h"
#include "durable/worker_step.h"
#include "realtime/pace.h"

namespace timerbench {
namespace {

constexpr Tick kSecond = 1'000'000'000;
constexpr Tick kGrace = 2 * kSecond;    // after the window, for what is late
constexpr Tick kToBegin = kSecond / 5;  // for all clients, once what is due later is armed

// A plan that is being run. Each timer is armed and cancelled by the same producer.
class TimedRun {
 public:
  // The start follows the first client's call of start() by `lead`.
  TimedRun(const DurableLoad& load, const DurablePlan& plan, Clients& clients, Tick resolution,
           Tick lead)
      : load_(load), plan_(plan), clients_(clients), resolution_(resolution), lead_(lead) {
    for (const DurablePlan::Timer& timer : plan.timers) due_ += plan.fires(timer);
    clients.prepare_with(
        [this](DurableQueue& queue, std::size_t client) {
          if (is_producer(client)) arm_before(queue, client);
        },
        static_cast<double>(lead) / 1e9);
  }

  double seconds() const { return static_cast<double>(lead_ + plan_.end + kGrace) / 1e9; }
  bool is_producer(std::size_t client) const { return client < load_.producers; }

  void produce(DurableQueue& queue, std::size_t producer, ClientReport& report) {
    const Tick start = this->start();
    std::vector<DurableTimer> batch;
    const auto send = [&] {
      if (!batch.empty()) arm(queue, batch, report);
      batch.clear();
    };
    for (std::size_t i = 0; i < plan_.ops.size(); ++i) {
      const DurablePlan::Op& op = plan_.ops[i];
      if (!is_own(op.timer, producer)) continue;
      const Tick at = start + op.at;
      if (unix_now() < at || batch.size() >= plan_.together || op.cancels) send();
      if (clients_.is_over()) return;
      sleep_until(at);
      calls_[i] = unix_now();
      if (!op.cancels) {
        batch.push_back(timer(op.timer, start));
      } else if (timed(report, Timed::cancel, [&] { return queue.cancel(op.timer); })) {
        ledger_.cancelled(op.timer);
      }
    }
    send();
  }

  void work(DurableQueue& queue, ClientReport& report) {
    const Tick start = this->start();
    const auto deadline_of = [&](DurableId id) {
      return id < plan_.timers.size() ? start + plan_.timers[id].deadline : 0;
    };
    while (!clients_.is_over() && ledger_.completions() < due_) {
      await_next(queue, claim_and_complete(queue, load_.batch, ledger_, report, deadline_of));
    }
  }

  // Of the control: a worker that knows the plan.
  void sleep_until_each(ClientReport& report) {
    const Tick start = this->start();
    for (const DurableId id : plan_.fires()) {
      if (clients_.is_over()) return;
      sleep_until(start + plan_.timers[id].deadline);
      ledger_.handed_out(id, unix_now());
      ledger_.completed(id);
      report.add_timers(1);
    }
  }

  // Fills in what became of the timers.
  void settle(DurableFigures& figures) {
    const Tick start = this->start();
    Pace calls;
    for (std::size_t i = 0; i < plan_.ops.size(); ++i) {
      if (calls_[i] == 0) {
        calls.add_undone();
        continue;
      }
      const Tick late = calls_[i] - (start + plan_.ops[i].at);
      figures.generator.add(static_cast<double>(late));
      calls.add(plan_.ops[i].at, late);
    }
    Pace fires;
    std::uint64_t fired = 0;
    for (DurableId id = 0; id < plan_.timers.size(); ++id) {
      const DurablePlan::Timer& timer = plan_.timers[id];
      if (timer.deadline > plan_.end) continue;
      const Tick at = ledger_.fired_at(id);
      if (at > 0) {
        const Tick deadline = start + timer.deadline;
        figures.lateness.add(static_cast<double>(at - deadline));
        // An engine that rounds is late by chance up to there, and no backlog grows by that.
        fires.add(timer.deadline, at - deadline - std::min(at - deadline, resolution_));
        ++fired;
      } else if (!ledger_.is_cancelled(id)) {
        fires.add_undone();
      }
    }
    figures.timers = fired + ledger_.sums().cancelled;
    figures.offered_per_second = static_cast<double>(due_) * 1e9 / static_cast<double>(plan_.end);
    figures.achieved_per_second = figures.offered_per_second;
    if (plan_.ops.empty() || due_ == 0) return;
    const double share = std::min(calls.achieved(), fires.achieved());
    figures.achieved_per_second *= share;
    figures.saturated = share < kKeepsUp;
  }

  // Sets the failure unless the ledger and the queue agree.
  void audit(DurableBench& bench, DurableFigures& figures) {
    const DurableLedger::Sums sums = ledger_.sums();
    if (const std::string why = ledger_.contradiction(); !why.empty() && figures.failure.empty()) {
      figures.failure = "wrong: " + why;
    }
    bench.audit(load_.pending + sums.armed - sums.cancelled - sums.completed, figures);
  }

 private:
  // The same for all clients.
  Tick start() {
    Tick none = 0;
    start_[0].compare_exchange_strong(none, unix_now() + lead_);
    return start_[0];
  }

  bool is_own(DurableId id, std::size_t producer) const { return id % load_.producers == producer; }

  DurableTimer timer(DurableId id, Tick start) const {
    return {id, start + plan_.timers[id].deadline, std::string(load_.payload, 'x')};
  }

  void arm(DurableQueue& queue, std::span<const DurableTimer> timers, ClientReport& report) {
    timed(report, Timed::arm, [&] { return queue.schedule(timers), true; });
    for (const DurableTimer& timer : timers) ledger_.armed(timer.id);
  }

  void arm_before(DurableQueue& queue, std::size_t producer) {
    constexpr std::size_t kBatch = 1000;
    const Tick start = this->start();
    std::vector<DurableTimer> batch;
    for (DurableId id = 0; id < plan_.before; ++id) {
      if (is_own(id, producer)) batch.push_back(timer(id, start));
      if (batch.empty() || (batch.size() < kBatch && id + 1 < plan_.before)) continue;
      queue.schedule(batch);
      for (const DurableTimer& timer : batch) ledger_.armed(timer.id);
      batch.clear();
      if (unix_now() + kToBegin > start) {
        throw BackendError(fmt::format("to arm {} timers before the start took more than {:.1f} s",
                                       plan_.before, static_cast<double>(lead_) / 1e9));
      }
    }
  }

  void sleep_until(Tick at) const {
    for (Tick now = unix_now(); now < at && !clients_.is_over(); now = unix_now()) {
      constexpr Tick kGlance = kSecond / 10;
      std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(at - now, kGlance)));
    }
  }

  const DurableLoad& load_;
  const DurablePlan& plan_;
  Clients& clients_;
  const Tick resolution_;  // of the queue
  const Tick lead_;
  // Those that are cancelled too late fire too, and are not awaited.
  DurableLedger ledger_{plan_.timers.size(),
                        [this](DurableId id) { return plan_.fires(plan_.timers[id]); }};
  SharedArray<Tick> calls_{plan_.ops.size()};  // when each was made; 0: it was not
  SharedArray<std::atomic<Tick>> start_{1};
  std::uint64_t due_ = 0;
};

// Of the control.
class IdleQueue final : public DurableQueue {
 public:
  void schedule(std::span<const DurableTimer>) override {}
  bool cancel(DurableId) override { return true; }
  Claims claim(std::size_t, Tick) override { return {}; }
  std::vector<bool> complete(std::span<const ClaimedTimer> claims) override {
    return std::vector<bool>(claims.size(), true);
  }
  void give_back(std::span<const ClaimedTimer>) override {}
  bool await_earlier(Tick, std::chrono::nanoseconds longest) override {
    std::this_thread::sleep_for(longest);
    return false;
  }
  std::size_t size() override { return 0; }
};

class IdleEngine final : public DurableEngine {
 private:
  std::unique_ptr<DurableQueue> do_open(const DurableConfig&) override {
    return std::make_unique<IdleQueue>();
  }
};

}  // namespace

DurableFigures measure_timed(const DurableLoad& load, const DurablePlan& plan,
                             const DurableContender& contender, const StopFlag& stop) {
  DurableBench bench(load, contender);
  Clients clients(load.producers + load.clients);
  // Several times what it took before, for the machine may be busy.
  TimedRun run(load, plan, clients, contender.traits.resolution,
               kSecond + 4 * bench.time_to_arm(plan.before));
  DurableFigures figures;
  bench.run(
      clients, run.seconds(),
      [&](DurableQueue& queue, std::size_t client, ClientReport& report) {
        if (run.is_producer(client)) {
          run.produce(queue, client, report);
        } else {
          run.work(queue, report);
        }
      },
      figures, stop);
  run.settle(figures);
  run.audit(bench, figures);
  return figures;
}

DurableFigures measure_timed_control(const DurableLoad& load, const DurablePlan& plan,
                                     const StopFlag& stop) {
  DurableLoad one_sleeper = load;
  one_sleeper.clients = one_sleeper.pending = 1;
  const DurableContender control{
      .traits = {.name = "control",
                 .summary = "sleeps until each deadline",
                 .engine = "none",
                 .promise = {Kept::none, Kept::none, Kept::none},
                 .shared_by = SharedBy::processes,
                 .file = __builtin_FILE()},
      .start = [](const std::filesystem::path&) { return std::make_unique<IdleEngine>(); }};
  DurableBench bench(one_sleeper, control);
  Clients clients(load.producers + 1);
  TimedRun run(one_sleeper, plan, clients, control.traits.resolution, kSecond / 2);
  DurableFigures figures;
  bench.run(
      clients, run.seconds(),
      [&](DurableQueue& queue, std::size_t client, ClientReport& report) {
        if (run.is_producer(client)) {
          run.produce(queue, client, report);
        } else {
          run.sleep_until_each(report);
        }
      },
      figures, stop);
  run.settle(figures);
  return figures;
}

}  // namespace timerbench
