// A durable timer queue in a tube of beanstalkd.
//
// A timer is a job: put with a delay, reserved by who claims it, and deleted by who completes it.
// Its body is the timer's id, its exact deadline and its payload, for beanstalkd numbers jobs by
// itself and knows neither. A job that is reserved and neither deleted nor released in time (TTR)
// is ready again; so is at once what was reserved over a connection that ends. Jobs that are ready
// together are handed out in the order of their deadlines, as they have them, in seconds, as their
// priority.
//
// What it cannot do, or does otherwise:
//   seconds     Delays and leases are whole seconds, rounded up: nothing is early, and on average a
//               timer is half a second late. The delay begins when the server gets to the job.
//   leases      A job has its TTR from when it is put, so a lease is DurableConfig::lease of who
//               armed the timer, whatever claim() asks for. A claim ends with its connection.
//               A lease may not end while its holder is connected and says nothing: of 40 such
//               leases of 1.12, 34 had not ended half a second after their time, and all ended with
//               the holder's next command. (The server looks when the time is reached, and if that
//               is so to the microsecond, it looks away and not again: issue 262 of beanstalkd.)
//   cancelling, moving
//               A job is found by its number only, so a client finds the timers that it has armed
//               itself. What it arms although another has, or although it has itself and never got
//               the answer, is there twice and is handed out twice. It forgets timers
//               that were due a minute ago, whenever it has armed as many again as it knew.
//   holders     Only who has reserved a job can delete it. Who cancels meanwhile is told that the
//               timer was not there; who moves it arms a second one beside it.
//   jobs that are no timers
//               Who claims one, which another program has put or a spoilt binlog holds, is told of
//               it once. It is buried: kept, and handed out to nobody.
//   completing  succeeds also if others were handed the job meanwhile, as long as nobody has it now.
//               So of several that complete it, one is told that it held it.
//
// Cost:
//   schedule  1 round trip for 64; one more for those that are moved
//   post      as schedule: without the answer, no timer could be cancelled or moved
//   cancel    1 round trip
//   claim     1 round trip, and one more whenever what was handed out has doubled; one to learn
//             what is due next if nothing is due
//   await_earlier
//             1 round trip: it reserves what is ready first, and 1 more to release that at once. It
//             waits in whole seconds, so for one. (Who cancels the timer between the two is told
//             that it was not there.)
//   complete, give_back
//             1 round trip, of any number of timers
//   on the server  O(log n) a timer; all jobs are in its memory, some 300 bytes a timer and its
//             payload; about as much in files of 10 MB, which go when the jobs that are left in
//             them were copied into a newer one
//   in the client  some 70 bytes for each timer that it has armed, until it is completed, cancelled
//             or forgotten
//   fsync     with -f0 one for each job that is put or deleted, before its answer, also if several
//             came together or from several clients; with -f50 at most one in 50 ms
//
// What is acknowledged has been written to the binlog, so it survives kill -9 of the server. With
// -f0 it survives a power cut too. With -f50 a power cut may lose what came since the last fsync;
// beanstalkd synchronises only while it writes (seen: 200 jobs put within 50 ms, one fsync, none in
// the next three seconds). So if nothing follows, that is half a minute, until the kernel writes by
// itself. And it does not synchronise a file that is full before it begins the next one: the end of
// each file of 10 MB, up to 50 ms, is lost with a power cut of the half minute after (seen in 37 of
// 100 cuts under load: 25 jobs of each 2100 were missing, and later ones were there). Reserving and
// releasing are not written: after a restart, what was held is due.
//
// The binlog holds instants, not delays. So after kill -9 and a restart of 1.12 each job becomes
// ready when it would have anyway, or at once if that has passed (seen: delays of 2, 6 and 10 s, and
// no server from second 1 to 3: ready at 3.1, 6.0 and 10.0 s; likewise after several restarts).
// Numbers of jobs are not kept: when nothing is left of older jobs in the binlog, they begin at 1
// again. So before a client deletes what it armed on a server that has been restarted, it looks.
//
// Good: thousands of short jobs, where a second does not matter.
// Bad: exact deadlines; timers that are cancelled or moved by others; anything that is due at once
// in great numbers, with -f0: one fsync for each.
// Follows: beanstalkd 1.12, doc/protocol.txt.
// Deviates: no other tube is used or watched. A server of TIMERBENCH_BEANSTALKD_URL must have a
// binlog, and synchronises it as it was started, whichever contender's name is used.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "durable/beanstalk_connection.h"
#include "durable/durable_queue.h"

namespace timerbench {

class BeanstalkQueue final : public DurableQueue {
 public:
  static constexpr const char* kFile = __builtin_FILE();  // DurableTraits::file

  static constexpr Tick kResolution = 1'000'000'000;

  // Throws BackendUnavailable.
  BeanstalkQueue(BeanstalkEndpoint endpoint, std::string tube, const DurableConfig& config);

  // Deletes all jobs of all tubes whose name begins so, with 3 round trips for 256 of them. Each answer
  // must come within the patience. Throws BackendError, also if others hold what is left for `longest`.
  static void delete_tubes(const BeanstalkEndpoint& endpoint, std::string_view prefix,
                           std::chrono::milliseconds patience,
                           std::chrono::milliseconds longest = std::chrono::minutes(1));

  void schedule(std::span<const DurableTimer> timers) override;
  bool cancel(DurableId id) override;
  Claims claim(std::size_t most, Tick lease) override;
  std::vector<bool> complete(std::span<const ClaimedTimer> claims) override;
  void give_back(std::span<const ClaimedTimer> claims) override;
  bool await_earlier(Tick next_wakeup, std::chrono::nanoseconds longest) override;
  std::size_t size() override;

 private:
  using Job = std::uint64_t;  // the number that beanstalkd has given it

  // A timer that this client has armed.
  struct Armed {
    Job job;
    Tick deadline;
    std::uint64_t server;  // the run of the server that has given it this number
  };

  // A job whose timer has been moved to another. It is to be deleted.
  struct Outdated {
    DurableId id;
    Job job;
    std::uint64_t server;  // as above
  };

  // The connection; a new one if it was lost. Deletes what is outdated first.
  BeanstalkConnection& connection();
  void connect();
  void schedule_some(std::span<const DurableTimer> timers);
  // Forgets those of these timers whose job is not there any more.
  void look_for(std::span<const DurableTimer> timers);
  void forget_what_has_passed();
  void delete_outdated();
  // Deletes them, and tells for each whether it was there.
  std::vector<bool> delete_jobs(std::span<const Job> jobs);
  // That this connection may have reserved; 0 if it has not.
  Job job_of(const ClaimedTimer& claim) const;
  Tick next_wakeup();

  const BeanstalkEndpoint endpoint_;
  const std::string tube_;
  const DurableConfig config_;
  const std::string mark_;  // that this client's bodies begin with
  std::unique_ptr<BeanstalkConnection> connection_;
  std::uint64_t connection_number_ = 0;
  std::uint64_t server_ = 0;  // names its run
  std::unordered_map<DurableId, Armed> armed_;
  std::vector<Outdated> outdated_;
  std::size_t next_forgetting_ = 1024;  // when armed_ has so many
};

}  // namespace timerbench
