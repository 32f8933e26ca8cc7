#include "verify/system_clock_contract.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "services/clock.h"
#include "verify/service_requirements.h"
#include "verify/service_under_test.h"

namespace timerbench {
namespace on_system_clock {
namespace {

void pause(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

// The system's clock, and the fires of a service on it.
class SystemScene {
 public:
  ServiceConfig config(const ServiceTraits& traits, TimerId capacity) {
    ServiceConfig config{
        .capacity = capacity, .clock = clock_, .handler = [this](TimerId id, Tick at) {
          if (id == kHeld && held_) return std::exchange(held_, nullptr)();
          record(id, at);
          on_fire(id);
        }};
    if (traits.threads > 1) config.threads = 1;  // so that one handler runs at a time
    return config;
  }

  Tick in(Tick milliseconds) const { return clock_.now() + milliseconds * kMillisecond; }

  // The next fires, by id, without those of hold(); as many as wanted, unless five seconds pass.
  Fires await_fires(std::size_t wanted) {
    const Tick give_up = in(5'000);
    for (;;) {
      {
        const std::lock_guard lock(mutex_);
        require(early_ == 0, 1, "timer {} fired {} ns before its deadline", early_id_, early_);
        if (fires_.size() >= wanted || clock_.now() > give_up) {
          std::ranges::sort(fires_, {}, &PendingTimer::id);
          return std::exchange(fires_, {});
        }
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  // Requires these fires and, for a moment, no others.
  void require_fires(const Fires& wanted, int rule = 1) {
    require_same(await_fires(wanted.size()), wanted, rule, "has fired", clock_.now());
    pause(3);
    require_same(await_fires(0), {}, rule, "has fired", clock_.now());
  }

  std::function<void(TimerId)> on_fire = [](TimerId) {};

 protected:
  static constexpr TimerId kHeld = 12;

  std::function<void()> held_;  // the handler of kHeld, once

 private:
  void record(TimerId id, Tick deadline) {
    const Tick now = clock_.now();
    const std::lock_guard lock(mutex_);
    fires_.push_back({id, deadline});
    if (now >= deadline) return;
    early_ = deadline - now;
    early_id_ = id;
  }

  SteadyClock clock_;
  std::mutex mutex_;  // of the following
  Fires fires_;
  Tick early_ = 0;  // by how much a timer fired early
  TimerId early_id_ = 0;
};

// A service on it.
class Scene : public SystemScene, public ServiceUnderTest {
 public:
  explicit Scene(const ServiceBackend& backend, TimerId capacity = 16)
      : ServiceUnderTest(backend.make(config(backend.traits, capacity))) {}

  // Keeps the thread of handlers in one, meanwhile does `work`, and lets a moment pass.
  void hold(const std::function<void()>& work) {
    struct Gate {
      std::promise<void> reached;
      std::promise<void> opened;
    };
    const auto gate = std::make_shared<Gate>();
    held_ = [gate] {
      gate->reached.set_value();
      gate->opened.get_future().wait();
    };
    (*this)->schedule(kHeld, 0);
    gate->reached.get_future().wait();
    work();
    pause(2);
    gate->opened.set_value();
  }
};

void fires_when_it_is_time_and_not_before(const ServiceBackend& backend) {
  Scene scene(backend);
  const Fires timers{{3, scene.in(20)}, {4, scene.in(30)}};
  for (const auto& [id, deadline] : timers) scene->schedule(id, deadline);
  scene.require_fires(timers);
  scene.require_size(0);
}

void fires_each_of_many_delays(const ServiceBackend& backend) {
  Scene scene(backend);
  const Tick delays[] = {1, 2, 3, 9, 19, 20, 21, 25, 27, 39, 40, 80, 99, 100, 101, 120};
  Fires timers;
  for (const Tick delay : delays) {
    timers.push_back({static_cast<TimerId>(timers.size()), scene.in(delay)});
    scene->schedule(timers.back().id, timers.back().deadline);
  }
  scene.require_fires(timers);
}

void catches_up_at_once(const ServiceBackend& backend) {
  Scene scene(backend);
  Fires timers;
  scene.hold([&] {
    for (const Tick delay : {9, 3, 1, 10, 11, 2}) {
      timers.push_back({static_cast<TimerId>(timers.size()), scene.in(delay)});
      scene->schedule(timers.back().id, timers.back().deadline);
    }
    pause(15);
  });
  scene.require_fires(timers);
}

void moves_while_the_service_sleeps(const ServiceBackend& backend) {
  Scene scene(backend);
  const Tick far = scene.in(0) + kHour;
  scene->schedule(1, far);
  scene->schedule(2, scene.in(5'000));
  pause(2);
  const Tick soon = scene.in(4);
  scene->schedule(1, soon);
  scene->schedule(2, far);
  scene.require_fires({{1, soon}});
  scene.require_size(1);
  require_same(scene.stop(), {{2, far}}, 5, "hands back", scene.in(0));
}

// However little earlier a new timer is due than the one for which the service sleeps.
void wakes_up_earlier_for_a_new_timer(const ServiceBackend& backend) {
  Scene scene(backend);
  for (Tick earlier = 1; earlier <= 10 * kMillisecond; earlier *= 10) {
    const Tick later = scene.in(25);
    scene->schedule(1, later);
    pause(2);
    scene->schedule(2, later - earlier);
    scene.require_fires({{1, later}, {2, later - earlier}});
  }
  scene->schedule(1, scene.in(0) + kHour);
  pause(2);
  const Tick soon = scene.in(2);
  scene->schedule(2, soon);
  scene.require_fires({{2, soon}});
}

void takes_every_deadline(const ServiceBackend& backend) {
  Scene scene(backend);
  const Tick now = scene.in(0);
  const Fires far{
      {0, now + (Tick{1} << 53)}, {1, Tick{1} << 63}, {2, kNever - kMillisecond}, {3, kNever - 1}};
  for (const auto& [id, deadline] : far) scene->schedule(id, deadline);
  const Fires past{{9, 0}, {10, kMillisecond}, {11, now}};
  for (const auto& [id, deadline] : past) scene->schedule(id, deadline);
  scene.require_fires(past);
  scene.require_size(far.size());
  require_same(scene.stop(), far, 5, "hands back", now);
}

void cancel_tells_whether_it_prevented_the_fire(const ServiceBackend& backend) {
  Scene scene(backend);
  scene.require_cancel(1, false, "was never armed");
  scene->schedule(1, scene.in(5'000));
  const Tick soon = scene.in(2);
  scene->schedule(2, soon);
  scene.require_cancel(1, true, "was pending");
  scene.require_cancel(1, false, "was cancelled before");
  scene.require_fires({{2, soon}}, 2);
  scene.require_size(0);
  scene.require_cancel(2, false, "had fired");
}

void the_handler_may_cancel_and_move_what_is_due_with_it(const ServiceBackend& backend) {
  constexpr TimerId kOne = 0;
  constexpr TimerId kOther = 8;
  const auto other = [](TimerId id) { return id == kOne ? kOther : kOne; };
  std::atomic<bool> cancelled = false;
  Scene scene(backend);
  const auto require_one_fires = [&](std::string_view what) {
    scene.hold([&] {
      for (const TimerId id : {kOne, kOther}) scene->schedule(id, scene.in(0));
    });
    std::size_t fired = scene.await_fires(1).size();
    pause(3);
    fired += scene.await_fires(0).size();
    require(fired == 1, 2, "of two timers due together, of which the first {} the other, {} fired",
            what, fired);
  };
  scene.on_fire = [&](TimerId id) { cancelled = scene->cancel(other(id)); };
  require_one_fires("cancels");
  require(cancelled, 2,
          "cancel() returned false for a timer that was due and had not begun to run");
  scene.require_size(0);
  const Tick far = scene.in(0) + kHour;
  scene.hold([&] { scene.on_fire = [&](TimerId id) { scene->schedule(other(id), far); }; });
  require_one_fires("moves");
  scene.require_size(1);
}

// What it arms for the past fires at once.
void the_handler_may_schedule(const ServiceBackend& backend) {
  Scene scene(backend);
  Fires armed;  // of this thread, then of the handler's
  const auto arm = [&](Tick deadline) {
    armed.push_back({5, deadline});
    scene->schedule(5, deadline);
  };
  scene.on_fire = [&](TimerId) {
    const Tick now = scene.in(0);
    const Tick deadlines[] = {now + 2 * kMillisecond, now + kMillisecond,      now, now - 1,
                              now - 5 * kMillisecond, now - 40 * kMillisecond, 1,   0};
    if (armed.size() <= std::size(deadlines)) arm(deadlines[armed.size() - 1]);
  };
  arm(scene.in(2));
  Fires fired = scene.await_fires(9);
  pause(3);
  for (const PendingTimer& timer : scene.await_fires(0)) fired.push_back(timer);
  require(fired.size() == 9, 3,
          "a timer that its handler armed anew eight times has fired {} times", fired.size());
  std::ranges::sort(fired, {}, &PendingTimer::deadline);
  std::ranges::sort(armed, {}, &PendingTimer::deadline);
  require_same(fired, armed, 3, "has fired", scene.in(0));
}

void the_handler_may_ask_and_cancel_itself(const ServiceBackend& backend) {
  std::promise<std::pair<bool, std::size_t>> told;
  Scene scene(backend);
  scene.on_fire = [&](TimerId id) {
    const bool cancelled = scene->cancel(id);
    scene->wakeups();
    told.set_value({cancelled, scene->size() + scene->failures()});
  };
  scene->schedule(8, scene.in(0) + kHour);
  scene->schedule(4, scene.in(2));
  const auto [cancelled, size] = told.get_future().get();
  require(!cancelled, 2, "cancel() returned true for the timer whose handler called it");
  require(size == 1, 6, "in the handler of the one of two timers, size() is {}", size);
}

void others_may_call_while_a_handler_runs(const ServiceBackend& backend) {
  std::promise<void> begun;
  std::promise<void> may_end;
  Scene scene(backend);
  scene.on_fire = [&](TimerId) {
    begun.set_value();
    may_end.get_future().wait();
  };
  const Tick soon = scene.in(2);
  scene->schedule(0, soon);
  begun.get_future().wait();
  scene->schedule(4, scene.in(0) + kHour);
  const std::size_t size = scene->size();
  const bool other_cancelled = scene->cancel(4);
  const bool own_cancelled = scene->cancel(0);
  may_end.set_value();
  require(size == 1, 6, "size() is {} with one timer whose handler runs and one that is pending",
          size);
  require(other_cancelled, 2, "cancel() returned false for a pending timer while a handler ran");
  require(!own_cancelled, 2, "cancel() returned true for a timer whose handler ran");
  scene.require_fires({{0, soon}});
}

void a_handler_that_throws_is_counted_and_hurts_no_other(const ServiceBackend& backend) {
  Scene scene(backend);
  scene.on_fire = [](TimerId id) {
    if (id == 1) throw std::runtime_error("on purpose");
  };
  const Fires timers{{0, scene.in(2)}, {1, scene.in(2)}, {2, scene.in(2)}, {3, scene.in(4)}};
  for (const auto& [id, deadline] : timers) scene->schedule(id, deadline);
  scene.require_fires(timers, 4);
  require(scene->failures() == 1, 4, "failures() is {}, but one handler has thrown",
          scene->failures());
}

// Of many timers some are cancelled or moved. Exactly the rest fires, or is handed back.
void a_large_population_is_kept(const ServiceBackend& backend) {
  constexpr TimerId kTimers = 2'000;  // which a service with a file for each timer can have, too
  Scene scene(backend, kTimers);
  const Tick far = scene.in(0) + kHour;
  for (TimerId id = 0; id < kTimers; ++id) scene->schedule(id, far + id);
  Fires fired;
  Fires handed_back;
  for (TimerId id = 0; id < kTimers; ++id) {
    if (id % 3 == 0) {
      scene.require_cancel(id, true, "was pending");
    } else if (id % 5 == 0) {
      handed_back.push_back({id, far + id});
    } else {
      const bool is_near = id % 2 == 0;
      Fires& timers = is_near ? fired : handed_back;
      timers.push_back({id, is_near ? scene.in(id % 20) : 2 * far - id});
      scene->schedule(id, timers.back().deadline);
    }
  }
  require_same_among_many(scene.await_fires(fired.size()), fired, 1, "has fired");
  for (TimerId id = 0; id < kTimers; id += 6) scene.require_cancel(id, false, "was cancelled");
  for (const PendingTimer& timer : fired) scene.require_cancel(timer.id, false, "has fired");
  require_same_among_many(scene.stop(), handed_back, 5, "hands back");
}

void stop_hands_back_what_was_pending_and_ends_the_service(const ServiceBackend& backend) {
  Scene scene(backend);
  const Tick soon = scene.in(2);
  const Tick far = soon + kHour;
  scene->schedule(1, far);
  scene->schedule(2, kNever - 1);
  scene->schedule(3, soon);
  scene->schedule(4, far);
  scene->schedule(6, far);
  scene->schedule(6, far + kHour);
  scene->cancel(4);
  scene.require_fires({{3, soon}});
  require_same(scene.stop(), {{1, far}, {2, kNever - 1}, {6, far + kHour}}, 5, "hands back", soon);
  scene.require_size(0);
  require(scene.stop().empty(), 5, "a second stop() hands something back");
  scene.require_stopped();
  scene.require_cancel(1, false, "was handed back by stop()");
}

void destruction_ends_it_too(const ServiceBackend& backend) {
  Scene scene(backend);
  scene->schedule(1, scene.in(0) + kHour);
  const Tick soon = scene.in(3);
  scene->schedule(2, soon);
  scene.destroy_service();
  const std::size_t so_far = scene.await_fires(0).size();
  require(so_far <= 1, 1, "of a timer and one an hour away {} have fired", so_far);
  pause(5);
  require_same(scene.await_fires(0), {}, 5, "has fired after its destruction", soon);
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
  scene.hold([&] {
    for (const TimerId id : {0U, 4U, 8U}) scene->schedule(id, scene.in(0));
  });
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
  const Tick now = scene.in(0);
  scene.on_fire = [&](TimerId) {
    ++fired;
    try {
      for (;; runs = true) scene->schedule(9, now + kHour);
    } catch (const ServiceStopped&) {  // stop() has been called
      pause(5);
      ++ended;
    }
  };
  scene->schedule(0, now);
  while (!runs) std::this_thread::yield();
  for (const TimerId id : {4U, 8U}) scene->schedule(id, now);
  pause(2);
  const Fires pending = scene.stop();
  require(ended == fired, 5, "stop() returned while a handler ran");
  require(fired == 1, 5, "{} handlers began, the last after stop() had been called", fired.load());
  require_same(pending, {{4, now}, {8, now}, {9, now + kHour}}, 5, "hands back", now);
}

constexpr ServiceScenario kContract[] = {
    {"rule_1_on_time", fires_when_it_is_time_and_not_before},
    {"rule_1_each_millisecond", fires_each_of_many_delays},
    {"rule_1_late_look", catches_up_at_once},
    {"rule_1_move", moves_while_the_service_sleeps},
    {"rule_1_earlier", wakes_up_earlier_for_a_new_timer},
    {"rule_1_deadlines", takes_every_deadline},
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
}  // namespace on_system_clock

std::span<const ServiceScenario> system_clock_contract() { return on_system_clock::kContract; }

}  // namespace timerbench
