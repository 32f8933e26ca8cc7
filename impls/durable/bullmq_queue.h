// A durable timer queue in BullMQ, the job queue of Node.js on Redis.
//
// A timer is a delayed job; its data is the id, the deadline and the payload. BullMQ is called by a
// program of Node.js that each client starts (bullmq_queue/bridge.js, over bridge.h):
//
//   schedule   Queue.add() or addBulk() with the options delay, jobId and deduplication
//   cancel     Queue.getDeduplicationJobId() and Queue.remove()
//   claim      Worker.getNextJob(token, {block: false}) for each timer, of a Worker without a
//              processor whose lockDuration is the lease
//   complete   Job.moveToCompleted(), with removeOnComplete
//   give_back  Job.moveToWait()
//   await_earlier  Queue.getJobCounts() and Queue.getDelayed(), every 50 ms
//   size       Queue.getJobCounts()
//
// A job is added with the timer's id as its deduplication id, and `replace`: that is how BullMQ
// moves a delayed job, with new data, in one step. (With the timer's id as jobId, add() would
// ignore what is there already, and remove() before add() would lose the timer if the client died
// between them.) jobId is new for each arming; so add() tells by what it returns that the job was
// not delayed any more and has stayed. Then the timer is added beside it, and the old one removed.
//
// Jobs are fetched by hand, as BullMQ documents it for programs that take jobs when they want to. A
// Worker with a processor would take jobs before anybody claims them, prolong their locks while the
// client says nothing, and so keep them from others. getNextJob() itself makes those wait that are
// due, up to 1000 with a call, so no other program has to. A lock that ends leaves its job where it
// is. Worker.startStalledCheckTimer() looks for such jobs, and moves them back; it runs in each
// client that has claimed, four times a second for all clients together (BullMQ's default is 30 s).
//
// What it cannot do, or does otherwise:
//   leases      end up to half a second late, and 5 s late if Redis has told of an error: BullMQ waits
//               so long until it looks for stalled jobs again. Deadlines are kept to the millisecond.
//   holders     A job that is locked is not removed. Who cancels meanwhile is told that the timer
//               was not there; who moves it arms a second one beside it.
//   cancelling, moving
//               are not atomic, except for moving what is not due. Two clients that cancel a timer
//               at the same moment may both be told that it was there; a timer that is completed,
//               or claimed, at that moment too.
//   completing  after the lease first fails, and is then done by removing the job, if its count of
//               starts says that nobody else was handed it.
//
// Cost:
//   schedule  1 round trip to Redis, a script a timer; with timers that are moved and due already,
//             4 more
//   cancel    2 round trips
//   claim     1 round trip, and one more whenever what was handed out has doubled; a script a
//             timer, and one that finds nothing. 2 more to learn what is due next if nothing is due
//   complete, give_back
//             1 round trip of any number of timers, a script a timer
//   each call 1 round trip between the client and its bridge, and JSON of all its timers twice
//             (seen: 2200 arms with cancels a second over the bridge, of one client, and 4000 in
//             plain Node.js; 5500 fires, and 6800)
//   on the server  O(log n) a timer that is not due; removing one that waits or is held is O(n) of
//             those. A hash, a member of a sorted set, a string for the deduplication, and while it
//             is held a lock: some 1300 bytes a timer and its payload, and 1000 in its file; a
//             stream of the last 10 000 events
//   in the client  a process of Node.js of some 70 MB, which takes a third of a second to start; it
//             has a Worker with two connections for each length of lease that it was asked for, until
//             it ends, so take few lengths
//   fsync     once a second
//
// What is acknowledged is in the server's memory, and a second later in its file: BullMQ's
// documentation advises appendonly with appendfsync everysec, and that is how the server runs.
//
// Good: programs of Node.js that want retries, priorities, flows and a dashboard beside timers.
// Bad: many timers: each step is a script of its own, and writes events that nobody may read.
// Follows: BullMQ 6.7.0, its patterns "Manually processing jobs" and "Deduplication".
// Deviates: no retries, priorities or flows. A Worker never fails a job that was given up too often
// (maxStalledCount).
#pragma once

#include <filesystem>

#include "durable/bridged_queue.h"

namespace timerbench {

class BullmqQueue final : public BridgedQueue {
 public:
  static constexpr const char* kFile = __builtin_FILE();  // DurableTraits::file

  static constexpr Tick kResolution = 1'000'000'000;  // of leases

  // The socket of Redis, and a file for what bridges have to say. Throws BackendUnavailable.
  BullmqQueue(const std::filesystem::path& socket, std::filesystem::path log,
              const DurableConfig& config);
};

}  // namespace timerbench
