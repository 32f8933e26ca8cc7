#include "trace/stat.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <nlohmann/json.hpp>
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

}  // namespace

TraceStat stat_trace(const Trace& trace) {
  const std::span<const Op> ops = trace.ops();
  TraceStat stat;
  stat.ops = ops.size();
  stat.counts = count_ops(ops);
  std::vector<std::uint32_t> delays;
  delays.reserve(stat.counts.schedules);

  Model model({.capacity = trace.info().capacity});
  for (const Op op : ops) {
    throw_if_interrupted();
    if (op.id == kAdvance) {
      stat.duration += op.arg;
      stat.fired += model.advance(stat.duration, IgnoreExpiry{});
    } else if (op.arg == kCancel) {
      ++(model.cancel(op.id) ? stat.cancelled : stat.vain_cancels);
    } else {
      if (model.pending(op.id)) ++stat.moved;
      model.schedule(op.id, stat.duration + op.arg);
      stat.peak_pending = std::max<std::uint64_t>(stat.peak_pending, model.size());
      delays.push_back(op.arg);
      ++stat.histogram[std::bit_width(op.arg)];
    }
  }
  stat.pending = model.size();

  std::ranges::sort(delays);
  for (auto& [percent, delay] : stat.percentiles) {
    if (!delays.empty()) delay = delays[(delays.size() - 1) * percent / 100];
  }
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
