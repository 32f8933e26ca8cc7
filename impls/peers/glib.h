// GLib's timeouts: a list of event sources, all of which are looked at in each iteration.
//
// The library's own main loop runs, as Debian's static library has it, on a GMainContext of its own:
// an iteration prepares all sources, polls, checks all sources and dispatches what is due. The poll
// is replaced by g_main_context_set_poll_func(): it sets the clock to what advance() was given, as if
// it had slept until then. clock_gettime() tells the virtual time of core/virtual_loop.h, as a name
// of the linker (glib.cmake). A tick is a millisecond.
//
// A timer that is armed is a new source, g_timeout_source_new(), as g_timeout_add() makes it, and one
// that is cancelled is destroyed, as g_source_remove() does. An interval has 32 bits, so timers of the
// next 2^32 ticks are the library's, and others wait in core/far_store.h.
//
// Invariants:
//   1. The source of a pending timer that is near is attached to the context.
//   2. The loop's clock is the last advance() that ran an iteration. No timer was due since then.
//
// Cost:
//   schedule O(1): five allocations, and a hash table of sources
//   cancel O(1): the same backwards
//   advance O(n): two walks along all sources, three lines each, unless it is known that nothing
//     is due; the library dispatches in the order of arming
//   next_wakeup O(1): it is now until an iteration has found nothing due
//   254 bytes a timer: a source with its parts, an entry in the hash table, a pointer to it, the
//     deadline, and a place in the array of those that fired
//
// Good: for some hundred timers, where GLib runs anyway.
// Bad: for more: each wake-up looks at all of them, twice.
// Follows: GLib 2.74, glib/gmain.c.
// Deviates: the system calls of an iteration are replaced.
#pragma once

#include <glib.h>

#include <cassert>
#include <vector>

#include "core/far_store.h"
#include "core/timer_queue.h"
#include "core/virtual_loop.h"

namespace timerbench {

// The timers of a window of core/far_store.h.
class GlibTimers {
  static_assert(
      GLIB_MAJOR_VERSION == 2 && GLIB_MINOR_VERSION >= 36 && GLIB_MINOR_VERSION <= 74,
      "glib.h was written for GLib 2.36 to 2.74; see whether an iteration still prepares, "
      "polls, checks and dispatches all sources in this order");

 public:
  static constexpr Tick kLast = G_MAXUINT;

  explicit GlibTimers(const QueueConfig& config)
      : timers_(config.capacity), context_(g_main_context_new()) {
    fired_.reserve(config.capacity);
    g_main_context_set_poll_func(context_, poll);
  }

  GlibTimers(const GlibTimers&) = delete;
  GlibTimers& operator=(const GlibTimers&) = delete;

  ~GlibTimers() {
    for (TimerId id = 0; id < timers_.size(); ++id) stop(id);
    g_main_context_unref(context_);
  }

  void start(TimerId id, Tick at) {
    stop(id);
    // Relative to the clock. The sources of a window start at its begin, so none is early.
    virtual_now = time_of(0);
    GSource* const source = g_timeout_source_new(static_cast<guint>(at));
    g_source_set_callback(source, note_fire, &timers_[id], nullptr);
    g_source_attach(source, context_);
    timers_[id] = {source, at};
    ++size_;
    wakeup_.on_armed(at);
  }

  bool stop(TimerId id) {
    assert(id < timers_.size());
    if (timers_[id].source == nullptr) return false;
    g_source_destroy(timers_[id].source);
    release(timers_[id]);
    return true;
  }

  template <class Sink>
  std::size_t run(Tick at, Sink&& sink) {
    if (at < wakeup_.at()) return 0;  // a loop sleeps until then
    fired_.clear();
    running = this;
    virtual_now = time_of(now_);
    poll_until = time_of(at);
    do {  // if something was due already, the loop does not sleep, and sees the rest only then
      told = -1;
      g_main_context_iteration(context_, /*may_block=*/TRUE);
    } while (told == 0);
    wakeup_.on_iteration(at, !fired_.empty(), told < 0 ? kLast : now_ + static_cast<Tick>(told));
    now_ = at;
    for (const TimerId id : fired_) {
      release(timers_[id]);
      sink(id, timers_[id].at);
    }
    if (at == kLast) {  // the next window begins, and nothing is armed
      now_ = 0;
      wakeup_ = {};
    }
    return fired_.size();
  }

  Tick next() const { return size_ == 0 ? kNever : wakeup_.at(); }

  std::size_t size() const { return size_; }

 private:
  struct Timer {
    GSource* source = nullptr;  // which this owns a reference to
    Tick at = 0;
  };

  static timespec time_of(Tick ms) {
    return {.tv_sec = static_cast<time_t>(ms / 1000),
            .tv_nsec = static_cast<long>(ms % 1000 * 1'000'000)};
  }

  void release(Timer& timer) {
    g_source_unref(timer.source);
    timer.source = nullptr;
    --size_;
  }

  // What the context calls instead of poll().
  static int poll(GPollFD*, guint, int timeout) {
    told = timeout;
    if (timeout != 0) virtual_now = poll_until;
    return 0;
  }

  // The callback of all timers.
  static gboolean note_fire(void* timer) {
    running->fired_.push_back(
        static_cast<TimerId>(static_cast<Timer*>(timer) - running->timers_.data()));
    return G_SOURCE_REMOVE;
  }

  // Of the iteration that runs.
  static inline thread_local GlibTimers* running = nullptr;
  static inline thread_local timespec poll_until{};
  static inline thread_local int told = 0;  // how long it would sleep, in ms; -1: no timer

  Tick now_ = 0;  // the loop's clock
  std::size_t size_ = 0;
  LoopWakeup wakeup_;
  std::vector<Timer> timers_;
  std::vector<TimerId> fired_;  // by the last iteration; has room for all timers
  GMainContext* context_;
};

class Glib : public WithFarStore<GlibTimers> {
 public:
  static constexpr Traits traits{
      .name = "glib",
      .summary = "GLib's timeouts: a list of all event sources",
      .precision = Precision::exact,
      .ordered = false,
      .paper = "GLib " G_STRINGIFY(GLIB_MAJOR_VERSION) "." G_STRINGIFY(
          GLIB_MINOR_VERSION) "." G_STRINGIFY(GLIB_MICRO_VERSION) ", libglib2.0-dev",
      .is_library = true};
  using WithFarStore::WithFarStore;
};
static_assert(TimerQueue<Glib>);

}  // namespace timerbench
