#include "realtime/contention.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <boost/lockfree/spsc_queue.hpp>
#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include "realtime/sampled_calls.h"
#include "system/cpu_time.h"
#include "workloads/random.h"

namespace timerbench {
namespace {

using std::chrono::steady_clock;

constexpr Tick kMicrosecond = 1'000;
constexpr TimerId kHotTimers = 64;
constexpr TimerId kMostAuditedTimers = 256;  // of each thread
constexpr std::uint32_t kArmingsPerNearOne = 256;
constexpr std::uint32_t kCallsPerSample = 32;

TimerId timers_of_each_thread(const ContentionOptions& options) {
  return std::max(TimerId{1}, options.timers / static_cast<TimerId>(options.threads));
}

TimerId timers(const ContentionOptions& options) {
  if (options.pattern == Pattern::hot) return kHotTimers;
  return static_cast<TimerId>(options.threads) * timers_of_each_thread(options);
}

// Signals to the threads of a pass.
struct alignas(64) Signals {  // has its own cache line
  std::atomic<bool> ended = false;
  std::atomic<Tick> now = 0;  // the clock, updated once a millisecond: free to read
};

std::uint64_t seed_of(const ContentionOptions& options, std::size_t thread) {
  return (options.seed << 8) + 2 * thread;  // and the next seed
}

// Calls the service for one thread in a measured pass.
class alignas(64) Caller {  // shares no cache line with other threads
 public:
  Caller(AnyService& service, const Signals& signals, std::uint64_t seed)
      : service_(service), signals_(signals), random_(seed) {}

  bool ended() const { return signals_.ended.load(std::memory_order_relaxed); }

 protected:
  Tick draw_deadline() {
    const Tick now = signals_.now.load(std::memory_order_relaxed);
    return random_.below(kArmingsPerNearOne) == 0
               ? now + random_.below(2 * kMillisecond)
               : now + random_.between(30'000'000, 60'000'000) * kMicrosecond;
  }

  AnyService& service_;

 private:
  const Signals& signals_;
  Random random_;
};

struct CountingCaller : Caller {
  using Caller::Caller;

  void schedule(TimerId id) {
    service_.schedule(id, draw_deadline());
    ++schedules;
  }

  void cancel(TimerId id) {
    cancelled += service_.cancel(id);
    ++cancels;
  }

  std::uint64_t schedules = 0;
  std::uint64_t cancels = 0;
  std::uint64_t cancelled = 0;
};

double ns_between(steady_clock::time_point begin, steady_clock::time_point end) {
  return std::chrono::duration<double, std::nano>(end - begin).count();
}

class SamplingCaller : public Caller {
 public:
  SamplingCaller(AnyService& service, const Signals& signals, std::uint64_t seed,
                 std::uint32_t calls_per_sample)
      : Caller(service, signals, seed),
        schedules_(calls_per_sample, ~seed),
        cancels_(calls_per_sample, ~seed - 1) {}

  void schedule(TimerId id) {
    const Tick deadline = draw_deadline();
    schedules_([&] { service_.schedule(id, deadline); });
  }

  void cancel(TimerId id) {
    cancels_([&] { service_.cancel(id); });
  }

  const Durations& schedules() const { return schedules_.durations(); }
  const Durations& cancels() const { return cancels_.durations(); }

 private:
  SampledCalls schedules_;
  SampledCalls cancels_;
};

// Calls in bursts and pauses after each. In the pause due timers fire, while other threads go on.
class alignas(64) AuditedCaller {
 public:
  AuditedCaller(AuditedService& service, const Signals& signals, const SteadyClock& clock,
                std::size_t thread, const ContentionOptions& options)
      : service_(service),
        signals_(signals),
        clock_(clock),
        thread_(thread),
        magnitudes_(std::clamp<std::uint32_t>(std::bit_width(kGranules * options.granularity),
                                              kFewestMagnitudes, kMostMagnitudes)),
        longest_pause_(static_cast<std::uint32_t>(
            std::clamp(2 * options.granularity, Tick{1}, 500 * kMillisecond))),
        random_(seed_of(options, thread)) {}

  bool ended() const {
    return signals_.ended.load(std::memory_order_relaxed) || service_.full(thread_);
  }

  void schedule(TimerId id) {
    pause_after_burst();
    service_.schedule(thread_, id, clock_.now() + random_.log_uniform(magnitudes_));
  }

  void cancel(TimerId id) {
    pause_after_burst();
    service_.cancel(thread_, id);
  }

 private:
  void pause_after_burst() {
    if (burst_-- > 0) return;
    burst_ = random_.log_uniform(12);
    std::this_thread::sleep_for(std::chrono::nanoseconds(random_.below(longest_pause_)));
  }

  // A delay this long passes some levels of a wheel, and goes round a ring.
  static constexpr Tick kGranules = 512;
  static constexpr std::uint32_t kFewestMagnitudes = 23;  // 8 ms
  static constexpr std::uint32_t kMostMagnitudes = 31;    // 2 s

  AuditedService& service_;
  const Signals& signals_;
  const SteadyClock& clock_;
  const std::size_t thread_;
  const std::uint32_t magnitudes_;  // number of magnitudes of delays: powers of two, in ns
  const std::uint32_t longest_pause_;
  Random random_;
  std::uint32_t burst_ = 0;
};

// Passes ids from one thread to the next. It has room for all of them.
using Inbox = boost::lockfree::spsc_queue<TimerId>;

template <class Caller>
void call_own(Caller& caller, Random random, TimerId timers, TimerId thread, TimerId threads) {
  std::vector<bool> armed(timers, true);  // all were armed beforehand
  while (!caller.ended()) {
    const TimerId i = random.below(timers);
    const TimerId id = i * threads + thread;
    if (armed[i] && random.below(2) == 0) {
      caller.cancel(id);
      armed[i] = false;
    } else {
      caller.schedule(id);
      armed[i] = true;
    }
  }
}

// Works in batches, so that a call carries only a share of the ring's cost.
template <class Caller>
void call_cross(Caller& caller, Inbox& inbox, Inbox& next) {
  std::array<TimerId, 32> ids;
  while (!caller.ended()) {
    const std::size_t count = inbox.pop(ids.data(), ids.size());
    if (count == 0) std::this_thread::yield();
    for (std::size_t i = 0; i < count && !caller.ended(); ++i) {
      caller.cancel(ids[i]);
      if (!caller.ended()) caller.schedule(ids[i]);  // the first call may have filled the record
    }
    next.push(ids.data(), count);
  }
}

template <class Caller>
void call_hot(Caller& caller, Random random) {
  while (!caller.ended()) {
    const TimerId id = random.below(kHotTimers);
    random.below(2) == 0 ? caller.cancel(id) : caller.schedule(id);
  }
}

// One inbox for each thread, with its share of the ids, in random order as after a long run.
std::deque<Inbox> fill_inboxes(const ContentionOptions& options) {
  const std::vector<TimerId> ids = Random(options.seed).permutation(timers(options));
  std::deque<Inbox> inboxes;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i % timers_of_each_thread(options) == 0) inboxes.emplace_back(ids.size());
    inboxes.back().push(ids[i]);
  }
  return inboxes;
}

struct Elapsed {
  double seconds;
  double cpu_seconds;
};

// Runs the pattern with a thread for each caller, until the time is up or a thread ends. Calls
// at_end() before the others end.
template <class Caller>
Elapsed run_threads(
    const ContentionOptions& options, const ServiceTraits& service, const SteadyClock& clock,
    Signals& signals, std::deque<Caller>& callers, const StopFlag& stop,
    const std::function<void()>& at_end = [] {}) {
  std::deque<Inbox> inboxes;
  if (options.pattern == Pattern::cross) inboxes = fill_inboxes(options);
  const TimerId own = timers_of_each_thread(options);
  const auto follow_pattern = [&](std::size_t thread) {
    const Random random(seed_of(options, thread) + 1);
    switch (options.pattern) {
      case Pattern::own:
        return call_own(callers[thread], random, own, static_cast<TimerId>(thread),
                        static_cast<TimerId>(options.threads));
      case Pattern::cross:
        return call_cross(callers[thread], inboxes[thread], inboxes[(thread + 1) % inboxes.size()]);
      case Pattern::hot: return call_hot(callers[thread], random);
    }
  };

  std::latch ready(static_cast<std::ptrdiff_t>(options.threads));
  std::latch begun(1);
  std::vector<std::exception_ptr> errors(options.threads);
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < options.threads; ++thread) {
    const auto call = [&, thread] {
      ready.count_down();
      begun.wait();
      try {
        follow_pattern(thread);
      } catch (...) {
        errors[thread] = std::current_exception();
      }
      signals.ended = true;
    };
    try {
      threads.emplace_back([&service, call] { service.run_caller(call); });
    } catch (...) {  // there may be no more threads: those so far are not to wait for ever
      signals.ended = true;
      begun.count_down();
      throw;
    }
  }
  ready.wait();
  signals.now = clock.now();
  const double cpu_begin = cpu_seconds();
  const auto begin = steady_clock::now();
  begun.count_down();
  const auto seconds = [&] { return ns_between(begin, steady_clock::now()) * 1e-9; };
  while (!signals.ended && !stop && seconds() < options.seconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    signals.now = clock.now();
  }
  at_end();
  signals.ended = true;
  const Elapsed elapsed{seconds(), cpu_seconds() - cpu_begin};
  threads.clear();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return elapsed;
}

// A service with all timers armed, and a caller for each thread.
template <class Caller>
class MeasuredPass {
 public:
  template <class... Args>
  MeasuredPass(const ContentionOptions& options, const ServiceBackend& backend,
               const StopFlag& stop, const Args&... args)
      : options_(options),
        traits_(backend.traits),
        stop_(stop),
        clock_(options.waiting),
        service_(backend.make(
            {.capacity = timers(options),
             .clock = clock_,
             .handler = [this](TimerId, Tick) { fired_.fetch_add(1, std::memory_order_relaxed); },
             .granularity = options.granularity})) {
    for (std::size_t thread = 0; thread < options.threads; ++thread) {
      callers_.emplace_back(*service_, signals_, seed_of(options, thread), args...);
    }
  }

  Elapsed run() {
    signals_.now = clock_.now();
    CountingCaller first(*service_, signals_, options_.seed);
    for (TimerId id = 0; id < timers(options_) && !stop_; ++id) first.schedule(id);
    fired_ = 0;
    const Elapsed elapsed = run_threads(options_, traits_, clock_, signals_, callers_, stop_);
    service_->stop();
    return elapsed;
  }

  const std::deque<Caller>& callers() const { return callers_; }
  std::uint64_t fired() const { return fired_; }

 private:
  const ContentionOptions& options_;
  const ServiceTraits& traits_;
  const StopFlag& stop_;
  SteadyClock clock_;
  Signals signals_;
  std::atomic<std::uint64_t> fired_ = 0;
  std::unique_ptr<AnyService> service_;
  std::deque<Caller> callers_;
};

void measure_throughput(const ContentionOptions& options, const ServiceBackend& backend,
                        const StopFlag& stop, ContentionFigures& figures) {
  MeasuredPass<CountingCaller> pass(options, backend, stop);
  const Elapsed elapsed = pass.run();
  figures.seconds = elapsed.seconds;
  figures.cpu_seconds = elapsed.cpu_seconds;
  figures.fired = pass.fired();
  for (const CountingCaller& caller : pass.callers()) {
    figures.calls += caller.schedules + caller.cancels;
    figures.armings += caller.schedules;
    figures.cancelled += caller.cancelled;
  }
}

double measure_clock() {
  constexpr int kReads = 10'000;
  const auto begin = steady_clock::now();
  auto end = begin;
  for (int i = 0; i < kReads; ++i) end = steady_clock::now();
  return ns_between(begin, end) / kReads;
}

void measure_latency(const ContentionOptions& options, const ServiceBackend& backend,
                     const StopFlag& stop, ContentionFigures& figures) {
  MeasuredPass<SamplingCaller> pass(options, backend, stop,
                                    backend.traits.remote ? 1 : kCallsPerSample);
  pass.run();
  for (const SamplingCaller& caller : pass.callers()) {
    figures.schedule += caller.schedules();
    figures.cancel += caller.cancels();
  }
  figures.clock_ns = measure_clock();
}

}  // namespace

std::string_view name(Pattern pattern) {
  switch (pattern) {
    case Pattern::own: return "own";
    case Pattern::cross: return "cross";
    case Pattern::hot: return "hot";
  }
  return "?";
}

std::optional<std::string> audit_contention(const ContentionOptions& given,
                                            const ServiceBackend& backend, AuditEnd end,
                                            AuditedService::Counts& counts, const StopFlag& stop) {
  if (backend.traits.precision == Precision::none) return std::nullopt;  // a control
  const bool is_amid_calls = end == AuditEnd::amid_calls;
  ContentionOptions options = given;
  options.timers =
      std::min(options.timers, kMostAuditedTimers * static_cast<TimerId>(options.threads));
  SteadyClock clock(options.waiting);
  // One handler in four is slow, so that one runs when the service is stopped.
  FireHandler handler;
  if (is_amid_calls) {
    handler = [](TimerId id, Tick) {
      if (id % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    };
  }
  AuditedService service(backend,
                         {.capacity = timers(options),
                          .clock = clock,
                          .handler = handler,
                          .granularity = options.granularity},
                         options.threads);
  Signals signals;
  std::deque<AuditedCaller> callers;
  for (std::size_t thread = 0; thread < options.threads; ++thread) {
    callers.emplace_back(service, signals, clock, thread, options);
  }
  run_threads(options, backend.traits, clock, signals, callers, stop, [&] {
    if (is_amid_calls) service.stop();
  });
  auto violation = service.finish(stop);
  if (!violation) counts = service.counts();
  return violation;
}

ContentionFigures run_contention(const ContentionOptions& options, const ServiceBackend& backend,
                                 const StopFlag& stop) {
  ContentionFigures figures;
  if (!stop) {
    const auto violation =
        audit_contention(options, backend, AuditEnd::drained, figures.audited, stop);
    if (violation) figures.failure = fmt::format("wrong: {}", *violation);
  }
  for (const auto measure : {measure_throughput, measure_latency}) {
    if (!stop && figures.failure.empty()) measure(options, backend, stop, figures);
  }
  if (stop && figures.failure.empty()) {
    figures.failure = "interrupted: the run was ended during this cell";
  }
  return figures;
}

}  // namespace timerbench
