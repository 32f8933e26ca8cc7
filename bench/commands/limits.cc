// timerbench limits: measures what the machine itself can do.
#include "system/limits.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "commands/commands.h"

namespace timerbench {
namespace {

void print_json(const Limits& limits) {
  nlohmann::ordered_json out{{"append_ns", limits.append},
                             {"clock_ns", limits.clock},
                             {"sleep_late_ns", limits.sleep_late},
                             {"memory", nlohmann::ordered_json::array()}};
  for (const MemoryLimit& memory : limits.memory) {
    out["memory"].push_back({{"bytes", memory.bytes},
                             {"random_access_ns", memory.random_access},
                             {"list_walk_ns", memory.list_walk}});
  }
  fmt::print("{}\n", out.dump());
}

void print_text(const Limits& limits) {
  fmt::print("{:>12}  {:>16}  {:>12}\n", "working set", "random access", "list walk");
  for (const MemoryLimit& memory : limits.memory) {
    fmt::print("{:>8} KiB  {:>13.1f} ns  {:>9.1f} ns\n", memory.bytes / 1024, memory.random_access,
               memory.list_walk);
  }
  fmt::print(
      "append 8 bytes {:.2f} ns, clock read {:.1f} ns, a sleep of 1 ms is late by {:.0f} us\n",
      limits.append, limits.clock, limits.sleep_late / 1000);
}

}  // namespace

void print_limits(bool as_json) {
  const Limits limits = measure_limits(kWorkingSets);
  as_json ? print_json(limits) : print_text(limits);
}

}  // namespace timerbench
