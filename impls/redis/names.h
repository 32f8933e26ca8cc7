// The names of keys and timers on a Redis server.
#pragma once

#include <fmt/compile.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>

#include "core/timer_queue.h"

namespace timerbench {

// PID:RANDOM, for keys that are unique.
inline std::string unique_redis_name() {
  std::random_device random;
  return fmt::format("{}:{:08x}{:08x}", getpid(), random(), random());
}

// A timer as the member of a set: its id in eight hexadecimal digits. Redis orders equal scores by
// the bytes of the member, and at a fixed width that is the order of the ids (unpadded, "10" comes
// before "9").
class RedisMember {
 public:
  explicit RedisMember(TimerId id) { fmt::format_to(text_.begin(), FMT_COMPILE("{:08x}"), id); }
  operator std::string_view() const { return {text_.data(), text_.size()}; }

  // std::nullopt if the text is no member.
  static std::optional<TimerId> parse(std::string_view text) {
    TimerId id = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id, 16);
    if (error != std::errc{} || RedisMember(id) != text) return std::nullopt;
    return id;
  }

 private:
  std::array<char, 8> text_;
};

}  // namespace timerbench
