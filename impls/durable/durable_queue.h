// The contract of a durable timer queue: timers that outlive the processes that share them.
//
// The timers are in an engine: a server, a cluster, or a file. A DurableQueue is one client of it.
// Producers arm timers, and workers claim those that are due, run a handler for each, and complete
// them. A worker that dies loses nothing: its claims end with their lease, and others take the
// timers. So as long as the engine keeps an acknowledged timer, it is handed out at least once. A
// worker that completes a timer before it runs the handler, and runs it only if complete() says so,
// makes that "at most once": then what it was doing when it died is not repeated.
//
// What "acknowledged" means depends on the setting of the engine:
//   journal_wheel_*, sqlite_full, postgres_on, redis_always, beanstalkd_f0, etcd_leases
//     the disk has it
//   sqlite_normal, postgres_off, redis_everysec, beanstalkd_f50, bullmq
//     the engine has it, and synchronises it to the disk soon
//   redis_memory, redis_cluster
//     one server has it in its memory
//   redis_replica, redis_cluster_wait
//     a second server has it in its memory too
// What that is worth when the engine itself breaks is said by DurableTraits::promise.
//
// A timer is late while no worker claims: until one that waits looks again (rule 7), until the lease
// of one that died ends, and while the engine gives no answer. DurableTraits::resolution is how much
// later the engine hands it out in any case.
//
// Timers are named by ids that the caller chooses, such as the number of an order. So a call whose
// answer was lost may be repeated (except with only_own_timers: schedule() may then leave a second
// timer). Deadlines are instants in nanoseconds since 1970, up to
// kLastDeadline, for no other clock survives a restart.
//
// The rules:
//
//  1. schedule() arms each timer, or moves it: a new deadline and a new payload. When it returns,
//     all of them are acknowledged. (An engine without DurableTraits::takes_from_holders arms a
//     second timer beside one that somebody else holds; one with only_own_timers also beside that
//     of another client.)
//  2. claim() hands out timers that are due, at most as many as asked for, and none before its
//     deadline. Each is this client's alone until its lease ends, or it is given back; then it is
//     due again. Timers that are due together are handed out in any order. When the clock is set
//     back, what is due by the new time is handed out, and a lease ends as much later. (An engine
//     with DurableTraits::lease_when_armed knows one lease: DurableConfig::lease of who armed the
//     timer. One with silence_keeps_leases may let a lease end too late. One with own_clock says
//     nothing of a clock that is set back.)
//  3. complete() removes those timers for good, and tells for each whether this client still held
//     it: nobody else was handed it, cancelled or moved it since.
//  4. cancel() removes a timer, whether somebody holds it or not, and tells whether it was there. It
//     is not handed out from then on. (An engine without DurableTraits::takes_from_holders cannot
//     do so while somebody else holds it, and says that it was not there; one with only_own_timers
//     says so of what other clients have armed.)
//  5. Clients may be in any number of threads and processes, as far as DurableTraits::shared_by
//     says. Each is used by one thread at a time.
//  6. A call that gets no answer from the engine throws BackendError after DurableConfig::patience.
//     What it asked for may have been done, or may still be done; it may be asked for once more.
//     The next call connects again. (beanstalkd may take the patience for each of several answers.
//     A queue with DurableQueue::helpers() starts them again, which takes a second. A queue in a
//     file waits for the disk as long as that takes; and after a failed synchronisation a journal
//     takes no more calls until all its clients have been destroyed and one is opened.)
//  7. await_earlier() waits, a second at most, until a timer may be due before the next_wakeup of
//     this client's last claim(), because somebody has armed, moved or given it back since. It
//     returns true no later than that timer is due. It may return true without cause, but not always.
//     A timer that is due in more than a second wakes nobody. If a client is killed between arming a
//     timer and waking the others, that timer may be a second late. (An
//     engine with DurableTraits::poll_interval wakes nobody: it looks so often.)
//  8. post() arms or moves timers as schedule() does, but they are not acknowledged when it returns.
//     All later calls of this client find them armed, and so do those of other clients soon. When
//     something breaks, this client included, some or all of them may be lost. Then a later call of
//     this client throws and has done nothing, or nothing shows the loss. A
//     client that is destroyed waits until what it has posted has arrived: others find it then, but
//     it need not be on the disk.
//
// The contract is a virtual class, unlike that of TimerQueue: a call is a message or a write to a
// disk, and takes a thousand times what a virtual call does.
//
// `timerbench verify durable` and tests/durable_queue_test.cc check all rules for all queues.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend_error.h"
#include "core/timer_queue.h"

namespace timerbench {

using DurableId = std::uint64_t;

// A second in the year 2116: in nanoseconds it is an integer of every database, in microseconds an
// exact double.
inline constexpr Tick kLastDeadline = Tick{4'611'686'018} * 1'000'000'000;

inline constexpr std::size_t kLongestPayload = 60'000;  // bytes; beanstalkd takes 65 535 in all

// What is due later than in a second wakes nobody.
inline constexpr Tick kLongestAwait = Tick{1} * 1'000'000'000;

struct DurableTimer {
  DurableId id;
  Tick deadline;
  std::string payload{};  // any bytes
  bool operator==(const DurableTimer&) const = default;
};

// A timer that a client has been handed.
struct ClaimedTimer {
  DurableTimer timer;
  std::uint64_t token;  // tells this claim from all others
};

struct Claims {
  std::vector<ClaimedTimer> timers;
  // When something may be due next, as far as the engine knew at the time of the claim; kNever if
  // it holds nothing. A lease that ends counts. It means something only if timers is empty; else it
  // is an instant in the past.
  Tick next_wakeup = kNever;
};

// What becomes of acknowledged timers when something breaks.
enum class Kept {
  all,
  but_the_latest,  // what was acknowledged last may be lost: a second or two, or so many pages
  none,
};

constexpr std::string_view to_text(Kept kept) {
  switch (kept) {
    case Kept::all: return "all";
    case Kept::but_the_latest: return "all but the latest";
    case Kept::none: break;
  }
  return "nothing";
}

// The loss of acknowledged timers that an engine allows, by its documentation. Where that gives no
// figure, the header of the queue says why it is this one.
struct DurablePromise {
  Kept when_killed;       // kill -9 of the engine
  Kept when_power_fails;  // what was not synchronised to the disk is gone
  Kept when_disk_fails;   // the machine is lost, and another takes over
  // It does not answer for seconds, and then goes on; a master that is silent may be replaced.
  Kept when_silent = Kept::all;
  // It cannot write; an engine that ends itself then keeps what it keeps when it is killed.
  Kept when_disk_is_full = Kept::all;
  // The block that it wrote last is overwritten; most engines say nothing of that.
  Kept when_block_is_spoilt = Kept::none;
  // What may be lost when all but the latest is kept: what is at most so old, and what so many calls
  // have armed.
  Tick latest = Tick{2} * 1'000'000'000;
  std::uint64_t latest_calls = 0;
};

enum class SharedBy { threads, processes, machines };

struct DurableTraits {
  std::string_view name;
  std::string_view summary;
  std::string_view engine;  // the program or library, as its Debian package is called
  DurablePromise promise;
  SharedBy shared_by;
  Tick resolution = 1;  // deadlines and leases are rounded up to it, in ns
  bool takes_from_holders = true;
  // A client cancels, and moves, only what it has armed itself and was told of. What another has
  // armed, or what it armed when the answer was lost, stays beside what it arms anew, and is handed
  // out too.
  bool only_own_timers = false;
  // A lease may outlive its time as long as its holder is connected and makes no call; it ends with
  // the holder's next call, or with its connection.
  bool silence_keeps_leases = false;
  bool lease_when_armed = false;  // the lease is DurableConfig::lease, not that of claim()
  bool own_clock = false;         // time is the engine's, not DurableConfig::now
  Tick poll_interval = 0;         // of await_earlier(), in ns; 0: it is woken
  const char* file;               // the queue's header
};

// The time of the machine, in nanoseconds since 1970.
inline Tick unix_now() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<Tick>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count());
}

// The instant that is `lease` later, or kLastDeadline if that is beyond it.
constexpr Tick lease_end(Tick now, Tick lease) {
  return now + std::min(lease, kLastDeadline - std::min(now, kLastDeadline));
}

// Whether those who wait must be told of what is due then.
constexpr bool is_soon(Tick deadline, Tick now) {
  return deadline <= lease_end(now, kLongestAwait);
}

// In a word, for tables.
constexpr std::string_view ranking(Kept kept) {
  switch (kept) {
    case Kept::all: return "keeps all";
    case Kept::but_the_latest: return "may lose the latest";
    case Kept::none: break;
  }
  return "may lose all";
}

// Which contenders may be ranked together: those that promise the same after a power cut.
constexpr std::string_view ranking(const DurableTraits& traits) {
  return ranking(traits.promise.when_power_fails);
}

struct DurableConfig {
  std::string queue = "timers";  // all clients that name it share it; letters, digits, underscores
  std::function<Tick()> now = unix_now;  // the same clock for all clients
  std::chrono::milliseconds patience{5000};
  // Of what this client arms, if the engine has DurableTraits::lease_when_armed.
  Tick lease = Tick{30} * 1'000'000'000;
  // Of a queue in a cluster: the parts that its nodes share. All clients that name it say the same.
  std::size_t shards = 16;
};

class DurableQueue {
 public:
  DurableQueue() = default;
  DurableQueue(const DurableQueue&) = delete;
  DurableQueue& operator=(const DurableQueue&) = delete;
  virtual ~DurableQueue() = default;

  // REQUIRES: no deadline beyond kLastDeadline; no payload longer than kLongestPayload; no id twice.
  virtual void schedule(std::span<const DurableTimer> timers) = 0;
  // Its default is for an engine that would gain nothing.
  virtual void post(std::span<const DurableTimer> timers) { schedule(timers); }
  virtual bool cancel(DurableId id) = 0;

  // REQUIRES: `most` and `lease` are at least 1.
  virtual Claims claim(std::size_t most, Tick lease) = 0;
  virtual std::vector<bool> complete(std::span<const ClaimedTimer> claims) = 0;
  // What this client does not hold any more is left as it is.
  virtual void give_back(std::span<const ClaimedTimer> claims) = 0;

  // Waits until something may be due before `next_wakeup`, which the last claim() has told, or for
  // `longest`. Returns whether to claim now. REQUIRES: `longest` is at most kLongestAwait.
  virtual bool await_earlier(Tick next_wakeup, std::chrono::nanoseconds longest) = 0;

  // Timers in the queue, those that are held included.
  virtual std::size_t size() = 0;

  // Processes that this client has started for itself; what they cost is a cost of the client.
  virtual std::vector<pid_t> helpers() const { return {}; }
};

}  // namespace timerbench
