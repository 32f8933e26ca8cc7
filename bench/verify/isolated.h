// A judgement that what is judged cannot disturb: by a process of its own, which may crash or hang.
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

// What is to be said of a backend or a service.
struct Verdict {
  bool is_ok = false;
  std::string line{};      // nothing if the user has interrupted it
  std::string evidence{};  // further lines
};

// What a judge does just now, in memory that the process that watches shares.
class Progress {
 public:
  void begin(std::string_view stage);
  std::string stage() const;

  // Whatever takes long and makes no calls that are logged says so from time to time.
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

// How long nothing may happen before a judge is taken to hang.
inline constexpr std::chrono::seconds kPatience{20};

// The verdict of `judge`, given in a child process; if that crashes or hangs, what it did last.
// `show` is told of each stage. What the child prints goes to standard error. REQUIRES: one thread.
// The child does not outlive this process.
Verdict judge_isolated(const Judge& judge, const ShowStage& show,
                       std::chrono::milliseconds patience = kPatience);

}  // namespace timerbench
