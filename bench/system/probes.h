// What the kernel tells this process by calls only, not in files.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace timerbench {

// As they are here, nothing is known: what tests begin with. ask_kernel() fills them in.
struct Probes {
  std::string build_type;  // CMake's
  bool has_assertions = false;
  std::optional<bool> is_randomized;            // nobody has turned ASLR off for this process
  std::optional<std::uint64_t> timer_slack_ns;  // of this thread
  std::optional<int> counter_error;             // errno; 0: instructions can be counted
  double load_seconds = 0;                      // to watch the load for; 0: not at all
  std::function<void(double seconds)> wait;     // REQUIRES: there if load_seconds > 0
};

// Waits for nothing: load_seconds is 0.
Probes ask_kernel();

}  // namespace timerbench
