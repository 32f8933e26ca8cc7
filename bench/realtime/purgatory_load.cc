#include "realtime/purgatory_load.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <numbers>
#include <optional>
#include <queue>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "realtime/pace.h"
#include "realtime/stoppable_wait.h"
#include "services/purgatory.h"
#include "services/worker.h"
#include "system/cpu_time.h"
#include "system/machine.h"
#include "workloads/random.h"

namespace timerbench {
namespace {

constexpr double kDay = 86'400'000;  // ms

// The standard deviation of the logarithm, for a log-normal distribution with these quartiles.
double sigma(const PurgatoryLoad& load) {
  constexpr double kUpperQuartile = 0.674490;  // of the normal distribution
  return std::log(load.pct75 / load.pct50) / kUpperQuartile;
}

double draw_exponential(Random& random) {
  return static_cast<double>(random.exponential(1)) * 0x1p-32;
}

// Box-Muller (1958).
double draw_normal(Random& random) {
  const double radius = std::sqrt(2 * draw_exponential(random));
  return radius * std::cos(2 * std::numbers::pi * static_cast<double>(random.next()) * 0x1p-64);
}

double to_seconds(Tick duration) { return static_cast<double>(duration) * 1e-9; }

double a_second(std::uint64_t count, Tick duration) {
  return duration > 0 ? static_cast<double>(count) / to_seconds(duration) : 0;
}

// Answers requests when it is time, in a thread that calls the service.
class Answers {
 public:
  using Answer = std::function<void(std::uint32_t request)>;

  Answers(Clock& clock, const ServiceTraits& service, Answer answer)
      : clock_(clock),
        answer_(std::move(answer)),
        thread_(clock, [this, &service](Alarm& alarm, const std::stop_token& ending) {
          service.run_caller([&] { run(alarm, ending); });
        }) {}

  void schedule(std::uint32_t request, Tick instant) {
    {
      const std::lock_guard lock(mutex_);
      const bool is_first = due_.empty() || instant < due_.top().first;
      due_.emplace(instant, request);
      if (!is_first) return;
    }
    thread_.alarm().ring();
  }

 private:
  using Due = std::pair<Tick, std::uint32_t>;

  void run(Alarm& alarm, const std::stop_token& ending) {
    std::unique_lock lock(mutex_);
    while (!ending.stop_requested()) {
      const Tick first = due_.empty() ? kNever : due_.top().first;
      if (first > clock_.now()) {
        lock.unlock();
        alarm.wait_until(first);
      } else {
        const std::uint32_t request = due_.top().second;
        due_.pop();
        lock.unlock();
        answer_(request);
      }
      lock.lock();
    }
  }

  Clock& clock_;
  const Answer answer_;
  std::mutex mutex_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  Worker thread_;  // last: it uses all the others
};

class Run {
 public:
  Run(const PurgatoryLoad& load, const ServiceBackend& backend, Waiting waiting,
      const StopFlag& stop)
      : timeout_(load.timeout * kMillisecond),
        plan_(make_plan(load)),
        stop_(stop),
        service_clock_(waiting),
        records_(load.num),
        unanswered_(load.num),
        purgatory_({.capacity = load.num, .clock = service_clock_}, backend.make),
        answers_(std::in_place, clock_, backend.traits, [this](std::uint32_t request) {
          std::exchange(unanswered_[request], nullptr)->force_complete();
        }) {}

  PurgatoryFigures run() {
    const double cpu_before = cpu_seconds();
    start_ = clock_.now();
    PurgatoryFigures figures;
    figures.requests = make_requests();
    const Tick made = clock_.now();
    await_completion(figures.requests);
    figures.cpu = cpu_seconds() - cpu_before;
    figures.wakeups = purgatory_.wakeups();
    figures.interrupted = completed_ < plan_.requests.size() && stop_;

    answers_.reset();  // when none is on its way
    figures.pending = purgatory_.stop().size();
    figures.failures = purgatory_.failures();
    if (figures.requests > 0) {
      figures.target_rate =
          a_second(figures.requests, plan_.requests[figures.requests - 1].arrival);
      figures.actual_rate = a_second(figures.requests, made - start_);
    }
    sum_up(figures);
    return figures;
  }

 private:
  // How a request has ended.
  struct Record {
    Tick arrival = 0;
    Tick end = 0;
    std::atomic<std::uint32_t> completions = 0;
    bool timed_out = false;
  };

  class Request final : public DelayedOperation {
   public:
    Request(Run& run, Record& record)
        : DelayedOperation(record.arrival + run.timeout_), run_(run), record_(record) {}

   private:
    bool try_complete() override { return false; }

    void on_complete() override {
      if (record_.completions++ == 0) record_.end = run_.clock_.now();
      if (++run_.completed_ == run_.records_.size()) run_.alarm_->ring();
    }

    void on_expiration() override { record_.timed_out = true; }

    Run& run_;
    Record& record_;
  };

  // Returns the number of requests made: all, unless interrupted.
  std::uint32_t make_requests() {
    for (std::uint32_t i = 0; i < plan_.requests.size(); ++i) {
      const auto& [arrival, latency] = plan_.requests[i];
      if (!wait_until(clock_, *alarm_, start_ + arrival, stop_) || stop_) return i;
      const Tick now = clock_.now();
      records_[i].arrival = now;
      const auto request = std::make_shared<Request>(*this, records_[i]);
      if (latency < timeout_) {
        unanswered_[i] = request;
        answers_->schedule(i, now + latency);
      }
      purgatory_.try_complete_else_watch(request, plan_.keys);
    }
    return static_cast<std::uint32_t>(plan_.requests.size());
  }

  // Returns when all requests have completed, when it is interrupted, or when it gives up.
  void await_completion(std::uint64_t requests) {
    constexpr Tick kGlance = 100 * kMillisecond;  // within which an interruption is noticed
    constexpr Tick kPatience = 5000 * kMillisecond;
    Tick give_up = clock_.now() + timeout_ + kPatience;
    std::uint64_t completed = completed_;
    while (completed < requests && !stop_ && clock_.now() < give_up) {
      alarm_->wait_until(clock_.now() + kGlance);
      if (std::exchange(completed, completed_) != completed) {
        give_up = std::max(give_up, clock_.now() + kPatience);
      }
    }
  }

  // REQUIRES: no thread of the run is active any more.
  void sum_up(PurgatoryFigures& figures) const {
    Tick last = start_;
    Pace arrivals;
    Pace expiries;
    for (std::uint64_t i = 0; i < figures.requests; ++i) {
      const Record& record = records_[i];
      const auto& [arrival, latency] = plan_.requests[i];
      const Tick late = record.arrival - (start_ + arrival);
      figures.arrival_lateness.add(static_cast<double>(late));
      arrivals.add(arrival, late);
      if (record.completions == 0) continue;
      figures.completed += 1;
      figures.repeated += record.completions > 1;
      last = std::max(last, record.end);
      const Tick due = record.arrival + (record.timed_out ? timeout_ : latency);
      figures.timed_out += record.timed_out;
      if (record.end < due) {
        figures.early += 1;
      } else {
        (record.timed_out ? figures.expiry_lateness : figures.completion_lateness)
            .add(static_cast<double>(record.end - due));
        if (record.timed_out) expiries.add(due, record.end - due);
      }
    }
    figures.pace = std::min(arrivals.achieved(), expiries.achieved());
    figures.elapsed = to_seconds(last - start_);
    figures.lost = figures.requests - figures.completed - figures.pending;
  }

  const Tick timeout_;
  const PurgatoryPlan plan_;
  const StopFlag& stop_;
  SteadyClock clock_;
  const std::unique_ptr<Alarm> alarm_ = clock_.make_alarm();
  SteadyClock service_clock_;
  Tick start_ = 0;
  std::vector<Record> records_;
  std::vector<std::shared_ptr<Request>> unanswered_;
  std::atomic<std::uint64_t> completed_ = 0;
  Purgatory<AnyService, std::uint32_t> purgatory_;
  std::optional<Answers> answers_;  // last: it completes requests that wait in the purgatory
};

// Rejects NaN too, since comparisons with it are false.
void require(bool good, std::string_view option, double value, const std::string& wanted) {
  if (!good) throw std::invalid_argument(fmt::format("{} = {}: {}", option, value, wanted));
}

void require_within(double most, std::string_view option, double value, std::string_view unit) {
  require(value > 0 && value <= most, option, value,
          fmt::format("give more than 0 and at most {} {}", most, unit));
}

}  // namespace

void validate(const PurgatoryLoad& load) {
  require_within(kMostRequests, "num", load.num, "requests");
  require_within(kMostRequests, "rate", load.rate, "requests a second");
  require(load.num / load.rate <= kDay / 1000, "rate", load.rate,
          fmt::format("{} requests take longer than a day; give a higher rate or fewer", load.num));
  require_within(kDay, "pct50", load.pct50, "ms");
  require_within(kDay, "pct75", load.pct75, "ms");
  require(load.pct75 >= load.pct50, "pct75", load.pct75,
          fmt::format("give no less than the median, pct50 = {}", load.pct50));
  require_within(kDay, "timeout", load.timeout, "ms");
  require_within(1'000'000, "key_space_size", load.key_space_size, "keys");
  require(load.keys > 0 && load.keys <= load.key_space_size, "keys", load.keys,
          fmt::format("give 1 to {}, as many as there are (key_space_size)", load.key_space_size));
}

double expected_timeout_fraction(const PurgatoryLoad& load) {
  const double ratio = load.timeout / load.pct50;
  if (load.pct75 == load.pct50) return ratio <= 1 ? 1 : 0;
  return std::erfc(std::log(ratio) / sigma(load) * std::numbers::sqrt2 / 2) / 2;
}

PurgatoryPlan make_plan(const PurgatoryLoad& load) {
  constexpr double kMostLatency = 1000 * kDay;
  const double spread = sigma(load);
  PurgatoryPlan plan;
  Random random(load.seed);
  plan.requests.reserve(load.num);
  double arrival = 0;  // ms, unrounded, so that rounding errors do not add up
  for (std::uint32_t i = 0; i < load.num; ++i) {
    if (i % 65'536 == 0) throw_if_interrupted();
    arrival += 1000 / load.rate * draw_exponential(random);
    const double latency = load.pct50 * std::exp(spread * draw_normal(random));
    plan.requests.push_back(
        {.arrival = static_cast<Tick>(arrival) * kMillisecond,
         .latency = static_cast<Tick>(std::min(latency, kMostLatency)) * kMillisecond});
  }
  plan.keys = random.permutation(load.key_space_size);
  plan.keys.resize(load.keys);
  return plan;
}

PurgatoryFigures run_purgatory(const PurgatoryLoad& load, const ServiceBackend& backend,
                               Waiting waiting, const StopFlag& stop) {
  validate(load);
  constexpr std::uint64_t kARequest = 500;  // bytes for the operation, its record and its timer
  require_memory(load.num * kARequest, fmt::format("a purgatory of {} requests", load.num));
  PurgatoryFigures figures;
  backend.traits.run_caller([&] { figures = Run(load, backend, waiting, stop).run(); });
  return figures;
}
}  // namespace timerbench
