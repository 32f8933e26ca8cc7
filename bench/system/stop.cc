#include "system/stop.h"

#include <sys/time.h>

#include <algorithm>
#include <cmath>
#include <csignal>

namespace timerbench {
namespace {

StopFlag g_interrupted = false;
StopFlag g_stop_replay = false;

void set_timer(TimeLimit::Of of, double seconds) {
  if (seconds > 0) seconds = std::max(seconds, 1e-6);  // 0 would be no limit
  const double whole = std::floor(seconds);
  const itimerval value{
      {0, 0}, {static_cast<time_t>(whole), static_cast<suseconds_t>((seconds - whole) * 1e6)}};
  setitimer(of == TimeLimit::Of::wall_time ? ITIMER_REAL : ITIMER_PROF, &value, nullptr);
}

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

TimeLimit::TimeLimit(double seconds, Of of) : of_(of) {
  struct sigaction action {};
  action.sa_handler = [](int) { g_stop_replay = true; };
  action.sa_flags = SA_RESTART;
  sigaction(of == Of::wall_time ? SIGALRM : SIGPROF, &action, nullptr);
  g_stop_replay = false;
  if (interrupted()) g_stop_replay = true;
  set_timer(of, seconds);
}

TimeLimit::~TimeLimit() { set_timer(of_, 0); }

const StopFlag& TimeLimit::stop() const { return g_stop_replay; }

}  // namespace timerbench
