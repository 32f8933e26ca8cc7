// Runs a judge in a child process, so that a crash or hang of what it judges does no harm.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "verify/call_log.h"

namespace timerbench {

// The result for a backend or a service.
struct Verdict {
  bool is_ok = false;
  std::string line{};      // empty if the user has interrupted it
  std::string evidence{};  // further lines
};

// The current state of a judge, in memory shared with the watching process.
class Progress {
 public:
  void begin(std::string_view stage);
  std::string stage() const;

  // Long work without logged calls must call this from time to time.
  void beat() { beats_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t beats() const { return beats_.load(std::memory_order_relaxed) + calls.total(); }

  CallLog calls;

 private:
  static constexpr std::size_t kLongest = 128;

  std::array<std::atomic<char>, kLongest> stage_{};
  std::atomic<std::uint64_t> beats_ = 0;
};

using Judge = std::function<Verdict(Progress&)>;
using ShowStage = std::function<void(const std::string& stage)>;

// A judge without progress for this long is taken to hang.
inline constexpr std::chrono::seconds kPatience{20};

// Runs `judge` in a child process and returns its verdict; if the child crashes or hangs, what it
// did last. Calls `show` with each stage. The child's output goes to standard error. The child does
// not outlive this process. REQUIRES: this process has one thread.
Verdict judge_isolated(const Judge& judge, const ShowStage& show,
                       std::chrono::milliseconds patience = kPatience);

}  // namespace timerbench
