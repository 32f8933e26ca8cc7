#include "verify/call_log.h"

#include <fmt/format.h>

#include <algorithm>

namespace timerbench {
namespace {

CallLog g_own;
CallLog* g_log = &g_own;

}  // namespace

void CallLog::begin_make(const QueueConfig& config) {
  config_ = config;
  size_ = 0;
  begin(Kind::make);
}

void CallLog::begin(Kind kind, TimerId id, Tick at) {
  if (size_ > 0 && last().observes()) --size_;
  ++size_;
  last() = {.kind = kind, .has_ended = false, .id = id, .at = at, .answer = 0};
  total_.fetch_add(1, std::memory_order_relaxed);
}

void CallLog::end(std::uint64_t answer) {
  last().answer = answer;
  last().has_ended = true;
}

std::string CallLog::to_text(const Call& call) const {
  const auto answered = [&](std::string text, std::string_view answer) {
    return call.has_ended ? fmt::format("{} -> {}", text, answer) : text;
  };
  const std::string number = std::to_string(call.answer);
  switch (call.kind) {
    case Kind::make:
      return fmt::format("a new queue of capacity {}, start {}, granularity {}", config_.capacity,
                         config_.start, config_.granularity);
    case Kind::schedule: return fmt::format("schedule({}, {})", call.id, call.at);
    case Kind::cancel:
      return answered(fmt::format("cancel({})", call.id), call.answer != 0 ? "true" : "false");
    case Kind::advance: return answered(fmt::format("advance({})", call.at), number);
    case Kind::sync: return "sync()";
    case Kind::size: return answered("size()", number);
    case Kind::next_wakeup:
      return answered("next_wakeup()", call.answer == kNever ? "kNever" : number);
  }
  return "";
}

std::string CallLog::text() const {
  std::string lines;
  for (std::uint64_t i = size_ - std::min(size_, kKept); i < size_; ++i) {
    const Call& call = calls_[i % kKept];
    lines += fmt::format("  {:>6}  {}\n", i + 1, to_text(call));
  }
  return lines;
}

CallLog& call_log() { return *g_log; }
void use_call_log(CallLog& log) { g_log = &log; }

}  // namespace timerbench
