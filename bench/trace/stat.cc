#include "trace/stat.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "system/stop.h"
#include "trace/model.h"

namespace timerbench {
namespace {

// "4 ms", "64.97 s"
std::string duration_text(double ns) {
  if (ns == 0) return "0 s";
  if (ns < 1e3) return fmt::format("{:.4g} ns", ns);
  if (ns < 1e6) return fmt::format("{:.4g} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.4g} ms", ns / 1e6);
  return ns < 1e13 ? fmt::format("{:.4g} s", ns / 1e9) : fmt::format("{:.0f} s", ns / 1e9);
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// The delays at these ranks among all schedules, in ascending order. Exact: makes two passes with
// tables of 2^16 counts, since a list of all delays might not fit the memory. REQUIRES: `ranks`
// ascend.
std::vector<std::uint32_t> delays_of_ranks(std::span<const Op> ops,
                                           std::span<const std::uint64_t> ranks) {
  constexpr int kHalf = 16;
  constexpr std::uint32_t kMask = (1U << kHalf) - 1;
  using Table = std::vector<std::uint64_t>;
  const auto for_each_delay = [ops](auto&& see) {
    for_each_window(ops, [&](std::span<const Op> window) {
      throw_if_interrupted();
      for (const Op op : window) {
        if (op.id != kAdvance && op.arg != kCancel) see(op.arg);
      }
    });
  };
  // Finds the entry that contains the rank, and makes the rank relative to that entry.
  const auto find = [](const Table& counts, std::uint64_t& rank) {
    std::uint32_t entry = 0;
    while (rank >= counts[entry]) rank -= counts[entry++];
    return entry;
  };

  Table high(kMask + 1);
  for_each_delay([&](std::uint32_t delay) { ++high[delay >> kHalf]; });
  std::vector<std::uint64_t> left(ranks.begin(), ranks.end());
  std::vector<std::uint32_t> found;
  for (std::uint64_t& rank : left) found.push_back(find(high, rank));
  std::map<std::uint32_t, Table> low;  // tables of the entries found
  for (const std::uint32_t entry : found) low.try_emplace(entry, kMask + 1);
  for_each_delay([&](std::uint32_t delay) {
    if (const auto own = low.find(delay >> kHalf); own != low.end()) ++own->second[delay & kMask];
  });
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i] = found[i] << kHalf | find(low.at(found[i]), left[i]);
  }
  return found;
}

// Counts by the model how schedules end, and the most timers that are pending at a time.
std::pair<Ends, std::uint64_t> replay_model(std::span<const Op> ops, TimerId capacity) {
  Ends ends;
  std::uint64_t peak = 0;
  Model model({.capacity = capacity});
  Tick now = 0;
  for_each_window(ops, [&](std::span<const Op> window) {
    for (const Op op : window) {
      throw_if_interrupted();
      if (op.id == kAdvance) {
        ends.fired += model.advance(now += op.arg, IgnoreExpiry{});
      } else if (op.arg == kCancel) {
        ends.cancelled += model.cancel(op.id);
      } else {
        ends.moved += model.pending(op.id);
        model.schedule(op.id, now + op.arg);
        peak = std::max<std::uint64_t>(peak, model.size());
      }
    }
  });
  ends.pending = model.size();
  return {ends, peak};
}

// Every schedule that did not end otherwise was moved.
Ends ends_of(const Outcome& outcome, std::uint64_t schedules) {
  return {.cancelled = outcome.cancelled,
          .moved = schedules - outcome.fired - outcome.cancelled - outcome.pending,
          .fired = outcome.fired,
          .pending = outcome.pending};
}

}  // namespace

Ends measured_ends(const Trace& trace, const TraceStat& stat) {
  const auto& outcome = trace.info().setup_outcome;
  const Ends setup = outcome ? ends_of(*outcome, count_ops(trace.setup()).schedules)
                             : replay_model(trace.setup(), trace.info().capacity).first;
  return {.cancelled = stat.cancelled - setup.cancelled,
          .moved = stat.moved - setup.moved,
          .fired = stat.fired - setup.fired,
          .pending = stat.pending};
}

TraceStat stat_trace(const Trace& trace) {
  TraceStat stat;
  stat.ops = trace.ops().size();
  stat.counts = count_ops(trace.ops());
  for_each_window(trace.ops(), [&stat](std::span<const Op> window) {
    for (const Op op : window) {
      if (op.id == kAdvance) {
        stat.duration += op.arg;
      } else if (op.arg != kCancel) {
        ++stat.histogram[std::bit_width(op.arg)];
      }
    }
  });

  if (const auto& outcome = trace.info().outcome) {
    static_cast<Ends&>(stat) = ends_of(*outcome, stat.counts.schedules);
    stat.peak_pending = trace.info().peak_pending;
  } else {
    std::tie(static_cast<Ends&>(stat), stat.peak_pending) =
        replay_model(trace.ops(), trace.info().capacity);
  }
  stat.vain_cancels = stat.counts.cancels - stat.cancelled;

  if (stat.counts.schedules == 0) return stat;
  std::vector<std::uint64_t> ranks;
  for (const auto& [percent, delay] : stat.percentiles) {
    ranks.push_back((stat.counts.schedules - 1) * static_cast<std::uint64_t>(percent) / 100);
  }
  const auto delays = delays_of_ranks(trace.ops(), ranks);
  for (std::size_t i = 0; i < delays.size(); ++i) stat.percentiles[i].delay = delays[i];
  return stat;
}

std::string to_text(const TraceStat& stat, const TraceInfo& info) {
  std::string text;
  const auto line = [&text]<class... Args>(fmt::format_string<Args...> form, Args&&... args) {
    fmt::format_to(std::back_inserter(text), form, std::forward<Args>(args)...);
    text += '\n';
  };
  const auto ticks_text = [&info](Tick ticks) {
    return duration_text(static_cast<double>(ticks) * info.unit_ns);
  };

  line("source          {}", info.source);
  line("workload        {}", info.workload);
  const auto members = nlohmann::json::parse(info.parameters);
  std::string parameters;
  for (const auto& [name, value] : members.items()) {
    parameters += fmt::format(" {}={}", name, value.dump());
  }
  if (!parameters.empty()) line("parameters     {}", parameters);
  line("tick            {}", duration_text(info.unit_ns));
  line("duration        {} ticks, {}", stat.duration, ticks_text(stat.duration));
  line("operations      {:>12}  ({} of them set-up)", stat.ops, info.setup_ops);
  line("  schedule      {:>12}", stat.counts.schedules);
  line("  cancel        {:>12}  ({} found nothing)", stat.counts.cancels, stat.vain_cancels);
  line("  advance       {:>12}", stat.counts.advances);
  line("ids             {:>12}", info.capacity);
  line("peak pending    {:>12}", stat.peak_pending);

  line("what was scheduled");
  const auto share = [&](const char* name, std::uint64_t count) {
    line("  {:<13} {:>12}  {:5.1f} %", name, count, percent(count, stat.counts.schedules));
  };
  share("was cancelled", stat.cancelled);
  share("was moved", stat.moved);
  share("fired", stat.fired);
  share("is pending", stat.pending);
  if (stat.counts.schedules == 0) return text;

  line("delay                  ticks        time");
  for (const auto& [percent, delay] : stat.percentiles) {
    const std::string name = percent == 0     ? "min"
                             : percent == 100 ? "max"
                                              : fmt::format("p{}", percent);
    line("  {:<13} {:>12}  {:>10}", name, delay, ticks_text(delay));
  }

  line("delay from             ticks        time       count");
  const auto occupied = [](std::uint64_t count) { return count > 0; };
  const auto first = std::ranges::find_if(stat.histogram, occupied) - stat.histogram.begin();
  const auto last = std::find_if(stat.histogram.rbegin(), stat.histogram.rend(), occupied).base() -
                    stat.histogram.begin();
  const std::uint64_t highest = std::ranges::max(stat.histogram);
  for (auto k = first; k < last; ++k) {
    constexpr std::uint64_t kWidth = 40;
    const std::uint64_t from = k == 0 ? 0 : std::uint64_t{1} << (k - 1);
    const std::uint64_t count = stat.histogram[k];
    std::string bar((count * kWidth + highest - 1) / highest, '#');
    if (!bar.empty()) bar.insert(0, 1, ' ');
    line("                {:>12}  {:>10}  {:>10}  {:5.1f} %{}", from, ticks_text(from), count,
         percent(count, stat.counts.schedules), bar);
  }
  return text;
}

}  // namespace timerbench
