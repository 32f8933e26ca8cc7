// Makes random calls to two clients of a durable timer queue and compares each answer with a model;
// shrinks the first run that differs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "durable/engine.h"
#include "system/stop.h"

namespace timerbench {

struct DurableDifference {
  std::string what;   // was wrong
  std::string calls;  // the fewest calls that show it, a line each
};

struct DurableComparison {
  std::uint64_t runs = 0;
  std::uint64_t calls = 0;
  std::optional<DurableDifference> difference;
};

// Why nothing can be compared for such a queue; empty if it can.
std::string_view left_out_of_comparison(const DurableTraits& traits);

// Makes at least one run, and more until `seconds` have passed. Queues are called `prefix` and a
// number. The same seed gives the same runs. Passes on what the queue throws.
DurableComparison compare_with_model(DurableEngine& engine, const std::string& prefix,
                                     std::uint64_t seed, std::chrono::duration<double> seconds,
                                     const StopFlag& stop);

}  // namespace timerbench
