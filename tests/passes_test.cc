// The tails and memory passes: what they count is what was done.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "queues/kafka_wheel.h"
#include "queues/lazy_heap.h"
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
class SlowOnce : public Model {
 public:
  using Model::Model;

  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
    while (now == 500 && std::chrono::steady_clock::now() < until) continue;
    return Model::advance(now, sink);
  }
};

template <TimerQueue Queue>
Tails tails_of(const Trace& trace, int replays = 1) {
  std::vector<float> least;
  Tails tails;
  for (int i = 0; i < replays; ++i) {
    tails = replay_tails<Queue>({.capacity = trace.info().capacity}, trace.setup(),
                                trace.measured(), least, kNoStop);
  }
  return tails;
}

TEST(TailsTest, TimeEveryAdvanceAndSomeOfTheOthers) {
  const Trace trace = generate("churn", {.size = 30'000, .items = 100'000});
  const OpCounts counts = count_ops(trace.measured());
  const Tails tails = tails_of<KafkaWheel<256>>(trace);
  EXPECT_EQ(tails.advance.count(), counts.advances);
  EXPECT_NEAR(static_cast<double>(tails.schedule.count()),
              static_cast<double>(counts.schedules) / 64,
              static_cast<double>(counts.schedules) / 640);
  EXPECT_NEAR(static_cast<double>(tails.cancel.count()), static_cast<double>(counts.cancels) / 64,
              static_cast<double>(counts.cancels) / 640);
  EXPECT_GT(tails.clock_ns, 0);
}

TEST(TailsTest, EveryBackendDoesTheSameAsInACostRun) {
  const Trace trace = generate("hold", {.size = 500, .items = 5'000});
  const Outcome expected = expected_outcome(trace, kNoStop);
  for (const Backend& backend : backends()) {
    if (backend.traits.remote || backend.is_control()) continue;
    std::vector<float> least;
    const Tails tails = backend.replay_tails({.capacity = trace.info().capacity}, trace.setup(),
                                             trace.measured(), least, kNoStop);
    EXPECT_EQ(tails.outcome, expected) << backend.traits.name;
    EXPECT_FALSE(tails.stopped);
  }
}

TEST(TailsTest, TheWorstIsFoundWithItsPlaceAndWhatItDid) {
  const Trace trace = generate("drain", {.size = 1'000, .settings = {{"delay", "constant 500ms"}}});
  const Tails tails = tails_of<SlowOnce>(trace, 3);
  EXPECT_GE(tails.worst.ns, 2e6);
  EXPECT_EQ(tails.worst.op, 499U);
  EXPECT_EQ(tails.worst.fired, 1'000U);
  EXPECT_EQ(tails.timeline.size(), 500U);
  EXPECT_EQ(tails.timeline.back().op, 499U);
}

TEST(TailsTest, OfSeveralReplaysTheLeastIsKept) {
  const Trace trace = generate("sparse", {.size = 10, .items = 1'000});
  std::vector<float> least(1'000, 0.5F);  // no clock tells so little
  const Tails tails =
      replay_tails<Model>({.capacity = 10}, trace.setup(), trace.measured(), least, kNoStop);
  EXPECT_EQ(tails.worst.ns, 0.5);
  EXPECT_GT(tails.advance.max(), 0.5);
}

TEST(TailsTest, ACascadeIsSeenWithItsLevel) {
  const Trace trace = generate("drain", {.size = 1'000, .settings = {{"delay", "constant 300ms"}}});
  std::vector<float> least;
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
  std::vector<float> least;
  EXPECT_TRUE(replay_tails<Model>({.capacity = 1'000}, trace.setup(), trace.measured(), least, stop)
                  .stopped);
}

}  // namespace
}  // namespace timerbench
