// Hardware event counters of this thread, which explain why code takes its time.
//
// All events of a group are counted at the same instants or not at all, so their ratios are right.
// Counts are never extrapolated from a part of the time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace timerbench {

struct CountedEvent {
  std::string_view name;
  std::uint32_t type;    // of perf_event_attr
  std::uint64_t config;  // of the type
};

// The events that explain a data structure, for a processor with five counters. The first is
// essential to the others.
std::span<const CountedEvent> processor_events();

class PerfCounters {
 public:
  // Counts nothing yet. Leaves out events that the machine lacks, except the first.
  explicit PerfCounters(std::span<const CountedEvent> events);
  ~PerfCounters();
  PerfCounters(const PerfCounters&) = delete;
  PerfCounters& operator=(const PerfCounters&) = delete;

  // 0, or the errno that prevents counting.
  int error() const { return error_; }

  // REQUIRES: error() == 0.
  void start();
  void stop();

  struct Count {
    std::string_view name;
    std::uint64_t count;
  };
  // The counts between start() and stop(), in user space. Nothing if others used the counters
  // during that time, or if the processor has too few counters.
  std::optional<std::vector<Count>> counts() const;

 private:
  struct Open {
    std::string_view name;
    int file;
  };

  std::vector<Open> open_;  // the first leads the group
  int error_ = 0;
};

}  // namespace timerbench
