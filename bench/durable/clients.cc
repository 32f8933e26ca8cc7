#include "durable/clients.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "system/process_tree.h"

namespace timerbench {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono_literals::operator""ms;

// For clients to begin, and to end once it is over. Longer than the patience of any call.
constexpr std::chrono::seconds kLongestWait{20};

std::size_t pages_of(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

std::size_t reports_begin() { return pages_of(64); }

// Of the thread, which is the process if it is one, and of what the queue has started for it.
double cpu_seconds_of(const DurableQueue& queue) {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  const std::vector<pid_t> helpers = queue.helpers();
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9 +
         (helpers.empty() ? 0 : usage_of_trees(helpers).cpu_seconds);
}

}  // namespace

void ClientReport::add(std::size_t kind, double ns) {
  if (counts_[kind] < kSamples) ns_[kind][counts_[kind]] = static_cast<float>(ns);
  ++counts_[kind];
}

void ClientReport::add_to(std::size_t kind, Durations& durations) const {
  const std::size_t samples = std::min<std::size_t>(counts_[kind], kSamples);
  for (std::size_t i = 0; i < samples; ++i) durations.add(ns_[kind][i]);
}

Clients::Clients(std::size_t count)
    : count_(count),
      memory_(mmap(nullptr, reports_begin() + count * sizeof(ClientReport), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
  if (memory_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  static_assert(sizeof(Shared) <= 64);
  shared_ = new (memory_) Shared;
  reports_ = reinterpret_cast<ClientReport*>(static_cast<char*>(memory_) + reports_begin());
  for (std::size_t i = 0; i < count; ++i) new (&reports_[i]) ClientReport;
}

Clients::~Clients() { munmap(memory_, reports_begin() + count_ * sizeof(ClientReport)); }

double Clients::run(DurableEngine& engine, SharedBy shared_by, const DurableConfig& config,
                    double seconds, const Work& work, const StopFlag& stop) {
  const bool are_processes = shared_by != SharedBy::threads;
  std::vector<pid_t> processes;
  std::vector<std::jthread> threads;
  for (std::size_t client = 0; client < count_; ++client) {
    if (!are_processes) {
      threads.emplace_back(
          [&, client] { be_client(engine, config, client, /*is_process=*/false, work); });
      continue;
    }
    const pid_t parent = getpid();
    const pid_t process = fork();
    if (process < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (process == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() == parent) be_client(engine, config, client, /*is_process=*/true, work);
      _exit(EXIT_SUCCESS);
    }
    processes.push_back(process);
  }
  const auto wait_until = [&](Steady::time_point end, const auto& is_done) {
    while (!is_done() && Steady::now() < end && !stop) std::this_thread::sleep_for(1ms);
  };
  const auto all_ended = [&] { return shared_->ended == count_; };
  wait_until(Steady::now() + kLongestWait,
             [&] { return shared_->ready + shared_->ended >= count_; });
  const auto begin = Steady::now();
  shared_->begins = true;
  wait_until(
      begin + std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(seconds)),
      all_ended);
  shared_->is_over = true;
  wait_until(Steady::now() + kLongestWait, all_ended);
  const double elapsed = std::chrono::duration<double>(Steady::now() - begin).count();
  const bool is_late = !all_ended();
  for (const pid_t process : processes) {
    if (is_late) kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  threads.clear();
  for (std::size_t i = 0; i < count_; ++i) {
    if (*reports_[i].error() != '\0') throw BackendError(reports_[i].error());
  }
  if (stop) throw Interrupted();
  if (is_late) throw BackendError("a client has not ended 20 s after the others; it was killed");
  return elapsed;
}

void Clients::be_client(DurableEngine& engine, const DurableConfig& config, std::size_t client,
                        bool is_process, const Work& work) {
  ClientReport& report = reports_[client];
  try {
    const std::unique_ptr<DurableQueue> queue = engine.open(config);
    ++shared_->ready;
    while (!shared_->begins) std::this_thread::sleep_for(1ms);
    const double cpu_before = cpu_seconds_of(*queue);
    work(*queue, client, report);
    report.cpu_seconds_ = cpu_seconds_of(*queue) - cpu_before;
  } catch (const std::exception& error) {
    const std::string_view text = error.what();
    std::copy_n(text.begin(), std::min(text.size(), report.error_.size() - 1),
                report.error_.begin());
  }
  ++shared_->ended;
  if (is_process) _exit(EXIT_SUCCESS);
}

}  // namespace timerbench
