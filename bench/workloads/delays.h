// How far ahead timers are armed: distributions of delays, written as people say them.
//
//   constant 30s                 always the same
//   uniform 1ms 60s              between the two, whole ticks
//   triangular 1ms 60s           between the two, the later the likelier: the larger of two uniform ones
//   choice 1s 60s 1000           one of so many that are spread evenly from the first to the second
//   loguniform 1s 1h             between the two, every octave as likely as the next
//   exponential 10s              with that mean, at least a tick
//   lognormal 20ms 60ms          with that median and upper quartile
//   pareto 10ms 1.2 1h           with that least value and shape; larger values become the third
//   bimodal 200ms 60s 0.9        within a tenth of the first in that share of cases, else within a
//                                tenth of the second
//   camel 1ms 60s                two humps that hold nine tenths, each a tenth of the range wide
//                                (after Rönngren & Ayani 1997); the rest is uniform over the range
//   rising 1ms 60s 1ms           from the first up to the second by steps of the third, and again:
//                                deadlines in order, a heap's best case if all are armed at once
//   falling 1ms 60s 1ms          the same backwards, a heap's worst case
//
// A number with a unit is a duration: ns, us, ms, s, min, h or d.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "workloads/random.h"

namespace timerbench {

// A parameter that cannot be understood. The text is one line that says what is accepted.
struct ParameterError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// "30s", "1.5h", "200ms". Throws ParameterError.
std::chrono::nanoseconds parse_duration(std::string_view text);

// The same back: the largest unit of which it is a whole number.
std::string to_text(std::chrono::nanoseconds duration);

class Delays {
 public:
  // Throws ParameterError.
  explicit Delays(std::string_view text);

  const std::string& text() const { return text_; }

 private:
  friend class DelaySampler;
  enum class Kind {
    constant,
    uniform,
    triangular,
    choice,
    loguniform,
    exponential,
    lognormal,
    pareto,
    bimodal,
    camel,
    rising,
    falling
  };

  std::string text_;
  Kind kind_;
  std::array<double, 3> arguments_{};  // durations in ns
};

// Draws delays in ticks, from 1 to kMaxDelay. It computes with integers only, so that a seed gives
// the same delays on any machine.
class DelaySampler {
 public:
  // `unit_ns`: the length of a tick. Throws ParameterError if a duration is shorter than a tick, or
  // longer than a trace can hold.
  DelaySampler(const Delays& delays, double unit_ns);

  std::uint32_t operator()(Random& random);

  // The mean of many draws, in ticks.
  double mean() const;

 private:
  using Kind = Delays::Kind;
  static std::uint64_t in_ticks(const Delays& delays, std::size_t argument, double unit_ns);
  std::uint64_t draw(Random& random);

  Kind kind_;
  std::uint64_t first_, last_ = 0, step_ = 0;  // in ticks
  std::uint64_t choices_ = 0;
  double share_ = 0;  // of the first mode
  // In units of 2^-16: the median or least value in ticks, and how often a deviation of 1, or the
  // whole range, doubles it.
  std::uint64_t fine_ = 0;
  std::int64_t octaves_ = 0;
  std::uint64_t turn_ = 0;  // how many were drawn
};

}  // namespace timerbench
