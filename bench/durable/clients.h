// Several clients of a durable queue at once: processes, or threads if the queue is of one process.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "durable/engine.h"
#include "replay/durations.h"
#include "system/stop.h"

namespace timerbench {

// What a client reports, in memory that it shares with the process that started it.
class ClientReport {
 public:
  static constexpr std::size_t kKinds = 3;  // of durations: of two calls, and of lateness

  void add(std::size_t kind, double ns);
  void add_timers(std::uint64_t count) { timers_ += count; }

  std::uint64_t timers() const { return timers_; }
  std::uint64_t calls() const { return counts_[0] + counts_[1]; }
  double cpu_seconds() const { return cpu_seconds_; }
  const char* error() const { return error_.data(); }
  void add_to(std::size_t kind, Durations& durations) const;

 private:
  friend class Clients;
  static constexpr std::size_t kSamples = 1 << 15;  // the first of each kind

  std::uint64_t timers_ = 0;
  std::array<std::uint64_t, kKinds> counts_{};
  double cpu_seconds_ = 0;
  std::array<char, 400> error_{};
  std::array<std::array<float, kSamples>, kKinds> ns_{};
};

class Clients {
 public:
  // Of each client: it works until is_over(), and reports.
  using Work = std::function<void(DurableQueue&, std::size_t client, ClientReport&)>;

  // Throws std::system_error. REQUIRES: this process has one thread.
  explicit Clients(std::size_t count);
  ~Clients();
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

  // Each opens the queue; when all have, they work, for `seconds` or until they return. Returns the
  // seconds from the begin until the last has ended. Throws BackendError with what the first client
  // said that failed, and Interrupted.
  double run(DurableEngine& engine, SharedBy shared_by, const DurableConfig& config, double seconds,
             const Work& work, const StopFlag& stop);

  // For the work.
  bool is_over() const { return shared_->is_over.load(std::memory_order_relaxed); }

  std::size_t count() const { return count_; }
  const ClientReport& operator[](std::size_t client) const { return reports_[client]; }

 private:
  struct Shared {
    std::atomic<std::size_t> ready = 0;
    std::atomic<std::size_t> ended = 0;
    std::atomic<bool> begins = false;
    std::atomic<bool> is_over = false;
  };

  void be_client(DurableEngine& engine, const DurableConfig& config, std::size_t client,
                 bool is_process, const Work& work);

  const std::size_t count_;
  void* memory_;  // holds the two
  Shared* shared_;
  ClientReport* reports_;
};

}  // namespace timerbench
