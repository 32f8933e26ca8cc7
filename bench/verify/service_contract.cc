#include "verify/service_contract.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "services/clock.h"
#include "verify/manual_scene.h"
#include "verify/service_requirements.h"
#include "verify/service_under_test.h"

namespace timerbench {
namespace {

// A service under a clock that the scenario sets.
class Scene : public ManualScene, public ServiceUnderTest {
 public:
  explicit Scene(const ServiceBackend& backend, TimerId capacity = kCapacity)
      : Scene(backend, config(backend.traits, capacity)) {}
  Scene(const ServiceBackend& backend, const ServiceConfig& config)
      : ServiceUnderTest(backend.make(config)) {}

  void require_fires(const Fires& wanted, int rule = 1) {
    const Fires fired = fires();
    require_same(fired, wanted, rule, "has fired", clock.now());
  }
};

void fires_when_it_is_time_and_not_before(const ServiceBackend& backend) {
  Scene scene(backend);
  scene->schedule(3, 5 * kMillisecond);
  scene->schedule(4, 7 * kMillisecond);
  scene.require_size(2);
  scene.advance_to(5 * kMillisecond - 1);
  scene.require_fires({});
  scene.advance_to(6 * kMillisecond);
  scene.require_fires({{3, 5 * kMillisecond}});
  scene.require_size(1);
  scene.advance_to(20 * kMillisecond);
  scene.require_fires({{4, 7 * kMillisecond}});
  scene.require_size(0);
  scene.advance_to(30 * kMillisecond);
  scene.require_fires({});
}

// Each timer fires at its own millisecond, from any level of a wheel.
void fires_at_its_millisecond(const ServiceBackend& backend) {
  Scene scene(backend);
  const Tick delays[] = {1, 2, 3, 9, 19, 20, 21, 25, 27, 39, 40, 399, 400, 401, 405, 420};
  for (TimerId id = 0; id < std::size(delays); ++id) scene->schedule(id, delays[id] * kMillisecond);
  TimerId next = 0;
  for (Tick now = 1; now <= 421; ++now) {
    scene.advance_to(now * kMillisecond);
    const bool is_due = next < std::size(delays) && delays[next] == now;
    scene.require_fires(is_due ? Fires{{next, now * kMillisecond}} : Fires{});
    next += is_due;
  }
}

// One look after a long time finds all due timers, even after several rounds of a ring.
void catches_up_at_once(const ServiceBackend& backend) {
  Scene scene(backend);
  const Tick delays[] = {500, 30, 10, 511, 512, 513, 1024, 8421, 99'999};
  Fires all;
  for (TimerId id = 0; id < std::size(delays); ++id) {
    scene->schedule(id, delays[id] * kMillisecond);
    all.push_back({id, delays[id] * kMillisecond});
  }
  scene.clock.settle();
  scene.clock.set(100'000 * kMillisecond);
  scene.require_fires(all);
}

void moves_while_the_service_sleeps(const ServiceBackend& backend) {
  Scene scene(backend);
  scene->schedule(1, kHour);
  scene->schedule(2, 2 * kMillisecond);
  scene.clock.settle();
  scene->schedule(1, 4 * kMillisecond);
  scene->schedule(2, kHour);
  scene.require_size(2);
  scene.advance_to(10 * kMillisecond);
  scene.require_fires({{1, 4 * kMillisecond}});
  scene.require_size(1);
  scene.clock.set(2 * kHour);
  scene.require_fires({{2, kHour}});
}

// However little earlier a new timer is due than the one for which the service sleeps.
void wakes_up_earlier_for_a_new_timer(const ServiceBackend& backend) {
  ManualScene scene;
  ServiceConfig config = scene.config(backend.traits);
  if (!backend.traits.remote) config.granularity = 1;
  const auto service = backend.make(config);
  const Tick least = backend.traits.remote ? 1'000 : 1;  // Redis has a resolution of 1 us
  for (Tick earlier = least; earlier <= 1'000 * kMillisecond; earlier *= 10) {
    const Tick later = scene.clock.now() + 2'000 * kMillisecond;
    service->schedule(1, later);
    scene.clock.settle();
    service->schedule(2, later - earlier);
    scene.clock.settle();
    for (const auto& [id, deadline] : Fires{{2, later - earlier}, {1, later}}) {
      scene.clock.set(deadline);
      require_same(scene.fires(), {{id, deadline}}, 1, "has fired", deadline);
    }
  }
}

// A clock that calls a function once, on a thread of the service that is about to wait.
class IntrudedClock final : public Clock {
 public:
  explicit IntrudedClock(Clock& clock) : clock_(clock) {}

  Tick now() const override { return clock_.now(); }
  std::unique_ptr<Alarm> make_alarm() override { return std::make_unique<IntrudedAlarm>(*this); }

  // Calls it at the next wait until `far` or later.
  void intrude_on_wait(Tick far, std::function<void()> call) {
    const std::lock_guard lock(mutex_);
    far_ = far;
    call_ = std::move(call);
  }

 private:
  class IntrudedAlarm final : public Alarm {
   public:
    explicit IntrudedAlarm(IntrudedClock& clock)
        : clock_(clock), alarm_(clock.clock_.make_alarm()) {}
    void ring() override { alarm_->ring(); }

   private:
    void do_wait_until(Tick instant) override {
      clock_.intrude(instant);
      alarm_->wait_until(instant);
    }

    IntrudedClock& clock_;
    const std::unique_ptr<Alarm> alarm_;
  };

  void intrude(Tick instant) {
    std::function<void()> call;
    {
      const std::lock_guard lock(mutex_);
      if (instant >= far_) call = std::exchange(call_, nullptr);
    }
    if (call) call();
  }

  Clock& clock_;
  std::mutex mutex_;  // of far_ and call_
  Tick far_ = 0;
  std::function<void()> call_;
};

// A wakeup is easily lost at this moment: a thread has looked, but does not sleep yet.
void notices_what_is_armed_as_it_falls_asleep(const ServiceBackend& backend) {
  ManualScene scene;
  IntrudedClock clock(scene.clock);
  const ServiceConfig config = scene.config(backend.traits);
  const auto service = backend.make({.capacity = config.capacity,
                                     .clock = clock,
                                     .handler = config.handler,
                                     .threads = config.threads});
  scene.clock.settle();
  bool armed = false;  // stays false if the service never sleeps this long
  clock.intrude_on_wait(3 * kMillisecond, [&] {
    service->schedule(2, 2 * kMillisecond);
    armed = true;
  });
  service->schedule(1, kHour);
  scene.advance_to(4 * kMillisecond);
  require_same(scene.fires(), armed ? Fires{{2, 2 * kMillisecond}} : Fires{}, 1, "has fired",
               scene.clock.now());
}

void takes_every_deadline(const ServiceBackend& backend) {
  Scene scene(backend);
  scene.advance_to(3 * kMillisecond);
  const Tick far[] = {Tick{1} << 53, Tick{1} << 63, kNever - kMillisecond, kNever - 1};
  for (TimerId id = 0; id < std::size(far); ++id) scene->schedule(id, far[id]);
  scene->schedule(10, 0);
  scene->schedule(11, kMillisecond);
  scene->schedule(12, 3 * kMillisecond);
  scene.advance_to(5 * kMillisecond);
  scene.require_fires({{10, 0}, {11, kMillisecond}, {12, 3 * kMillisecond}});
  scene.require_size(std::size(far));
}

void waits_for_the_end_of_time_and_sleeps_there(const ServiceBackend& backend) {
  Scene scene(backend);
  scene->schedule(1, kNever - 70 * kMillisecond);
  scene->schedule(2, kNever - 1);
  scene.clock.settle();
  scene.clock.set(kNever - 50 * kMillisecond);  // closer than any driver's longest sleep
  scene.require_fires({{1, kNever - 70 * kMillisecond}});
  scene.clock.set(kNever - 1);
  scene.require_fires({{2, kNever - 1}});
  scene.require_size(0);
  const std::uint64_t wakeups = scene->wakeups();
  scene.clock.settle();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  require(scene->wakeups() == wakeups, 1, "at the end of time it wakes up again and again");
}

void takes_granules_of_a_nanosecond_to_the_end_of_time(const ServiceBackend& backend) {
  ManualScene scene;
  scene.clock.set(kNever - 2'000);
  ServiceConfig config = scene.config(backend.traits);
  if (!backend.traits.remote) config.granularity = 1;
  const auto service = backend.make(config);
  const std::pair<Tick, Tick> deadlines_and_instants[] = {
      {kNever - 3'000, kNever - 1'900}, {kNever - 750, kNever - 500}, {kNever - 333, kNever - 1}};
  TimerId next = 0;
  for (const auto& [deadline, instant] : deadlines_and_instants)
    service->schedule(next++, deadline);
  next = 0;
  Fires fired;
  for (const auto& [deadline, instant] : deadlines_and_instants) {
    scene.clock.settle();
    scene.clock.set(instant);
    for (const PendingTimer& timer : scene.fires()) fired.push_back(timer);
    ++next;
    // Redis has a resolution of 4 us here.
    require(backend.traits.remote || (fired.size() == next && fired.back().id == next - 1), 1,
            "{} ns before the end of time it has fired {}, though {} timers were due",
            kNever - instant, to_text(fired), next);
  }
  require(fired.size() == next, 1, "at the end of time {} of {} timers have fired", fired.size(),
          next);
  require(service->size() == 0, 6, "size() is {} at the end of time", service->size());
}

void cancel_tells_whether_it_prevented_the_fire(const ServiceBackend& backend) {
  Scene scene(backend);
  scene.require_cancel(1, false, "was never armed");
  scene->schedule(1, 2 * kMillisecond);
  scene->schedule(2, 2 * kMillisecond);
  scene.require_cancel(1, true, "was pending");
  scene.require_cancel(1, false, "was cancelled before");
  scene.require_size(1);
  scene.advance_to(5 * kMillisecond);
  scene.require_fires({{2, 2 * kMillisecond}}, 2);
  scene.require_cancel(2, false, "had fired");
}

// What it arms for the past fires at once.
void the_handler_may_schedule(const ServiceBackend& backend) {
  Scene scene(backend);
  scene.clock.set(2 * kHour);
  Fires armed;
  const auto arm = [&](Tick deadline) {
    armed.push_back({5, deadline});
    scene->schedule(5, deadline);
  };
  scene.on_fire = [&](TimerId) {
    const Tick now = scene.clock.now();
    const Tick deadlines[] = {now + 2 * kMillisecond, now + 2 * kMillisecond,  now,         now - 1,
                              now - 5 * kMillisecond, now - 40 * kMillisecond, now - kHour, 0};
    if (armed.size() <= std::size(deadlines)) arm(deadlines[armed.size() - 1]);
  };
  arm(2 * kHour + 2 * kMillisecond);
  scene.advance_to(2 * kHour + 30 * kMillisecond);
  Fires fired = scene.fires();
  require(fired.size() == 9, 3,
          "a timer that its handler armed anew eight times has fired {} times", fired.size());
  std::ranges::sort(fired, {}, &PendingTimer::deadline);
  std::ranges::sort(armed, {}, &PendingTimer::deadline);
  require_same(fired, armed, 3, "has fired", scene.clock.now());
}

void the_handler_may_ask_and_cancel_itself(const ServiceBackend& backend) {
  bool cancelled = true;
  std::size_t size = 0;
  Scene scene(backend);
  scene.on_fire = [&](TimerId id) {
    cancelled = scene->cancel(id);
    size = scene->size() + scene->failures();
    scene->wakeups();
  };
  scene->schedule(4, 2 * kMillisecond);
  scene->schedule(8, kHour);
  scene.advance_to(4 * kMillisecond);
  scene.require_fires({{4, 2 * kMillisecond}}, 3);
  require(!cancelled, 2, "cancel() returned true for the timer whose handler called it");
  require(size == 1, 6, "in the handler of the one of two timers, size() is {}", size);
}

void the_handler_may_cancel_and_move_what_is_due_with_it(const ServiceBackend& backend) {
  // In one shard, for any number of shards.
  constexpr TimerId kOne = 0;
  constexpr TimerId kOther = 8;
  const auto other = [](TimerId id) { return id == kOne ? kOther : kOne; };
  bool cancelled = false;
  Scene scene(backend);
  const auto require_one_fires = [&](std::string_view what) {
    const Fires fired = scene.fires();
    require(fired.size() == 1, 2,
            "of two timers due together, of which the first {} the other, {} fired", what,
            fired.size());
  };
  scene.on_fire = [&](TimerId id) { cancelled = scene->cancel(other(id)); };
  scene->schedule(kOne, 2 * kMillisecond);
  scene->schedule(kOther, 2 * kMillisecond);
  scene.advance_to(4 * kMillisecond);
  require_one_fires("cancels");
  require(cancelled, 2,
          "cancel() returned false for a timer that was due and had not begun to run");
  scene.require_size(0);

  scene.on_fire = [&](TimerId id) { scene->schedule(other(id), kHour); };
  scene->schedule(kOne, 6 * kMillisecond);
  scene->schedule(kOther, 6 * kMillisecond);
  scene.advance_to(8 * kMillisecond);
  require_one_fires("moves");
  scene.require_size(1);
}

void others_may_call_while_a_handler_runs(const ServiceBackend& backend) {
  std::promise<void> begun;
  std::promise<void> may_end;
  Scene scene(backend);
  scene.on_fire = [&](TimerId) {
    begun.set_value();
    may_end.get_future().wait();
  };
  scene->schedule(0, 2 * kMillisecond);
  scene.clock.settle();
  scene.clock.set(4 * kMillisecond);
  begun.get_future().wait();
  scene->schedule(4, kHour);
  const std::size_t size = scene->size();
  const bool other_cancelled = scene->cancel(4);
  const bool own_cancelled = scene->cancel(0);
  may_end.set_value();
  require(size == 1, 6, "size() is {} with one timer whose handler runs and one that is pending",
          size);
  require(other_cancelled, 2, "cancel() returned false for a pending timer while a handler ran");
  require(!own_cancelled, 2, "cancel() returned true for a timer whose handler ran");
  scene.require_fires({{0, 2 * kMillisecond}});
}

void a_handler_that_throws_is_counted_and_hurts_no_other(const ServiceBackend& backend) {
  Scene scene(backend);
  scene.on_fire = [](TimerId id) {
    if (id == 1) throw std::runtime_error("on purpose");
  };
  for (const TimerId id : {0U, 1U, 2U}) scene->schedule(id, 2 * kMillisecond);
  scene->schedule(3, 4 * kMillisecond);
  scene.advance_to(6 * kMillisecond);
  require(scene->failures() == 1, 4, "failures() is {}, but one handler has thrown",
          scene->failures());
  const std::size_t fired = scene.fires().size();
  if (backend.traits.ends_when_handler_throws) {
    scene.require_stopped();
    const std::size_t pending = scene.stop().size();
    require(fired <= 3 && fired + pending == 4, 5,
            "of four timers {} fired and stop() handed back {}", fired, pending);
  } else {
    require(fired == 4, 4, "of four timers, of which one threw, {} have fired", fired);
  }
}

void stop_hands_back_what_was_pending_and_ends_the_service(const ServiceBackend& backend) {
  Scene scene(backend);
  scene->schedule(1, kHour);
  scene->schedule(2, kNever - 1);
  scene->schedule(3, 2 * kMillisecond);
  scene->schedule(4, kHour);
  scene->schedule(6, kHour);
  scene->schedule(6, 2 * kHour);
  scene->cancel(4);
  scene.advance_to(4 * kMillisecond);
  scene.require_fires({{3, 2 * kMillisecond}});
  require_same(scene.stop(), {{1, kHour}, {2, kNever - 1}, {6, 2 * kHour}}, 5, "hands back",
               scene.clock.now());
  scene.require_size(0);
  require(scene.stop().empty(), 5, "a second stop() hands something back");
  scene.require_stopped();
  scene.require_cancel(1, false, "was handed back by stop()");
  scene.clock.set(3 * kHour);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  require_same(scene.fires_so_far(), {}, 5, "has fired after stop()", scene.clock.now());
}

// Of many timers some are cancelled or moved. Exactly the rest fires, or is handed back.
void a_large_population_is_kept(const ServiceBackend& backend) {
  const TimerId timers = backend.traits.remote ? 2'000 : 10'000;
  Scene scene(backend, timers);
  std::vector<Tick> deadlines(timers, kNever);  // kNever: not pending
  const auto arm = [&](TimerId id, Tick deadline) {
    scene->schedule(id, deadline);
    deadlines[id] = deadline;
  };
  const auto take_until = [&](Tick instant) {
    Fires taken;
    for (TimerId id = 0; id < timers; ++id) {
      if (deadlines[id] > instant) continue;
      taken.push_back({id, std::exchange(deadlines[id], kNever)});
    }
    return taken;
  };
  for (TimerId id = 0; id < timers; ++id) arm(id, kHour + id);
  for (TimerId id = 0; id < timers; ++id) {
    if (id % 3 == 0) {
      scene.require_cancel(id, true, "was pending");
      deadlines[id] = kNever;
    } else if (id % 5 != 0) {
      arm(id, (id % 5) * kHour - id);
    }
  }
  scene.clock.settle();
  scene.clock.set(2 * kHour);
  require_same_among_many(scene.fires(), take_until(2 * kHour), 1, "has fired");
  for (TimerId id = 0; id < timers; ++id) {
    if (deadlines[id] == kNever) scene.require_cancel(id, false, "was cancelled or has fired");
  }
  require_same_among_many(scene.stop(), take_until(kNever - 1), 5, "hands back");
}

void destruction_ends_it_too(const ServiceBackend& backend) {
  Scene scene(backend);
  scene->schedule(1, kHour);
  scene->schedule(2, 2 * kMillisecond);
  scene.clock.settle();
  scene.destroy_service();
  scene.clock.set(2 * kHour);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  require_same(scene.fires_so_far(), {}, 5, "has fired after its destruction", scene.clock.now());
}

void the_handler_may_stop(const ServiceBackend& backend) {
  std::promise<void> begun;
  std::promise<Fires> handed_back;
  std::atomic<int> fired = 0;
  Scene scene(backend);
  scene.on_fire = [&](TimerId) {
    if (fired++ > 0) return;  // must not happen
    begun.set_value();
    handed_back.set_value(scene->stop());
  };
  for (const TimerId id : {0U, 4U, 8U}) scene->schedule(id, 2 * kMillisecond);
  scene.clock.settle();
  scene.clock.set(4 * kMillisecond);
  begun.get_future().wait();
  std::size_t pending = scene->stop().size();  // concurrently, on another thread
  pending += handed_back.get_future().get().size();
  require(fired == 1 && pending == 2, 5,
          "of three timers due together, of which the first stops the service, {} fired and {} "
          "were handed back",
          fired.load(), pending);
}

void stop_waits_for_the_handler_that_runs_and_starts_no_other(const ServiceBackend& backend) {
  std::atomic<bool> runs = false;
  std::atomic<int> fired = 0;
  std::atomic<int> ended = 0;
  Scene scene(backend);
  scene.on_fire = [&](TimerId) {
    ++fired;
    try {
      for (;; runs = true) scene->schedule(9, kHour);
    } catch (const ServiceStopped&) {  // stop() has been called
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ++ended;
    }
  };
  for (const TimerId id : {0U, 4U, 8U}) scene->schedule(id, 2 * kMillisecond);
  scene.clock.settle();
  scene.clock.set(4 * kMillisecond);
  while (!runs) std::this_thread::yield();
  const Fires pending = scene.stop();
  require(ended == fired, 5, "stop() returned while a handler ran");
  require(fired == 1, 5, "{} handlers began, the last after stop() had been called", fired.load());
  require_same(pending, {{4, 2 * kMillisecond}, {8, 2 * kMillisecond}, {9, kHour}}, 5, "hands back",
               scene.clock.now());
}

constexpr ServiceScenario kContract[] = {
    {"rule_1_on_time", fires_when_it_is_time_and_not_before},
    {"rule_1_each_millisecond", fires_at_its_millisecond},
    {"rule_1_late_look", catches_up_at_once},
    {"rule_1_move", moves_while_the_service_sleeps},
    {"rule_1_falling_asleep", notices_what_is_armed_as_it_falls_asleep},
    {"rule_1_earlier", wakes_up_earlier_for_a_new_timer},
    {"rule_1_deadlines", takes_every_deadline},
    {"rule_1_end_of_time", waits_for_the_end_of_time_and_sleeps_there},
    {"rule_1_nanoseconds", takes_granules_of_a_nanosecond_to_the_end_of_time},
    {"rule_2_cancel", cancel_tells_whether_it_prevented_the_fire},
    {"rule_2_due", the_handler_may_cancel_and_move_what_is_due_with_it},
    {"rule_3_rearm", the_handler_may_schedule},
    {"rule_3_ask", the_handler_may_ask_and_cancel_itself},
    {"rule_3_others", others_may_call_while_a_handler_runs},
    {"rule_4_throw", a_handler_that_throws_is_counted_and_hurts_no_other},
    {"rule_5_population", a_large_population_is_kept},
    {"rule_5_stop", stop_hands_back_what_was_pending_and_ends_the_service},
    {"rule_5_destroy", destruction_ends_it_too},
    {"rule_5_stop_in_handler", the_handler_may_stop},
    {"rule_5_handler_runs", stop_waits_for_the_handler_that_runs_and_starts_no_other},
};

}  // namespace

std::span<const ServiceScenario> service_contract() { return kContract; }

}  // namespace timerbench
