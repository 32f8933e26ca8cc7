#include "verify/differential.h"

#include <fmt/core.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <utility>

#include "trace/csv.h"
#include "verify/check.h"
#include "verify/radices.h"

namespace timerbench {
namespace {

// Sizes of rings, levels, words and types.
constexpr std::array<std::uint32_t, 16> kEdges = {
    1, 2, 4, 8, 16, 20, 64, 256, 400, 512, 4096, 8000, 65536, 262144, 1 << 24, 1u << 31};

// A program that takes long for each trace would be shrunk for minutes.
constexpr std::chrono::seconds kLongestShrinking{10};

// Another program takes long to start, so it gets longer traces, and enough of them.
constexpr int kLongerForProcesses = 10;
constexpr std::uint64_t kLeastForProcesses = 20;

// Starts of the clock: mostly 0, sometimes just before the largest value of a type, the largest
// integers that a double represents, or the largest tick.
constexpr std::array<Tick, 8> kStarts = {0,
                                         0,
                                         0,
                                         0,
                                         (Tick{1} << 32) - 500,
                                         (Tick{1} << 53) - 500,
                                         (Tick{1} << 63) - 500,
                                         kNever - (Tick{1} << 41)};

// The parameters of a random trace.
struct Shape {
  TimerId capacity;
  int most_ops;
  bool is_slow;  // time mostly passes by a few ticks, so that many timers are pending
  Tick radix;    // if not 0, delays and the clock stay near its powers, where levels wrap
  std::uint32_t longest_advance = kMaxDelay;
  Conditions conditions;
};

// With few ids operations often meet; more ids fill the structure. One trace in eight is large,
// past 128 timers, where Redis changes its encoding. Every other trace aims at the powers of a
// radix.
constexpr Shape kSmall{
    .capacity = 6, .most_ops = 200, .is_slow = false, .radix = 0, .conditions = {}};
constexpr Shape kMiddle{
    .capacity = 40, .most_ops = 200, .is_slow = false, .radix = 0, .conditions = {}};
constexpr Shape kLarge{
    .capacity = 1000, .most_ops = 3000, .is_slow = true, .radix = 0, .conditions = {}};
constexpr std::array<Shape, 8> kShapes = {kSmall,  kSmall,  kSmall,  kSmall,
                                          kMiddle, kMiddle, kMiddle, kLarge};

rc::Gen<std::uint32_t> beside(rc::Gen<std::uint32_t> edges) {
  return rc::gen::map(rc::gen::pair(std::move(edges), rc::gen::inRange<std::uint32_t>(0, 3)),
                      [](const auto& pair) { return pair.first + pair.second - 1; });
}

// Mostly short delays, often an edge, its neighbours or its multiples, sometimes long ones.
rc::Gen<std::uint32_t> any_delay() {
  const auto edge = rc::gen::elementOf(kEdges);
  const auto multiple = rc::gen::map(
      rc::gen::pair(edge, rc::gen::inRange<std::uint32_t>(1, 8)), [](const auto& pair) {
        return static_cast<std::uint32_t>(std::uint64_t{pair.first} * pair.second % kMaxDelay);
      });
  return rc::gen::weightedOneOf<std::uint32_t>(
      {{4, rc::gen::inRange<std::uint32_t>(0, 10)},
       {3, rc::gen::inRange<std::uint32_t>(0, 700)},
       {3, beside(edge)},
       {2, multiple},
       {1, rc::gen::inRange<std::uint32_t>(0, 300000)},
       {1, rc::gen::inRange<std::uint32_t>(0, kMaxDelay)}});
}

// Powers of the radix, their neighbours, and small delays: their sums stay near multiples of
// powers.
rc::Gen<std::uint32_t> aimed_delay(Tick radix) {
  std::vector<std::uint32_t> powers;
  for (Tick power = 1; power < kMaxDelay; power *= radix) {
    powers.push_back(static_cast<std::uint32_t>(power));
  }
  return rc::gen::weightedOneOf<std::uint32_t>(
      {{2, rc::gen::inRange<std::uint32_t>(0, 4)},
       {2, rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(radix))},
       {4, beside(rc::gen::elementOf(powers))}});
}

// A little before a multiple of a random power of the radix.
Tick aimed_start(Tick radix, rc::Random random) {
  Tick power = 1;
  for (Tick i = random.next() % 8; i > 0 && power <= kNever / radix / radix / 8; --i) {
    power *= radix;
  }
  const Tick wrap = power * (1 + random.next() % 4);
  return wrap - std::min(wrap, random.next() % 4);
}

rc::Gen<Op> any_op(const Shape& shape) {
  const auto id = rc::gen::inRange<TimerId>(0, shape.capacity);
  const auto delay = shape.radix > 0 ? aimed_delay(shape.radix) : any_delay();
  const auto schedule = rc::gen::map(rc::gen::pair(id, delay), [](const auto& pair) {
    return schedule_op(pair.first, pair.second);
  });
  const auto cancel = rc::gen::map(id, cancel_op);
  const auto ticks = shape.is_slow ? rc::gen::weightedOneOf<std::uint32_t>(
                                         {{400, rc::gen::inRange<std::uint32_t>(0, 4)}, {1, delay}})
                                   : delay;
  const auto advance = rc::gen::map(ticks, [longest = shape.longest_advance](std::uint32_t ticks) {
    return advance_op(std::min(ticks, longest));
  });
  return rc::gen::weightedOneOf<Op>({{5, schedule}, {1, cancel}, {4, advance}});
}

// Replays under audit. Without a violation, adds the counts to the result.
std::optional<TraceViolation> run(const Backend& backend, const Shape& shape,
                                  std::span<const Op> ops, const StopFlag& stop,
                                  DifferentialResult& counts) {
  Audit done = audit(backend, shape.capacity, ops, shape.conditions, stop);
  if (done.violation) return std::move(done.violation);
  ++counts.traces;
  counts.fired += done.fired;
  counts.empty_wakeups += done.empty_wakeups;
  return std::nullopt;
}

rc::Seq<Op> shrink_op(Op op) {
  if (op.arg == kCancel) return {};
  return rc::seq::map(rc::shrink::integral(op.arg), [op](std::uint32_t arg) {
    return Op{op.id, arg};
  });
}

// Makes the trace smaller as long as it still fails. It starts the clock at 0, ends the trace at
// the violation, leaves out operations (many at once first), and shortens delays.
class Shrinker {
 public:
  Shrinker(const Backend& backend, const Shape& shape, std::vector<Op> ops,
           TraceViolation violation, const StopFlag& stop)
      : backend_(backend),
        shape_(shape),
        ops_(std::move(ops)),
        violation_(std::move(violation)),
        stop_(stop) {}

  Counterexample smallest() {
    end_with_violation();
    const Tick start = std::exchange(shape_.conditions.start, 0);
    if (!try_instead(ops_)) shape_.conditions.start = start;
    while (!is_over() && (leave_out() || shorten_delays())) continue;
    return {ops_, shape_.conditions, violation_};
  }

 private:
  bool is_over() const { return stop_ || std::chrono::steady_clock::now() > end_; }

  bool try_instead(const std::vector<Op>& ops) {
    DifferentialResult uncounted;
    auto violation = run(backend_, shape_, ops, stop_, uncounted);
    if (!violation) return false;
    ops_ = ops;
    violation_ = std::move(*violation);
    end_with_violation();
    return true;
  }

  void end_with_violation() { ops_.resize(std::min(ops_.size(), violation_.operation + 1)); }

  bool leave_out() {
    const std::size_t before = ops_.size();
    for (std::size_t chunk = ops_.size() / 2; chunk > 0; chunk /= 2) {
      for (std::size_t begin = 0; begin + chunk <= ops_.size() && !is_over();) {
        if (!try_instead(without(begin, chunk, /*in_time=*/false)) &&
            (chunk == 1 || !try_instead(without(begin, chunk, /*in_time=*/true)))) {
          begin += chunk;
        }
      }
    }
    return ops_.size() < before;
  }

  // `in_time`: one advance replaces them, so that the clock is the same afterwards.
  std::vector<Op> without(std::size_t begin, std::size_t count, bool in_time) const {
    const auto first = ops_.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = first + static_cast<std::ptrdiff_t>(count);
    std::vector<Op> fewer(ops_.begin(), first);
    if (in_time) {
      Tick ticks = 0;
      for (auto op = first; op != last; ++op) ticks += op->id == kAdvance ? op->arg : 0;
      fewer.push_back(advance_op(static_cast<std::uint32_t>(std::min<Tick>(ticks, kMaxDelay))));
    }
    fewer.insert(fewer.end(), last, ops_.end());
    return fewer;
  }

  bool shorten_delays() {
    auto shorter = rc::shrink::eachElement(ops_, shrink_op);
    while (const auto ops = shorter.next()) {
      if (is_over()) return false;
      if (try_instead(*ops)) return true;
    }
    return false;
  }

  const Backend& backend_;
  Shape shape_;
  std::vector<Op> ops_;
  TraceViolation violation_;
  const StopFlag& stop_;
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + kLongestShrinking;
};

}  // namespace

std::string to_text(const Counterexample& found, std::string_view backend,
                    std::string_view program) {
  const auto& [start, granularity, driver] = found.conditions;
  return fmt::format(
      "  the smallest trace that shows it; saved as F.csv it is checked again by\n"
      "  {0} trace import --format=csv F.csv F && "
      "{0} verify {1} --trace F --granularity {2}{3}{4}\n{5}",
      program, backend, granularity, start > 0 ? fmt::format(" --start {}", start) : "",
      driver == AuditedQueue::Driver::sleeping ? " --sleeping" : "", to_csv(found.ops));
}

DifferentialResult test_differentially(const Backend& backend, std::uint64_t seed,
                                       std::chrono::duration<double> seconds,
                                       const StopFlag& stop) {
  const auto end = std::chrono::steady_clock::now() + seconds;
  const std::uint64_t least = backend.process ? kLeastForProcesses : 1;
  DifferentialResult result;
  rc::Random random(seed);
  do {
    const std::uint64_t bits = random.split().next();
    Shape shape = kShapes[bits >> 8 & 7];
    shape.conditions = {.start = kStarts[bits >> 5 & 7],
                        .granularity = std::array<Tick, 4>{1, 1, 3, 100}[bits >> 1 & 3],
                        .driver = (bits >> 3 & 3) == 0 ? AuditedQueue::Driver::sleeping
                                                       : AuditedQueue::Driver::ticking};
    if ((bits & 1) == 0) {
      shape.radix = kRadices[(bits >> 16) % kRadices.size()];
      shape.conditions.start = aimed_start(shape.radix, random.split());
    }
    if (backend.process) {
      shape.most_ops *= kLongerForProcesses;
      shape.conditions.start = 0;
      shape.conditions.driver = AuditedQueue::Driver::ticking;
    }
    if (backend.traits.walks_ticks) shape.longest_advance = 1 << 16;
    // RapidCheck's size is the maximum number of operations.
    const auto ops =
        rc::gen::container<std::vector<Op>>(any_op(shape))(random.split(), shape.most_ops).value();
    if (auto violation = run(backend, shape, ops, stop, result)) {
      result.counterexample = Shrinker(backend, shape, ops, std::move(*violation), stop).smallest();
      break;
    }
  } while ((std::chrono::steady_clock::now() < end || result.traces < least) && !stop);
  return result;
}

}  // namespace timerbench
