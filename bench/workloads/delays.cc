#include "workloads/delays.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <numbers>
#include <utility>
#include <vector>

#include "trace/op.h"

namespace timerbench {
namespace {

using namespace std::chrono_literals;
__extension__ using Wide = unsigned __int128;

struct Unit {
  std::string_view name;
  std::chrono::nanoseconds length;
};
constexpr Unit kUnits[] = {{"d", 24h},  {"h", 1h},   {"min", 1min}, {"s", 1s},
                           {"ms", 1ms}, {"us", 1us}, {"ns", 1ns}};

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
    text.remove_prefix(begin);
    if (text.empty()) return words;
    const std::size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

// The square root of a 128-bit number, rounded down, bit by bit.
constexpr std::uint64_t square_root(Wide square) {
  std::uint64_t root = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const std::uint64_t candidate = root | std::uint64_t{1} << bit;
    if (Wide{candidate} * candidate <= square) root = candidate;
  }
  return root;
}

// 2^(1/2), 2^(1/4), 2^(1/8) ... in units of 2^-63.
constexpr auto kRoots = [] {
  std::array<std::uint64_t, 24> roots{};
  std::uint64_t last = ~std::uint64_t{0};  // 2
  for (std::uint64_t& root : roots) last = root = square_root(Wide{last} << 63);
  return roots;
}();

// value * 2^exponent, the exponent in units of 2^-32; at most 2^63.
std::uint64_t times_power_of_two(std::uint64_t value, std::int64_t exponent) {
  Wide product = value;
  for (std::size_t i = 0; i < kRoots.size(); ++i) {
    if ((exponent >> (31 - i) & 1) != 0) product = product * kRoots[i] >> 63;
  }
  const std::int64_t whole = exponent >> 32;
  if (whole <= -63) return 0;
  if (whole < 0) return static_cast<std::uint64_t>(product >> -whole);
  if (whole > 62 || product >> (63 - whole) != 0) return std::uint64_t{1} << 63;
  return static_cast<std::uint64_t>(product << whole);
}

// Fractions are in units of 2^-16.
constexpr int kFineBits = 16;
constexpr double kFine = 1 << kFineBits;

}  // namespace

std::chrono::nanoseconds parse_duration(std::string_view text) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view suffix(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  const auto* const unit = std::ranges::find(kUnits, suffix, &Unit::name);
  constexpr double kMost = 9e18;
  if (error == std::errc{} && unit != std::end(kUnits) && value >= 0) {
    const double ns = value * static_cast<double>(unit->length.count());
    if (ns < kMost) return std::chrono::nanoseconds(std::llround(ns));
  }
  throw ParameterError(
      fmt::format("'{}' is not a duration: give a number and ns, us, ms, s, min, h or d", text));
}

std::string to_text(std::chrono::nanoseconds duration) {
  const auto* const unit = std::ranges::find_if(
      kUnits, [&](const auto& one) { return duration.count() % one.length.count() == 0; });
  return duration.count() == 0 ? "0s" : fmt::format("{}{}", duration / unit->length, unit->name);
}

Delays::Delays(std::string_view text) {
  struct Form {
    std::string_view word;
    Kind kind;
    std::string_view arguments;  // d: a duration, n: a number above 0, s: a share
    std::string_view example;
  };
  static constexpr Form kForms[] = {
      {"constant", Kind::constant, "d", "constant 30s"},
      {"uniform", Kind::uniform, "dd", "uniform 1ms 60s"},
      {"triangular", Kind::triangular, "dd", "triangular 1ms 60s"},
      {"choice", Kind::choice, "ddn", "choice 1s 60s 1000"},
      {"loguniform", Kind::loguniform, "dd", "loguniform 1s 1h"},
      {"exponential", Kind::exponential, "d", "exponential 10s"},
      {"lognormal", Kind::lognormal, "dd", "lognormal 20ms 60ms"},
      {"pareto", Kind::pareto, "dnd", "pareto 10ms 1.2 1h"},
      {"bimodal", Kind::bimodal, "dds", "bimodal 200ms 60s 0.9"},
      {"camel", Kind::camel, "dd", "camel 1ms 60s"},
      {"rising", Kind::rising, "ddd", "rising 1ms 60s 1ms"},
      {"falling", Kind::falling, "ddd", "falling 1ms 60s 1ms"},
  };
  const auto words = words_of(text);
  const auto* const form =
      std::ranges::find(kForms, words.empty() ? "" : words.front(), &Form::word);
  if (form == std::end(kForms)) {
    std::vector<std::string_view> examples;
    for (const Form& one : kForms) examples.push_back(one.example);
    throw ParameterError(fmt::format("'{}' is no distribution of delays; write for example '{}'",
                                     text, fmt::join(examples, "', '")));
  }
  const auto require = [&](bool holds, std::string_view what) {
    if (holds) return;
    throw ParameterError(
        fmt::format("'{}': {}; write for example '{}'", text, what, form->example));
  };
  kind_ = form->kind;
  text_ = fmt::format("{}", fmt::join(words, " "));
  require(words.size() == form->arguments.size() + 1,
          fmt::format("{} are needed after the first word", form->arguments.size()));
  for (std::size_t i = 0; i < form->arguments.size(); ++i) {
    const std::string_view word = words[i + 1];
    if (form->arguments[i] == 'd') {
      arguments_[i] = static_cast<double>(parse_duration(word).count());
      require(arguments_[i] > 0, "a duration must be more than 0");
      continue;
    }
    const auto [rest, error] =
        std::from_chars(word.data(), word.data() + word.size(), arguments_[i]);
    require(error == std::errc{} && rest == word.data() + word.size() && arguments_[i] > 0 &&
                arguments_[i] <= (form->arguments[i] == 's' ? 1 : 1e6),
            fmt::format("'{}' is not a {}", word,
                        form->arguments[i] == 's' ? "share from 0 to 1" : "number above 0"));
  }
  const double upper = arguments_[kind_ == Kind::pareto ? 2 : 1];
  require(form->arguments.size() == 1 || arguments_[0] <= upper, "the first is above the other");
}

DelaySampler::DelaySampler(const Delays& delays, double unit_ns)
    : kind_(delays.kind_), first_(in_ticks(delays, 0, unit_ns)) {
  const auto& given = delays.arguments_;
  switch (kind_) {
    case Kind::constant: break;
    case Kind::exponential:
      if (first_ >> 27 != 0) {
        throw ParameterError(fmt::format("'{}': the mean must be below 2^27 ticks", delays.text()));
      }
      break;
    case Kind::uniform:
    case Kind::triangular:
    case Kind::camel: last_ = in_ticks(delays, 1, unit_ns); break;
    case Kind::choice:
      last_ = in_ticks(delays, 1, unit_ns);
      choices_ = static_cast<std::uint64_t>(given[2]);
      if (choices_ < 2 || choices_ > last_ - first_ + 1) {
        throw ParameterError(fmt::format("'{}': there are 2 to {} delays to choose from",
                                         delays.text(), last_ - first_ + 1));
      }
      break;
    case Kind::loguniform:
      fine_ = std::llround(given[0] / unit_ns * kFine);
      octaves_ = std::llround(std::log2(given[1] / given[0]) * kFine);
      last_ = in_ticks(delays, 1, unit_ns);
      break;
    case Kind::bimodal:
      last_ = in_ticks(delays, 1, unit_ns);
      share_ = given[2];
      break;
    case Kind::rising:
    case Kind::falling:
      last_ = in_ticks(delays, 1, unit_ns);
      step_ = in_ticks(delays, 2, unit_ns);
      break;
    case Kind::lognormal: {
      constexpr double kUpperQuartile = 0.681;  // of Random::normal()
      fine_ = std::llround(given[0] / unit_ns * kFine);
      octaves_ = std::llround(std::log2(given[1] / given[0]) / kUpperQuartile * kFine);
      last_ = kMaxDelay;
      break;
    }
    case Kind::pareto:
      fine_ = std::llround(given[0] / unit_ns * kFine);
      octaves_ = std::llround(std::numbers::log2e / given[1] * kFine);
      last_ = in_ticks(delays, 2, unit_ns);
      break;
  }
}

std::uint64_t DelaySampler::in_ticks(const Delays& delays, std::size_t argument, double unit_ns) {
  const double ticks = delays.arguments_[argument] / unit_ns;
  const auto text = [](double ns) { return to_text(std::chrono::nanoseconds(std::llround(ns))); };
  if (ticks < 1) {
    throw ParameterError(fmt::format("'{}': {} is shorter than the workload's tick of {}",
                                     delays.text(), text(delays.arguments_[argument]),
                                     text(unit_ns)));
  }
  if (ticks > kMaxDelay) {
    throw ParameterError(
        fmt::format("'{}': {} is more than the 2^32 ticks of {} that a trace can tell",
                    delays.text(), text(delays.arguments_[argument]), text(unit_ns)));
  }
  return static_cast<std::uint64_t>(ticks);
}

std::uint32_t DelaySampler::operator()(Random& random) {
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(draw(random), 1, std::uint64_t{kMaxDelay}));
}

std::uint64_t DelaySampler::draw(Random& random) {
  const auto between = [&](std::uint64_t first, std::uint64_t last) {
    return random.between(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last));
  };
  switch (kind_) {
    case Kind::constant: return first_;
    case Kind::uniform: return between(first_, last_);
    case Kind::triangular: return std::max(between(first_, last_), between(first_, last_));
    case Kind::choice: return first_ + between(0, choices_ - 1) * (last_ - first_) / (choices_ - 1);
    case Kind::loguniform: {
      const auto range = static_cast<std::int64_t>(random.next() >> 32);  // of 2^32
      return std::min(last_, times_power_of_two(fine_, range * octaves_ >> kFineBits) >> kFineBits);
    }
    case Kind::exponential: return random.exponential(first_) >> 32;
    case Kind::lognormal: {
      const std::int64_t deviation = random.normal() >> kFineBits;
      return times_power_of_two(fine_, deviation * octaves_) >> kFineBits;
    }
    case Kind::pareto: {
      const auto exponential = static_cast<std::int64_t>(random.exponential(1) >> kFineBits);
      return std::min(last_, times_power_of_two(fine_, exponential * octaves_) >> kFineBits);
    }
    case Kind::bimodal: {
      const std::uint64_t mode = random.chance(share_) ? first_ : last_;
      return between(mode - mode / 10, mode + mode / 10);
    }
    case Kind::camel: {
      const std::uint64_t range = last_ - first_;
      if (random.chance(0.1)) return between(first_, last_);
      const std::uint64_t middle = first_ + (random.chance(0.5) ? range / 4 : range / 4 * 3);
      return between(middle - range / 20, middle + range / 20);
    }
    case Kind::rising:
    case Kind::falling: {
      const std::uint64_t way = turn_++ * step_ % (last_ - first_ + 1);
      return kind_ == Kind::rising ? first_ + way : last_ - way;
    }
  }
  return 1;
}

double DelaySampler::mean() const {
  constexpr int kDraws = 10'000;
  DelaySampler own = *this;
  Random random(1);
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) sum += own(random);
  return sum / kDraws;
}

}  // namespace timerbench
