// Traces that are kept are the same again, and made anew where they cannot be trusted.
#include "suites/trace_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "scratch.h"
#include "verify/check.h"

namespace timerbench {
namespace {

namespace fs = std::filesystem;

class TraceCacheTest : public testing::Test {
 protected:
  TraceCacheTest() {
    workload_.generate = [this](const WorkloadOptions& options) {
      ++made_;
      return hold().generate(options);
    };
  }

  static const Workload& hold() { return *std::ranges::find(workloads(), "hold", &Workload::name); }

  fs::path only_file(const std::string& extension) const {
    for (const std::string& name : scratch_.names()) {
      if (name.ends_with(extension)) return scratch_.path(name);
    }
    return {};
  }

  Scratch scratch_;
  Workload workload_ = hold();
  int made_ = 0;
};

TEST_F(TraceCacheTest, MakesATraceOnceWithItsOutcomes) {
  const TraceCache cache(scratch_.path());
  const Trace first = cache.get(workload_, {.size = 100, .items = 500});
  const Trace second = cache.get(workload_, {.size = 100, .items = 500});
  EXPECT_EQ(made_, 1);
  EXPECT_EQ(hash_ops(first.ops()), hash_ops(second.ops()));
  const ExpectedOutcome expected = expected_outcome(first, StopFlag{false});
  EXPECT_EQ(second.info().outcome, expected.whole);
  EXPECT_EQ(second.info().setup_outcome, expected.setup);
  EXPECT_EQ(expected.setup.pending, 100u);
}

TEST_F(TraceCacheTest, OtherOptionsAreAnotherTrace) {
  const TraceCache cache(scratch_.path());
  cache.get(workload_, {.size = 100, .items = 500});
  cache.get(workload_, {.size = 101, .items = 500});
  cache.get(workload_, {.size = 100, .items = 501});
  cache.get(workload_, {.size = 100, .items = 500, .seed = 2});
  cache.get(workload_,
            {.size = 100, .items = 500, .seed = 1, .settings = {{"delay", "constant 1s"}}});
  EXPECT_EQ(made_, 5);
}

TEST_F(TraceCacheTest, WhatIsDamagedIsMadeAgain) {
  const TraceCache cache(scratch_.path());
  const std::uint64_t hash = hash_ops(cache.get(workload_, {.size = 100, .items = 500}).ops());
  fs::resize_file(only_file(".npy"), 100);
  EXPECT_EQ(hash_ops(cache.get(workload_, {.size = 100, .items = 500}).ops()), hash);
  fs::resize_file(only_file(".json"), 10);
  EXPECT_EQ(hash_ops(cache.get(workload_, {.size = 100, .items = 500}).ops()), hash);
  fs::remove(only_file(".npy"));
  EXPECT_EQ(hash_ops(cache.get(workload_, {.size = 100, .items = 500}).ops()), hash);
  EXPECT_EQ(made_, 4);
}

// An older version kept it so.
TEST_F(TraceCacheTest, WhatLacksTheOutcomeOfItsSetupIsMadeAgain) {
  const TraceCache cache(scratch_.path());
  cache.get(workload_, {.size = 100, .items = 500});
  const fs::path file = only_file(".json");
  auto members = nlohmann::json::parse(std::ifstream(file));
  members.erase("setup_outcome");
  std::ofstream(file) << members;
  EXPECT_TRUE(cache.get(workload_, {.size = 100, .items = 500}).info().setup_outcome);
  EXPECT_EQ(made_, 2);
}

TEST_F(TraceCacheTest, WithoutAFolderNothingIsKept) {
  const TraceCache cache;
  EXPECT_TRUE(cache.get(workload_, {.size = 100, .items = 500}).info().outcome);
  cache.get(workload_, {.size = 100, .items = 500});
  EXPECT_EQ(made_, 2);
}

}  // namespace
}  // namespace timerbench
