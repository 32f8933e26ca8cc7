// The accounts of a run: what is fine, and every way not to be.
#include "realtime/ledger.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace timerbench {
namespace {

struct Books {
  std::vector<Arming> armings{};
  std::vector<Fire> fires{};
  std::vector<PendingTimer> pending{};

  Books& arm(TimerId id, Tick deadline, Ending ending = Ending::fire_or_pending) {
    armings.push_back({.deadline = deadline, .made = armings.size(), .id = id, .ending = ending});
    return *this;
  }
  Books& fire(TimerId id, Tick deadline) {
    fires.push_back({.deadline = deadline, .at = deadline + fires.size(), .id = id, .alarm = 0});
    return *this;
  }
  Books& hand_back(TimerId id, Tick deadline) {
    pending.push_back({id, deadline});
    return *this;
  }

  Accounts settle() {
    return settle_accounts(armings, fires, pending, [](const Arming&, const Fire*) {});
  }
  std::string violation() { return settle().violation; }
};

constexpr auto kExtra = "fired twice, unarmed, or though cancelled or handed back";
constexpr auto kStray = "handed back though not pending";
constexpr auto kLost = "lost: neither fired nor handed back";

std::string once(TimerId id, const std::string& what) {
  return "1 " + what + " (timer " + std::to_string(id) + ")";
}

TEST(LedgerTest, EveryArmingEndsOnce) {
  const Accounts accounts = Books()
                                .arm(7, 500)
                                .arm(1, 100)
                                .arm(2, 100, Ending::cancel)
                                .arm(3, 100, Ending::fire_or_move)
                                .arm(3, 200)
                                .arm(4, 100, Ending::fire_or_move)  // but it fired first
                                .arm(4, 200)
                                .arm(5, 100, Ending::fire)
                                .arm(1, 300)
                                .fire(4, 100)
                                .fire(1, 100)
                                .fire(5, 100)
                                .fire(3, 200)
                                .fire(4, 200)
                                .fire(1, 300)
                                .hand_back(7, 500)
                                .settle();
  EXPECT_EQ(accounts.violation, "");
  EXPECT_EQ(accounts.armed, 9U);
  EXPECT_EQ(accounts.fired, 6U);
  EXPECT_EQ(accounts.moved, 1U);
  EXPECT_EQ(accounts.cancelled, 1U);
  EXPECT_EQ(accounts.pending, 1U);
  EXPECT_EQ(Books().violation(), "");
}

TEST(LedgerTest, OneTimerArmedSeveralTimesForOneInstant) {
  const auto moved_twice = [] {
    return Books().arm(1, 100, Ending::fire_or_move).arm(1, 100, Ending::fire_or_move).arm(1, 100);
  };
  EXPECT_EQ(moved_twice().fire(1, 100).violation(), "");
  EXPECT_EQ(moved_twice().fire(1, 100).fire(1, 100).fire(1, 100).violation(), "");
  EXPECT_EQ(moved_twice().hand_back(1, 100).violation(), "");
  EXPECT_EQ(moved_twice().fire(1, 100).hand_back(1, 100).violation(), "");
  EXPECT_EQ(moved_twice().violation(), once(1, kLost));
  EXPECT_EQ(moved_twice().fire(1, 100).hand_back(1, 100).hand_back(1, 100).violation(),
            once(1, kStray));
  EXPECT_EQ(moved_twice().fire(1, 100).fire(1, 100).fire(1, 100).fire(1, 100).violation(),
            once(1, kExtra));
}

TEST(LedgerTest, FindsWhatFiresThatMustNot) {
  EXPECT_EQ(Books().arm(1, 100).fire(1, 100).fire(1, 100).violation(), once(1, kExtra));
  EXPECT_EQ(Books().arm(1, 100).fire(1, 100).fire(2, 100).violation(), once(2, kExtra));
  EXPECT_EQ(Books().arm(5, 100).fire(5, 100).fire(2, 100).violation(), once(2, kExtra));
  EXPECT_EQ(Books().arm(1, 100, Ending::cancel).fire(1, 100).violation(), once(1, kExtra));
  EXPECT_EQ(Books().arm(1, 100).fire(1, 100).hand_back(1, 100).violation(), once(1, kExtra));
}

TEST(LedgerTest, FindsWhatIsHandedBackThatIsNotPending) {
  EXPECT_EQ(Books().arm(1, 100, Ending::cancel).hand_back(1, 100).violation(), once(1, kStray));
  EXPECT_EQ(Books().arm(1, 100).hand_back(1, 100).hand_back(1, 100).violation(), once(1, kStray));
  EXPECT_EQ(Books().hand_back(3, 100).violation(), once(3, kStray));
}

TEST(LedgerTest, FindsWhatIsLost) {
  EXPECT_EQ(Books().arm(1, 100).violation(), once(1, kLost));
  EXPECT_EQ(Books().arm(1, 100, Ending::fire).violation(), once(1, kLost));
  EXPECT_EQ(Books().arm(1, 100, Ending::fire_or_move).arm(1, 200).fire(1, 100).violation(),
            once(1, kLost));
  // cancel() said that it had fired, and it was pending.
  EXPECT_EQ(Books().arm(1, 100, Ending::fire).hand_back(1, 100).violation(),
            once(1, kStray) + ", " + once(1, kLost));
}

TEST(LedgerTest, AnotherDeadlineIsAnotherTimer) {
  EXPECT_EQ(Books().arm(1, 100).fire(1, 101).violation(), once(1, kExtra) + ", " + once(1, kLost));
}

TEST(LedgerTest, SaysHowManyAndWhichFirst) {
  EXPECT_EQ(Books().arm(9, 100).arm(4, 100).arm(6, 100).fire(6, 100).violation(),
            std::string("2 ") + kLost + " (timer 4 first)");
}

TEST(LedgerTest, EveryArmingIsVisitedWithItsFire) {
  Books books;
  books.arm(2, 100).arm(1, 100).arm(1, 200, Ending::cancel).fire(2, 100);
  int fired = 0;
  int visited = 0;
  settle_accounts(books.armings, books.fires, books.pending,
                  [&](const Arming& arming, const Fire* fire) {
                    ++visited;
                    if (!fire) return;
                    ++fired;
                    EXPECT_EQ(fire->id, arming.id);
                    EXPECT_EQ(fire->deadline, arming.deadline);
                  });
  EXPECT_EQ(visited, 3);
  EXPECT_EQ(fired, 1);
}

}  // namespace
}  // namespace timerbench
