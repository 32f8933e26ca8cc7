// The parts that backends share.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "core/bitmap.h"
#include "core/granularity.h"
#include "core/index_lists.h"
#include "core/joined_name.h"
#include "core/tick_table.h"

namespace timerbench {
namespace {

template <std::size_t Bits>
void expect_like_a_set(const Bitmap<Bits>& bitmap, const std::set<std::size_t>& members) {
  ASSERT_EQ(bitmap.count(), members.size());
  for (std::size_t i = 0; i < Bits; ++i) {
    ASSERT_EQ(bitmap.test(i), members.contains(i));
    const auto up = members.lower_bound(i);
    ASSERT_EQ(bitmap.next(i), up == members.end() ? bitmap.kNone : *up);
    const std::size_t first = members.empty() ? 0 : up == members.end() ? *members.begin() : *up;
    ASSERT_EQ(bitmap.distance(i), members.empty() ? bitmap.kNone : (first + Bits - i) % Bits);
  }
}

template <std::size_t Bits>
void bitmap_is_a_set() {
  Bitmap<Bits> bitmap;
  std::set<std::size_t> members;
  expect_like_a_set(bitmap, members);
  for (std::size_t i = 1; members.size() < std::min<std::size_t>(Bits, 6); i = i * 167 + 11) {
    bitmap.set(i % Bits);
    members.insert(i % Bits);
  }
  bitmap.set(*members.begin());
  expect_like_a_set(bitmap, members);
  while (!members.empty()) {
    bitmap.clear(*members.rbegin());
    members.erase(std::prev(members.end()));
    expect_like_a_set(bitmap, members);
  }
}

TEST(BitmapTest, IsASet) {
  bitmap_is_a_set<3>();
  bitmap_is_a_set<20>();
  bitmap_is_a_set<64>();
  bitmap_is_a_set<65>();
  bitmap_is_a_set<512>();
  bitmap_is_a_set<5000>();
}

TEST(TickTableTest, IsAMap) {
  TickTable table;
  std::map<Tick, std::uint32_t> expected;
  std::uint64_t random = 1;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    random = random * 6364136223846793005 + 1442695040888963407;
    // Neighbours, and multiples of a power of two.
    const Tick step = random >> 63 == 0 ? 1 : Tick{1} << 50;
    const Tick key = (random >> 33) % (i < 10'000 ? 50 : 2'000) * step;
    const auto* entry = table.find(key);
    ASSERT_EQ(entry != nullptr, expected.contains(key));
    if (entry == nullptr) {
      table.insert(key, i);
      expected[key] = i;
    } else {
      ASSERT_EQ(entry->value, expected[key]);
      table.erase(key);
      expected.erase(key);
    }
    ASSERT_EQ(table.size(), expected.size());
  }
  ASSERT_GT(expected.size(), 100U);
  std::map<Tick, std::uint32_t> entries;
  for (const auto& [key, value] : table.entries()) entries[key] = value;
  EXPECT_EQ(entries, expected);
}

TEST(GranularityTest, RoundsBothWaysAndKeepsTheEndOfTime) {
  const Granularity ten(10);
  EXPECT_EQ(ten.floor(19), 1U);
  EXPECT_EQ(ten.ceil(20), 2U);
  EXPECT_EQ(ten.ceil(21), 3U);
  EXPECT_EQ(ten.instant(3), 30U);
  EXPECT_EQ(ten.instant(ten.ceil(kNever - 1)), kNever - 1);
  EXPECT_EQ(ten.instant(ten.ceil(kNever - 1) + 1), kNever);
  const Granularity two(2);
  EXPECT_EQ(two.instant(two.ceil(kNever - 1)), kNever - 1);
  EXPECT_EQ(two.instant(two.ceil(kNever - 1) + 1), kNever);
  const Granularity one(1);
  EXPECT_EQ(one.floor(kNever - 1), kNever - 1);
  EXPECT_EQ(one.ceil(kNever - 1), kNever - 1);
  EXPECT_EQ(one.instant(kNever - 1), kNever - 1);
}

TEST(SettingNameTest, JoinsFamilyAndNumber) {
  EXPECT_EQ((kSettingName<"ring", 512>), "ring_512");
  EXPECT_EQ((kSettingName<"a_b", 0>), "a_b_0");
  EXPECT_EQ((kSettingName<"x", 65536>), "x_65536");
}

class IndexListsTest : public testing::Test {
 protected:
  using List = IndexLists::List;

  std::vector<TimerId> drained(List list) {
    std::vector<TimerId> ids;
    lists_.drain(list, [&](TimerId id, Tick deadline) {
      EXPECT_EQ(deadline, 10 * id);
      EXPECT_FALSE(lists_.linked(id));
      ids.push_back(id);
    });
    return ids;
  }

  void append(List list, TimerId id) {
    lists_.set_deadline(id, Tick{10} * id);
    lists_.append(list, id);
  }

  IndexLists lists_{8, 3};
  List a_ = lists_.add_list();
  List b_ = lists_.add_list();
};

TEST_F(IndexListsTest, KeepsTheOrderOfAppending) {
  for (const TimerId id : {3U, 1U, 2U}) append(a_, id);
  EXPECT_TRUE(lists_.linked(1));
  EXPECT_FALSE(lists_.linked(0));
  EXPECT_EQ(drained(a_), (std::vector<TimerId>{3, 1, 2}));
  EXPECT_TRUE(lists_.empty(a_));
}

TEST_F(IndexListsTest, UnlinkSaysWhichListItEmptied) {
  append(a_, 1);
  append(a_, 2);
  append(b_, 3);
  EXPECT_EQ(lists_.unlink(1), IndexLists::kNoList);
  EXPECT_EQ(lists_.unlink(3), b_);
  EXPECT_EQ(lists_.unlink(2), a_);
  EXPECT_TRUE(lists_.empty(a_));
}

TEST_F(IndexListsTest, DrainingMayAppendToOtherLists) {
  for (const TimerId id : {4U, 5U, 6U}) append(a_, id);
  lists_.drain(a_, [&](TimerId id, Tick) { append(b_, id); });
  EXPECT_TRUE(lists_.empty(a_));
  EXPECT_EQ(drained(b_), (std::vector<TimerId>{4, 5, 6}));
}

TEST_F(IndexListsTest, DrainDueLeavesTheRestInPlace) {
  for (const TimerId id : {1U, 7U, 2U, 6U}) append(a_, id);
  std::vector<TimerId> due;
  lists_.drain_due(a_, 20, [&](TimerId id, Tick) { due.push_back(id); });
  EXPECT_EQ(due, (std::vector<TimerId>{1, 2}));
  EXPECT_EQ(drained(a_), (std::vector<TimerId>{7, 6}));
}

}  // namespace
}  // namespace timerbench
