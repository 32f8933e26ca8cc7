#include "trace/csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <string_view>

#include "system/output_file.h"
#include "system/stop.h"
#include "trace/excerpt.h"
#include "trace/line_reader.h"

namespace timerbench {
namespace {

constexpr std::string_view kHeader = "at,op,id,delay";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // spreadsheets write it
constexpr std::size_t kFlush = 1 << 16;

// The longest gap between two rows: a wrong digit must not become a billion operations.
constexpr Tick kLongestGap = Tick{1} << 52;

class CsvImport {
 public:
  explicit CsvImport(const std::filesystem::path& path) : lines_(path) {}

  std::vector<Op> run() {
    std::string_view first = lines_.next().value_or("");
    if (first.starts_with(kByteOrderMark)) first.remove_prefix(kByteOrderMark.size());
    if (first != kHeader) {
      lines_.fail(fmt::format("the first line must be {}, not \"{}\"", kHeader, excerpt(first)));
    }
    while (const auto line = lines_.next()) {
      if (!line->empty()) row(*line);
    }
    return std::move(ops_);
  }

  TimerId capacity() const { return capacity_; }

 private:
  enum Column { kAt, kOp, kId, kDelay, kColumns };

  void row(std::string_view line) {
    if (std::ranges::count(line, ',') != kColumns - 1) {
      lines_.fail(fmt::format("four fields expected, {}", kHeader));
    }
    for (std::string_view& field : fields_) {
      field = line.substr(0, line.find(','));
      line.remove_prefix(std::min(line.size(), field.size() + 1));
    }

    const Tick at = number(kAt, kNever - 1);
    if (at < now_) {
      lines_.fail(fmt::format("at {} is in the past, the clock is {}; sort the rows", at, now_));
    }
    const std::string_view op = fields_[kOp];
    if (op == "advance") {
      expect_empty(kId);
      if (fields_[kDelay].empty()) {
        advance(at - now_);
      } else {
        catch_up(at);
        advance(number(kDelay, kLongestGap));
      }
    } else if (op == "cancel") {
      expect_empty(kDelay);
      catch_up(at);
      ops_.push_back(cancel_op(id()));
    } else if (op == "schedule") {
      catch_up(at);
      const std::uint64_t delay = number(kDelay, kNever);
      if (delay > kMaxDelay) {
        lines_.fail(
            fmt::format("delay {} is more than {}; choose a coarser unit", delay, kMaxDelay));
      }
      ops_.push_back(schedule_op(id(), static_cast<std::uint32_t>(delay)));
    } else {
      lines_.fail(fmt::format("op is \"{}\", not schedule, cancel or advance", excerpt(op)));
    }
  }

  TimerId id() {
    const auto id = static_cast<TimerId>(number(kId, kMostIds - 1));
    capacity_ = std::max(capacity_, id + 1);
    return id;
  }

  void catch_up(Tick at) {
    if (at > now_) advance(at - now_);
  }

  // Uses as few operations as possible, but at least one: an advance by 0 fires what is due.
  void advance(Tick ticks) {
    if (ticks > kLongestGap || ticks >= kNever - now_) {
      lines_.fail(fmt::format("an advance by {} ticks; mend it or choose a coarser unit", ticks));
    }
    now_ += ticks;
    constexpr std::uint32_t kMost = ~std::uint32_t{0};
    for (; ticks > kMost; ticks -= kMost) ops_.push_back(advance_op(kMost));
    ops_.push_back(advance_op(static_cast<std::uint32_t>(ticks)));
  }

  std::uint64_t number(Column column, std::uint64_t most) const {
    const std::string_view field = fields_[column];
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc{} || end != field.data() + field.size() || value > most) {
      lines_.fail(fmt::format("{} is \"{}\", not a whole number from 0 to {}", name(column),
                              excerpt(field), most));
    }
    return value;
  }

  void expect_empty(Column column) const {
    if (!fields_[column].empty()) {
      lines_.fail(fmt::format("{} takes no {}", fields_[kOp], name(column)));
    }
  }

  static std::string_view name(Column column) {
    return std::array{"at", "op", "id", "delay"}[column];
  }

  LineReader lines_;
  std::array<std::string_view, kColumns> fields_;  // of the current row
  Tick now_ = 0;
  TimerId capacity_ = 0;
  std::vector<Op> ops_;
};

// Appends the row of an operation and advances the clock.
void append_row(std::string& rows, Op op, Tick& now) {
  const auto out = std::back_inserter(rows);
  if (op.id == kAdvance) {
    fmt::format_to(out, "{},advance,,{}\n", now, op.arg);
    now += op.arg;
  } else if (op.arg == kCancel) {
    fmt::format_to(out, "{},cancel,{},\n", now, op.id);
  } else {
    fmt::format_to(out, "{},schedule,{},{}\n", now, op.id, op.arg);
  }
}

}  // namespace

std::string to_csv(std::span<const Op> ops) {
  std::string rows = fmt::format("{}\n", kHeader);
  Tick now = 0;
  for (const Op op : ops) append_row(rows, op, now);
  return rows;
}

void export_csv(const Trace& trace, const std::filesystem::path& path) {
  OutputFile file(path);
  std::string rows = fmt::format("{}\n", kHeader);
  Tick now = 0;
  for (const Op op : trace.ops()) {
    append_row(rows, op, now);
    if (rows.size() >= kFlush) {
      throw_if_interrupted();
      file.write(rows);
      rows.clear();
    }
  }
  file.write(rows);
  file.sync();
  file.commit();
}

Trace import_csv(const std::filesystem::path& path, double unit_ns) {
  CsvImport import(path);
  std::vector<Op> ops = import.run();
  TraceInfo info;
  info.unit_ns = unit_ns;
  info.capacity = import.capacity();
  info.items = count_ops(ops).timer_ops();
  info.peak_pending = peak_pending(ops, info.capacity, path.string());
  info.workload = "csv";
  info.source = path.filename().string();
  return {std::move(info), std::move(ops)};
}

}  // namespace timerbench
