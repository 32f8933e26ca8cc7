// A durable timer queue in a table of SQLite.
//
// A row is a timer. Its column `due` says when it may be claimed next: at its deadline, and once it
// is claimed, at the end of the lease; there is an index on it. So a claim whose holder has died
// comes back by itself. Each call is one transaction. The file is shared by processes, one of which
// writes at a time; the others try again every 0.1 to 6.4 ms.
//
// Cost:
//   schedule, cancel, claim, complete, give_back  1 transaction of any number of timers: O(log n)
//     pages a timer of the table and of the index, and one append to the write-ahead log; claim
//     only if something is due
//   await_earlier  looks every 5 ms whether anybody has changed the file, which is a number in shared
//     memory (PRAGMA data_version)
//   post  as schedule with NORMAL, so without an fsync; also with FULL
//   fsync  1 a transaction with synchronous=FULL; with NORMAL only when the log is copied into the
//     file, every kPagesOfLog pages
//   some 60 bytes a timer on disk, and its payload
//   in memory up to 2 MB of pages for each connection, however many timers there are
//
// What is acknowledged survives kill -9; with FULL also a power cut, with NORMAL all but what came
// after the last checkpoint: up to 1000 calls, whatever number of timers each has armed. While
// somebody keeps a read transaction open, as a backup does, nothing after its beginning is copied, and
// the log grows: with NORMAL a power cut may take all of that.
//
// Good: one machine, no server to look after.
// Bad: one writer at a time, so workers wait for producers.
// Follows: the write-ahead log of SQLite 3.7; the visibility timeout of Amazon SQS.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "durable/durable_queue.h"
#include "durable/tokens.h"

namespace timerbench {

class SqliteQueue final : public DurableQueue {
 public:
  static constexpr const char* kFile = __builtin_FILE();  // DurableTraits::file

  static constexpr Tick kPollInterval = 5'000'000;

  static constexpr int kFirstVersion = 3'035'000;  // with RETURNING

  // The log is synchronised, copied into the file and begun anew when it has grown so long. Each call
  // that changes something adds a page at least, so no more calls are acknowledged until then.
  static constexpr int kPagesOfLog = 1000;

  enum class Synchronous { full, normal };

  // Opens the file, or creates it. Throws BackendUnavailable, also if the file has tables and none is
  // of a queue; then it is left as it is.
  SqliteQueue(std::filesystem::path path, const DurableConfig& config, Synchronous synchronous);
  ~SqliteQueue() override;

  void schedule(std::span<const DurableTimer> timers) override;
  void post(std::span<const DurableTimer> timers) override;
  bool cancel(DurableId id) override;
  Claims claim(std::size_t most, Tick lease) override;
  std::vector<bool> complete(std::span<const ClaimedTimer> claims) override;
  void give_back(std::span<const ClaimedTimer> claims) override;
  bool await_earlier(Tick next_wakeup, std::chrono::nanoseconds longest) override;
  std::size_t size() override;

 private:
  class Statement;

  void open();
  void refuse_file_of_others();
  // Copies the log into the file, if it has so many pages that it is long, while other clients wait.
  // (SQLite's own wal_autocheckpoint lets them write meanwhile. Then it never finds that all is copied,
  // and the log of four busy clients grows by 180 MB a second.)
  void limit_log(int pages);
  // Waits before the next try, since another client writes. Returns false if the patience is over.
  // SQLite's own handler sleeps up to 100 ms at a time; meanwhile nobody may write at all. Shorter
  // waits than these are fairer, but who looks takes the processor from who writes: if all are of
  // 0.4 ms, 16 clients on two processors make half as many calls.
  bool wait(int tries);
  void synchronise(Synchronous synchronous);
  std::unique_ptr<Statement> prepare(std::string_view text);
  void run(const char* text);
  void transact(const std::function<void()>& changes);
  // When something may be claimed first; kNever if there is nothing.
  Tick first_due();
  [[noreturn]] void fail(std::string_view what) const;

  const std::filesystem::path path_;
  const DurableConfig config_;
  const Synchronous synchronous_;
  const std::string table_;
  Tokens tokens_;
  std::chrono::milliseconds patience_ = config_.patience;  // with other clients
  std::chrono::steady_clock::time_point give_up_;          // likewise, of the call
  int tried_at_ = 0;  // pages of the log when it could not be begun anew
  sqlite3* database_ = nullptr;
  std::unique_ptr<Statement> schedule_, cancel_, claim_, complete_, give_back_, first_, size_,
      version_;
};

}  // namespace timerbench
