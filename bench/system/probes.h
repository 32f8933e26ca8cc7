// What the kernel tells this process by calls, not by files.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace timerbench {

// By default everything is unknown, as tests need it. ask_kernel() fills it in.
struct Probes {
  std::string build_type;  // CMake's
  bool has_assertions = false;
  std::optional<bool> is_randomized;  // false: somebody has turned ASLR off for this process
  std::optional<std::uint64_t> timer_slack_ns;  // of this thread
  std::optional<int> counter_error;             // errno; 0: instructions can be counted
  double load_seconds = 0;                      // for watching the load; 0: do not
  std::function<void(double seconds)> wait;     // REQUIRES: set if load_seconds > 0
};

// Sets no wait: load_seconds is 0.
Probes ask_kernel();

}  // namespace timerbench
