// A timer service under audit: one history must explain every answer and every fire.
//
// A call is recorded with the moments at which it began and ended, a fire with the moment at which
// its handler began. Moments are numbers from one counter. The low bits of a deadline are unique,
// so they tell which arming has fired. After the run each timer's calls are ordered, each at a
// moment between its begin and its end, so that a timer of the contract would have given the same
// answers. An arming ends when it fires, when the one cancel() that returns true removes it, when
// it is moved, or when stop() hands it back. If there is no such order, the service is wrong. Where
// calls of several threads overlap, all possible orders are tried, so there are no false alarms.
// The calls of one thread on its own timers have only one order, so every answer is checked.
//
// Also wrong: a fire before its deadline, a handler that begins or still runs after stop() has
// returned, and a timer that is still pending five seconds after its deadline. stop() may overlap
// with other calls: from then on schedule() may be refused, and cancel() may return false for
// timers that stop() hands back.
//
// Not detected: an arming that is lost, and moved before anybody asks for it (schedule() returns
// nothing); a wrong answer that an overlapping call or a due fire could explain; interleavings that
// did not happen, or that the shared counter prevents.
//
//   schedule, cancel   two increments of a shared counter and a clock read more: 100 ns
//   finish             about 1 us per call, and about a second of waiting for due timers
//   56 bytes per call
//
// Followed: Herlihy & Wing, Linearizability, 1990; Lowe, Testing for Linearizability, 2017 (the
// search goes call by call, as each ends). An arming that fires counts as ended as soon as it is
// made and due. From then on only "it fired" is a right answer, so no order is missed.
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

  // For calls from `threads` threads. Each fire also runs the handler of `config`, if there is one.
  // REQUIRES: threads < 64. Throws BackendUnavailable.
  AuditedService(const ServiceBackend& backend, ServiceConfig config, std::size_t threads);

  // Call the service. Only one thread may use each `thread` (0 .. threads - 1). The deadline is
  // moved by up to 1.05 ms. If the service is stopped and refuses the timer, this is not reported.
  // REQUIRES: !full(thread).
  void schedule(std::size_t thread, TimerId id, Tick deadline);
  void cancel(std::size_t thread, TimerId id);

  // Whether the thread's record is full. All threads together have room for 10^6 calls.
  bool full(std::size_t thread) const { return logs_[thread].size() >= room_; }

  // Stops the service. Other threads may still call. REQUIRES: called once, before finish().
  void stop();

  // If the service is not stopped yet, moves every other timer an hour ahead, waits until the rest
  // has fired, and stops it. Returns what the service did wrong, if anything. If `stop` is set,
  // ends early with what is known by then. REQUIRES: called once, when no thread calls any more.
  std::optional<std::string> finish(const StopFlag& stop);

  // REQUIRES: finish() has found nothing wrong.
  const Counts& counts() const { return counts_; }

 private:
  using Moment = std::uint64_t;
  static constexpr Moment kNoMoment = ~Moment{0};

  struct Call {
    TimerId id;
    std::uint8_t thread;
    bool cancelled;  // the result of cancel()
    Tick deadline;   // kNever: a cancel()
    Moment begin;
    Moment end;
    Tick returned;             // the clock after the call
    Moment fired = kNoMoment;  // when the handler began
    bool handed_back = false;  // by stop()

    bool arms() const { return deadline != kNever; }
    bool fires() const { return fired != kNoMoment; }
    // The call has taken effect by this moment.
    Moment limit() const { return std::min(end, fired); }
  };

  struct Fire {
    PendingTimer timer;
    Moment moment;  // when its handler began
    Moment end;     // when it returned
    Tick at;
  };

  Moment next_moment() { return moment_.fetch_add(1); }
  // Makes and records the call; `call` returns what cancel() returns.
  template <class Do>
  void record(std::size_t thread, TimerId id, Tick deadline, Do call);
  void record_fire(TimerId id, Tick deadline);
  void drain(const StopFlag& stop);
  // The call that armed this timer; nullptr if there is none.
  Call* find(const PendingTimer& timer);
  // The earliest instant at which the timer may fire.
  Tick earliest(Tick deadline) const;
  // The state of a timer after the call: by which call it is armed, or nullptr. `armed` is the
  // state before. Nothing if the call cannot have given its answer in that state.
  std::optional<const Call*> effect(const Call* armed, const Call& call) const;

  std::optional<std::string> check_fires();
  std::optional<std::string> check_pending();
  std::optional<std::string> check_histories(const StopFlag& stop);
  // Checks the calls of one timer. REQUIRES: sorted by begin.
  std::optional<std::string> check_history(std::span<const Call* const> calls) const;
  std::string ms(Tick instant) const;
  std::string describe(const Call* armed) const;

  const ServiceTraits traits_;
  const FireHandler handler_;
  Clock& clock_;
  const TimerId capacity_;
  const Tick granularity_;
  const Tick patience_;  // after the deadline of a timer
  const Tick start_;
  const std::size_t room_;               // number of calls for each thread
  std::vector<std::vector<Call>> logs_;  // by thread; the last is finish()'s own
  std::atomic<Moment> moment_ = 0;
  std::mutex mutex_;  // of fires_
  std::vector<Fire> fires_;
  std::atomic<bool> refused_early_ = false;  // schedule() threw before stop() was called
  std::atomic<Moment> stop_called_ = kNoMoment;
  Moment stopped_ = kNoMoment;  // when stop() returned
  Tick stopped_at_ = 0;
  std::vector<PendingTimer> pending_;  // what stop() returned
  Counts counts_;

  std::unique_ptr<AnyService> service_;  // last: it uses all the others
};

}  // namespace timerbench
