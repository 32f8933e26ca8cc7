#include "verify/playback.h"

#include <fmt/core.h>

#include <memory>
#include <utility>
#include <vector>

#include "process/process_peer.h"
#include "trace/trace.h"
#include "verify/call_log.h"
#include "verify/violation.h"

namespace timerbench {
namespace {

class Playback final : public AnyQueue {
 public:
  Playback(std::shared_ptr<const ProcessPeer::Recording> recording, TimerId capacity)
      : recording_(std::move(recording)), deadlines_(capacity, kNever) {}

  void schedule(TimerId id, Tick deadline) override {
    size_ += deadlines_[id] == kNever;
    deadlines_[id] = deadline;
  }

  bool cancel(TimerId id) override {
    if (deadlines_[id] == kNever) return false;
    take(id);
    ++cancelled_;
    return true;
  }

  // Fires rows as long as they are pending. One that is not may belong to a later advance() to the
  // same instant, before which its timer is armed.
  std::size_t advance(Tick now, const AnySink& sink) override {
    check_passed(now);
    now_ = now;
    const std::size_t before = next_;
    for (; next_ < rows().size() && rows()[next_].now == now; ++next_) {
      const auto& [at, id, deadline] = rows()[next_];
      if (id >= deadlines_.size() || deadlines_[id] != deadline) break;
      take(id);
      sink(id, deadline);
    }
    return next_ - before;
  }

  Tick next_wakeup() const override { return size_ == 0 ? kNever : now_; }
  std::size_t size() const override { return size_; }

  void sync() override {
    check_passed(kNever);
    const ToldReplay& told = recording_->told;
    check_count("fired", told.fired, next_);
    check_count("cancelled", told.cancelled, cancelled_);
    check_count("pending", told.pending, size_);
  }

 private:
  const std::vector<WrittenFire>& rows() const { return recording_->fires; }

  void take(TimerId id) {
    deadlines_[id] = kNever;
    --size_;
  }

  // No row may be left from before this instant.
  void check_passed(Tick now) const {
    if (next_ == rows().size()) return;
    const auto& [at, id, deadline] = rows()[next_];
    if (at >= now) return;
    const bool is_passed = at != now_;
    throw ContractViolation(
        fmt::format("rule 3: timer {} fired at {} for deadline {}, but {} (line {} of its fires)",
                    id, at, deadline,
                    is_passed ? "no advance() goes there" : "it is not pending with that deadline",
                    next_ + 2),
        call_log().text());
  }

  void check_count(const char* what, std::uint64_t told, std::uint64_t actual) const {
    if (told == actual) return;
    throw ContractViolation(
        fmt::format("rule 3: it tells {} {}, but its fires say {}", told, what, actual));
  }

  std::shared_ptr<const ProcessPeer::Recording> recording_;
  std::vector<Tick> deadlines_;  // of pending timers, by id; kNever: not pending
  std::size_t next_ = 0;         // row
  std::size_t size_ = 0;
  std::uint64_t cancelled_ = 0;
  Tick now_ = 0;
};

}  // namespace

Backend played_back(const Backend& backend, TimerId capacity, std::span<const Op> ops,
                    Tick granularity, const StopFlag& stop) {
  if (!backend.process) return backend;
  const Trace trace({.capacity = capacity, .workload = "check"}, StoredOps(nullptr, ops));
  const auto recording = std::make_shared<const ProcessPeer::Recording>(
      backend.process->record(trace, granularity, stop));
  Backend played = backend;
  played.make = [recording](const QueueConfig& config) -> std::unique_ptr<AnyQueue> {
    return std::make_unique<Playback>(recording, config.capacity);
  };
  return played;
}

}  // namespace timerbench
