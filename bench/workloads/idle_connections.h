// Idle connections: N of them, each with one time-out of 75 s (nginx; ALB 60 s, ECS 300 s, GCP 610
// s) that every request moves. Requests come often enough that few time-outs fire: one for 2 000
// requests.
#pragma once

#include "workloads/keepalive.h"

namespace timerbench {

struct IdleConnections : Keepalive {
  static constexpr std::string_view name = "idle_connections";
  static constexpr std::string_view summary =
      "N connections with a time-out of 75 s, moved by each request; hardly one fires";

  IdleConnections() {
    timeout = std::chrono::seconds(75);
    requests_per_100k_s = 10'000;
  }
  Trace generate(const WorkloadOptions& options) const { return generate_as(*this, options); }
};
static_assert(Generator<IdleConnections>);

}  // namespace timerbench
