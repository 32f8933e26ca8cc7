#include "verify/differential.h"

#include <fmt/core.h>
#include <rapidcheck.h>

#include <array>

#include "trace/csv.h"

namespace timerbench {
namespace {

// Where rings, levels, words and types end.
constexpr std::array<std::uint32_t, 16> kEdges = {
    1, 2, 4, 8, 16, 20, 64, 256, 400, 512, 4096, 8000, 65536, 262144, 1 << 24, 1u << 31};

// Where the clock begins: mostly at 0, sometimes before the ends of types, of the whole numbers
// that a double tells apart, and of time.
constexpr std::array<Tick, 8> kStarts = {0,
                                         0,
                                         0,
                                         0,
                                         (Tick{1} << 32) - 500,
                                         (Tick{1} << 53) - 500,
                                         (Tick{1} << 63) - 500,
                                         kNever - (Tick{1} << 41)};

// Everything about a random trace but its operations.
struct Shape {
  TimerId capacity;
  int most_ops;
  bool is_slow;  // time passes by a few ticks mostly, so that many timers are pending
  Conditions conditions;
};

// Few ids meet often; more fill the structure; one trace in eight is large, past 128 timers, where
// Redis changes its encoding.
constexpr Shape kSmall{.capacity = 6, .most_ops = 200, .is_slow = false, .conditions = {}};
constexpr Shape kMiddle{.capacity = 40, .most_ops = 200, .is_slow = false, .conditions = {}};
constexpr Shape kLarge{.capacity = 1000, .most_ops = 3000, .is_slow = true, .conditions = {}};
constexpr std::array<Shape, 8> kShapes = {kSmall,  kSmall,  kSmall,  kSmall,
                                          kMiddle, kMiddle, kMiddle, kLarge};

// Mostly short, often on an edge or beside one, or on a multiple of it, sometimes far.
rc::Gen<std::uint32_t> any_delay() {
  const auto edge = rc::gen::map(rc::gen::inRange<std::size_t>(0, kEdges.size()),
                                 [](std::size_t i) { return kEdges[i]; });
  const auto beside = rc::gen::map(rc::gen::pair(edge, rc::gen::inRange<std::uint32_t>(0, 3)),
                                   [](const auto& pair) { return pair.first + pair.second - 1; });
  const auto multiple = rc::gen::map(
      rc::gen::pair(edge, rc::gen::inRange<std::uint32_t>(1, 8)), [](const auto& pair) {
        return static_cast<std::uint32_t>(std::uint64_t{pair.first} * pair.second % kMaxDelay);
      });
  return rc::gen::weightedOneOf<std::uint32_t>(
      {{4, rc::gen::inRange<std::uint32_t>(0, 10)},
       {3, rc::gen::inRange<std::uint32_t>(0, 700)},
       {3, beside},
       {2, multiple},
       {1, rc::gen::inRange<std::uint32_t>(0, 300000)},
       {1, rc::gen::inRange<std::uint32_t>(0, kMaxDelay)}});
}

rc::Gen<Op> any_op(const Shape& shape) {
  const auto id = rc::gen::inRange<TimerId>(0, shape.capacity);
  const auto schedule = rc::gen::map(rc::gen::pair(id, any_delay()), [](const auto& pair) {
    return schedule_op(pair.first, pair.second);
  });
  const auto cancel = rc::gen::map(id, cancel_op);
  const auto ticks = shape.is_slow
                         ? rc::gen::weightedOneOf<std::uint32_t>(
                               {{400, rc::gen::inRange<std::uint32_t>(0, 4)}, {1, any_delay()}})
                         : any_delay();
  const auto advance = rc::gen::map(ticks, advance_op);
  return rc::gen::weightedOneOf<Op>({{5, schedule}, {1, cancel}, {4, advance}});
}

// Replays under audit; adds what happened to the counts if nothing was wrong.
std::optional<std::string> run(const Backend& backend, const Shape& shape, std::span<const Op> ops,
                               const StopFlag& stop, DifferentialResult& counts) {
  const auto& [start, granularity, driver] = shape.conditions;
  AuditedQueue queue(backend,
                     {.capacity = shape.capacity, .start = start, .granularity = granularity});
  if (auto violation = queue.audit(ops, driver, stop)) return violation;
  ++counts.traces;
  counts.fired += queue.total_fired();
  counts.empty_wakeups += queue.empty_wakeups();
  return std::nullopt;
}

// Begins at 0 if that fails too, then follows RapidCheck's shrinks as long as one of them still
// fails.
Counterexample smallest(const Backend& backend, Shape shape,
                        rc::Shrinkable<std::vector<Op>> failing, std::string violation,
                        const StopFlag& stop) {
  DifferentialResult uncounted;
  Shape from_zero = shape;
  from_zero.conditions.start = 0;
  if (auto text = run(backend, from_zero, failing.value(), stop, uncounted)) {
    shape = from_zero;
    violation = std::move(*text);
  }
  for (bool smaller = true; smaller && !stop;) {
    smaller = false;
    auto shrinks = failing.shrinks();
    while (auto candidate = shrinks.next()) {
      if (auto text = run(backend, shape, candidate->value(), stop, uncounted)) {
        failing = std::move(*candidate);
        violation = std::move(*text);
        smaller = true;
        break;
      }
    }
  }
  return {failing.value(), shape.conditions, std::move(violation)};
}

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
  DifferentialResult result;
  rc::Random random(seed);
  do {
    const std::uint64_t bits = random.split().next();
    Shape shape = kShapes[bits >> 8 & 7];
    shape.conditions = {.start = kStarts[bits >> 5 & 7],
                        .granularity = std::array<Tick, 4>{1, 1, 3, 100}[bits >> 1 & 3],
                        .driver = (bits >> 3 & 3) == 0 ? AuditedQueue::Driver::sleeping
                                                       : AuditedQueue::Driver::ticking};
    // RapidCheck's size is the most operations of a trace.
    auto ops = rc::gen::container<std::vector<Op>>(any_op(shape))(random.split(), shape.most_ops);
    if (auto violation = run(backend, shape, ops.value(), stop, result)) {
      result.counterexample = smallest(backend, shape, std::move(ops), std::move(*violation), stop);
      break;
    }
  } while (std::chrono::steady_clock::now() < end && !stop);
  return result;
}

}  // namespace timerbench
