// What Kafka's own classes did under a virtual clock: placement, clocks and queued buckets.
//
// The numbers V1 ... V20 are those of the recorded vectors. "Runs inline" there is "fires at the
// next advance, even one to the same now" here (rule 5); overflows and hangs are restated to rule
// 7. V11 and V12 are not here: they are of the executor that runs the tasks.
#include "queues/kafka_wheel.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace timerbench {
namespace {

using Ticks = std::vector<Tick>;
using Fired = std::vector<std::pair<TimerId, Tick>>;  // id, now

// A wheel as Kafka's test driver sees it.
template <std::size_t Slots>
class Wheel {
 public:
  explicit Wheel(Tick start = 0, Tick tick = 1)
      : now_(start), wheel_({.capacity = 64, .start = start, .granularity = tick}) {}

  void add(TimerId id, Tick delay) { wheel_.schedule(id, now_ + delay); }
  bool cancel(TimerId id) { return wheel_.cancel(id); }

  // The clock of the caller, which the wheel does not see.
  void idle_until(Tick now) { now_ = now; }

  // Ids in the order in which they fire.
  std::vector<TimerId> advance(Tick now) {
    now_ = now;
    std::vector<TimerId> ids;
    wheel_.advance(now, [&](TimerId id, Tick) { ids.push_back(id); });
    return ids;
  }

  Fired step_until(Tick end) {
    Fired fired;
    while (now_ < end) {
      for (const TimerId id : advance(now_ + 1)) fired.emplace_back(id, now_);
    }
    return fired;
  }

  Ticks hands() const { return wheel_.hands(); }
  Ticks queued() const { return wheel_.queued_buckets(); }
  std::size_t size() const { return wheel_.size(); }
  Tick next_wakeup() const { return wheel_.next_wakeup(); }

 private:
  Tick now_;
  KafkaWheelFloor<Slots> wheel_;
};

using Ids = std::vector<TimerId>;

TEST(KafkaWheelTest, V1PlacementByDelay) {
  struct Placement {
    Tick delay, bucket;
    std::size_t level;
  };
  constexpr Placement kPlacements[] = {
      {1, 1, 1},     {19, 19, 1},     {20, 20, 2},     {21, 20, 2},         {399, 380, 2},
      {400, 400, 3}, {7999, 7600, 3}, {8000, 8000, 4}, {159999, 152000, 4}, {160000, 160000, 5}};
  for (const auto& [delay, bucket, level] : kPlacements) {
    Wheel<20> wheel;
    wheel.add(0, delay);
    EXPECT_EQ(wheel.queued(), Ticks{bucket}) << delay;
    EXPECT_EQ(wheel.hands().size(), level) << delay;  // no more are in use than it needs
  }
  Wheel<20> wheel;
  wheel.add(0, 0);
  EXPECT_EQ(wheel.queued(), Ticks{});
  EXPECT_EQ(wheel.advance(0), Ids{0});
  Wheel<20> late(100);
  late.add(0, Tick{0} - 1);  // due a tick ago
  EXPECT_EQ(late.queued(), Ticks{});
  EXPECT_EQ(late.advance(100), Ids{0});
}

TEST(KafkaWheelTest, V2EachFiresAtItsDelay) {
  Wheel<20> wheel;
  const Ticks delays = {1, 19, 20, 21, 25, 39, 40, 399, 400, 405, 7999, 8000, 8421};
  Fired expected;
  for (TimerId id = 0; id < delays.size(); ++id) {
    wheel.add(id, delays[id]);
    expected.emplace_back(id, delays[id]);
  }
  EXPECT_EQ(wheel.step_until(8421), expected);
  EXPECT_EQ(wheel.hands(), (Ticks{8421, 8420, 8400, 8000}));
}

TEST(KafkaWheelTest, V3AnIdleWheelsClockIsStale) {
  Wheel<20> wheel;
  wheel.idle_until(1000);
  wheel.add(0, 5);
  EXPECT_EQ(wheel.queued(), Ticks{800});  // in the past already
  EXPECT_EQ(wheel.hands().size(), 3U);
  EXPECT_EQ(wheel.advance(1000), Ids{});  // two cascades in one advance
  EXPECT_EQ(wheel.hands(), (Ticks{1000, 1000, 800}));
  EXPECT_EQ(wheel.queued(), Ticks{1005});
  EXPECT_EQ(wheel.advance(1004), Ids{});
  EXPECT_EQ(wheel.advance(1005), Ids{0});
}

TEST(KafkaWheelTest, V4DueNowByAStaleClockIsNotLost) {
  Wheel<20> wheel;
  wheel.idle_until(10);
  wheel.add(0, 0);
  EXPECT_EQ(wheel.queued(), Ticks{10});
  EXPECT_EQ(wheel.size(), 1U);
  EXPECT_EQ(wheel.advance(10), Ids{0});
}

TEST(KafkaWheelTest, V5PromotionBreaksFirstInFirstOut) {
  Wheel<20> wheel;
  wheel.add(0, 25);
  wheel.add(2, 6);
  EXPECT_EQ(wheel.advance(6), Ids{2});
  wheel.add(1, 19);
  EXPECT_EQ(wheel.advance(20), Ids{});
  EXPECT_EQ(wheel.advance(25), (Ids{1, 0}));
}

TEST(KafkaWheelTest, V6RoundingDownFiresEarly) {
  Wheel<10> wheel(0, 100);
  const Ticks delays = {250, 99, 100, 199, 1000, 1050};
  for (TimerId id = 0; id < delays.size(); ++id) wheel.add(id, delays[id]);
  EXPECT_EQ(wheel.queued(), (Ticks{100, 200, 1000}));
  EXPECT_EQ(wheel.advance(0), Ids{1});
  EXPECT_EQ(wheel.step_until(1100), (Fired{{2, 100}, {3, 100}, {0, 200}, {4, 1000}, {5, 1000}}));
}

TEST(KafkaWheelTest, V7TheStartIsRoundedDownToTheTick) {
  Wheel<10> wheel(1234, 100);
  EXPECT_EQ(wheel.hands(), Ticks{1200});
  const Ticks delays = {10, 65, 66, 70, 170};
  for (TimerId id = 0; id < delays.size(); ++id) wheel.add(id, delays[id]);
  EXPECT_EQ(wheel.advance(1234), (Ids{0, 1}));
  EXPECT_EQ(wheel.step_until(1500), (Fired{{2, 1300}, {3, 1300}, {4, 1400}}));
}

TEST(KafkaWheelTest, V8ACancelledBucketStaysQueued) {
  Wheel<20> wheel;
  wheel.add(0, 10);
  EXPECT_TRUE(wheel.cancel(0));
  EXPECT_FALSE(wheel.cancel(0));
  EXPECT_EQ(wheel.size(), 0U);
  EXPECT_EQ(wheel.queued(), Ticks{10});
  wheel.advance(9);
  EXPECT_EQ(wheel.hands(), Ticks{0});
  EXPECT_EQ(wheel.advance(10), Ids{});
  EXPECT_EQ(wheel.hands(), Ticks{10});
  EXPECT_EQ(wheel.queued(), Ticks{});
}

TEST(KafkaWheelTest, V9AFiredTimerCanBeAddedAgain) {
  Wheel<20> wheel;
  wheel.add(0, 2);
  EXPECT_EQ(wheel.advance(2), Ids{0});
  EXPECT_FALSE(wheel.cancel(0));
  wheel.add(0, 3);
  EXPECT_EQ(wheel.step_until(9), (Fired{{0, 5}}));
}

TEST(KafkaWheelTest, V10AddingAgainMoves) {
  Wheel<20> wheel;
  wheel.add(0, 10);
  wheel.idle_until(4);
  wheel.add(0, 10);
  EXPECT_EQ(wheel.size(), 1U);
  EXPECT_EQ(wheel.queued(), (Ticks{10, 14}));
  EXPECT_EQ(wheel.advance(10), Ids{});
  EXPECT_EQ(wheel.advance(14), Ids{0});
}

TEST(KafkaWheelTest, V13HugeDelaysAreKept) {
  constexpr Tick kLongMax = ~Tick{0} >> 1;
  constexpr Tick kTwentyTo14 = 1'638'400'000'000'000'000;
  for (const Tick deadline : {kLongMax + 100, kLongMax, kLongMax / 2, kTwentyTo14, kNever - 1}) {
    Wheel<20> wheel;
    wheel.idle_until(100);
    wheel.add(0, deadline - 100);
    EXPECT_EQ(wheel.advance(deadline - 1), Ids{}) << deadline;
    EXPECT_EQ(wheel.advance(deadline), Ids{0}) << deadline;
  }
  Wheel<20> wheel;
  wheel.idle_until(100);
  wheel.add(0, kTwentyTo14 - 101);
  EXPECT_EQ(wheel.hands().size(), 14U);
  Wheel<20> century;
  century.idle_until(100);
  century.add(0, 3'153'600'000'000);
  EXPECT_EQ(century.hands().size(), 10U);
  EXPECT_EQ(century.queued(), Ticks{3'072'000'000'000});
}

TEST(KafkaWheelTest, V14TheClockDoesNotGoBack) {
  Wheel<20> wheel;
  wheel.add(0, 110);
  EXPECT_EQ(wheel.advance(110), Ids{0});
  wheel.idle_until(50);
  wheel.add(1, 10);
  EXPECT_EQ(wheel.queued(), Ticks{});  // it is overdue by the wheel's clock
  EXPECT_EQ(wheel.advance(60), Ids{});
  EXPECT_EQ(wheel.hands(), (Ticks{110, 100}));
  EXPECT_EQ(wheel.advance(110), Ids{1});
}

TEST(KafkaWheelTest, V15AJumpFiresInDeadlineOrder) {
  Wheel<20> wheel;
  wheel.add(2, 500);
  wheel.add(1, 30);
  wheel.add(0, 10);
  EXPECT_EQ(wheel.advance(100000), (Ids{0, 1, 2}));
  EXPECT_EQ(wheel.hands()[0], 500U);
}

TEST(KafkaWheelTest, V16BucketsOfTwoLevelsAtOneInstant) {
  Wheel<20> wheel;
  wheel.add(0, 20);
  wheel.add(2, 3);
  EXPECT_EQ(wheel.advance(3), Ids{2});
  wheel.add(1, 17);
  EXPECT_EQ(wheel.queued(), (Ticks{20, 20}));
  EXPECT_EQ(wheel.advance(20).size(), 2U);
  EXPECT_EQ(wheel.queued(), Ticks{});
}

TEST(KafkaWheelTest, V17ThreeSlots) {
  Wheel<3> wheel;
  Fired expected;
  for (TimerId id = 1; id <= 30; ++id) {
    wheel.add(id, id);
    expected.emplace_back(id, id);
  }
  EXPECT_EQ(wheel.queued(), (Ticks{1, 2, 3, 6, 9, 18, 27}));
  EXPECT_EQ(wheel.step_until(30), expected);
}

TEST(KafkaWheelTest, V18OneAdvanceFiresAllThatIsDue) {
  Wheel<20> wheel;
  for (TimerId id = 1; id <= 5; ++id) wheel.add(id, id);
  EXPECT_EQ(wheel.advance(3), (Ids{1, 2, 3}));
  EXPECT_EQ(wheel.advance(3), Ids{});
  EXPECT_EQ(wheel.advance(5), (Ids{4, 5}));
}

TEST(KafkaWheelTest, V19AFarTimerWakesUpTwice) {
  Wheel<20> wheel;
  wheel.add(0, 100000);
  EXPECT_EQ(wheel.next_wakeup(), 96000U);
  EXPECT_EQ(wheel.advance(96000), Ids{});
  EXPECT_EQ(wheel.queued(), Ticks{100000});
  EXPECT_EQ(wheel.next_wakeup(), 100000U);
  EXPECT_EQ(wheel.advance(100000), Ids{0});
}

TEST(KafkaWheelTest, V20TheWindowBeginsAtTheClock) {
  Wheel<20> wheel;
  wheel.add(0, 20);
  EXPECT_EQ(wheel.advance(20), Ids{0});
  wheel.add(1, 19);
  EXPECT_EQ(wheel.queued(), Ticks{39});
  wheel.add(2, 20);
  EXPECT_EQ(wheel.queued(), (Ticks{39, 40}));
}

// Trap T5: the key of a bucket must not change while it is queued.
TEST(KafkaWheelTest, ALateAdvanceFlushesBeforeASlotIsUsedAgain) {
  Wheel<20> wheel;
  wheel.add(0, 5);
  wheel.idle_until(10);
  wheel.add(1, 15);
  EXPECT_EQ(wheel.advance(10), Ids{0});
  EXPECT_EQ(wheel.advance(24), Ids{});
  EXPECT_EQ(wheel.advance(25), Ids{1});
}

TEST(KafkaWheelTest, TheExampleOfTheHeader) {
  constexpr TimerId a = 0, b = 1, c = 2;
  Wheel<4> wheel;
  wheel.add(a, 3);
  EXPECT_EQ(wheel.queued(), Ticks{3});
  wheel.add(b, 6);
  EXPECT_EQ(wheel.queued(), (Ticks{3, 4}));
  wheel.add(c, 21);
  EXPECT_EQ(wheel.queued(), (Ticks{3, 4, 16}));
  EXPECT_EQ(wheel.next_wakeup(), 3U);
  EXPECT_EQ(wheel.advance(3), Ids{a});
  EXPECT_EQ(wheel.hands().front(), 3U);
  EXPECT_EQ(wheel.advance(5), Ids{});
  EXPECT_EQ(wheel.hands().front(), 4U);
  EXPECT_EQ(wheel.queued(), (Ticks{6, 16}));
  EXPECT_EQ(wheel.next_wakeup(), 6U);
  EXPECT_EQ(wheel.advance(18), Ids{b});
  EXPECT_EQ(wheel.hands().front(), 16U);
  EXPECT_EQ(wheel.queued(), Ticks{20});
  EXPECT_EQ(wheel.next_wakeup(), 20U);
  EXPECT_EQ(wheel.advance(20), Ids{});
  EXPECT_EQ(wheel.queued(), Ticks{21});
  EXPECT_EQ(wheel.advance(21), Ids{c});
}

// With a tick of 1 there is nothing to round, so the wheel that rounds up places alike.
TEST(KafkaWheelTest, ATickOfOneMakesBothRoundingsEqual) {
  KafkaWheel<20> up({.capacity = 64});
  KafkaWheelFloor<20> down({.capacity = 64});
  for (TimerId id = 0; id < 64; ++id) {
    up.schedule(id, Tick{id} * id * 7);
    down.schedule(id, Tick{id} * id * 7);
  }
  for (Tick now = 0; now < 30000; now += 13) {
    EXPECT_EQ(up.advance(now, IgnoreExpiry{}), down.advance(now, IgnoreExpiry{}));
    EXPECT_EQ(up.queued_buckets(), down.queued_buckets());
    EXPECT_EQ(up.hands(), down.hands());
  }
}

}  // namespace
}  // namespace timerbench
