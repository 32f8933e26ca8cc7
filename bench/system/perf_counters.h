// What the processor counts while a piece of this thread's own code runs: why it takes the time that it
// takes.
//
// All events of a group are counted at the same instants or not at all, so that they can be divided by
// each other; nothing is scaled up from a part of the time.
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

// What a processor with room for five tells of a data structure. The first is the one without which
// none of the others is worth anything.
std::span<const CountedEvent> processor_events();

class PerfCounters {
 public:
  // Counts nothing yet. Events but the first that this machine does not have are left out.
  explicit PerfCounters(std::span<const CountedEvent> events);
  ~PerfCounters();
  PerfCounters(const PerfCounters&) = delete;
  PerfCounters& operator=(const PerfCounters&) = delete;

  // 0, or the errno of what is in the way of counting at all.
  int error() const { return error_; }

  // REQUIRES: error() == 0.
  void start();
  void stop();

  struct Count {
    std::string_view name;
    std::uint64_t count;
  };
  // Between start() and stop(), in user space. Nothing if others used the counters for a part of that
  // time, or the processor has too few for so many at once.
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
