// A database of SQLite in a folder.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "durable/engine.h"
#include "durable/sqlite_queue.h"

namespace timerbench {

class SqliteEngine final : public DurableEngine {
 public:
  SqliteEngine(std::filesystem::path folder, SqliteQueue::Synchronous synchronous)
      : file_(folder / "timers.sqlite"), synchronous_(synchronous) {}

  std::vector<std::filesystem::path> folders() const override { return {file_.parent_path()}; }

 private:
  std::unique_ptr<DurableQueue> do_open(const DurableConfig& config) override {
    return std::make_unique<SqliteQueue>(file_, config, synchronous_);
  }

  const std::filesystem::path file_;
  const SqliteQueue::Synchronous synchronous_;
};

inline DurableContender sqlite(std::string_view name, std::string_view summary,
                               Kept when_power_fails, SqliteQueue::Synchronous synchronous) {
  return {.traits = {.name = name,
                     .summary = summary,
                     .engine = "libsqlite3-0",
                     .promise = {.when_killed = Kept::all,
                                 .when_power_fails = when_power_fails,
                                 .when_disk_fails = Kept::none,
                                 .when_block_is_spoilt = Kept::but_the_latest,
                                 .latest = 0,
                                 .latest_calls = SqliteQueue::kPagesOfLog},
                     .shared_by = SharedBy::processes,
                     .poll_interval = SqliteQueue::kPollInterval,
                     .file = SqliteQueue::kFile},
          .start = [synchronous](const std::filesystem::path& folder) {
            return std::make_unique<SqliteEngine>(folder, synchronous);
          }};
}

}  // namespace timerbench
