// Journals in a folder.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "durable/engine.h"
#include "durable/journal_queue.h"

namespace timerbench {

class JournalEngine final : public DurableEngine {
 public:
  JournalEngine(std::filesystem::path folder, std::chrono::milliseconds gather)
      : folder_(std::move(folder)), gather_(gather) {}

  std::vector<std::filesystem::path> folders() const override { return {folder_}; }

 private:
  // All clients of a queue in this process share its store; the last one closes the file.
  std::unique_ptr<DurableQueue> do_open(const DurableConfig& config) override {
    const std::lock_guard lock(mutex_);
    std::weak_ptr<JournalQueue::Store>& known = stores_[config.queue];
    std::shared_ptr<JournalQueue::Store> store = known.lock();
    if (!store) {
      store = std::make_shared<JournalQueue::Store>(folder_ / (config.queue + ".journal"), gather_,
                                                    JournalQueue::kGranularity, config.now());
      known = store;
      if (!store->damage().empty()) {
        std::fputs(fmt::format("timerbench: warning: {}\n", store->damage()).c_str(), stderr);
      }
    }
    return std::make_unique<JournalQueue>(std::move(store), config);
  }

  const std::filesystem::path folder_;
  const std::chrono::milliseconds gather_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<JournalQueue::Store>> stores_;
};

inline DurableContender journal(std::string_view name, std::chrono::milliseconds gather) {
  return {.traits = {.name = name,
                     .summary = "an append-only file with group commit, and a log wheel in memory",
                     .engine = "none",
                     .promise = {.when_killed = Kept::all,
                                 .when_power_fails = Kept::all,
                                 .when_disk_fails = Kept::none,
                                 .when_block_is_spoilt = Kept::but_the_latest},
                     .shared_by = SharedBy::threads,
                     .resolution = JournalQueue::kGranularity,
                     .file = JournalQueue::kFile},
          .start = [gather](const std::filesystem::path& folder) {
            return std::make_unique<JournalEngine>(folder, gather);
          }};
}

}  // namespace timerbench
