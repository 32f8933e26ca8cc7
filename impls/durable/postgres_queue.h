// A durable timer queue in a table of PostgreSQL.
//
// A row is a timer. Its column `due` says when it may be claimed next: at its deadline, and once it
// is claimed, at the end of the lease; there is an index on it. So a claim whose holder has died
// comes back by itself. A worker claims rows that no other is just claiming (FOR UPDATE SKIP
// LOCKED), so workers do not wait for each other. Each call is one transaction.
//
// Cost:
//   schedule, complete, give_back  a statement a timer, in a pipeline: 1 round trip for 256
//   cancel, claim  1 round trip; claim asks for the first instant only if nothing is due
//   schedule, give_back  1 round trip more if something of it is due within a second, to wake those
//     who wait (NOTIFY) if nothing else is due earlier; no fsync, but the server takes one lock for
//     all notifications at a time
//   post  as schedule with synchronous_commit=off, whatever it is else
//   await_earlier  1 round trip the first time (LISTEN), then none: it waits for the socket
//   on the server  O(log n) pages a timer of the table and of two indexes; each change of `due`
//     leaves a dead row and dead entries, until a vacuum
//   fsync  1 a transaction with synchronous_commit=on, shared by those that commit together; with
//     off three times a second or so
//   some 400 bytes a timer on disk, write-ahead log and indexes with it, and its payload
//   in memory nothing for each timer: the server has a cache of fixed size (shared_buffers), and some
//     10 MB for each connection
//
// What is acknowledged survives kill -9 and a power cut. With synchronous_commit=off, both may lose
// what came in the last 0.6 seconds: it waits in the server's memory.
//
// Good: next to the data that the timers are about, in the same transaction.
// Bad: dead rows at the head of the index, where every claim looks.
// Follows: PostgreSQL from version 9.5; the job queues of Que, River and Solid Queue.
// Deviates: no column tells a state, so the index on `due` is on all rows: none is done and kept, and
// a partial index would leave none out; the schema is `timerbench`, and nothing else is touched.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "durable/durable_queue.h"
#include "durable/postgres_connection.h"
#include "durable/tokens.h"

namespace timerbench {

class PostgresQueue final : public DurableQueue {
 public:
  static constexpr const char* kFile = __builtin_FILE();  // DurableTraits::file

  // `where` is a connection string of libpq. Throws BackendUnavailable.
  PostgresQueue(std::string where, const DurableConfig& config, bool synchronous_commit);

  // Drops the tables of all queues whose names begin so, and the schema if nothing is left in it.
  // All or none: waits for half of the patience for another session that uses one. Throws BackendError.
  static void drop_tables(const std::string& where, const std::string& prefix,
                          std::chrono::milliseconds patience);

  void schedule(std::span<const DurableTimer> timers) override;
  void post(std::span<const DurableTimer> timers) override;
  bool cancel(DurableId id) override;
  Claims claim(std::size_t most, Tick lease) override;
  std::vector<bool> complete(std::span<const ClaimedTimer> claims) override;
  void give_back(std::span<const ClaimedTimer> claims) override;
  bool await_earlier(Tick next_wakeup, std::chrono::nanoseconds longest) override;
  std::size_t size() override;

 private:
  // The connection, at the beginning of a call: from now on, its patience is spent.
  PostgresConnection& begin();
  // The connection in the middle of a call; a new one if it was lost.
  PostgresConnection& connection();
  // Of the patience of this call.
  std::chrono::milliseconds left() const;
  void connect();
  void make_table();
  // By this prepared statement.
  void arm(const char* statement, std::span<const DurableTimer> timers);
  // Tells those who wait, if nothing is due before `due`.
  void wake(Tick due);

  const std::string where_;
  const DurableConfig config_;
  const bool synchronous_commit_;
  const std::string table_;
  const std::string channel_;
  Tokens tokens_;
  std::unique_ptr<PostgresConnection> connection_;
  bool is_listening_ = false;
  std::chrono::steady_clock::time_point give_up_;  // the call that runs
};

}  // namespace timerbench
