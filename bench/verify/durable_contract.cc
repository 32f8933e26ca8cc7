#include "verify/durable_contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <initializer_list>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "system/stopped_trees.h"
#include "verify/service_requirements.h"

namespace timerbench {
namespace {

constexpr std::size_t kMany = 10'000;
constexpr Tick kHour = Tick{3600} * 1'000'000'000;

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
std::vector<ClaimedTimer> require_due(const DurableScene& scene, DurableQueue& queue,
                                      const Timers& wanted, int rule) {
  std::vector<ClaimedTimer> claims = queue.claim(kMany, scene.lease).timers;
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
  const Tick soon = scene.start + 2 * scene.unit, later = scene.start + 4 * scene.unit;
  const DurableTimer first{1, soon, "a"}, second{2, later, "b"};
  arm(*queue, {first, second});
  require_size(*queue, 2);
  scene.go_before(soon);
  require_due(scene, *queue, {}, 2);
  scene.go_to(soon);
  require_due(scene, *queue, {first}, 2);
  scene.go_to(later);
  require_due(scene, *queue, {second}, 2);
  require_due(scene, *queue, {}, 2);
  require_size(*queue, 2);  // held, and not completed
}

void goes_by_its_clock_when_that_is_set_back(DurableScene& scene) {
  const auto queue = scene.open();
  const Tick soon = scene.start + scene.unit, later = scene.start + 3 * scene.unit;
  const DurableTimer first{1, soon, "a"}, second{2, later, "b"};
  arm(*queue, {second});
  scene.go_to(scene.start + 2 * scene.unit);
  require_due(scene, *queue, {}, 2);
  scene.go_to(scene.start);
  arm(*queue, {first});
  require_due(scene, *queue, {}, 2);
  scene.go_to(soon);
  require_due(scene, *queue, {first}, 2);
  scene.go_to(later);
  require_due(scene, *queue, {second}, 2);
}

void takes_any_id_deadline_and_payload(DurableScene& scene) {
  const auto queue = scene.open();
  std::string all_bytes;
  for (int byte = 0; byte < 256; ++byte) all_bytes.push_back(static_cast<char>(byte));
  const DurableTimer first{0, 0, ""}, second{7, scene.start, std::string(kLongestPayload, '\xff')},
      third{~DurableId{0}, scene.start, all_bytes}, far{8, kLastDeadline, "far"};
  arm(*queue, {first, second, third, far});
  const auto claims = require_due(scene, *queue, {first, second, third}, 1);
  require_completed(*queue, claims, {true, true, true});
  require_size(*queue, 1);
}

void hands_out_what_is_due_last_of_all(DurableScene& scene) {
  const auto queue = scene.open();
  const DurableTimer last{1, kLastDeadline, std::string(kLongestPayload, '\xff')};
  arm(*queue, {last});
  scene.go_before(kLastDeadline);
  require_due(scene, *queue, {}, 2);
  scene.go_to(kLastDeadline);
  require_due(scene, *queue, {last}, 1);
}

void moves_a_timer_that_is_armed_again(DurableScene& scene) {
  const auto queue = scene.open();
  const Tick early = scene.start + scene.unit, late = scene.start + 3 * scene.unit;
  const DurableTimer earlier{2, early, "new"}, later{1, late, "newer"};
  arm(*queue, {{1, early, "old"}, {2, late, "old"}});
  arm(*queue, {earlier, later});
  require_size(*queue, 2);
  scene.go_to(early);
  require_due(scene, *queue, {earlier}, 1);
  scene.go_to(late);
  require_due(scene, *queue, {later}, 1);
}

void arms_many_at_once(DurableScene& scene) {
  const auto queue = scene.open();
  Timers timers;
  for (DurableId id = 0; id < 3000; ++id) {
    timers.push_back({id, scene.start + id % 3 * scene.unit, "x"});
  }
  queue->schedule(timers);
  queue->schedule({});
  require_size(*queue, timers.size());
  scene.go_to(scene.start + 2 * scene.unit);
  const auto claims = require_due(scene, *queue, timers, 1);
  require_completed(*queue, claims, std::vector<bool>(timers.size(), true));
  require_size(*queue, 0);
}

void hands_out_at_most_as_many_as_asked_for(DurableScene& scene) {
  const auto queue = scene.open();
  arm(*queue, {{1, scene.start}, {2, scene.start}, {3, scene.start}});
  const std::size_t first = queue->claim(2, scene.lease).timers.size();
  const std::size_t second = queue->claim(2, scene.lease).timers.size();
  require(first == 2 && second == 1, 2, "of 3 timers, claim(2) hands out {} and then {}", first,
          second);
}

void leaves_a_timer_with_its_holder_until_the_lease_ends(DurableScene& scene) {
  scene.lease = 2 * scene.unit;
  const auto first = scene.open(), second = scene.open();
  const DurableTimer timer{1, scene.start, "x"};
  arm(*first, {timer});
  const auto held = require_due(scene, *first, {timer}, 2);
  scene.go_before(scene.start + scene.lease);
  require_due(scene, *second, {}, 2);
  scene.go_to(scene.start + scene.lease);
  if (scene.traits.silence_keeps_leases) require_size(*first, 1);
  const auto again = require_due(scene, *second, {timer}, 2);
  require_completed(*first, held, {false});
  require_size(*second, 1);
  require_completed(*second, again, {true});
  require_size(*second, 0);
}

void accepts_completion_after_the_lease_if_nobody_took_it(DurableScene& scene) {
  scene.lease = 2 * scene.unit;
  const auto queue = scene.open();
  const DurableTimer timer{1, scene.start};
  arm(*queue, {timer});
  const auto held = require_due(scene, *queue, {timer}, 2);
  scene.go_to(scene.start + scene.lease);
  require_completed(*queue, held, {true});
  require_due(scene, *queue, {}, 3);
}

void tells_when_something_is_due_next(DurableScene& scene) {
  scene.lease = 5 * scene.unit;
  const auto queue = scene.open();
  const auto require_wakeup = [&](Tick earliest, Tick latest) {
    const Tick wakeup = queue->claim(kMany, scene.lease).next_wakeup;
    require(wakeup >= earliest && wakeup <= latest, 2,
            "next_wakeup is {} instead of {} at the earliest and {} at the latest", wakeup,
            earliest, latest);
  };
  require_wakeup(kNever, kNever);
  const DurableTimer soon{2, scene.start + 2 * scene.unit};
  arm(*queue, {{1, scene.start + 50 * scene.unit}, soon});
  require_wakeup(scene.start + 1, scene.latest(soon.deadline));
  scene.go_to(soon.deadline);
  require_due(scene, *queue, {soon}, 2);
  require_wakeup(scene.now() + 1, scene.now() + scene.lease);
}

void gives_back_at_once(DurableScene& scene) {
  const auto first = scene.open(), second = scene.open();
  const DurableTimer timer{1, scene.start, "x"};
  arm(*first, {timer});
  const auto held = require_due(scene, *first, {timer}, 2);
  first->give_back(held);
  const auto again = require_due(scene, *second, {timer}, 2);
  first->give_back(held);  // not its own any more
  require_due(scene, *first, {}, 2);
  require_completed(*first, held, {false});
  require_completed(*second, again, {true});
}

void completes_once(DurableScene& scene) {
  scene.lease = 2 * scene.unit;
  const auto queue = scene.open();
  const DurableTimer first{1, scene.start}, second{2, scene.start};
  arm(*queue, {first, second});
  const auto held = require_due(scene, *queue, {first, second}, 2);
  require_completed(*queue, held, {true, true});
  require_size(*queue, 0);
  require_completed(*queue, held, {false, false});
  require_completed(*queue, {}, {});
  scene.go_to(scene.start + scene.lease);
  require_due(scene, *queue, {}, 3);
}

void keeps_other_claims_when_one_is_completed_again(DurableScene& scene) {
  const auto queue = scene.open(), other = scene.open();
  const DurableTimer first{1, scene.start}, second{2, scene.start};
  arm(*queue, {first, second});
  const auto held = require_due(scene, *queue, {first, second}, 2);
  const std::vector<ClaimedTimer> one{held[0]}, rest{held[1]};
  require_completed(*queue, one, {true});
  require_completed(*queue, one, {false});
  queue->give_back(one);
  require_due(scene, *other, {}, 2);
  require_completed(*queue, rest, {true});
}

void tells_a_holder_that_its_timer_was_moved(DurableScene& scene) {
  const auto queue = scene.open();
  const DurableTimer before{1, scene.start, "old"}, after{1, scene.start + scene.unit, "new"};
  arm(*queue, {before});
  const auto held = require_due(scene, *queue, {before}, 2);
  arm(*queue, {after});
  require_completed(*queue, held, {false});
  queue->give_back(held);
  require_due(scene, *queue, {}, 1);
  scene.go_to(scene.start + scene.unit);
  require_due(scene, *queue, {after}, 1);
}

void require_cancelled(DurableQueue& queue, DurableId id, bool wanted) {
  const bool was_there = queue.cancel(id);
  require(was_there == wanted, 4, "cancel({}) says that the timer was {}there", id,
          was_there ? "" : "not ");
}

void cancels_what_is_there(DurableScene& scene) {
  const auto queue = scene.open(), second_client = scene.open();
  DurableQueue& other = scene.traits.only_own_timers ? *queue : *second_client;
  const DurableTimer second{2, scene.start + scene.unit};
  arm(*queue, {{1, scene.start + scene.unit}, second});
  require_cancelled(other, 1, true);
  require_cancelled(*queue, 1, false);
  require_cancelled(*queue, 3, false);
  require_size(*queue, 1);
  scene.go_to(scene.start + scene.unit);
  const auto held = require_due(scene, *queue, {second}, 4);
  require_completed(*queue, held, {true});
  require_cancelled(*queue, 2, false);
}

void cancels_what_somebody_holds(DurableScene& scene) {
  scene.lease = 2 * scene.unit;
  const auto queue = scene.open();
  arm(*queue, {{1, scene.start}, {2, scene.start}});
  const auto held = queue->claim(1, scene.lease).timers;
  require_cancelled(*queue, 1, true);  // one of them is held, and one waits for its turn
  require_cancelled(*queue, 2, true);
  require_completed(*queue, held, {false});
  queue->give_back(held);
  scene.go_to(scene.start + scene.lease);
  require_due(scene, *queue, {}, 4);
  require_size(*queue, 0);
}

void keeps_queues_of_other_names_apart(DurableScene& scene) {
  const auto one = scene.open("_one"), two = scene.open("_two");
  const DurableTimer timer{1, scene.start, "one"};
  arm(*one, {timer});
  require_size(*two, 0);
  require_cancelled(*two, 1, false);
  require_due(scene, *two, {}, 5);
  require_due(scene, *one, {timer}, 5);
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
  auto queue = scene.open();
  const DurableTimer kept{1, scene.start + scene.unit, "x"}, done{3, scene.start, "x"};
  arm(*queue, {kept, {2, scene.start + scene.unit, "x"}, done});
  require_cancelled(*queue, 2, true);
  require_completed(*queue, require_due(scene, *queue, {done}, 2), {true});
  queue.reset();
  queue = scene.open();
  require_size(*queue, 1);
  scene.go_to(kept.deadline);
  require_due(scene, *queue, {kept}, 5);
}

void loses_its_patience_and_connects_again(DurableScene& scene) {
  using Clock = std::chrono::steady_clock;
  using std::chrono_literals::operator""ms;
  using std::chrono_literals::operator""s;
  scene.patience = 1s;
  const auto queue = scene.open();
  arm(*queue, {{1, scene.start}, {2, scene.start + kHour}});
  scene.go_to(scene.start);
  const auto held = queue->claim(1, scene.lease).timers;
  require(held.size() == 1, 2, "claim() hands out {} timers instead of one", held.size());
  // A busy machine, and what the client starts for itself.
  const auto longest = scene.patience + (queue->helpers().empty() ? 2s : 10s);
  const auto call = [&](std::string_view name, const std::function<void()>& ask) {
    const auto begin = Clock::now();
    bool has_thrown = false;
    try {
      ask();
    } catch (const BackendError&) {
      has_thrown = true;
    }
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
    require(took <= longest, 6,
            "{}() of a server that is stopped takes {} ms with a patience of {}", name,
            took.count(), scene.patience.count());
    return has_thrown;
  };
  const auto require_failure = [&](std::string_view name, const std::function<void()>& ask) {
    require(call(name, ask), 6, "{}() of a server that is stopped does not throw", name);
  };
  {
    const StoppedTrees stopped(scene.engine().processes(), std::chrono::seconds(5));
    require_failure("schedule", [&] { arm(*queue, {{3, scene.start + kHour}}); });
    require_failure("cancel", [&] { queue->cancel(2); });
    require_failure("claim", [&] { queue->claim(1, scene.lease); });
    require_failure("complete", [&] { queue->complete(held); });
    require_failure("give_back", [&] { queue->give_back(held); });
    require_failure("size", [&] { queue->size(); });
    // It may wait for nothing that the server would have to say.
    call("await_earlier", [&] { queue->await_earlier(kNever, 1ms); });
  }
  scene.engine().masters();  // returns when the nodes of a cluster agree again
  require(!call("size", [&] { queue->size(); }), 6,
          "size() throws although the server goes on again");
}

// Lets another client make something due at once, while this one waits for something later.
void require_woken(DurableScene& scene, DurableQueue& waiter, std::string_view by,
                   const std::function<void()>& make_due) {
  constexpr std::chrono::nanoseconds kLongest{kLongestAwait};
  const Claims claims = waiter.claim(kMany, scene.lease);
  require(claims.timers.empty(), 7, "claim() hands out {} timers before something is {}",
          claims.timers.size(), by);
  std::future<void> other = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    make_due();
  });
  const auto is_due = [&] {
    return other.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  bool is_woken = false;
  // It may be due before this waits, if the machine is busy.
  while (!is_woken && !is_due()) is_woken = waiter.await_earlier(claims.next_wakeup, kLongest);
  is_woken = is_woken || waiter.await_earlier(claims.next_wakeup, kLongest);
  other.get();
  require(is_woken, 7, "await_earlier() does not wake who waits when something is {}", by);
}

void wakes_who_waits_when_something_is_due_earlier(DurableScene& scene) {
  const auto waiter = scene.open(), other = scene.open();
  const DurableTimer late{1, scene.start + kHour, "late"}, moved{1, scene.start, "moved"},
      second{2, scene.start, "second"}, third{3, scene.start, "third"};
  arm(*other, {late});
  // It may wake in vain, but not all the time.
  bool is_woken = true;
  for (int attempt = 0; is_woken && attempt < 10; ++attempt) {
    const Tick next = waiter->claim(kMany, scene.lease).next_wakeup;
    is_woken = waiter->await_earlier(next, std::chrono::milliseconds(20));
  }
  require(!is_woken, 7, "await_earlier() wakes ten times in vain");

  const Tick next = waiter->claim(kMany, scene.lease).next_wakeup;
  arm(*other, {second});
  require(waiter->await_earlier(next, std::chrono::nanoseconds(kLongestAwait)), 7,
          "await_earlier() misses what was armed before it was called");
  require_completed(*waiter, require_due(scene, *waiter, {second}, 7), {true});

  require_woken(scene, *waiter, "armed", [&] { arm(*other, {third}); });
  require_completed(*waiter, require_due(scene, *waiter, {third}, 7), {true});
  require_woken(scene, *waiter, "moved", [&] { arm(*other, {moved}); });
  const auto held = require_due(scene, *other, {moved}, 7);
  require_woken(scene, *waiter, "given back", [&] { other->give_back(held); });
  require_due(scene, *waiter, {moved}, 7);
}

void finds_what_was_posted(DurableScene& scene) {
  const auto queue = scene.open(), other = scene.open();
  const auto post = [](DurableQueue& to, const DurableTimer& timer) { to.post({&timer, 1}); };
  const Tick soon = scene.start + 2 * scene.unit;
  const DurableTimer due{1, scene.start, "due"}, moved{3, soon, "moved"}, again{4, soon, "again"};
  post(*queue, due);
  require_completed(*queue, require_due(scene, *queue, {due}, 8), {true});
  post(*queue, {2, soon, "cancelled"});
  require_cancelled(*queue, 2, true);
  post(*queue, {3, scene.start, "posted"});
  arm(*queue, {moved});
  arm(*queue, {{4, scene.start, "armed"}});
  post(*queue, again);
  queue->post({});
  require_due(scene, *queue, {}, 8);
  scene.go_to(soon);
  // What this client has asked for since, others see.
  require_completed(*other, require_due(scene, *other, {moved, again}, 8), {true, true});
}

void posts_many(DurableScene& scene) {
  const auto queue = scene.open();
  Timers timers;
  for (DurableId id = 0; id < 1000; ++id) timers.push_back({id, scene.start, "x"});
  for (const DurableTimer& timer : timers) queue->post({&timer, 1});
  require_size(*queue, timers.size());
  require_due(scene, *queue, timers, 8);
}

void waits_for_what_it_has_posted_when_destroyed(DurableScene& scene) {
  const DurableTimer timer{1, scene.start, std::string(kLongestPayload, 'x')};
  scene.open()->post({&timer, 1});
  const auto queue = scene.open();
  require_due(scene, *queue, {timer}, 8);
}

void wakes_who_waits_when_something_is_posted(DurableScene& scene) {
  const auto waiter = scene.open(), other = scene.open();
  const DurableTimer late{1, scene.start + kHour, "late"}, posted{2, scene.start, "posted"};
  arm(*waiter, {late});
  require_woken(scene, *waiter, "posted", [&] { other->post({&posted, 1}); });
  require_due(scene, *waiter, {posted}, 8);
}

// How long a busy machine may sleep too long, or calls may take, without harm to a scenario.
constexpr Tick tolerance(Tick unit) { return unit / 4; }

}  // namespace

Tick DurableScene::latest(Tick instant) const {
  // An engine may take some milliseconds.
  return traits.own_clock ? instant + unit + unit / 20 : instant;
}

void DurableScene::go_to(Tick instant) { wait_until(latest(instant)); }

void DurableScene::go_before(Tick instant) {
  wait_until(instant - (traits.own_clock ? tolerance(unit) : 1));
}

void DurableScene::wait_until(Tick instant) {
  if (!traits.own_clock) {
    now_ = instant;
    return;
  }
  was_late_ = is_disturbed();
  const Tick left = instant - std::min(instant, now());
  std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<std::int64_t>(left)));
  arrived_ = instant;
}

bool DurableScene::is_disturbed() const {
  return traits.own_clock && (was_late_ || now() > arrived_ + tolerance(unit));
}

std::string_view DurableScenario::left_out(DurableEngine& engine,
                                           const DurableTraits& traits) const {
  switch (needs) {
    case ScenarioNeeds::nothing: break;
    case ScenarioNeeds::a_clock_that_is_set:
      if (traits.own_clock) return "they must set the clock";
      break;
    case ScenarioNeeds::takes_from_holders:
      if (!traits.takes_from_holders) return "they must take timers from holders";
      break;
    case ScenarioNeeds::a_private_server:
      if (!engine.is_restartable()) return "the server is the user's";
      if (engine.processes().empty()) return "it has no server";
      break;
  }
  return "";
}

void DurableScenario::run(DurableEngine& engine, const DurableTraits& traits) const {
  constexpr int kMostAttempts = 3;
  for (int attempt = 1;; ++attempt) {
    DurableScene scene(engine, traits,
                       attempt == 1 ? std::string(name) : fmt::format("{}_{}", name, attempt));
    try {
      return scenario(scene);
    } catch (const ContractViolation&) {
      if (attempt == kMostAttempts || !scene.is_disturbed()) throw;
    }
  }
}

std::span<const DurableScenario> durable_contract() {
  static constexpr DurableScenario kScenarios[] = {
      {"rule_1_any_timer", takes_any_id_deadline_and_payload},
      {"rule_1_last_deadline", hands_out_what_is_due_last_of_all,
       ScenarioNeeds::a_clock_that_is_set},
      {"rule_1_moving", moves_a_timer_that_is_armed_again},
      {"rule_1_many", arms_many_at_once},
      {"rule_2_when_due", hands_out_what_is_due_and_nothing_before},
      {"rule_2_clock_set_back", goes_by_its_clock_when_that_is_set_back,
       ScenarioNeeds::a_clock_that_is_set},
      {"rule_2_at_most", hands_out_at_most_as_many_as_asked_for},
      {"rule_2_leases", leaves_a_timer_with_its_holder_until_the_lease_ends},
      {"rule_2_next_wakeup", tells_when_something_is_due_next},
      {"rule_2_giving_back", gives_back_at_once},
      {"rule_3_once", completes_once},
      {"rule_3_again", keeps_other_claims_when_one_is_completed_again},
      {"rule_3_after_the_lease", accepts_completion_after_the_lease_if_nobody_took_it},
      {"rule_3_moved", tells_a_holder_that_its_timer_was_moved},
      {"rule_4_cancelling", cancels_what_is_there},
      {"rule_4_held", cancels_what_somebody_holds, ScenarioNeeds::takes_from_holders},
      {"rule_5_names", keeps_queues_of_other_names_apart},
      {"rule_5_bad_names", refuses_a_queue_that_cannot_be_named},
      {"rule_5_clients", outlives_its_clients},
      {"rule_6_patience", loses_its_patience_and_connects_again, ScenarioNeeds::a_private_server},
      {"rule_7_waiting", wakes_who_waits_when_something_is_due_earlier},
      {"rule_7_posted", wakes_who_waits_when_something_is_posted},
      {"rule_8_posting", finds_what_was_posted},
      {"rule_8_many", posts_many},
      {"rule_8_clients", waits_for_what_it_has_posted_when_destroyed},
  };
  return kScenarios;
}

}  // namespace timerbench
