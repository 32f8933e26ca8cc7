// A private PostgreSQL server, or the user's.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "durable/engine.h"
#include "durable/postgres_connection.h"
#include "durable/postgres_queue.h"
#include "durable/postgres_server.h"
#include "durable/server_engine.h"
#include "durable/tokens.h"
#include "engines/clean_up.h"
#include "engines/users_url.h"

namespace timerbench {

// In a database of the user's, its tables have names that no other engine has, and are dropped when
// it ends.
class PostgresEngine final : public ServerEngine<PrivatePostgresServer> {
 public:
  explicit PostgresEngine(bool synchronous_commit) : synchronous_commit_(synchronous_commit) {
    if (const char* url = users_url(kPostgresUrlVariable)) {
      where_ = url;
      // With the longest name of a queue, and with the name of an index, as long as may be.
      prefix_ = fmt::format("r{:07x}_", Tokens().next() & 0xfff'ffff);
    } else {
      server_.emplace();
      where_ = server_->where();
    }
  }
  ~PostgresEngine() override {
    if (server_) return;
    clean_up_.run([&] { PostgresQueue::drop_tables(where_, prefix_, DurableConfig().patience); },
                  fmt::format("its tables timerbench.timers_of_{}*", prefix_),
                  fmt::format("say to psql: SELECT format('DROP TABLE timerbench.%I', tablename) "
                              "FROM pg_tables WHERE tablename LIKE 'timers_of_{}%' \\gexec",
                              prefix_));
  }

  std::vector<EngineSwitch> switches() override {
    return {{"read_only", [this] { set_read_only("on"); }, [this] { set_read_only("off"); }},
            {"login_refused", [this] { refuse_logins(); }, [this] { take_logins(); }}};
  }

 private:
  std::unique_ptr<DurableQueue> do_open(const DurableConfig& config) override {
    DurableConfig own = config;
    own.queue = prefix_ + config.queue;
    return std::make_unique<PostgresQueue>(where_, own, synchronous_commit_);
  }

  void set_read_only(std::string_view value) {
    PostgresConnection connection(where_, DurableConfig().patience);
    connection.run(fmt::format("ALTER SYSTEM SET default_transaction_read_only = {}", value));
    connection.run("DO $$ BEGIN PERFORM pg_reload_conf(); END $$");
  }

  // Its own connection stays.
  void refuse_logins() {
    insider_ = std::make_unique<PostgresConnection>(where_, DurableConfig().patience);
    insider_->run("ALTER ROLE CURRENT_USER NOLOGIN");
    insider_->run(R"(
      DO $$ BEGIN
        PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid();
      END $$)");
  }
  void take_logins() {
    insider_->run("ALTER ROLE CURRENT_USER LOGIN");
    insider_.reset();
  }

  const bool synchronous_commit_;
  std::unique_ptr<PostgresConnection> insider_;
  const CleanUp clean_up_{};
  std::string where_;
  std::string prefix_;
};

inline DurableContender postgres(std::string_view name, std::string_view summary,
                                 Kept after_a_crash, bool synchronous_commit) {
  return {.traits = {.name = name,
                     .summary = summary,
                     .engine = "postgresql",
                     .promise = {.when_killed = after_a_crash,
                                 .when_power_fails = after_a_crash,
                                 .when_disk_fails = Kept::none,
                                 .when_disk_is_full = after_a_crash,  // of its log: it panics
                                 .when_block_is_spoilt = Kept::but_the_latest,
                                 // 0.6 s by its documentation, and what a busy machine adds.
                                 .latest = 1'000'000'000},
                     .shared_by = SharedBy::machines,
                     .file = PostgresQueue::kFile},
          .start =
              [synchronous_commit](const std::filesystem::path&) {
                return std::make_unique<PostgresEngine>(synchronous_commit);
              },
          .users_variable = kPostgresUrlVariable};
}

}  // namespace timerbench
