// Threads of a service, each with the alarm that it sleeps by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "services/clock.h"

namespace timerbench {

class Worker {
 public:
  // Starts a thread that calls work(alarm, ending). The alarm rings when the thread should end;
  // work then sees ending.stop_requested() and returns.
  template <class Work>
  Worker(Clock& clock, Work work)
      : alarm_(clock.make_alarm()),
        thread_([this, work = std::move(work)](const std::stop_token& ending) {
          work(*alarm_, ending);
        }) {}

  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Waits for the thread. REQUIRES: not called by it.
  ~Worker() { end(); }

  // Asks the thread to end, and does not wait.
  void end() {
    thread_.request_stop();
    alarm_->ring();
  }

  Alarm& alarm() { return *alarm_; }
  std::uint64_t wakeups() const { return alarm_->wakeups(); }

 private:
  const std::unique_ptr<Alarm> alarm_;
  std::jthread thread_;
};

// Room for an alarm of each worker, so that none needs memory to go to sleep.
inline std::vector<Alarm*> room_for_alarms(std::size_t workers) {
  std::vector<Alarm*> alarms;
  alarms.reserve(workers);
  return alarms;
}

// Several threads that do the same work.
class Workers {
 public:
  template <class Work>
  Workers(Clock& clock, std::size_t count, const Work& work) {
    for (std::size_t i = 0; i < count; ++i) workers_.emplace_back(clock, work);
  }

  void end() {
    for (Worker& worker : workers_) worker.end();
  }

  bool empty() const { return workers_.empty(); }

  std::uint64_t wakeups() const {
    std::uint64_t wakeups = 0;
    for (const Worker& worker : workers_) wakeups += worker.wakeups();
    return wakeups;
  }

 private:
  std::list<Worker> workers_;
};

}  // namespace timerbench
