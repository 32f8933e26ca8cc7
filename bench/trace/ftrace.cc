#include "trace/ftrace.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "trace/excerpt.h"
#include "trace/line_reader.h"

namespace timerbench {
namespace {

enum Kind { start, cancel, expiry };
constexpr std::array<std::string_view, 3> kNames = {"timer_start", "timer_cancel",
                                                    "timer_expire_entry"};

// A position in a line. Each function consumes what its name says, or leaves the position unchanged
// and returns false.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  bool literal(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  template <class T, class... Format>
  bool number(T& value, Format... format) {
    const auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, format...);
    if (error != std::errc{}) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return true;
  }

  bool blanks() {
    const std::size_t count = std::min(rest_.find_first_not_of(' '), rest_.size());
    rest_.remove_prefix(count);
    return count > 0;
  }

  std::string_view word() {
    const std::string_view word = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(word.size());
    return word;
  }

  // Consumes everything up to and including the next `text`.
  bool past(std::string_view text) {
    const std::size_t at = rest_.find(text);
    if (at == std::string_view::npos) return false;
    rest_.remove_prefix(at + text.size());
    return true;
  }

  bool at_end_of_word() const { return rest_.empty() || rest_.front() == ' '; }

 private:
  std::string_view rest_;
};

// The text before the event's own fields: "TASK-PID [CPU] FLAGS SECONDS: EVENT: ".
struct Heading {
  unsigned cpu;
  double seconds;
  std::string_view event;
  Cursor fields;
};

// A task's name may contain blanks and brackets, so this tries each bracket.
std::optional<Heading> parse_heading(std::string_view line) {
  Cursor cursor(line);
  while (cursor.past("[")) {
    Heading heading{0, 0, {}, cursor};
    Cursor& at = heading.fields;
    if (!at.number(heading.cpu) || !at.literal("] ")) continue;
    at.blanks();
    Cursor flags = at;  // trace options can leave them out
    flags.word();
    if (flags.blanks() && flags.number(heading.seconds) && flags.literal(": ")) {
      at = flags;
    } else if (!at.number(heading.seconds) || !at.literal(": ")) {
      continue;
    }
    heading.event = at.word();
    if (!heading.event.ends_with(':')) continue;
    heading.event.remove_suffix(1);
    at.blanks();
    return heading;
  }
  return std::nullopt;
}

struct Event {
  Kind kind;
  unsigned cpu;
  double seconds;
  std::uint64_t address;
  std::uint64_t jiffies = 0;  // 0 for a cancel
  std::uint64_t expires = 0;  // of a start only
};

std::optional<Event> parse_event(Kind kind, const Heading& heading) {
  Event event{.kind = kind, .cpu = heading.cpu, .seconds = heading.seconds, .address = 0};
  Cursor at = heading.fields;
  if (!at.literal("timer=")) return std::nullopt;
  at.literal("0x");
  if (!at.number(event.address, 16) || !at.at_end_of_word()) return std::nullopt;
  if (kind == Kind::start) {
    std::int64_t timeout = 0;
    if (!at.past(" expires=") || !at.number(event.expires) || !at.literal(" [timeout=") ||
        !at.number(timeout) || !at.literal("]")) {
      return std::nullopt;
    }
    event.jiffies = event.expires - static_cast<std::uint64_t>(timeout);  // modulo 2^64, as printed
  } else if (kind == Kind::expiry) {
    if (!at.past(" now=") || !at.number(event.jiffies) || !at.at_end_of_word()) return std::nullopt;
  }
  return event;
}

// By how many jiffies a is later than b, modulo 2^64, like the kernel's time_after().
std::int64_t ahead(std::uint64_t a, std::uint64_t b) { return static_cast<std::int64_t>(a - b); }

bool names_an_event(std::string_view line) {
  return std::ranges::any_of(kNames, [line](std::string_view name) {
    return line.find(fmt::format("{}: ", name)) != line.npos;
  });
}

class FtraceImport {
 public:
  FtraceImport(const std::filesystem::path& path, const FtraceOptions& options)
      : path_(path), lines_(path), hz_(options.hz), source_(options.source) {}

  Trace run() {
    while (const auto line = lines_.next()) {
      if (line->starts_with('#')) {
        comment(*line);
      } else if (const auto event = parse(*line)) {
        apply(*event);
      } else {
        ++skipped_lines_;
      }
    }
    if (events_[Kind::start] == 0) {
      throw TraceError(
          fmt::format("{}: no timer_start in {} lines; enable timer_start, timer_cancel and "
                      "timer_expire_entry in /sys/kernel/tracing/events/timer and record again",
                      path_.string(), lines_.line_number()));
    }
    return finish();
  }

 private:
  // Marks withdrawn operations until finish() removes them. Jiffies never produce it.
  static constexpr Op kWithdrawn = advance_op(0);

  struct Timer {
    std::optional<TimerId> id;             // none: never armed in this recording
    std::optional<unsigned> cancelled_on;  // the CPU, if the timer's last event is a timer_cancel
    std::size_t cancel_op = 0;             // of that timer_cancel, if the timer has an id
  };

  struct Instant {
    std::uint64_t jiffies;
    double seconds;
    std::uint64_t line;
  };

  void comment(std::string_view line) {
    ++skipped_lines_;
    Cursor hz(line);
    if (hz_ == 0 && hz.past("CONFIG_HZ=")) {
      hz.number(hz_);
      if (source_.empty()) source_ = line.substr(line.find_first_not_of("# "));
    }
    Cursor entries(line);
    std::uint64_t kept = 0;
    std::uint64_t written = 0;
    if (entries.past("entries-in-buffer/entries-written: ") && entries.number(kept) &&
        entries.literal("/") && entries.number(written) && kept < written) {
      overwritten_ += written - kept;
    }
  }

  // Nothing if the line does not matter.
  std::optional<Event> parse(std::string_view line) {
    if (const auto heading = parse_heading(line)) {
      const auto name = std::ranges::find(kNames, heading->event);
      if (name == kNames.end()) return std::nullopt;
      const auto event = parse_event(static_cast<Kind>(name - kNames.begin()), *heading);
      if (event) return event;
    } else if (!names_an_event(line)) {
      count_lost(line);
      return std::nullopt;
    }
    lines_.fail(fmt::format("not as the kernel prints it, mend or delete it: {}", excerpt(line)));
  }

  // Parses "CPU:1 [LOST 17 EVENTS]"; the number may be missing.
  void count_lost(std::string_view line) {
    Cursor at(line);
    if (!at.past("[LOST ")) return;
    std::uint64_t count = 1;
    at.number(count);
    lost_ += count;
  }

  void apply(const Event& event) {
    ++events_[event.kind];
    Timer& timer = timers_[event.address];
    Timer*& cancelled_last = cancelled_last_[event.cpu];
    // Whether the last event of the timer and of the CPU was this timer's timer_cancel here.
    const bool follows_in_timer = std::exchange(timer.cancelled_on, std::nullopt) == event.cpu;
    const bool follows_in_cpu = std::exchange(cancelled_last, nullptr) == &timer;
    switch (event.kind) {
      case Kind::start:
        advance_to(event);
        if (follows_in_timer && follows_in_cpu) {
          ++moves_;
          withdraw_cancel(timer);
        }
        if (!timer.id) timer.id = capacity_++;
        ops_.push_back(schedule_op(*timer.id, delay(event.expires)));
        break;
      case Kind::cancel:
        if (timer.id) {
          timer.cancel_op = ops_.size();
          ops_.push_back(cancel_op(*timer.id));
        }
        timer.cancelled_on = event.cpu;
        cancelled_last = &timer;
        break;
      case Kind::expiry:
        advance_to(event);
        if (follows_in_timer) {
          ++detaches_;
          withdraw_cancel(timer);
        }
        if (!timer.id) ++unknown_expiries_;
        break;
    }
  }

  void withdraw_cancel(const Timer& timer) {
    if (timer.id) ops_[timer.cancel_op] = kWithdrawn;
  }

  void advance_to(const Event& event) {
    const Instant now{event.jiffies, event.seconds, lines_.line_number()};
    if (!first_) {
      if (!(hz_ > 0) || !std::isfinite(hz_)) {
        lines_.fail("the jiffies per second are not known: no CONFIG_HZ=... above; give --hz");
      }
      first_ = now;
      clock_ = now.jiffies;
    }
    check_pace(now);
    for (; ahead(now.jiffies, clock_) > 0; ++clock_) ops_.push_back(advance_op(1));
  }

  // Jiffies and seconds advance together, unless a digit is damaged or the HZ is wrong. Jiffies may
  // lag while the CPU that counts them is held up.
  void check_pace(const Instant& now) const {
    constexpr double kSlackSeconds = 0.25;
    constexpr double kSlackShare = 0.1;
    const double by_clock = now.seconds - first_->seconds;
    const double by_jiffies = seconds(ahead(now.jiffies, first_->jiffies));
    const double slack = kSlackSeconds + kSlackShare * std::abs(by_clock);
    if (!(std::abs(by_jiffies - by_clock) <= slack)) {
      lines_.fail(fmt::format(
          "since line {} the timestamp has moved by {:.3f} s, the jiffies by {:.3f} s: one of the "
          "lines is damaged, or HZ is not {}",
          first_->line, by_clock, by_jiffies, hz_));
    }
    if (seconds(ahead(clock_, now.jiffies)) > kSlackSeconds) {
      lines_.fail("time goes back: two recordings in one file; import each by itself");
    }
  }

  double seconds(std::int64_t jiffies) const { return static_cast<double>(jiffies) / hz_; }

  // The kernel's wheel itself caps delays at some 2^30 jiffies, which is below this limit.
  std::uint32_t delay(std::uint64_t expires) {
    const std::int64_t ticks = ahead(expires, clock_);
    if (ticks > std::int64_t{kMaxDelay}) ++cut_off_;
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(ticks, 0, kMaxDelay));
  }

  Trace finish() {
    std::erase(ops_, kWithdrawn);
    const OpCounts counts = count_ops(ops_);

    nlohmann::json warnings = nlohmann::json::array();
    const std::uint64_t lost_events = std::max(overwritten_, lost_);  // may count the same events
    if (lost_events > 0) {
      warnings.push_back(fmt::format(
          "at least {} events were lost in the recording: enlarge buffer_size_kb", lost_events));
    }
    for (const Kind kind : {Kind::cancel, Kind::expiry}) {
      if (events_[kind] > 0) continue;
      warnings.push_back(fmt::format("no {} at all: was it enabled?", kNames[kind]));
    }
    if (cut_off_ > 0) {
      warnings.push_back(fmt::format("{} delays were cut off at {} jiffies", cut_off_, kMaxDelay));
    }

    TraceInfo info;
    info.unit_ns = 1e9 / hz_;
    info.capacity = capacity_;
    info.items = counts.timer_ops();
    info.peak_pending = peak_pending(ops_, capacity_, path_.string());
    info.workload = "ftrace";
    const nlohmann::json parameters = {
        {"hz", hz_},
        {"starts", events_[Kind::start]},
        {"cancels", events_[Kind::cancel]},
        {"expiries", events_[Kind::expiry]},
        {"moves", moves_},
        {"detaches", detaches_},
        {"unknown_cancels", events_[Kind::cancel] - moves_ - detaches_ - counts.cancels},
        {"unknown_expiries", unknown_expiries_},
        {"skipped_lines", skipped_lines_},
        {"lost_events", lost_events},
        {"warnings", std::move(warnings)}};
    info.parameters = parameters.dump();
    info.source = source_.empty() ? path_.filename().string() : source_;
    return {std::move(info), std::move(ops_)};
  }

  const std::filesystem::path path_;
  LineReader lines_;
  double hz_;
  std::string source_;

  std::vector<Op> ops_;
  std::unordered_map<std::uint64_t, Timer> timers_;      // by address
  std::unordered_map<unsigned, Timer*> cancelled_last_;  // by CPU; null: another event was last
  TimerId capacity_ = 0;
  std::optional<Instant> first_;
  std::uint64_t clock_ = 0;  // in jiffies, valid once first_ is set

  std::array<std::uint64_t, kNames.size()> events_{};
  std::uint64_t moves_ = 0;
  std::uint64_t detaches_ = 0;
  std::uint64_t unknown_expiries_ = 0;
  std::uint64_t cut_off_ = 0;
  std::uint64_t skipped_lines_ = 0;
  std::uint64_t overwritten_ = 0;  // as the header says
  std::uint64_t lost_ = 0;         // as lines in the middle say
};

}  // namespace

Trace import_ftrace(const std::filesystem::path& path, const FtraceOptions& options) {
  return FtraceImport(path, options).run();
}

}  // namespace timerbench
