// A connection to a PostgreSQL server, over libpq: prepared statements, in pipelines, every wait
// bounded.
//
// Every failure is a BackendError of one line that names the server and says what to do; while
// connecting it is a BackendUnavailable. After one, usable() says whether the connection still works.
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/backend_error.h"

namespace timerbench {

class PostgresConnection {
 public:
  // `where` is a connection string of libpq: "host=/folder dbname=postgres", or a URL. Its password
  // is not repeated in errors. Names are resolved with the patience of the system's resolver.
  PostgresConnection(const std::string& where, std::chrono::milliseconds patience);

  // How long each of the following calls may take from now on.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }

  // As 150004 for 15.4.
  int server_version() const { return PQserverVersion(connection_.get()); }

  bool usable() const { return PQstatus(connection_.get()) == CONNECTION_OK && !lost_; }

  // Runs statements without results.
  void run(const std::string& statements);

  void prepare(const char* name, const std::string& statement);

  // The parameters of a prepared statement, in the binary format: $1, $2, ...
  class Parameters {
   public:
    Parameters& add(std::uint64_t bigint);
    Parameters& add(std::string_view bytea);

   private:
    friend PostgresConnection;
    std::vector<std::string> values_;
  };

  // The rows that a statement returns, in the binary format.
  class Rows {
   public:
    explicit Rows(PGresult* result) : result_(result) {}
    std::size_t size() const { return static_cast<std::size_t>(PQntuples(result_.get())); }
    bool is_null(std::size_t row, int column) const {
      return PQgetisnull(result_.get(), static_cast<int>(row), column) != 0;
    }
    std::uint64_t bigint(std::size_t row, int column) const;
    std::string_view bytea(std::size_t row, int column) const;
    const PGresult* get() const { return result_.get(); }
    // How many rows the statement has inserted, changed or deleted.
    std::size_t changed() const;

   private:
    struct Clear {
      void operator()(PGresult* result) const { PQclear(result); }
    };
    std::unique_ptr<PGresult, Clear> result_;
  };

  // Runs a prepared statement once for each element, in one transaction: all are done or none.
  // Takes a round trip for each kDepth of them.
  std::vector<Rows> run(const char* name, std::span<const Parameters> each);
  Rows run(const char* name, const Parameters& parameters) {
    return std::move(run(name, {&parameters, 1})[0]);
  }

  static constexpr std::size_t kDepth = 256;

  // Waits until a notification comes to this connection (LISTEN), or for `longest`. Returns whether
  // one has come since forget_notifications().
  bool await_notification(std::chrono::nanoseconds longest);
  void forget_notifications();

  // An error of this server, to be thrown.
  BackendError error(std::string_view what, std::string_view advice) const;

 private:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  using Clock = std::chrono::steady_clock;

  void connect(const std::string& where);
  // The next result; null at the end of those of a statement.
  PGresult* next_result(Clock::time_point give_up);
  // Waits for the socket, until then at the latest. Returns whether it is ready.
  bool poll_socket(short events, Clock::time_point end);
  // Likewise, and reads what has come.
  void await(short events, Clock::time_point end);
  void take_notifications();
  void send(bool is_sent);
  [[noreturn]] void lose(std::string_view what);

  std::chrono::milliseconds patience_;
  std::unique_ptr<PGconn, Finish> connection_;
  std::string name_;  // of the server, for errors
  bool lost_ = false;
  bool is_notified_ = false;
};

}  // namespace timerbench
