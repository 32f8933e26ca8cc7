// The tails and memory passes: what they count is what was done.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "queues/dary_heap.h"
#include "queues/kafka_wheel.h"
#include "queues/lazy_heap.h"
#include "queues/log_wheel.h"
#include "queues/scan.h"
#include "replay/backend.h"
#include "replay/make_backend.h"
#include "trace/model.h"
#include "verify/check.h"
#include "workloads/workload.h"

namespace timerbench {
namespace {

const StopFlag kNoStop{false};

Trace generate(std::string_view name, const WorkloadOptions& options) {
  for (const Workload& workload : workloads()) {
    if (workload.name == name) return workload.generate(options);
  }
  throw std::invalid_argument(std::string(name));
}

// Takes long at one instant only.
template <Tick kInstant>
class SlowOnce : public Model {
 public:
  using Model::Model;

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
    while (now == kInstant && std::chrono::steady_clock::now() < until) continue;
    return Model::advance(now, sink);
  }
};

template <TimerQueue Queue>
Tails tails_of(const Trace& trace, int replays = 1) {
  LeastTimes least;
  Tails tails;
  for (int i = 0; i < replays; ++i) {
    tails = replay_tails<Queue>({.capacity = trace.info().capacity}, trace.setup(),
                                trace.measured(), least, kNoStop);
  }
  return tails;
}

TEST(TailsTest, TimeEveryCall) {
  const Trace trace = generate("churn", {.size = 30'000, .items = 100'000});
  const OpCounts counts = count_ops(trace.measured());
  const Tails tails = tails_of<KafkaWheel<256>>(trace);
  EXPECT_EQ(tails.advance.count(), counts.advances);
  EXPECT_EQ(tails.schedule.count(), counts.schedules);
  EXPECT_EQ(tails.cancel.count(), counts.cancels);
  EXPECT_GT(tails.clock_ns, 5);  // a read takes longer on any processor
  EXPECT_LT(tails.clock_ns, 1e5);
}

// Batches of 32, as a thread takes timers from another.
TEST(TailsTest, EveryBackendDoesTheSameAsInACostRun) {
  const Trace trace = generate("hold", {.size = 500, .items = 5'000});
  const Outcome expected = expected_outcome(trace, kNoStop).whole;
  for (const Backend& backend : backends()) {
    if (backend.traits.remote || !must_be_exact(backend.traits, /*granularity=*/1)) continue;
    LeastTimes least;
    const Tails tails = backend.replay_tails({.capacity = trace.info().capacity}, trace.setup(),
                                             trace.measured(), least, kNoStop);
    EXPECT_EQ(tails.outcome, expected) << backend.traits.name;
    EXPECT_FALSE(tails.stopped);
  }
}

TEST(TailsTest, TheWorstIsFoundWithItsPlaceAndWhatItDid) {
  const Trace trace = generate("drain", {.size = 1'000, .settings = {{"delay", "constant 500ms"}}});
  const Tails tails = tails_of<SlowOnce<500>>(trace, 3);
  EXPECT_GE(tails.worst_advance.ns, 2e6);
  EXPECT_EQ(tails.worst_advance.op, 499U);
  EXPECT_EQ(tails.worst_advance.fired, 1'000U);
  EXPECT_EQ(tails.timeline.size(), 500U);
  EXPECT_EQ(tails.timeline.back().op, 499U);
}

// A queue that is slow to arm and to cancel one timer.
class SlowFor7 : public Model {
 public:
  using Model::Model;
  void schedule(TimerId id, Tick deadline) {
    pause_for(id, 2);
    Model::schedule(id, deadline);
  }
  bool cancel(TimerId id) {
    pause_for(id, 4);
    return Model::cancel(id);
  }

 private:
  static void pause_for(TimerId id, int ms) {
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(id == 7 ? ms : 0);
    while (std::chrono::steady_clock::now() < until) continue;
  }
};

TEST(TailsTest, TheLongestOfEachKindIsFound) {
  std::vector<Op> ops;
  for (TimerId id = 0; id < 1'000; ++id) ops.push_back(schedule_op(id, 5));
  for (TimerId id = 0; id < 1'000; ++id) ops.push_back(cancel_op(id));
  LeastTimes least;
  Tails tails;
  for (int i = 0; i < 3; ++i) {
    tails =
        replay_tails<SlowFor7>({.capacity = 1'000}, {}, std::span<const Op>(ops), least, kNoStop);
  }
  EXPECT_GE(tails.worst_schedule, 2e6);
  EXPECT_EQ(tails.worst_schedule, least.schedule[7]);
  EXPECT_GE(tails.worst_cancel, 4e6);
  EXPECT_EQ(tails.worst_cancel, least.cancel[7]);
  EXPECT_EQ(std::ranges::count_if(least.schedule, [](float ns) { return ns > 1e6F; }), 1);
  EXPECT_EQ(least.cancel.size(), 1'000U);
}

TEST(TailsTest, TheWorstIsFoundInTheMiddleOfItsStretchToo) {
  // Two operations a stretch: the worst is once the first, once the second of its own.
  const Trace trace = generate("drain", {.size = 10, .settings = {{"delay", "constant 1s"}}});
  for (const Tails& tails :
       {tails_of<SlowOnce<500>>(trace, 3), tails_of<SlowOnce<501>>(trace, 3)}) {
    EXPECT_GE(tails.worst_advance.ns, 2e6);
    EXPECT_EQ(tails.worst_advance.fired, 0U);
    ASSERT_EQ(tails.timeline.size(), 500U);
    const auto longest = std::ranges::max_element(tails.timeline, {}, &AdvanceCall::ns);
    EXPECT_EQ(longest->ns, tails.worst_advance.ns);
    EXPECT_EQ(longest->op, tails.worst_advance.op);
    EXPECT_EQ(longest - tails.timeline.begin(), static_cast<std::ptrdiff_t>(longest->op / 2));
  }
  EXPECT_EQ(tails_of<SlowOnce<500>>(trace, 3).worst_advance.op, 499U);
  EXPECT_EQ(tails_of<SlowOnce<501>>(trace, 3).worst_advance.op, 500U);
}

TEST(TailsTest, OfSeveralReplaysTheLeastIsKept) {
  const Trace trace = generate("sparse", {.size = 10, .items = 1'000});
  LeastTimes least;
  least.advance.assign(1'000, 0.5F);  // no clock tells so little
  const Tails tails =
      replay_tails<Model>({.capacity = 10}, trace.setup(), trace.measured(), least, kNoStop);
  EXPECT_EQ(tails.worst_advance.ns, 0.5);
  EXPECT_GT(tails.advance.max(), 0.5);
}

TEST(TailsTest, ACascadeIsSeenWithItsLevel) {
  const Trace trace = generate("drain", {.size = 1'000, .settings = {{"delay", "constant 300ms"}}});
  LeastTimes least;
  KafkaWheel<256> wheel({.capacity = 1'000});
  for (TimerId id = 0; id < 1'000; ++id) wheel.schedule(id, 300);
  wheel.advance(255, IgnoreExpiry{});
  EXPECT_EQ(wheel.work().moved, 0U);
  wheel.advance(256, IgnoreExpiry{});
  EXPECT_EQ(wheel.work().moved, 1'000U);
  EXPECT_EQ(wheel.work().level, 1U);
  const Tails tails = tails_of<KafkaWheel<256>>(trace);
  std::uint64_t moved = 0;
  for (const AdvanceCall& call : tails.timeline) moved += call.moved;
  EXPECT_EQ(moved, 1'000U);
}

TEST(TailsTest, WhatAnAdvanceDidIsNotWhatThoseBeforeItDid) {
  // Half cascade at 256, half at 512, and each advance is in the timeline.
  std::vector<Op> setup;
  for (TimerId id = 0; id < 100; ++id) setup.push_back(schedule_op(id, id < 50 ? 300 : 550));
  const std::vector<Op> ticks(300, advance_op(2));
  LeastTimes least;
  const Tails tails =
      replay_tails<KafkaWheel<256>>({.capacity = 100}, setup, std::span(ticks), least, kNoStop);
  ASSERT_EQ(tails.timeline.size(), 300U);
  for (const AdvanceCall& call : tails.timeline) {
    EXPECT_EQ(call.moved, call.op == 127 || call.op == 255 ? 50U : 0U) << call.op;
    EXPECT_EQ(call.level, call.moved > 0 ? 1U : 0U) << call.op;
  }
  least = {};
  const Tails scanned =
      replay_tails<Scan>({.capacity = 100}, setup, std::span(ticks), least, kNoStop);
  EXPECT_LE(scanned.worst_advance.passed, 100U);
  for (const AdvanceCall& call : scanned.timeline) {
    EXPECT_EQ(call.passed + call.fired, 100U) << call.op;  // it walks the whole array
  }
}

// Five levels of 60 slots of a second span 24 years. A heap has every timer in order.
TEST(TailsTest, AWheelQueuesFewBucketsHoweverManyTimersThereAre) {
  for (const TimerId timers : {1'000, 10'000, 100'000}) {
    const Trace trace = generate("lifetime", {.size = timers, .items = 50'000});
    const std::size_t most = tails_of<KafkaWheel<60>>(trace).most_queued.value();
    EXPECT_GT(most, 200U);
    EXPECT_LE(most, 5 * 60U);
    EXPECT_LE(tails_of<LogWheel<256>>(trace).most_queued.value(), 4 * 2 * 256U);
    EXPECT_EQ(tails_of<BinaryHeap>(trace).most_queued, timers);
    EXPECT_EQ(tails_of<Scan>(trace).most_queued, std::nullopt);
  }
}

TEST(TailsTest, WhatIsPassedOverIsSeen) {
  Scan scan({.capacity = 100});
  for (TimerId id = 0; id < 100; ++id) scan.schedule(id, 1 + id);
  scan.advance(10, IgnoreExpiry{});
  EXPECT_EQ(scan.work().passed, 90U);
  LazyHeap heap({.capacity = 10});
  for (TimerId id = 0; id < 10; ++id) heap.schedule(id, 1 + id);
  heap.cancel(0);
  EXPECT_EQ(heap.work().passed, 1U);
}

TEST(TailsTest, StopsWhenAsked) {
  const Trace trace = generate("churn", {.size = 1'000, .items = 10'000});
  const StopFlag stop{true};
  LeastTimes least;
  EXPECT_TRUE(replay_tails<Model>({.capacity = 1'000}, trace.setup(), trace.measured(), least, stop)
                  .stopped);
}

}  // namespace
}  // namespace timerbench
