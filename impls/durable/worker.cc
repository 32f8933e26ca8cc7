#include "durable/worker.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace timerbench {

DurableWorker::DurableWorker(DurableQueue& queue, Settings settings)
    : queue_(queue), settings_(std::move(settings)) {}

DurableWorker::Step DurableWorker::step(const Handler& handler) {
  std::exception_ptr failure;
  const Step done = step(handler, failure);
  if (failure) std::rethrow_exception(failure);
  return done;
}

DurableWorker::Step DurableWorker::step(const Handler& handler, std::exception_ptr& failure) {
  Step step;
  const auto succeeds = [&](const DurableTimer& timer) {
    ++step.handled;
    try {
      handler(timer);
      return true;
    } catch (...) {
      if (!failure) failure = std::current_exception();
      return false;
    }
  };
  const bool is_before = settings_.delivery == Delivery::at_least_once;
  if (std::chrono::steady_clock::now() >= lease_ends_) uncompleted_.clear();
  if (uncompleted_.empty()) {
    constexpr Tick kLongest = Tick{1} << 61;  // no instant of a clock is beyond the largest
    lease_ends_ = std::chrono::steady_clock::now() +
                  std::chrono::nanoseconds(std::min(settings_.lease, kLongest));
    Claims claims = queue_.claim(settings_.batch, settings_.lease);
    if (claims.timers.empty()) {
      step.look_again = claims.next_wakeup;
      return step;
    }
    for (const ClaimedTimer& claim : claims.timers) {
      if (settings_.on_claimed) settings_.on_claimed(claim.timer);
    }
    for (ClaimedTimer& claim : claims.timers) {
      if (!is_before || succeeds(claim.timer)) uncompleted_.push_back(std::move(claim));
    }
  }
  for (const ClaimedTimer& claim : uncompleted_) {
    if (settings_.on_completing) settings_.on_completing(claim.timer.id);
  }
  const std::vector<bool> held = queue_.complete(uncompleted_);
  const std::vector<ClaimedTimer> completed = std::exchange(uncompleted_, {});
  for (std::size_t i = 0; i < completed.size(); ++i) {
    const DurableTimer& timer = completed[i].timer;
    if (settings_.on_completed) settings_.on_completed(timer.id, held[i]);
    if (!is_before && held[i]) succeeds(timer);
  }
  return step;
}

void DurableWorker::run(const Handler& handler, const std::function<bool()>& is_over) {
  while (!is_over()) {
    std::exception_ptr failure;
    try {
      const Tick next = step(handler, failure).look_again, now = unix_now();
      if (next > now) {
        const Tick left = std::min(next - now, kLongestAwait);
        queue_.await_earlier(next,
                             std::min(settings_.longest_sleep, std::chrono::nanoseconds(left)));
      }
    } catch (const BackendError& error) {
      if (!failure) {
        if (settings_.on_error) settings_.on_error(error);
        std::this_thread::sleep_for(settings_.pause);
      }
    }
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace timerbench
