// The parts that backends share.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <new>
#include <random>
#include <set>
#include <vector>

#include "core/bitmap.h"
#include "core/bucket_levels.h"
#include "core/granularity.h"
#include "core/index_lists.h"
#include "core/joined_name.h"
#include "core/radix_tree.h"
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

// Random hands, and granules from near to the end of time.
template <std::size_t kSlots>
void expect_each_granule_in_the_lowest_level_that_reaches_it() {
  using Levels = BucketLevels<kSlots>;
  std::mt19937_64 random(kSlots);
  for (int i = 0; i < 100'000; ++i) {
    const Tick hand = random() >> (random() % 64);
    const Tick granule = hand + std::min((random() >> (random() % 64)), ~Tick{0} - hand);
    const auto bucket = Levels(hand).bucket_of(granule);
    EXPECT_LE(bucket.begin(), granule);
    EXPECT_GE(bucket.last(), granule);
    const auto ahead = [&](unsigned level) {
      return granule / Levels::width(level) - hand / Levels::width(level);
    };
    EXPECT_LT(ahead(bucket.level), 2 * kSlots);
    if (bucket.level > 0) {
      EXPECT_GE(ahead(bucket.level - 1), 2 * kSlots);
      EXPECT_GT(ahead(bucket.level), 1U) << "what follows the hand is not appended to";
    }
    EXPECT_EQ(Levels(hand).in_slot(bucket.level, bucket.slot()).position, bucket.position);
  }
}

TEST(BucketLevelsTest, PutsEachGranuleIntoTheLowestLevelThatReachesIt) {
  expect_each_granule_in_the_lowest_level_that_reaches_it<4>();
  expect_each_granule_in_the_lowest_level_that_reaches_it<64>();
  expect_each_granule_in_the_lowest_level_that_reaches_it<4096>();
}

// Queues buckets at random and opens the first, again and again.
template <std::size_t kSlots>
void expect_the_first_queued_bucket_next() {
  using Levels = BucketLevels<kSlots>;
  std::mt19937_64 random(kSlots);
  Levels levels(1'000);
  std::map<Tick, std::set<unsigned>> queued;  // the levels of those that begin there
  for (int i = 0; i < 20'000; ++i) {
    for (auto more = random() % 4; more > 0; --more) {
      const auto bucket = levels.bucket_of(levels.hand() + 1 + (random() >> (32 + random() % 32)));
      levels.enqueue(bucket);
      queued[bucket.begin()].insert(bucket.level);
    }
    ASSERT_EQ(levels.next(), queued.empty() ? kNever : queued.begin()->first);
    if (queued.empty()) continue;
    levels.move_hand(levels.next());
    for (const unsigned level : queued.begin()->second) {
      ASSERT_TRUE(level == 0 || level <= levels.begun());
      ASSERT_TRUE(levels.is_queued(levels.at_hand(level)));
      levels.dequeue(levels.at_hand(level));
    }
    queued.erase(queued.begin());
    levels.find_next();
  }
  EXPECT_EQ(levels.count(), 1 + 31 / std::countr_zero(kSlots));
}

TEST(BucketLevelsTest, FindsTheFirstQueuedBucket) {
  expect_the_first_queued_bucket_next<4>();
  expect_the_first_queued_bucket_next<64>();
  expect_the_first_queued_bucket_next<256>();
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

TEST_F(IndexListsTest, RefusesMoreLinksThanIndices) {
  EXPECT_THROW(IndexLists(0xFFFF'FFFE, 1), std::bad_array_new_length);
  EXPECT_THROW(IndexLists(1, 0xFFFF'FFFE), std::bad_array_new_length);
}

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

TEST_F(IndexListsTest, InsertsBehindWhatIsNotDueLater) {
  for (const TimerId id : {4U, 2U, 7U, 5U}) {
    lists_.set_deadline(id, Tick{10} * id);
    EXPECT_TRUE(lists_.insert_sorted(a_, id));
  }
  lists_.set_deadline(3, 30);
  EXPECT_FALSE(lists_.insert_sorted(a_, 3, 2));
  EXPECT_FALSE(lists_.linked(3));
  EXPECT_TRUE(lists_.insert_sorted(a_, 3, 3));
  EXPECT_EQ(drained(a_), (std::vector<TimerId>{2, 3, 4, 5, 7}));
}

TEST_F(IndexListsTest, SortsWithoutChangingTheOrderOfEquals) {
  lists_.sort(a_);
  EXPECT_TRUE(lists_.empty(a_));
  std::vector<TimerId> ids;
  for (const TimerId id : {4U, 7U, 0U, 5U, 2U, 6U, 1U}) {
    lists_.set_deadline(id, id / 2);
    lists_.append(a_, id);
  }
  lists_.sort(a_);
  EXPECT_FALSE(lists_.more_than(a_, 7));
  EXPECT_TRUE(lists_.more_than(a_, 6));
  lists_.unlink(5);  // by its links in both directions
  lists_.drain(a_, [&](TimerId id, Tick) { ids.push_back(id); });
  EXPECT_EQ(ids, (std::vector<TimerId>{0, 1, 2, 4, 7, 6}));
}

TEST_F(IndexListsTest, SplicesBehindTheOtherList) {
  lists_.splice(a_, b_);
  EXPECT_TRUE(lists_.empty(b_));
  for (const TimerId id : {3U, 1U}) append(a_, id);
  append(b_, 2);
  lists_.splice(a_, b_);
  EXPECT_TRUE(lists_.empty(a_));
  EXPECT_EQ(drained(b_), (std::vector<TimerId>{2, 3, 1}));
}

TEST(RadixTree, FindsTheGreatestKeyThatIsNotGreater) {
  constexpr std::uint32_t kValues = 200;
  RadixTree tree(kValues);
  std::map<Tick, std::uint32_t> model;
  Tick random = 42;
  const auto next_key = [&] {  // of any length
    random = random * 6364136223846793005 + 1442695040888963407;
    return random >> (random >> 32) % 64;
  };
  const auto expect_found = [&](Tick key) {
    ASSERT_EQ(tree.find(key), std::prev(model.upper_bound(key))->second) << key;
  };
  for (int round = 0; round < 3; ++round) {
    model = {{0, 0}};
    tree.insert(0, 0);
    for (std::uint32_t value = 1; value < kValues; ++value) {
      Tick key = value == 1 ? ~Tick{0} : next_key();
      while (model.contains(key)) ++key;
      model[key] = value;
      tree.insert(key, value);
      EXPECT_EQ(tree.key(value), key);
      EXPECT_LT(tree.nodes(), model.size());
    }
    while (model.size() > 1) {
      for (const auto& [key, value] : model) {
        expect_found(key);
        expect_found(key == 0 ? 0 : key - 1);
      }
      expect_found(next_key());
      const Tick erased = std::prev(model.upper_bound(next_key()))->first;
      const Tick key = erased == 0 ? std::next(model.begin())->first : erased;
      model.erase(key);
      tree.erase(key);
    }
    tree.erase(0);
    EXPECT_EQ(tree.nodes(), 0U);
  }
}

}  // namespace
}  // namespace timerbench
