// A timer queue whose calls are logged.
#pragma once

#include <cstddef>
#include <memory>

#include "replay/backend.h"
#include "verify/call_log.h"

namespace timerbench {

class LoggedQueue {
 public:
  LoggedQueue(const Backend& backend, const QueueConfig& config) {
    log_.begin_make(config);
    queue_ = backend.make(config);
    log_.end();
  }

  void schedule(TimerId id, Tick deadline) {
    log_.begin(CallLog::Kind::schedule, id, deadline);
    queue_->schedule(id, deadline);
    log_.end();
  }

  bool cancel(TimerId id) {
    log_.begin(CallLog::Kind::cancel, id);
    const bool cancelled = queue_->cancel(id);
    log_.end(cancelled);
    return cancelled;
  }

  std::size_t advance(Tick now, const AnySink& sink) {
    log_.begin(CallLog::Kind::advance, 0, now);
    const std::size_t fired = queue_->advance(now, sink);
    log_.end(fired);
    return fired;
  }

  Tick next_wakeup() const {
    log_.begin(CallLog::Kind::next_wakeup);
    const Tick wakeup = queue_->next_wakeup();
    log_.end(wakeup);
    return wakeup;
  }

  std::size_t size() const {
    log_.begin(CallLog::Kind::size);
    const std::size_t size = queue_->size();
    log_.end(size);
    return size;
  }

  void sync() {
    log_.begin(CallLog::Kind::sync);
    queue_->sync();
    log_.end();
  }

 private:
  CallLog& log_ = call_log();
  std::unique_ptr<AnyQueue> queue_;
};

}  // namespace timerbench
