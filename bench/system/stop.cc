#include "system/stop.h"

#include <cerrno>
#include <cmath>
#include <csignal>
#include <system_error>

namespace timerbench {
namespace {

StopFlag g_interrupted = false;
StopFlag g_stop_replay = false;

}  // namespace

void handle_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) {
    g_interrupted = true;
    g_stop_replay = true;
  };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction inherited {};
    sigaction(signal, nullptr, &inherited);
    if (inherited.sa_handler == SIG_IGN) continue;  // as with nohup
    // Later output into the closed pipe raises SIGPIPE again, so its handler stays.
    action.sa_flags = signal == SIGPIPE ? SA_RESTART : SA_RESETHAND | SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
  std::signal(SIGXFSZ, SIG_IGN);
}

const StopFlag& interrupted() { return g_interrupted; }

// The process's clock counts what the scheduler gives it. ITIMER_PROF counts the scheduler's ticks
// that find it running, which on a shared processor may be half of that.
TimeLimit::TimeLimit(double seconds, Of of) {
  struct sigaction action {};
  action.sa_handler = [](int) { g_stop_replay = true; };
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  g_stop_replay = false;
  if (interrupted()) g_stop_replay = true;

  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGALRM;
  const clockid_t clock = of == Of::wall_time ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
  if (timer_create(clock, &event, &timer_) != 0) {
    throw std::system_error(errno, std::generic_category(), "timer_create");
  }
  const double whole = std::floor(seconds);
  const auto rest = static_cast<long>((seconds - whole) * 1e9);
  itimerspec value{{0, 0}, {static_cast<time_t>(whole), rest}};
  if (seconds <= 1e-9) value.it_value.tv_nsec = 1;  // 0 would be no limit
  timer_settime(timer_, 0, &value, nullptr);
}

TimeLimit::~TimeLimit() { timer_delete(timer_); }

const StopFlag& TimeLimit::stop() const { return g_stop_replay; }

}  // namespace timerbench
