#include "durable/sqlite_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

namespace timerbench {
namespace {

constexpr std::string_view kTables = "timers_of_";  // so begins the name of each table of a queue

}  // namespace

class SqliteQueue::Statement {
 public:
  Statement(const SqliteQueue& queue, std::string_view text) : queue_(queue) {
    if (sqlite3_prepare_v3(queue.database_, text.data(), static_cast<int>(text.size()),
                           SQLITE_PREPARE_PERSISTENT, &statement_, nullptr) != SQLITE_OK) {
      queue_.fail("cannot use its table");
    }
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Sets ?1, ?2, ... and begins. The values outlive the run.
  template <class... Values>
  Statement& with(const Values&... values) {
    int place = 0;
    (bind(++place, values), ...);
    return *this;
  }

  // Whether there is a row, or another. REQUIRES: called until it returns false.
  bool next() {
    const int result = sqlite3_step(statement_);
    if (result == SQLITE_ROW) return true;
    sqlite3_reset(statement_);
    if (result != SQLITE_DONE) queue_.fail("cannot read or write it");
    return false;
  }

  void run() {
    while (next()) {
    }
  }

  std::uint64_t number(int column) const {
    return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
  }
  bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::string bytes(int column) const {
    const auto* const data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return {data, data + sqlite3_column_bytes(statement_, column)};
  }

 private:
  // An id is any 64 bits; SQLite orders them as signed numbers, which does not matter.
  void bind(int place, std::uint64_t value) {
    sqlite3_bind_int64(statement_, place, static_cast<sqlite3_int64>(value));
  }
  void bind(int place, const std::string& bytes) {
    sqlite3_bind_blob64(statement_, place, bytes.data(), bytes.size(), SQLITE_STATIC);
  }

  const SqliteQueue& queue_;
  sqlite3_stmt* statement_ = nullptr;
};

SqliteQueue::SqliteQueue(std::filesystem::path path, const DurableConfig& config,
                         Synchronous synchronous)
    : path_(std::move(path)),
      config_(config),
      synchronous_(synchronous),
      table_(std::string(kTables) + config.queue) {
  try {
    open();
  } catch (const BackendError& error) {
    sqlite3_close_v2(database_);
    throw BackendUnavailable(error.what());
  }
}

SqliteQueue::~SqliteQueue() { sqlite3_close_v2(database_); }  // once the statements are gone

void SqliteQueue::open() {
  if (sqlite3_libversion_number() < kFirstVersion) {
    throw BackendError(fmt::format("sqlite: its version {} has no RETURNING; take 3.35 or newer",
                                   sqlite3_libversion()));
  }
  if (sqlite3_open_v2(path_.c_str(), &database_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                      nullptr) != SQLITE_OK) {
    fail("cannot open it");
  }
  sqlite3_busy_handler(
      database_,
      [](void* queue, int tries) { return int{static_cast<SqliteQueue*>(queue)->wait(tries)}; },
      this);
  refuse_file_of_others();
  run("PRAGMA journal_mode = WAL");
  sqlite3_wal_hook(
      database_,
      [](void* queue, sqlite3*, const char*, int pages) {
        static_cast<SqliteQueue*>(queue)->limit_log(pages);
        return SQLITE_OK;
      },
      this);
  synchronise(synchronous_);
  run(fmt::format("CREATE TABLE IF NOT EXISTS {} (id INTEGER PRIMARY KEY, due INTEGER NOT NULL, "
                  "deadline INTEGER NOT NULL, holder INTEGER NOT NULL, payload BLOB NOT NULL)",
                  table_)
          .c_str());
  run(fmt::format("CREATE INDEX IF NOT EXISTS {0}_due ON {0} (due)", table_).c_str());
  schedule_ = prepare(
      "INSERT INTO {} VALUES (?1, ?2, ?2, ?3, ?4) ON CONFLICT (id) DO UPDATE SET "
      "due = excluded.due, deadline = excluded.deadline, holder = excluded.holder, "
      "payload = excluded.payload");
  cancel_ = prepare("DELETE FROM {} WHERE id = ?1");
  claim_ = prepare(
      "UPDATE {0} SET due = ?1, holder = ?2 WHERE id IN "
      "(SELECT id FROM {0} WHERE due <= ?3 ORDER BY due LIMIT ?4) RETURNING id, deadline, payload");
  complete_ = prepare("DELETE FROM {} WHERE id = ?1 AND holder = ?2");
  give_back_ = prepare("UPDATE {} SET due = ?3, holder = ?4 WHERE id = ?1 AND holder = ?2");
  first_ = prepare("SELECT min(due) FROM {}");
  size_ = prepare("SELECT count(*) FROM {}");
  version_ = prepare("PRAGMA data_version");
}

// Reads only. The file would still change when it is closed: SQLite copies into it what is in a log.
void SqliteQueue::refuse_file_of_others() {
  sqlite3_db_config(database_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  Statement tables(*this, fmt::format("SELECT max(name GLOB '{}*'), min(name) FROM sqlite_schema "
                                      "WHERE type = 'table' AND name NOT GLOB 'sqlite_*'",
                                      kTables));
  while (tables.next()) {
    if (tables.is_null(0) || tables.number(0) == 1) continue;  // it is new, or of queues
    throw BackendError(fmt::format(
        "sqlite at {}: it is a database of others, with the table {}; take another file",
        path_.string(), tables.bytes(1)));
  }
  sqlite3_db_config(database_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
}

// Begins the log anew, unless readers do not let that happen: no writer can go on meanwhile, so it
// waits for them a little only, and tries again some pages later: the more, the longer the log has
// become. (Always as many would take most of the time of busy writers, and starve some of them.)
void SqliteQueue::limit_log(int pages) {
  constexpr auto kLongest = std::chrono::milliseconds(10);
  if (pages < kPagesOfLog) tried_at_ = 0;
  const int later = std::max(kPagesOfLog / 4, (tried_at_ - kPagesOfLog) / 2);
  if (pages < std::max(kPagesOfLog, tried_at_ + later)) return;
  patience_ = std::min<std::chrono::milliseconds>(kLongest, config_.patience);
  const bool has_begun = sqlite3_wal_checkpoint_v2(database_, nullptr, SQLITE_CHECKPOINT_RESTART,
                                                   nullptr, nullptr) == SQLITE_OK;
  patience_ = config_.patience;
  tried_at_ = has_begun ? 0 : pages;
}

bool SqliteQueue::wait(int tries) {
  using std::chrono::microseconds;
  const auto now = std::chrono::steady_clock::now();
  if (tries == 0) give_up_ = now + patience_;
  if (now >= give_up_) return false;
  std::this_thread::sleep_for(microseconds(100) * (1 << std::min(tries, 6)));
  return true;
}

void SqliteQueue::schedule(std::span<const DurableTimer> timers) {
  transact([&] {
    for (const auto& [id, deadline, payload] : timers) {
      schedule_->with(id, deadline, Tokens::kNobody, payload).run();
    }
  });
}

void SqliteQueue::post(std::span<const DurableTimer> timers) {
  if (synchronous_ == Synchronous::normal) return schedule(timers);
  synchronise(Synchronous::normal);
  try {
    schedule(timers);
  } catch (...) {
    synchronise(synchronous_);
    throw;
  }
  synchronise(synchronous_);
}

bool SqliteQueue::cancel(DurableId id) {
  cancel_->with(id).run();
  return sqlite3_changes(database_) > 0;
}

Claims SqliteQueue::claim(std::size_t most, Tick lease) {
  const Tick now = config_.now();
  Claims claims;
  claims.next_wakeup = first_due();
  if (claims.next_wakeup > now) return claims;  // without a write
  const std::uint64_t token = tokens_.next();
  claim_->with(lease_end(now, lease), token, now, most);
  while (claim_->next()) {
    claims.timers.push_back({{claim_->number(0), claim_->number(1), claim_->bytes(2)}, token});
  }
  return claims;
}

std::vector<bool> SqliteQueue::complete(std::span<const ClaimedTimer> claims) {
  std::vector<bool> held;
  transact([&] {
    for (const ClaimedTimer& claim : claims) {
      complete_->with(claim.timer.id, claim.token).run();
      held.push_back(sqlite3_changes(database_) > 0);
    }
  });
  return held;
}

void SqliteQueue::give_back(std::span<const ClaimedTimer> claims) {
  const Tick now = config_.now();
  transact([&] {
    for (const ClaimedTimer& claim : claims) {
      give_back_->with(claim.timer.id, claim.token, now, Tokens::kNobody).run();
    }
  });
}

// The version changes when others commit, and only others can change something meanwhile.
bool SqliteQueue::await_earlier(Tick next_wakeup, std::chrono::nanoseconds longest) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + longest;
  std::optional<std::uint64_t> seen;
  for (;;) {
    std::optional<std::uint64_t> version;
    while (version_->next()) version = version_->number(0);
    if (std::exchange(seen, version) != version && first_due() < next_wakeup) return true;
    const std::chrono::nanoseconds left = end - Clock::now();
    if (left.count() <= 0) return false;
    std::this_thread::sleep_for(std::min(left, std::chrono::nanoseconds(kPollInterval)));
  }
}

Tick SqliteQueue::first_due() {
  Tick due = kNever;
  while (first_->next()) {
    if (!first_->is_null(0)) due = first_->number(0);
  }
  return due;
}

std::size_t SqliteQueue::size() {
  std::size_t size = 0;
  while (size_->next()) size = size_->number(0);
  return size;
}

std::unique_ptr<SqliteQueue::Statement> SqliteQueue::prepare(std::string_view text) {
  return std::make_unique<Statement>(*this, fmt::format(fmt::runtime(text), table_));
}

void SqliteQueue::synchronise(Synchronous synchronous) {
  run(synchronous == Synchronous::full ? "PRAGMA synchronous = FULL"
                                       : "PRAGMA synchronous = NORMAL");
}

void SqliteQueue::run(const char* text) {
  if (sqlite3_exec(database_, text, nullptr, nullptr, nullptr) != SQLITE_OK) {
    fail("cannot read or write it");
  }
}

// Does all changes, or none of them.
void SqliteQueue::transact(const std::function<void()>& changes) {
  run("BEGIN IMMEDIATE");
  try {
    changes();
    run("COMMIT");
  } catch (...) {
    sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

void SqliteQueue::fail(std::string_view what) const {
  const int code = database_ == nullptr ? SQLITE_NOMEM : sqlite3_errcode(database_) & 0xff;
  const auto advice = [&]() -> std::string_view {
    switch (code) {
      case SQLITE_BUSY: return "another process holds it for too long";
      case SQLITE_FULL: return "free some space";
      case SQLITE_NOTADB:
      case SQLITE_CORRUPT: return "take another file, or restore this one";
      default: return "check the file, its folder and their permissions";
    }
  };
  throw BackendError(fmt::format("sqlite at {}: {}: {}; {}", path_.string(), what,
                                 database_ == nullptr ? "out of memory" : sqlite3_errmsg(database_),
                                 advice()));
}

}  // namespace timerbench
