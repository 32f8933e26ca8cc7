#include "realtime/watched_clock.h"

#include <deque>

namespace timerbench {
namespace {

thread_local std::uint32_t last_alarm = WatchedClock::kNoAlarm;

}  // namespace

class WatchedClock::WatchedAlarm final : public Alarm {
 public:
  WatchedAlarm(WatchedClock& clock, std::uint32_t number)
      : clock_(clock), number_(number), alarm_(clock.clock_.make_alarm()) {}

  ~WatchedAlarm() override {
    const std::lock_guard lock(clock_.mutex_);
    clock_.waits_[number_].assign(waits_.begin(), waits_.end());
  }

  void ring() override { alarm_->ring(); }

 private:
  void do_wait_until(Tick instant) override {
    last_alarm = number_;
    const Tick begin = clock_.now();
    alarm_->wait_until(instant);
    waits_.push_back({begin, instant, clock_.now()});
  }

  WatchedClock& clock_;
  const std::uint32_t number_;
  const std::unique_ptr<Alarm> alarm_;
  std::deque<Wait> waits_;
};

std::uint32_t WatchedClock::alarm_of_this_thread() { return last_alarm; }

std::unique_ptr<Alarm> WatchedClock::make_alarm() {
  std::uint32_t number;
  {
    const std::lock_guard lock(mutex_);
    number = static_cast<std::uint32_t>(waits_.size());
    waits_.emplace_back();
  }
  return std::make_unique<WatchedAlarm>(*this, number);
}

}  // namespace timerbench
