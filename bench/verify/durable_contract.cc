#include "verify/durable_contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <utility>
#include <vector>

#include "verify/service_requirements.h"

namespace timerbench {
namespace {

constexpr Tick kMs = DurableScene::kMs;
constexpr Tick kStart = DurableScene::kStart;
constexpr Tick kLease = DurableScene::kLease;
constexpr std::size_t kMany = 10'000;

using Timers = std::vector<DurableTimer>;

void arm(DurableQueue& queue, std::initializer_list<DurableTimer> timers) {
  queue.schedule(Timers(timers));
}

std::string to_text(const Timers& timers) {
  if (timers.empty()) return "nothing";
  const DurableTimer& first = timers[0];
  return fmt::format("{} timers, the first {} for {} with {} bytes", timers.size(), first.id,
                     first.deadline, first.payload.size());
}

// Claims all that is due, which must be these, in the order of their ids. Returns the claims.
std::vector<ClaimedTimer> require_due(DurableQueue& queue, const Timers& wanted, int rule,
                                      Tick lease = kLease) {
  std::vector<ClaimedTimer> claims = queue.claim(kMany, lease).timers;
  std::ranges::sort(claims, {}, [](const ClaimedTimer& claim) { return claim.timer.id; });
  Timers timers;
  for (const ClaimedTimer& claim : claims) timers.push_back(claim.timer);
  require(timers == wanted, rule, "claim() hands out {} instead of {}", to_text(timers),
          to_text(wanted));
  return claims;
}

void require_completed(DurableQueue& queue, const std::vector<ClaimedTimer>& claims,
                       const std::vector<bool>& wanted) {
  const std::vector<bool> held = queue.complete(claims);
  require(held == wanted, 3, "complete() says that it held {} timers of {} instead of {} of {}",
          std::ranges::count(held, true), held.size(), std::ranges::count(wanted, true),
          wanted.size());
}

void require_size(DurableQueue& queue, std::size_t wanted) {
  const std::size_t size = queue.size();
  require(size == wanted, 1, "size() is {} instead of {}", size, wanted);
}

void hands_out_what_is_due_and_nothing_before(DurableScene& scene) {
  const auto queue = scene.open();
  const DurableTimer first{1, kStart + 5 * kMs, "a"}, second{2, kStart + 7 * kMs, "b"};
  arm(*queue, {first, second});
  require_size(*queue, 2);
  scene.now += 5 * kMs - 1;
  require_due(*queue, {}, 2);
  scene.now += 1;
  require_due(*queue, {first}, 2);
  scene.now += 10 * kMs;
  require_due(*queue, {second}, 2);
  require_due(*queue, {}, 2);
  require_size(*queue, 2);  // held, and not completed
}

void takes_any_id_deadline_and_payload(DurableScene& scene) {
  const auto queue = scene.open();
  std::string all_bytes;
  for (int byte = 0; byte < 256; ++byte) all_bytes.push_back(static_cast<char>(byte));
  const DurableTimer first{0, 0, ""}, second{~DurableId{0}, kStart, all_bytes},
      far{7, kLastDeadline, std::string(kLongestPayload, '\xff')};
  arm(*queue, {first, second, far});
  const auto claims = require_due(*queue, {first, second}, 1);
  require_completed(*queue, claims, {true, true});
  scene.now = kLastDeadline;
  require_due(*queue, {far}, 1);
}

void moves_a_timer_that_is_armed_again(DurableScene& scene) {
  const auto queue = scene.open();
  const DurableTimer earlier{2, kStart + kMs, "new"}, later{1, kStart + 9 * kMs, "newer"};
  arm(*queue, {{1, kStart + kMs, "old"}, {2, kStart + 9 * kMs, "old"}});
  arm(*queue, {earlier, later});
  require_size(*queue, 2);
  scene.now += kMs;
  require_due(*queue, {earlier}, 1);
  scene.now += 8 * kMs;
  require_due(*queue, {later}, 1);
}

void arms_many_at_once(DurableScene& scene) {
  const auto queue = scene.open();
  Timers timers;
  for (DurableId id = 0; id < 3000; ++id) timers.push_back({id, kStart + id % 7 * kMs, "x"});
  queue->schedule(timers);
  queue->schedule({});
  require_size(*queue, timers.size());
  scene.now += 7 * kMs;
  const auto claims = require_due(*queue, timers, 1);
  require_completed(*queue, claims, std::vector<bool>(timers.size(), true));
  require_size(*queue, 0);
}

void hands_out_at_most_as_many_as_asked_for(DurableScene& scene) {
  const auto queue = scene.open();
  arm(*queue, {{1, kStart}, {2, kStart}, {3, kStart}});
  const std::size_t first = queue->claim(2, kLease).timers.size();
  const std::size_t second = queue->claim(2, kLease).timers.size();
  require(first == 2 && second == 1, 2, "of 3 timers, claim(2) hands out {} and then {}", first,
          second);
}

void leaves_a_timer_with_its_holder_until_the_lease_ends(DurableScene& scene) {
  const auto first = scene.open(), second = scene.open();
  const DurableTimer timer{1, kStart, "x"};
  arm(*first, {timer});
  const auto held = require_due(*first, {timer}, 2);
  scene.now += kLease - 1;
  require_due(*second, {}, 2);
  scene.now += 1;
  const auto again = require_due(*second, {timer}, 2);
  require_completed(*first, held, {false});
  require_size(*second, 1);
  require_completed(*second, again, {true});
  require_size(*second, 0);
}

void accepts_completion_after_the_lease_if_nobody_took_it(DurableScene& scene) {
  const auto queue = scene.open();
  const DurableTimer timer{1, kStart};
  arm(*queue, {timer});
  const auto held = require_due(*queue, {timer}, 2);
  scene.now += 2 * kLease;
  require_completed(*queue, held, {true});
  require_due(*queue, {}, 3);
}

void tells_when_something_is_due_next(DurableScene& scene) {
  const auto queue = scene.open();
  const auto require_wakeup = [&](Tick earliest, Tick latest) {
    const Tick wakeup = queue->claim(kMany, kLease).next_wakeup;
    require(wakeup >= earliest && wakeup <= latest, 2,
            "next_wakeup is {} instead of {} at the earliest and {} at the latest", wakeup,
            earliest, latest);
  };
  require_wakeup(kNever, kNever);
  const DurableTimer soon{2, kStart + 20 * kMs};
  arm(*queue, {{1, kStart + 50 * kMs}, soon});
  require_wakeup(kStart + 1, kStart + 20 * kMs);
  scene.now += 20 * kMs;
  require_due(*queue, {soon}, 2, 5 * kMs);
  require_wakeup(kStart + 20 * kMs + 1, kStart + 25 * kMs);  // the end of the lease
}

void gives_back_at_once(DurableScene& scene) {
  const auto first = scene.open(), second = scene.open();
  const DurableTimer timer{1, kStart, "x"};
  arm(*first, {timer});
  const auto held = require_due(*first, {timer}, 2);
  first->give_back(held);
  const auto again = require_due(*second, {timer}, 2);
  first->give_back(held);  // not its own any more
  require_due(*first, {}, 2);
  require_completed(*first, held, {false});
  require_completed(*second, again, {true});
}

void completes_once(DurableScene& scene) {
  const auto queue = scene.open();
  const DurableTimer first{1, kStart}, second{2, kStart};
  arm(*queue, {first, second});
  const auto held = require_due(*queue, {first, second}, 2);
  require_completed(*queue, held, {true, true});
  require_size(*queue, 0);
  require_completed(*queue, held, {false, false});
  require_completed(*queue, {}, {});
  scene.now += 2 * kLease;
  require_due(*queue, {}, 3);
}

void tells_a_holder_that_its_timer_was_moved(DurableScene& scene) {
  const auto queue = scene.open();
  const DurableTimer before{1, kStart, "old"}, after{1, kStart + kMs, "new"};
  arm(*queue, {before});
  const auto held = require_due(*queue, {before}, 2);
  arm(*queue, {after});
  require_completed(*queue, held, {false});
  queue->give_back(held);
  require_due(*queue, {}, 1);
  scene.now += kMs;
  require_due(*queue, {after}, 1);
}

void require_cancelled(DurableQueue& queue, DurableId id, bool wanted) {
  const bool was_there = queue.cancel(id);
  require(was_there == wanted, 4, "cancel({}) says that the timer was {}there", id,
          was_there ? "" : "not ");
}

void cancels_what_is_there(DurableScene& scene) {
  const auto queue = scene.open(), other = scene.open();
  const DurableTimer second{2, kStart + kMs};
  arm(*queue, {{1, kStart + kMs}, second});
  require_cancelled(*other, 1, true);
  require_cancelled(*queue, 1, false);
  require_cancelled(*queue, 3, false);
  require_size(*queue, 1);
  scene.now += kMs;
  const auto held = require_due(*queue, {second}, 4);
  require_completed(*queue, held, {true});
  require_cancelled(*queue, 2, false);
}

void cancels_what_somebody_holds(DurableScene& scene) {
  if (!scene.traits.takes_from_holders) return;
  const auto queue = scene.open();
  arm(*queue, {{1, kStart}, {2, kStart}});
  const auto held = queue->claim(1, kLease).timers;
  require_cancelled(*queue, 1, true);  // one of them is held, and one waits for its turn
  require_cancelled(*queue, 2, true);
  require_completed(*queue, held, {false});
  queue->give_back(held);
  scene.now += 2 * kLease;
  require_due(*queue, {}, 4);
  require_size(*queue, 0);
}

void keeps_queues_of_other_names_apart(DurableScene& scene) {
  const auto one = scene.open("_one"), two = scene.open("_two");
  const DurableTimer timer{1, kStart, "one"};
  arm(*one, {timer});
  require_size(*two, 0);
  require_cancelled(*two, 1, false);
  require_due(*two, {}, 5);
  require_due(*one, {timer}, 5);
}

void refuses_a_queue_that_cannot_be_named(DurableScene& scene) {
  for (const std::string& name :
       {std::string(), std::string("a b"), std::string("a;drop"), std::string("A"),
        std::string("1a"), std::string("_a"), std::string("\xc3\xa4"), std::string("a/../b"),
        std::string(41, 'a')}) {
    bool is_refused = false;
    try {
      scene.try_to_open(name);
    } catch (const std::invalid_argument&) {
      is_refused = true;
    }
    require(is_refused, 5, "a queue \"{}\" is opened", name);
  }
  scene.try_to_open("select");  // a word of SQL
}

void outlives_its_clients(DurableScene& scene) {
  const DurableTimer kept{1, kStart + kMs, "x"}, done{3, kStart, "x"};
  {
    const auto queue = scene.open();
    arm(*queue, {kept, {2, kStart + kMs, "x"}, done});
    require_cancelled(*queue, 2, true);
    require_completed(*queue, require_due(*queue, {done}, 2), {true});
  }
  const auto queue = scene.open();
  require_size(*queue, 1);
  scene.now += kMs;
  require_due(*queue, {kept}, 5);
}

}  // namespace

std::span<const DurableScenario> durable_contract() {
  static constexpr DurableScenario kScenarios[] = {
      {"rule_1_any_timer", takes_any_id_deadline_and_payload},
      {"rule_1_moving", moves_a_timer_that_is_armed_again},
      {"rule_1_many", arms_many_at_once},
      {"rule_2_when_due", hands_out_what_is_due_and_nothing_before},
      {"rule_2_at_most", hands_out_at_most_as_many_as_asked_for},
      {"rule_2_leases", leaves_a_timer_with_its_holder_until_the_lease_ends},
      {"rule_2_next_wakeup", tells_when_something_is_due_next},
      {"rule_2_giving_back", gives_back_at_once},
      {"rule_3_once", completes_once},
      {"rule_3_after_the_lease", accepts_completion_after_the_lease_if_nobody_took_it},
      {"rule_3_moved", tells_a_holder_that_its_timer_was_moved},
      {"rule_4_cancelling", cancels_what_is_there},
      {"rule_4_held", cancels_what_somebody_holds},
      {"rule_5_names", keeps_queues_of_other_names_apart},
      {"rule_5_bad_names", refuses_a_queue_that_cannot_be_named},
      {"rule_5_clients", outlives_its_clients},
  };
  return kScenarios;
}

}  // namespace timerbench
