// A durable timer queue of leases of etcd: the lease of a key ends, etcd deletes the key, and who
// watches it knows that the timer is due.
//
// etcd is called over the JSON gateway of its version 3 interface, by a program of Node.js that
// each client starts (etcd_queue/bridge.js, over bridge.h). A timer is up to three keys:
//
//   timer/ID   its deadline and payload; no lease
//   alarm/ID   with the lease that ends at the deadline; once it is claimed, with that of the claim
//   holder/ID  the token of the claim
//
// A timer without an alarm is due. So nothing is lost with an event that nobody sees: who begins to
// claim lists what is there, and from that revision on watches the alarms. A transaction claims: if
// there is the timer, and no alarm, it sets the alarm to the end of the claim. So the first has it.
// Every watcher sees every event; what is completed, cancelled or due when it is armed is told them
// by the value of alarm/news, in the same transaction.
//
//   schedule   lease/grant, kv/txn; of a timer that is moved, lease/revoke for its old lease
//   cancel     kv/txn, lease/revoke
//   claim      lease/grant, and a kv/txn with a comparison for each timer that may be due
//   complete, give_back
//              kv/txn with a comparison for each, lease/revoke when nothing is left of what was
//              claimed together
//   await_earlier  nothing: every 50 ms it asks its bridge what the watch has told
//   size       kv/range, counting only
//
// What it cannot do, or does otherwise:
//   seconds     Leases are whole seconds, at least 2, and are rounded up; etcd looks twice a second
//               for those that have ended. So a timer is late by three quarters of a second on
//               average, and by more if it is armed less than 2 s before it is due.
//   the cap     It ends at most 500 leases each time it looks: no more than 1000 timers a second
//               fire.
//   restarts    After a restart, or a change of leaders, each lease begins again with its whole
//               time.
//   watching    A claim that finds nothing waits up to 20 ms for the watch to be as far as the
//               server. It cannot tell what is due next, since etcd keeps no order of deadlines:
//               only that there is something.
//
// Cost:
//   schedule  1 round trip for the lease of each timer that is not due, up to 64 at once, and 1 for
//             100 timers; 1 more for each that is moved
//   cancel    2 round trips
//   claim     1 round trip, and 1 for 100 timers; 1 if nothing is due
//   complete, give_back
//             1 round trip for 100 timers, and 1
//   each call 1 round trip between the client and its bridge, and JSON of all its timers twice;
//             etcd turns its JSON into gRPC
//   on the server  O(log n); all keys and leases are in its memory: some 4 KB a timer and its
//             payload; on disk some 280 bytes, and each change stays there until somebody compacts it
//   in the client  a process of Node.js of some 60 MB; each worker sees all events
//   fsync     each grant, revocation and transaction before its answer; those that come together
//             share one
//
// What is acknowledged is on the disk, so it survives kill -9 and a power cut. (Several servers
// would keep it without this disk, too; here is one.)
//
// Good: a few hundred leases of services that an etcd has anyway.
// Bad: anything that is to be prompt, exact, or many.
// Follows: etcd 3.4, its leases, watches and transactions.
// Deviates: a lease a timer, though keys of one second could share one: who moves or cancels would
// have to know which are left. No compaction.
#pragma once

#include <filesystem>

#include "durable/bridged_queue.h"

namespace timerbench {

class EtcdQueue final : public BridgedQueue {
 public:
  static constexpr const char* kFile = __builtin_FILE();  // DurableTraits::file

  static constexpr Tick kResolution = 2'000'000'000;

  // The socket of etcd, and a file for what bridges have to say. Throws BackendUnavailable.
  EtcdQueue(const std::filesystem::path& socket, std::filesystem::path log,
            const DurableConfig& config);
};

}  // namespace timerbench
