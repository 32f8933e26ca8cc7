// Several clients of a durable queue at once: processes, or threads if the queue is of one process.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>

#include "durable/engine.h"
#include "durable/shared_array.h"
#include "replay/durations.h"
#include "system/stop.h"

namespace timerbench {

// The calls whose durations a client reports.
enum class Timed { arm, cancel, claim, complete };

// What a client reports, in memory that it shares with the process that started it.
class ClientReport {
 public:
  void add(Timed what, double ns);
  void add_timers(std::uint64_t count) { timers_ += count; }
  void add_left(std::uint64_t count) { left_ += count; }

  std::uint64_t timers() const { return timers_; }
  std::uint64_t left() const { return left_; }  // of the timers that it has armed, in the queue
  double cpu_seconds() const { return cpu_seconds_; }
  std::uint64_t wakeups() const { return wakeups_; }  // how often it had to wait
  const char* error() const { return error_.data(); }
  Durations durations(Timed what) const;

 private:
  friend class Clients;
  static constexpr std::size_t kKinds = 4;
  static constexpr std::size_t kSamples = 1 << 15;  // of each kind

  std::uint64_t timers_ = 0;
  std::uint64_t left_ = 0;
  std::chrono::steady_clock::time_point begin_{}, end_{};  // of its work
  std::array<std::uint64_t, kKinds> counts_{};
  double cpu_seconds_ = 0;
  std::uint64_t wakeups_ = 0;
  std::array<char, 400> error_{};
  // The longest first, then a sample of the others.
  std::array<std::array<float, kSamples>, kKinds> ns_{};
  std::minstd_rand random_;
};

class Clients {
 public:
  // Of each client: it works until is_over(), and reports.
  using Work = std::function<void(DurableQueue&, std::size_t client, ClientReport&)>;

  // Throws std::system_error. REQUIRES: this process has one thread.
  explicit Clients(std::size_t count) : reports_(count) {}

  // What each does with its queue, when all have opened it and before any works, in `seconds` at most.
  // It is in no figure.
  using Prepare = std::function<void(DurableQueue&, std::size_t client)>;
  void prepare_with(Prepare prepare, double seconds) {
    prepare_ = std::move(prepare);
    seconds_to_prepare_ = std::chrono::duration<double>(seconds);
  }

  // Each opens the queue; when all are ready, they work, for `seconds` or until they return. `look` is
  // called before the first works, and when all have done so, before any of them closes the queue.
  // Returns the seconds from when the first begins to work until the last has worked. Throws
  // BackendError with what the first client said that failed, and Interrupted.
  double run(DurableEngine& engine, SharedBy shared_by, const DurableConfig& config, double seconds,
             const Work& work, const std::function<void()>& look, const StopFlag& stop);

  // For the work.
  bool is_over() const { return shared_[0].is_over.load(std::memory_order_relaxed); }

  // Whether run() has ended the work because the time was over.
  bool ran_out() const { return ran_out_; }

  std::size_t count() const { return reports_.size(); }
  const ClientReport& operator[](std::size_t client) const { return reports_[client]; }

 private:
  struct Shared {
    std::atomic<std::size_t> opened = 0;
    std::atomic<std::size_t> ready = 0;
    std::atomic<std::size_t> worked = 0;
    std::atomic<std::size_t> ended = 0;
    std::atomic<bool> prepares = false;
    std::atomic<bool> begins = false;
    std::atomic<bool> is_over = false;
    std::atomic<bool> may_close = false;
  };

  void be_client(DurableEngine& engine, const DurableConfig& config, std::size_t client,
                 const Work& work);

  bool ran_out_ = false;
  Prepare prepare_;
  std::chrono::duration<double> seconds_to_prepare_{};
  SharedArray<Shared> shared_{1};
  SharedArray<ClientReport> reports_;
};

}  // namespace timerbench
