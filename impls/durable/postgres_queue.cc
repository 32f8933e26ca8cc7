#include "durable/postgres_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace timerbench {
namespace {

constexpr int kFirstVersion = 90'500;  // 9.5

constexpr const char* kSchedule = "schedule";
constexpr const char* kPost = "post";
constexpr const char* kCancel = "cancel";
constexpr const char* kClaim = "claim";
constexpr const char* kComplete = "complete";
constexpr const char* kGiveBack = "give_back";
constexpr const char* kFirst = "first";
constexpr const char* kSize = "size";
constexpr const char* kWake = "wake";

using Parameters = PostgresConnection::Parameters;

// Their order by id. Two clients that change the same rows in one order never wait for each other
// in a circle.
std::vector<std::size_t> by_id(std::size_t count, const auto& id_of) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, id_of);
  return order;
}

}  // namespace

PostgresQueue::PostgresQueue(std::string where, const DurableConfig& config,
                             bool synchronous_commit)
    : where_(std::move(where)),
      config_(config),
      synchronous_commit_(synchronous_commit),
      table_("timerbench.timers_of_" + config.queue),
      channel_("timers_of_" + config.queue),
      give_up_(std::chrono::steady_clock::now() + config.patience) {
  try {
    make_table();
    connection();
  } catch (const BackendError& error) {
    throw BackendUnavailable(error.what());
  }
}

// Under a lock, because two clients that both create a table "if it does not exist" may fail. Nothing
// is created that is there: CREATE INDEX IF NOT EXISTS would wait for each open transaction that has
// written, and let all other writers wait behind it.
void PostgresQueue::make_table() {
  PostgresConnection server(where_, left());
  if (const int version = server.server_version(); version < kFirstVersion) {
    throw server.error(fmt::format("its version {}.{} has neither INSERT ... ON CONFLICT nor FOR "
                                   "UPDATE SKIP LOCKED",
                                   version / 10'000, version / 100 % 100),
                       "take 9.5 or newer");
  }
  server.set_patience(left());
  server.run(
      fmt::format("BEGIN; SELECT pg_advisory_xact_lock(hashtext('timerbench')); "
                  "CREATE SCHEMA IF NOT EXISTS timerbench; "
                  "CREATE TABLE IF NOT EXISTS {0} (id bigint PRIMARY KEY, due bigint NOT NULL, "
                  "deadline bigint NOT NULL, holder bigint NOT NULL, payload bytea NOT NULL); "
                  "DO $$ BEGIN IF to_regclass('timerbench.timers_of_{1}_due') IS NULL THEN "
                  "CREATE INDEX timers_of_{1}_due ON {0} (due); END IF; END $$; COMMIT",
                  table_, config_.queue));
}

void PostgresQueue::drop_tables(const std::string& where, const std::string& prefix,
                                std::chrono::milliseconds patience) {
  PostgresConnection server(where, patience);
  // Else the server would wait on for what another session uses, and let all others wait behind it.
  server.run(fmt::format("SET lock_timeout = {}", (patience / 2).count()));
  server.run(fmt::format(R"(
        DO $$ DECLARE
          start text := 'timers_of_{}';
          name text;
        BEGIN
          PERFORM pg_advisory_xact_lock(hashtext('timerbench'));
          FOR name IN SELECT tablename FROM pg_tables
            WHERE schemaname = 'timerbench' AND left(tablename, length(start)) = start
          LOOP EXECUTE format('DROP TABLE timerbench.%I', name); END LOOP;
          BEGIN
            DROP SCHEMA timerbench;
          EXCEPTION WHEN dependent_objects_still_exist OR insufficient_privilege
              OR invalid_schema_name THEN NULL;
          END;
        END $$)",
                         prefix));
}

PostgresConnection& PostgresQueue::begin() {
  give_up_ = std::chrono::steady_clock::now() + config_.patience;
  return connection();
}

std::chrono::milliseconds PostgresQueue::left() const {
  const auto left = give_up_ - std::chrono::steady_clock::now();
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(left), std::chrono::milliseconds(0));
}

PostgresConnection& PostgresQueue::connection() {
  if (!connection_ || !connection_->usable()) connect();
  connection_->set_patience(left());
  return *connection_;
}

void PostgresQueue::connect() {
  auto fresh = std::make_unique<PostgresConnection>(where_, left());
  const auto prepare = [&](const char* name, const std::string& statement) {
    fresh->set_patience(left());
    fresh->prepare(name, statement);
  };
  fresh->set_patience(left());
  fresh->run(fmt::format("SET synchronous_commit = {}", synchronous_commit_ ? "on" : "off"));
  const auto arming = [&](std::string_view from) {
    return fmt::format(
        "INSERT INTO {} SELECT $1::bigint, $2::bigint, $2::bigint, $3::bigint, $4::bytea {} ON "
        "CONFLICT (id) DO UPDATE SET due = excluded.due, deadline = excluded.deadline, holder = "
        "excluded.holder, payload = excluded.payload",
        table_, from);
  };
  prepare(kSchedule, arming(""));
  prepare(kPost, arming("FROM set_config('synchronous_commit', 'off', true)"));
  prepare(kCancel, fmt::format("DELETE FROM {} WHERE id = $1", table_));
  // ARRAY, because the planner may run an IN (SELECT ...) again for each row, which finds others
  // each time and so claims more than $4.
  prepare(kClaim,
          fmt::format("UPDATE {0} SET due = $1, holder = $2 WHERE id = ANY (ARRAY(SELECT id "
                      "FROM {0} WHERE due <= $3 ORDER BY due LIMIT $4 FOR UPDATE SKIP "
                      "LOCKED)) RETURNING id, deadline, payload",
                      table_));
  prepare(kComplete, fmt::format("DELETE FROM {} WHERE id = $1 AND holder = $2", table_));
  prepare(kGiveBack,
          fmt::format("UPDATE {} SET due = $3, holder = $4 WHERE id = $1 AND holder = $2", table_));
  prepare(kFirst, fmt::format("SELECT min(due) FROM {}", table_));
  prepare(kSize, fmt::format("SELECT count(*) FROM {}", table_));
  prepare(kWake, fmt::format("SELECT pg_notify('{}', '') FROM (SELECT min(due) AS due FROM "
                             "{}) AS first WHERE first.due >= $1",
                             channel_, table_));
  connection_ = std::move(fresh);
  is_listening_ = false;
}

void PostgresQueue::schedule(std::span<const DurableTimer> timers) { arm(kSchedule, timers); }

void PostgresQueue::post(std::span<const DurableTimer> timers) { arm(kPost, timers); }

void PostgresQueue::arm(const char* statement, std::span<const DurableTimer> timers) {
  std::vector<Parameters> each;
  each.reserve(timers.size());
  for (const std::size_t i : by_id(timers.size(), [&](std::size_t at) { return timers[at].id; })) {
    const auto& [id, deadline, payload] = timers[i];
    each.push_back(Parameters().add(id).add(deadline).add(Tokens::kNobody).add(payload));
  }
  begin().run(statement, each);
  if (timers.empty()) return;
  wake(std::ranges::min(timers, {}, &DurableTimer::deadline).deadline);
}

// After the commit: who has claimed before it is told, and who claims after it finds the timer.
// What is due earlier than that has been found, or told of, in the same way.
void PostgresQueue::wake(Tick due) {
  if (!is_soon(due, config_.now())) return;
  try {
    connection().run(kWake, Parameters().add(due));
  } catch (const BackendError&) {
    // The timers are there, and who waits looks again within a second.
  }
}

// The first time it only begins to listen: something may have happened since the last claim.
bool PostgresQueue::await_earlier(Tick, std::chrono::nanoseconds longest) {
  PostgresConnection& server = begin();
  if (is_listening_) return server.await_notification(longest);
  server.run("LISTEN " + channel_);
  is_listening_ = true;
  return true;
}

bool PostgresQueue::cancel(DurableId id) {
  return begin().run(kCancel, Parameters().add(id)).changed() > 0;
}

Claims PostgresQueue::claim(std::size_t most, Tick lease) {
  const Tick now = config_.now();
  const std::uint64_t token = tokens_.next();
  begin().forget_notifications();
  const auto rows = connection().run(
      kClaim, Parameters().add(lease_end(now, lease)).add(token).add(now).add(most));
  Claims claims;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    claims.timers.push_back(
        {{rows.bigint(row, 0), rows.bigint(row, 1), std::string(rows.bytea(row, 2))}, token});
  }
  if (claims.timers.empty()) {
    const auto first = connection().run(kFirst, Parameters());
    if (!first.is_null(0, 0)) claims.next_wakeup = first.bigint(0, 0);
  }
  return claims;
}

std::vector<bool> PostgresQueue::complete(std::span<const ClaimedTimer> claims) {
  const auto order = by_id(claims.size(), [&](std::size_t at) { return claims[at].timer.id; });
  std::vector<Parameters> each;
  for (const std::size_t i : order) {
    each.push_back(Parameters().add(claims[i].timer.id).add(claims[i].token));
  }
  const auto done = begin().run(kComplete, each);
  std::vector<bool> held(claims.size());
  for (std::size_t k = 0; k < order.size(); ++k) held[order[k]] = done[k].changed() > 0;
  return held;
}

void PostgresQueue::give_back(std::span<const ClaimedTimer> claims) {
  const Tick now = config_.now();
  std::vector<Parameters> each;
  for (const std::size_t i :
       by_id(claims.size(), [&](std::size_t at) { return claims[at].timer.id; })) {
    each.push_back(
        Parameters().add(claims[i].timer.id).add(claims[i].token).add(now).add(Tokens::kNobody));
  }
  begin().run(kGiveBack, each);
  if (!claims.empty()) wake(now);
}

std::size_t PostgresQueue::size() { return begin().run(kSize, Parameters()).bigint(0, 0); }

}  // namespace timerbench
