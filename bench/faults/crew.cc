#include "faults/crew.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "system/child_process.h"

namespace timerbench {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr auto kAfterAnError = 5ms;
// A call that does not fail until then has no limit, and its process is killed.
constexpr auto kLongestCall = 15s;

}  // namespace

Crew::Crew(DurableEngine& engine, SharedBy shared_by, CrewPlan plan, SurvivalLedger& ledger)
    : engine_(engine), shared_by_(shared_by), plan_(std::move(plan)), ledger_(ledger) {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                      /*fd=*/-1, /*offset=*/0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  shared_ = new (memory) Shared;
  running_.resize(processes());
  try {
    start();
  } catch (...) {
    kill();
    munmap(shared_, sizeof(Shared));
    throw;
  }
}

Crew::~Crew() {
  kill();
  munmap(shared_, sizeof(Shared));
}

void Crew::start() {
  for (std::size_t i = 0; i < processes(); ++i) launch(i);
}

void Crew::launch(std::size_t process) {
  const std::uint64_t seed = plan_.seed + 1'000'003 * ++launches_;
  running_[process] = start_child([&] {
    if (are_processes()) return run_client(process, seed);
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kProducers + kWorkers; ++i) {
      threads.emplace_back([=, this] { run_client(i, seed + i); });
    }
  });
}

bool Crew::replace_producer(std::size_t i) {
  const std::size_t process = are_processes() ? i : 0;
  kill(process);
  const bool was_asking = is_asking(i);
  launch(process);
  return was_asking;
}

void Crew::replace_worker(std::size_t i) {
  const std::size_t process = are_processes() ? kProducers + i : 0;
  kill(process);
  launch(process);
}

void Crew::stop() {
  for (pid_t& process : running_) {
    if (process == 0) continue;
    ::kill(process, SIGSTOP);
    int status = 0;
    // If it has ended instead, its number may soon be another's.
    if (waitpid(process, &status, WUNTRACED) == process && !WIFSTOPPED(status)) {
      process = 0;
      report_end(status, /*was_killed=*/false);
    }
  }
}

void Crew::kill() {
  for (std::size_t i = 0; i < running_.size(); ++i) kill(i);
}

void Crew::kill(std::size_t process) {
  const pid_t pid = std::exchange(running_[process], 0);
  if (pid == 0) return;
  ::kill(pid, SIGKILL);
  int status = 0;
  // A stop that was not waited for may be told first.
  while (waitpid(pid, &status, 0) == pid && !WIFEXITED(status) && !WIFSIGNALED(status)) {
  }
  report_end(status, /*was_killed=*/true);
}

std::string Crew::failure() {
  for (pid_t& process : running_) {
    int status = 0;
    if (process == 0 || waitpid(process, &status, WNOHANG) != process) continue;
    process = 0;
    report_end(status, /*was_killed=*/false);
  }
  return shared_->has_failed ? shared_->error : "";
}

std::string Crew::end() {
  end_producers();
  shared_->works = false;
  const auto give_up = std::chrono::steady_clock::now() + kLongestCall;
  bool hangs = false;
  for (std::size_t i = 0; i < processes(); ++i) {
    bool is_killed = false;
    int status = 0;
    while (running_[i] != 0 && waitpid(running_[i], &status, WNOHANG) == 0) {
      const bool is_late = std::chrono::steady_clock::now() >= give_up;
      hangs |= is_late;
      if (is_late || is_in_no_call(i)) is_killed = ::kill(running_[i], SIGKILL) == 0;
      std::this_thread::sleep_for(1ms);
    }
    if (std::exchange(running_[i], 0) != 0) report_end(status, is_killed);
  }
  if (std::string error = failure(); !error.empty()) return error;
  return hangs ? "a client did not end in 15 s, so a call has no limit; it was killed" : "";
}

// A worker waits a second at most; then it returns, and says so.
bool Crew::is_in_no_call(std::size_t process) const {
  const std::span<const std::atomic<Tick>> all = shared_->returned;
  return std::ranges::all_of(are_processes() ? all.subspan(process, 1) : all, [](const auto& when) {
    constexpr Tick kRecently = kLongestAwait + kLongestAwait / 2;
    return when >= unix_now() - kRecently;
  });
}

// An end that neither the client nor the crew has asked for is no finding about the queue.
void Crew::report_end(int status, bool was_killed) {
  if (was_killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return;
  if (const std::string how = how_it_failed(status); !how.empty()) {
    report(fmt::format("a client {}", how).c_str());
  }
}

void Crew::report(const char* error) {
  if (shared_->is_failing.exchange(true)) return;
  std::strncpy(shared_->error, error, sizeof(shared_->error) - 1);
  shared_->has_failed = true;
}

void Crew::run_client(std::size_t client, std::uint64_t seed) {
  const bool produces = client < kProducers;
  const auto goes_on = [&] { return produces ? shared_->produces.load() : shared_->works.load(); };
  shared_->returned[client] = 0;
  if (produces) shared_->is_asking[client] = false;
  std::unique_ptr<DurableQueue> queue;
  try {
    while (!queue && goes_on()) {
      try {
        queue =
            engine_.open({.queue = plan_.queue, .patience = kClientPatience, .lease = plan_.lease});
      } catch (const BackendError&) {  // what is broken may be mended
        std::this_thread::sleep_for(kAfterAnError);
      }
    }
    if (queue && produces) produce(*queue, client, seed);
    if (queue && !produces) work(*queue, client, seed);
  } catch (const std::exception& error) {
    report(error.what());
  }
  queue.reset();
  shared_->returned[client] = kNever;
}

// A timer whose call has failed is not asked for again, so the ledger shows what becomes of it.
void Crew::produce(DurableQueue& queue, std::size_t client, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::string payload(plan_.payload, 'x');
  while (shared_->produces.load(std::memory_order_relaxed)) {
    const DurableId id = ledger_.new_id();
    const bool is_cancelled = random() % 8 == 0;
    // What is to be cancelled is due after that, unless the machine is very busy.
    const Tick delay = is_cancelled ? plan_.longest_delay
                                    : random() % (random() % 4 == 0 ? plan_.longest_delay
                                                                    : plan_.longest_delay / 4);
    const Tick deadline = unix_now() + delay;
    ledger_.add(Happening::asked, id, deadline);
    const DurableTimer timer{id, deadline, payload};
    try {
      shared_->is_asking[client] = true;
      queue.schedule({&timer, 1});
      shared_->is_asking[client] = false;
      ledger_.add(Happening::armed, id);
      if (is_cancelled) {
        ledger_.add(Happening::cancelling, id);
        ledger_.add(queue.cancel(id) ? Happening::cancelled : Happening::not_cancelled, id);
      }
      std::this_thread::sleep_for(plan_.between_timers);
    } catch (const BackendError&) {
      if (shared_->is_asking[client].exchange(false)) ledger_.add(Happening::unarmed, id);
      std::this_thread::sleep_for(kAfterAnError);
    }
  }
}

void Crew::work(DurableQueue& queue, std::size_t client, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  constexpr std::size_t kBatch = 10;
  constexpr std::uint64_t kSlowOfHandlers = 60;
  constexpr auto kBusyHandler = 5ms;
  DurableWorker worker(
      queue,
      {.delivery = plan_.delivery,
       .batch = kBatch,
       .lease = plan_.lease,
       .on_claimed = [&](const DurableTimer& timer) { ledger_.add(Happening::claimed, timer.id); },
       .on_completing = [&](DurableId id) { ledger_.add(Happening::completing, id); },
       .on_completed =
           [&](DurableId id, bool was_held) {
             ledger_.add(was_held ? Happening::completed : Happening::not_completed, id);
           }});
  bool was_idle = true;
  const auto handle = [&](const DurableTimer& timer) {
    was_idle = false;
    ledger_.add(Happening::fired, timer.id);
    if (plan_.handlers == Handlers::busy) std::this_thread::sleep_for(kBusyHandler);
    if (plan_.handlers == Handlers::outlast_leases && random() % kSlowOfHandlers == 0) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(plan_.lease + plan_.lease / 2));
    }
  };
  worker.run(handle, [&] {
    if (!shared_->produces && was_idle) count_if_empty(queue);
    was_idle = true;
    shared_->returned[client] = unix_now();
    return !shared_->works;
  });
}

void Crew::count_if_empty(DurableQueue& queue) {
  try {
    if (queue.size() == 0) ++shared_->empty_answers;
  } catch (const BackendError&) {  // nobody was answered
  }
}

}  // namespace timerbench
