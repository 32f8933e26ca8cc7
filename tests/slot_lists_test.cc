// The slots of a wheel, with a lock each.
#include "services/slot_lists.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <latch>
#include <thread>
#include <vector>

namespace timerbench {
namespace {

class SlotListsTest : public testing::Test {
 protected:
  void append(SlotLists::List list, TimerId id, Tick deadline) {
    const auto lock = lists_.lock_timer(id);
    lists_.append(list, id, deadline);
  }

  bool remove(TimerId id) {
    const auto lock = lists_.lock_timer(id);
    return lists_.remove(id);
  }

  // The ids of a list in order, which stay there.
  std::vector<TimerId> ids(SlotLists::List list) {
    std::vector<TimerId> found;
    lists_.sweep(list, [&](TimerId id, Tick) {
      found.push_back(id);
      return list;
    });
    return found;
  }

  SlotLists lists_{8, 3};
};

TEST_F(SlotListsTest, KeepsTheOrderWhoeverLeaves) {
  for (const TimerId id : {4U, 2U, 7U, 0U}) append(1, id, 10);
  EXPECT_EQ(ids(1), (std::vector<TimerId>{4, 2, 7, 0}));
  EXPECT_TRUE(remove(2));
  EXPECT_FALSE(remove(2));
  EXPECT_TRUE(remove(4));
  EXPECT_TRUE(remove(0));
  EXPECT_FALSE(remove(5)) << "was never there";
  EXPECT_EQ(ids(1), std::vector<TimerId>{7});
  append(1, 4, 10);
  EXPECT_EQ(ids(1), (std::vector<TimerId>{7, 4}));
}

TEST_F(SlotListsTest, RefusesWhatIsNotAdmitted) {
  const auto lock = lists_.lock_timer(3);
  EXPECT_FALSE(lists_.append(0, 3, 10, [] { return false; }));
  EXPECT_FALSE(lists_.remove(3));
  EXPECT_EQ(lists_.size(), 0U);
}

TEST_F(SlotListsTest, CountsThroughEverything) {
  for (TimerId id = 0; id < 6; ++id) append(0, id, id);
  append(2, 6, 6);
  EXPECT_EQ(lists_.size(), 7U);
  lists_.sweep(0, [](TimerId id, Tick deadline) -> SlotLists::List {
    EXPECT_EQ(deadline, id);
    return id < 2 ? SlotLists::kNoList : id < 4 ? 1 : 0;
  });
  EXPECT_EQ(lists_.size(), 5U);
  EXPECT_EQ(ids(0), (std::vector<TimerId>{4, 5}));
  EXPECT_EQ(ids(1), (std::vector<TimerId>{2, 3}));
  EXPECT_FALSE(remove(0)) << "was taken over";
  EXPECT_TRUE(remove(3));
  EXPECT_EQ(lists_.size(), 4U);
  std::vector<PendingTimer> taken;
  lists_.take_all(taken);
  EXPECT_EQ(lists_.size(), 0U);
  std::ranges::sort(taken, {}, &PendingTimer::id);
  EXPECT_EQ(taken, (std::vector<PendingTimer>{{2, 2}, {4, 4}, {5, 5}, {6, 6}}));
}

TEST_F(SlotListsTest, WaitsForThoseWhoHoldATimersLock) {
  std::latch held(1);
  bool given_back = false;
  const std::jthread holder([&] {
    const auto lock = lists_.lock_timer(5);
    held.count_down();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    given_back = true;
  });
  held.wait();
  lists_.await_timer_locks();
  EXPECT_TRUE(given_back);
}

}  // namespace
}  // namespace timerbench
