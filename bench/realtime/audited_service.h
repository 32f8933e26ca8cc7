// A timer service under audit: every answer and every fire must follow from one history.
//
// A call is recorded with the moments at which it began and ended, a fire with that at which its
// handler began: numbers drawn from one counter. The last bits of a deadline are those of no other,
// so they tell which arming has fired. Afterwards each timer's calls are put in an order, each at a
// moment between its begin and its end, in which a timer of the contract would have given the same
// answers: an arming ends by its fire, by the one cancel() that returned true, by being moved, or is
// handed back by stop(). If there is no such order, the service is wrong. Where calls of several
// threads overlap, all orders are tried that they leave open, so there are no false alarms, and what
// one thread does with timers of its own is checked to the last answer.
//
// What else is wrong: a fire before its deadline, a handler that begins or still runs after stop()
// has returned, and a timer that is still pending five seconds after its deadline. stop() may be
// called while others call: from then on schedule() may be refused, and cancel() may return false for
// what stop() hands back.
//
// What cannot be seen: an arming that is lost, and moved before anybody asks for it (schedule()
// does not answer); a wrong answer that an overlapping call or a fire that is due could explain;
// whatever the machine did not happen to interleave, or the shared counter keeps apart.
//
//   schedule, cancel   two increments of a shared counter and a read of the clock more: 100 ns
//   finish             about 1 us a call, and waits for the timers that are due: about a second
//   56 bytes a call
//
// Followed: Herlihy & Wing, Linearizability, 1990; Lowe, Testing for Linearizability, 2017 (the
// orders are searched call by call as each ends). An arming that fires counts as taken as soon as it
// is made and due: no answer but "it fired" is right from then on, so nothing is lost by that.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "realtime/service.h"
#include "system/stop.h"

namespace timerbench {

class AuditedService {
 public:
  // How the armings ended.
  struct Counts {
    std::uint64_t armed = 0;
    std::uint64_t fired = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t pending = 0;  // when it was stopped
    std::uint64_t moved() const { return armed - fired - cancelled - pending; }
  };

  // For calls of `threads` threads. The handler of `config`, if there is one, runs within each fire.
  // REQUIRES: threads < 64. Throws BackendUnavailable.
  AuditedService(const ServiceBackend& backend, ServiceConfig config, std::size_t threads);

  // Of the service, by thread `thread` (0 .. threads - 1), which is one thread. The deadline is
  // moved by 1.05 ms at most. A service that is stopped refuses it, which is not told. REQUIRES:
  // !full(thread).
  void schedule(std::size_t thread, TimerId id, Tick deadline);
  void cancel(std::size_t thread, TimerId id);

  // Whether as many calls of the thread have been recorded as there is room for; together 10^6.
  bool full(std::size_t thread) const { return logs_[thread].size() >= room_; }

  // Stops the service. The other threads may go on calling. REQUIRES: once, before finish().
  void stop();

  // Unless the service was stopped, moves every other timer an hour ahead, waits until the rest has
  // fired and stops it. Says what the service did wrong, if anything. If `stop` is set, it ends early,
  // with what it has found by then. REQUIRES: no thread calls any more; once.
  std::optional<std::string> finish(const StopFlag& stop);

  // REQUIRES: finish() has found nothing.
  const Counts& counts() const { return counts_; }

 private:
  using Moment = std::uint64_t;
  static constexpr Moment kNoMoment = ~Moment{0};

  struct Call {
    TimerId id;
    std::uint8_t thread;
    bool cancelled;  // what cancel() returned
    Tick deadline;   // kNever: a cancel()
    Moment begin;
    Moment end;
    Tick returned;             // the clock, afterwards
    Moment fired = kNoMoment;  // when the handler began
    bool handed_back = false;  // by stop()

    bool arms() const { return deadline != kNever; }
    bool fires() const { return fired != kNoMoment; }
    // It has taken effect by then.
    Moment limit() const { return std::min(end, fired); }
  };

  struct Fire {
    PendingTimer timer;
    Moment moment;  // when its handler began
    Moment end;     // when it had run
    Tick at;
  };

  Moment next_moment() { return moment_.fetch_add(1); }
  // Calls and records it; `call` returns what cancel() does.
  template <class Do>
  void record(std::size_t thread, TimerId id, Tick deadline, Do call);
  void record_fire(TimerId id, Tick deadline);
  void drain(const StopFlag& stop);
  // The call that armed this timer, or none.
  Call* find(const PendingTimer& timer);
  // Before this the clock must not have fired it.
  Tick earliest(Tick deadline) const;
  // What becomes of a timer that is `armed`, or is not (nullptr), when the call takes effect; or
  // nothing if it cannot have been answered as it was.
  std::optional<const Call*> effect(const Call* armed, const Call& call) const;

  std::optional<std::string> check_fires();
  std::optional<std::string> check_pending();
  std::optional<std::string> check_histories(const StopFlag& stop);
  // Of one timer, in the order of their begin.
  std::optional<std::string> check_history(std::span<const Call* const> calls) const;
  std::string ms(Tick instant) const;
  std::string describe(const Call* armed) const;

  const ServiceTraits traits_;
  const FireHandler handler_;
  Clock& clock_;
  const TimerId capacity_;
  const Tick granularity_;
  const Tick patience_;  // with timers that are due
  const Tick start_;
  const std::size_t room_;               // calls of a thread
  std::vector<std::vector<Call>> logs_;  // of each thread; the last is finish()'s own
  std::atomic<Moment> moment_ = 0;
  std::mutex mutex_;  // of fires_
  std::vector<Fire> fires_;
  std::atomic<bool> refused_early_ = false;  // a schedule(), before stop() was called
  std::atomic<Moment> stop_called_ = kNoMoment;
  Moment stopped_ = kNoMoment;  // when stop() had returned
  Tick stopped_at_ = 0;
  std::vector<PendingTimer> pending_;  // what it handed back
  Counts counts_;

  std::unique_ptr<AnyService> service_;  // last: it uses all the others
};

}  // namespace timerbench
