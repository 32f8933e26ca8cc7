#include "durable/postgres_connection.h"

#include <endian.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace timerbench {
namespace {

std::string without_line_ends(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::ranges::replace_if(
      text, [](unsigned char letter) { return letter < ' ' || letter == 0x7f; }, ' ');
  return text;
}

// Whether it may be a part of the password of a URL: one with "/" or "@" that is not encoded. What
// follows "/" is taken for the database, with the "@" before the true host.
bool may_have_a_password(std::string_view keyword, std::string_view value) {
  if (keyword == "port") return value.find_first_not_of("0123456789,") != value.npos;
  return keyword != "user" && keyword != "password" && value.find('@') != value.npos;
}

// libpq would repeat what it cannot read, and with it the password.
void check_address(const std::string& where) {
  PQconninfoOption* const options = PQconninfoParse(where.c_str(), nullptr);
  bool is_safe = options != nullptr;
  const bool is_url = where.starts_with("postgres");
  for (const PQconninfoOption* option = options; is_safe && is_url && option->keyword != nullptr;
       ++option) {
    is_safe = option->val == nullptr || !may_have_a_password(option->keyword, option->val);
  }
  PQconninfoFree(options);
  if (is_safe) return;
  throw BackendError(
      "postgresql: its address cannot be read; give postgresql://user:password@host:port/database"
      ", with %2F for / and %40 for @ in the password, or host=HOST user=USER and so on");
}

bool is_lock_timeout(const PGresult& result) {
  const char* const state = PQresultErrorField(&result, PG_DIAG_SQLSTATE);
  return state != nullptr && std::string_view(state) == "55P03";
}

}  // namespace

PostgresConnection::Parameters& PostgresConnection::Parameters::add(std::uint64_t bigint) {
  const std::uint64_t bytes = htobe64(bigint);
  values_.emplace_back(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
  return *this;
}

PostgresConnection::Parameters& PostgresConnection::Parameters::add(std::string_view bytea) {
  values_.emplace_back(bytea);
  return *this;
}

std::uint64_t PostgresConnection::Rows::bigint(std::size_t row, int column) const {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, bytea(row, column).data(), sizeof(bytes));
  return be64toh(bytes);
}

std::string_view PostgresConnection::Rows::bytea(std::size_t row, int column) const {
  const int at = static_cast<int>(row);
  return {PQgetvalue(result_.get(), at, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), at, column))};
}

std::size_t PostgresConnection::Rows::changed() const {
  const std::string_view text = PQcmdTuples(result_.get());
  std::size_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

PostgresConnection::PostgresConnection(const std::string& where,
                                       std::chrono::milliseconds patience) try
    : patience_(patience) {
  check_address(where);
  connect(where);
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    throw error(PQerrorMessage(connection_.get()),
                "start it, or check its address, user and password");
  }
  if (PQsetnonblocking(connection_.get(), 1) != 0) lose("cannot set it up");
  PQsetNoticeProcessor(
      connection_.get(), [](void*, const char*) {}, nullptr);
} catch (const BackendError& error) {
  throw BackendUnavailable(error.what());
}

// Step by step, because libpq's own limit is two seconds at least.
void PostgresConnection::connect(const std::string& where) {
  const Clock::time_point give_up = Clock::now() + patience_;
  const char* const names[] = {"dbname", "application_name", nullptr};
  const char* const values[] = {where.c_str(), "timerbench", nullptr};
  connection_.reset(PQconnectStartParams(names, values, /*expand_dbname=*/1));
  if (!connection_) throw std::bad_alloc();
  const char* const host = PQhost(connection_.get());
  name_ = fmt::format("postgresql at {}:{}", host != nullptr ? host : "?",
                      PQport(connection_.get()) != nullptr ? PQport(connection_.get()) : "?");
  if (PQstatus(connection_.get()) == CONNECTION_BAD) return;
  PostgresPollingStatusType next = PGRES_POLLING_WRITING;
  while (next == PGRES_POLLING_READING || next == PGRES_POLLING_WRITING) {
    if (!poll_socket(next == PGRES_POLLING_READING ? POLLIN : POLLOUT, give_up)) {
      lose(fmt::format("no answer within {} ms", patience_.count()));
    }
    next = PQconnectPoll(connection_.get());
  }
}

void PostgresConnection::run(const std::string& statements) {
  const Clock::time_point give_up = Clock::now() + patience_;
  send(PQsendQuery(connection_.get(), statements.c_str()) != 0);
  std::string refusal;
  bool is_locked = false;
  while (PGresult* const result = next_result(give_up)) {
    if (PQresultStatus(result) == PGRES_FATAL_ERROR && refusal.empty()) {
      refusal = PQresultErrorMessage(result);
      is_locked = is_lock_timeout(*result);
    }
    PQclear(result);
  }
  if (is_locked) throw error(refusal, "end the transaction of another session that uses it");
  if (!refusal.empty()) throw error(refusal, "check its version, and the rights of the user");
}

void PostgresConnection::prepare(const char* name, const std::string& statement) {
  const Clock::time_point give_up = Clock::now() + patience_;
  send(PQsendPrepare(connection_.get(), name, statement.c_str(), 0, nullptr) != 0);
  std::string refusal;
  while (PGresult* const result = next_result(give_up)) {
    if (PQresultStatus(result) != PGRES_COMMAND_OK) refusal = PQresultErrorMessage(result);
    PQclear(result);
  }
  if (!refusal.empty()) throw error(refusal, "check its version, and the rights of the user");
}

std::vector<PostgresConnection::Rows> PostgresConnection::run(const char* name,
                                                              std::span<const Parameters> each) {
  const Clock::time_point give_up = Clock::now() + patience_;
  std::vector<Rows> all;
  all.reserve(each.size());
  std::string refusal;
  send(PQenterPipelineMode(connection_.get()) != 0);
  bool is_closed = false;  // PQpipelineSync() commits all before it
  const auto close = [&] {
    send(PQpipelineSync(connection_.get()) != 0);
    is_closed = true;
  };
  for (std::size_t first = 0; first < each.size() && refusal.empty(); first += kDepth) {
    const auto some = each.subspan(first, std::min(kDepth, each.size() - first));
    for (const Parameters& parameters : some) {
      const std::size_t count = parameters.values_.size();
      std::vector<const char*> values;
      std::vector<int> lengths;
      const std::vector<int> formats(count, 1);
      for (const std::string& value : parameters.values_) {
        values.push_back(value.data());
        lengths.push_back(static_cast<int>(value.size()));
      }
      send(PQsendQueryPrepared(connection_.get(), name, static_cast<int>(count), values.data(),
                               lengths.data(), formats.data(), /*resultFormat=*/1) != 0);
    }
    if (first + some.size() == each.size()) {
      close();
    } else {
      send(PQsendFlushRequest(connection_.get()) != 0);
    }
    for (std::size_t i = 0; i < some.size(); ++i) {
      PGresult* const result = next_result(give_up);
      const ExecStatusType status = PQresultStatus(result);
      all.emplace_back(result);
      if (status == PGRES_FATAL_ERROR && refusal.empty()) refusal = PQresultErrorMessage(result);
      if (result != nullptr) next_result(give_up);  // null: the end of this statement
    }
  }
  if (!is_closed) close();
  // A commit that fails comes as an error here.
  for (bool is_synchronised = false; !is_synchronised;) {
    const Rows last(next_result(give_up));
    const PGresult* const result = last.get();
    is_synchronised = PQresultStatus(result) == PGRES_PIPELINE_SYNC;
    // Some versions of libpq have no result for ever if the server has ended the connection.
    if (!is_synchronised && Clock::now() >= give_up) lose("no end of the answers");
    if (PQresultStatus(result) == PGRES_FATAL_ERROR && refusal.empty()) {
      refusal = PQresultErrorMessage(result);
    }
  }
  send(PQexitPipelineMode(connection_.get()) != 0);
  if (!refusal.empty()) throw error(refusal, "look into its log; nothing was changed");
  return all;
}

PGresult* PostgresConnection::next_result(Clock::time_point give_up) {
  for (;;) {
    // It would have no result for ever.
    if (PQstatus(connection_.get()) != CONNECTION_OK) lose("connection lost");
    const int unsent = PQflush(connection_.get());
    if (unsent < 0) lose("connection lost");
    if (unsent == 0 && PQisBusy(connection_.get()) == 0) return PQgetResult(connection_.get());
    if (Clock::now() >= give_up) lose(fmt::format("no answer within {} ms", patience_.count()));
    await(static_cast<short>(unsent > 0 ? POLLIN | POLLOUT : POLLIN), give_up);
  }
}

bool PostgresConnection::poll_socket(short events, Clock::time_point end) {
  pollfd socket{PQsocket(connection_.get()), events, 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    const int ready = poll(&socket, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready >= 0) return ready > 0;
    if (errno != EINTR) lose(std::strerror(errno));
  }
}

void PostgresConnection::await(short events, Clock::time_point end) {
  if (poll_socket(events, end) && PQconsumeInput(connection_.get()) == 0) lose("connection lost");
}

bool PostgresConnection::await_notification(std::chrono::nanoseconds longest) {
  const Clock::time_point end = Clock::now() + longest;
  take_notifications();
  while (!is_notified_ && Clock::now() < end) {
    await(POLLIN, end);
    take_notifications();
  }
  return is_notified_;
}

void PostgresConnection::forget_notifications() {
  take_notifications();
  is_notified_ = false;
}

// Those that came with answers wait in libpq, which keeps them until they are taken.
void PostgresConnection::take_notifications() {
  while (PGnotify* const notification = PQnotifies(connection_.get())) {
    PQfreemem(notification);
    is_notified_ = true;
  }
}

void PostgresConnection::send(bool is_sent) {
  if (!is_sent) lose("connection lost");
}

BackendError PostgresConnection::error(std::string_view what, std::string_view advice) const {
  return BackendError(
      fmt::format("{}: {}; {}", name_, without_line_ends(std::string(what)), advice));
}

void PostgresConnection::lose(std::string_view what) {
  lost_ = true;
  throw error(what, "check that it runs and is not busy");
}

}  // namespace timerbench
