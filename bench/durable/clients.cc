#include "durable/clients.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "system/allocations.h"
#include "system/child_process.h"
#include "system/cpu_time.h"
#include "system/process_tree.h"

namespace timerbench {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono_literals::operator""ms;

// For clients to begin, and to end once it is over. Longer than the patience of any call.
constexpr std::chrono::seconds kLongestWait{20};
// More for each client that opens the queue: it may have to start a program of its own.
constexpr std::chrono::seconds kToOpen{1};
constexpr std::chrono::milliseconds kLook{100};  // for clients that have crashed

template <class Call>
struct AtEnd {
  const Call call;
  ~AtEnd() { call(); }
};
template <class Call>
AtEnd(Call) -> AtEnd<Call>;

using Seconds = std::chrono::duration<double>;

// How often this thread has waited.
std::uint64_t own_wakeups() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_nvcsw);
}

// Of what the queue has started for this client.
ProcessTreeUsage usage_of_helpers(const DurableQueue& queue) {
  const std::vector<pid_t> helpers = queue.helpers();
  return helpers.empty() ? ProcessTreeUsage{} : usage_of_trees(helpers);
}

}  // namespace

void ClientReport::add(Timed what, double ns) {
  const auto kind = static_cast<std::size_t>(what);
  auto& samples = ns_[kind];
  auto value = static_cast<float>(ns);
  if (value > samples[0]) std::swap(value, samples[0]);
  // Each of the others is as likely to stay (Vitter 1985, algorithm R).
  std::uint64_t slot = counts_[kind]++;
  if (slot >= kSamples) slot = std::uniform_int_distribution<std::uint64_t>(1, slot)(random_);
  if (slot > 0 && slot < kSamples) samples[slot] = value;
}

Durations ClientReport::durations(Timed what) const {
  const auto kind = static_cast<std::size_t>(what);
  const std::uint64_t calls = counts_[kind];
  Durations durations;
  if (calls == 0) return durations;
  durations.add(ns_[kind][0]);
  // Each sample stands for as many of the others.
  const std::uint64_t samples = std::min<std::uint64_t>(calls, kSamples) - 1;
  for (std::uint64_t i = 0, n = 0; i < samples; ++i) {
    for (; n < (calls - 1) * (i + 1) / samples; ++n) durations.add(ns_[kind][i + 1]);
  }
  return durations;
}

double Clients::run(DurableEngine& engine, SharedBy shared_by, const DurableConfig& config,
                    double seconds, const Work& work, const std::function<void()>& look,
                    const StopFlag& stop) {
  Shared& shared = shared_[0];
  const bool are_processes = shared_by != SharedBy::threads;
  std::vector<pid_t> processes;
  std::vector<std::jthread> threads;
  // Else the threads would wait for ever if something is thrown.
  const AtEnd let_all_end{
      [&] { shared.prepares = shared.begins = shared.is_over = shared.may_close = true; }};
  for (std::size_t client = 0; client < count(); ++client) {
    if (!are_processes) {
      threads.emplace_back([&, client] { be_client(engine, config, client, work); });
      continue;
    }
    processes.push_back(start_child([&] { be_client(engine, config, client, work); }));
  }
  std::string crash;
  const auto look_for_crash = [&] {
    for (pid_t& process : processes) {
      int status = 0;
      if (process == 0 || waitpid(process, &status, WNOHANG) != process) continue;
      process = 0;
      if (const std::string how = how_it_failed(status); !how.empty()) {
        crash = fmt::format("a client {}", how);
      }
    }
  };
  // Returns whether it is done; else it took too long, a client has crashed, or `stop` is set.
  const auto wait_for = [&](Seconds longest, const auto& is_done) {
    const auto end = Steady::now() + longest;
    auto next_look = Steady::now() + kLook;
    while (!is_done() && crash.empty() && Steady::now() < end && !stop) {
      std::this_thread::sleep_for(1ms);
      if (Steady::now() < next_look) continue;
      look_for_crash();
      next_look = Steady::now() + kLook;
    }
    return is_done();
  };
  const auto all_worked = [&] { return shared.worked == count(); };
  const auto all_ended = [&] { return shared.ended == count(); };
  const Seconds to_open = kLongestWait + count() * kToOpen;
  const bool are_all_there =
      wait_for(to_open, [&] { return shared.opened + shared.ended >= count(); });
  shared.prepares = true;
  const Seconds to_prepare = kLongestWait + seconds_to_prepare_;
  const bool are_all_ready =
      wait_for(to_prepare, [&] { return shared.ready + shared.ended >= count(); });
  look();
  const auto begin = Steady::now();
  shared.begins = true;
  ran_out_ = !wait_for(Seconds(seconds), all_worked);
  shared.is_over = true;
  wait_for(kLongestWait, all_worked);
  look();
  shared.may_close = true;
  const bool is_late = !wait_for(kLongestWait, all_ended);
  for (const pid_t process : processes) {
    if (process == 0) continue;
    if (is_late) kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  threads.clear();
  for (std::size_t i = 0; i < count(); ++i) {
    if (*reports_[i].error() != '\0') throw BackendError(reports_[i].error());
  }
  if (stop) throw Interrupted();
  if (!crash.empty()) throw BackendError(crash);
  if (!are_all_there) {
    throw BackendError(
        fmt::format("a client has not opened the queue within {:.0f} s", to_open.count()));
  }
  if (!are_all_ready) {
    throw BackendError(
        fmt::format("a client was not ready to begin within {:.0f} s", to_prepare.count()));
  }
  if (is_late) throw BackendError("a client has not ended 20 s after the others; it was killed");
  // By the clients' own clocks, since this one looks only once in a millisecond.
  auto first = Steady::time_point::max(), last = begin;
  for (std::size_t i = 0; i < count(); ++i) {
    first = std::min(first, reports_[i].begin_);
    last = std::max(last, reports_[i].end_);
  }
  return std::chrono::duration<double>(last - first).count();
}

void Clients::be_client(DurableEngine& engine, const DurableConfig& config, std::size_t client,
                        const Work& work) {
  Shared& shared = shared_[0];
  ClientReport& report = reports_[client];
  try {
    const std::unique_ptr<DurableQueue> queue = engine.open(config);
    ++shared.opened;
    if (prepare_) {
      while (!shared.prepares) std::this_thread::sleep_for(1ms);
      prepare_(*queue, client);
    }
    ++shared.ready;
    while (!shared.begins) std::this_thread::sleep_for(1ms);
    // What it takes to ask about the helpers is before the interval, and behind it.
    const ProcessTreeUsage helpers_before = usage_of_helpers(*queue);
    const std::uint64_t wakeups_before = own_wakeups();
    const std::chrono::nanoseconds cpu_before = cpu_time_of_thread();
    report.begin_ = Steady::now();
    work(*queue, client, report);
    report.end_ = Steady::now();
    report.cpu_seconds_ = Seconds(cpu_time_of_thread() - cpu_before).count();
    report.wakeups_ = own_wakeups() - wakeups_before;
    const ProcessTreeUsage helpers = usage_of_helpers(*queue);
    report.cpu_seconds_ += helpers.living_cpu_seconds - helpers_before.living_cpu_seconds;
    report.wakeups_ += growth(helpers_before.wakeups, helpers.wakeups);
    ++shared.worked;
    while (!shared.may_close) std::this_thread::sleep_for(1ms);
  } catch (const std::exception& error) {
    const std::string_view text = error.what();
    std::copy_n(text.begin(), std::min(text.size(), report.error_.size() - 1),
                report.error_.begin());
    ++shared.worked;
  }
  ++shared.ended;
}

}  // namespace timerbench
