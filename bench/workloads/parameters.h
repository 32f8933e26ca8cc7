// The parameters of a generator by name: what a suite or a user sets, and what a trace's
// description records.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/timer_queue.h"
#include "workloads/delays.h"

namespace timerbench {

// Name and value, as text, of the parameters that differ from their default.
using Settings = std::vector<std::pair<std::string, std::string>>;

// A reference to a member of a generator. Durations are written "30s", shares of 1 "0.9", and
// distributions as in delays.h.
class Parameter {
 public:
  using Value = std::variant<std::uint32_t*, double*, std::chrono::nanoseconds*, Delays*>;

  Parameter(std::string_view name, Value value, std::string_view meaning)
      : name_(name), value_(value), meaning_(meaning) {}

  std::string_view name() const { return name_; }
  std::string_view meaning() const { return meaning_; }
  std::string text() const;

  // Throws ParameterError.
  void set(std::string_view text);

 private:
  std::string_view name_;
  Value value_;
  std::string_view meaning_;
};

using Parameters = std::vector<Parameter>;

// "1000", "10k", "1e6": a number from 1 to kMostIds. Throws ParameterError.
TimerId parse_size(std::string_view text);

// Throws ParameterError, which names what is wrong; for an unknown name also the known ones.
void apply(const Settings& settings, std::string_view workload, Parameters parameters);

}  // namespace timerbench
