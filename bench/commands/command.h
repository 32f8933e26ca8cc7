// The commands of the program. Each adds itself to the command line.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "core/timer_queue.h"

namespace timerbench {

void add_list(CLI::App& app);
void add_run(CLI::App& app);
void add_verify(CLI::App& app);
void add_replay(CLI::App& app);
void add_trace(CLI::App& app);

// Accepts numbers from `least` to `most`. CLI::Range lets nan pass, and -1 become 2^64 - 1.
template <class T>
CLI::Validator in_range(T least, T most) {
  const auto check = [=](const std::string& text) {
    T value{};
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc{} && rest == end && least <= value && value <= most) {
      return std::string();
    }
    return fmt::format("'{}' is not a {} from {} to {}", text,
                       std::is_integral_v<T> ? "whole number" : "number", least, most);
  };
  return {check, fmt::format("{} .. {}", least, most)};
}

// Up to about 12 days.
inline CLI::Validator seconds_range() { return in_range(0.0, 1e6); }

// Options of several commands.
inline CLI::Option* add_granularity_option(CLI::App& command, Tick& granularity) {
  return command
      .add_option("--granularity", granularity, "Ticks to which granular backends round deadlines")
      ->capture_default_str()
      ->check(in_range(Tick{1}, Tick{1} << 32));
}
inline void add_items_option(CLI::App& command, std::uint64_t& items, const char* description) {
  constexpr std::uint64_t kMost = 10'000'000'000;
  command.add_option("--items", items, description)->check(in_range(std::uint64_t{0}, kMost));
}
inline void add_seed_option(CLI::App& command, std::uint64_t& seed, const char* description) {
  command.add_option("--seed", seed, description)
      ->capture_default_str()
      ->check(in_range(std::uint64_t{0}, ~std::uint64_t{0}));
}

// The user asked for something that is not there: exit code 2. The text is one line.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr int kFailure = 1;  // exit codes
inline constexpr int kUsage = 2;

// What is to be said has been said, such as which backend breaks the contract: an exit code without a
// further word.
struct CommandFailed {
  int code = kFailure;
};

}  // namespace timerbench
