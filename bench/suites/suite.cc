#include "suites/suite.h"

namespace timerbench {

const std::vector<Suite>& suites() {
  static const std::vector<Suite> all = {
      {.name = "smoke",
       .summary = "every backend and workload once, seconds",
       .workloads = {"fill", "cancel", "drain", "churn", "hold", "keepalive", "bulk"},
       .sizes = {1000},
       .traces = {},
       .local = {.items = 1000, .replay_seconds = 2},
       .remote = {.items = 100, .replay_seconds = 2},
       .repetitions = 1,
       .min_seconds = 0.001},
      {.name = "quick",
       .summary = "all backends, 10^3 to 10^5 timers and a kernel trace, minutes",
       .workloads = {"fill", "cancel", "drain", "churn", "hold", "keepalive", "bulk"},
       .sizes = {1'000, 10'000, 100'000},
       .traces = {"nginx_conn_per_request"},
       .local = {.items = 150'000, .replay_seconds = 1.5},
       .remote = {.items = 1000, .replay_seconds = 1.5},
       .repetitions = 3,
       .min_seconds = 0.01},
      {.name = "full",
       .summary = "all backends, 10^3 to 10^7 timers and both kernel traces, 50 minutes",
       .workloads = {"fill", "cancel", "drain", "churn", "hold", "keepalive", "bulk"},
       .sizes = {1'000, 10'000, 100'000, 1'000'000, 10'000'000},
       .traces = {"nginx_keepalive_c256", "nginx_conn_per_request"},
       .local = {.items = 1'000'000, .replay_seconds = 5},
       .remote = {.items = 3'000, .replay_seconds = 15},
       .repetitions = 3,
       .min_seconds = 0.02},
  };
  return all;
}

}  // namespace timerbench
