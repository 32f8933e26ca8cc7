// Suites as TOML: those that are shipped, and what is wrong with others.
#include "suites/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "ablation/roster.h"
#include "replay/family.h"
#include "scratch.h"

namespace timerbench {
namespace {

namespace fs = std::filesystem;

class SuiteTest : public testing::Test {
 protected:
  Suite load(const std::string& text) { return load_suite(scratch_.write("mine.toml", text)); }

  // What is said of a suite, without the file's folder.
  std::string problem(const std::string& text) {
    const std::string line = error_of([&] { load(text); });
    EXPECT_TRUE(line.starts_with(scratch_.path().string())) << line;
    return line.substr(scratch_.path().string().size());
  }

  Scratch scratch_;
};

constexpr const char* kHead = R"(summary = "mine"
rounds = 2
min_seconds = 0.5
)";

TEST_F(SuiteTest, SaysWhatIsMeasured) {
  const Suite suite = load(std::string(kHead) + R"(
sizes = [100, "1k", "1e6"]
workloads = ["fill"]
backends = ["ring", "lazy_heap"]
traces = ["nginx_keepalive_c256"]
items = 5000
replay_seconds = 2
remote = { items = 10 }

[[workload]]
name = "slow"
of = "requests"
sizes = ["10M"]
latency = "exponential 10s"
)");
  EXPECT_EQ(suite.name, "mine");
  EXPECT_EQ(suite.sizes, (std::vector<TimerId>{100, 1000, 1'000'000}));
  EXPECT_EQ(suite.backends, (std::vector<std::string>{"ring", "lazy_heap"}));
  EXPECT_EQ(suite.rounds, 2);
  EXPECT_EQ(suite.min_seconds, 0.5);
  EXPECT_EQ(suite.local.items, 5000U);
  EXPECT_EQ(suite.remote.items, 10U);
  EXPECT_EQ(suite.remote.replay_seconds, 2);
  ASSERT_EQ(suite.workloads.size(), 2U);
  EXPECT_EQ(suite.workloads[0].name, "fill");
  EXPECT_EQ(suite.workloads[0].workload->name, "fill");
  EXPECT_EQ(suite.workloads[1].name, "slow");
  EXPECT_EQ(suite.workloads[1].workload->name, "requests");
  EXPECT_EQ(suite.workloads[1].sizes, std::vector<TimerId>{10'000'000});
  EXPECT_EQ(suite.workloads[1].settings, (Settings{{"latency", "exponential 10s"}}));
}

TEST_F(SuiteTest, NamesTheLineAndTheNearestName) {
  const std::string head = kHead;
  const std::string rest = "sizes = [10]\nworkloads = [\"fill\"]\n";
  EXPECT_EQ(problem(head + rest + "wrokload = 1\n"),
            "mine.toml:6: unknown key 'wrokload'; did you mean 'workload'?");
  EXPECT_EQ(problem("repetitons = 3\n"),
            "mine.toml:1: unknown key 'repetitons'; did you mean 'rounds'?")
      << "what is missing is told later";
  EXPECT_EQ(problem("summary = \"x\"\nroundz = 3\n"),
            "mine.toml:2: unknown key 'roundz'; did you mean 'rounds'?");
  EXPECT_EQ(problem("summary = \"x\"\nrepetitions = 3\n"),
            "mine.toml:2: unknown key 'repetitions'; it is called 'rounds' now");
  EXPECT_EQ(problem("kernel_version = 3\n"),
            "mine.toml:1: unknown key 'kernel_version'; known are summary, backends, workloads, "
            "workload, sizes, traces, rounds, min_seconds, items, replay_seconds, remote");
  EXPECT_EQ(problem(head + rest + "[[workload]]\nnmae = \"x\"\n"),
            "mine.toml:7: unknown key 'nmae'; did you mean 'name'?");
  EXPECT_EQ(problem(head + rest + "backends = [\"ring\", \"quad_hep\"]\n"),
            "mine.toml:6: unknown backend 'quad_hep'; did you mean 'quad_heap'?");
  EXPECT_EQ(problem(head + rest + "remote = { itms = 1 }\n"),
            "mine.toml:6: unknown key 'itms'; did you mean 'items'?");
  EXPECT_EQ(problem(head + "sizes = [10]\nworkloads = [\"fil\"]\n"),
            "mine.toml:5: unknown workload 'fil'; did you mean 'fill'?");
  EXPECT_EQ(
      problem(head + rest + "[[workload]]\nname = \"x\"\nof = \"hold\"\ndely = \"x\"\n"),
      "mine.toml:9: hold has no parameter 'dely'; did you mean 'delay'? It has delay, resolution");
  EXPECT_THAT(problem(head + rest + "[[workload]]\nname = \"x\"\nof = \"hold\"\ndelay = 3\n"),
              testing::StartsWith("mine.toml:9: delay: '3' is no distribution of delays"));
  EXPECT_EQ(
      problem(head + "sizes = [\"many\"]\nworkloads = [\"fill\"]\n"),
      "mine.toml:4: 'many' is not a size: give a whole number from 1 to 1e9, such as 1000, 10k "
      "or 1e6");
  EXPECT_EQ(problem(head + rest + "items = \"many\"\n"),
            "mine.toml:6: 'items' must be a whole number from 0 to 1e10");
  EXPECT_EQ(problem(head + rest + "items = 1.5\n"),
            "mine.toml:6: 'items' must be a whole number from 0 to 1e10");
  EXPECT_EQ(problem(head + "sizes = 10\nworkloads = [\"fill\"]\n"),
            "mine.toml:4: 'sizes' must be a list");
  EXPECT_EQ(problem(head + rest + "[[workload]]\nname = \"fill\"\n"),
            "mine.toml:7: 'fill' is there already");
  EXPECT_EQ(problem(head + rest + "[[workload]]\nname = \"a/b\"\nof = \"fill\"\n"),
            "mine.toml:7: 'a/b': a name is of a-z, 0-9 and _");
  EXPECT_EQ(problem(head + rest + "workload = 1\n"), "mine.toml:6: write [[workload]]");
}

TEST_F(SuiteTest, NumbersThatMeanNothingAreRefused) {
  const auto with = [&](const std::string& rounds, const std::string& seconds) {
    return problem("summary = \"x\"\nrounds = " + rounds + "\nmin_seconds = " + seconds +
                   "\nsizes = [10]\nworkloads = [\"fill\"]\n");
  };
  EXPECT_EQ(with("0", "1"), "mine.toml:2: at least 1 is needed");
  for (const std::string wrong : {"-1", "1.5", "nan", "inf"}) {
    EXPECT_EQ(with(wrong, "1"), "mine.toml:2: 'rounds' must be a whole number from 0 to 1e10");
  }
  for (const std::string wrong : {"-0.5", "nan", "-nan", "inf", "-inf"}) {
    EXPECT_EQ(with("1", wrong), "mine.toml:3: 'min_seconds' must be a number from 0 to 1e10");
  }
  EXPECT_EQ(problem(std::string(kHead) + "replay_seconds = nan\n"),
            "mine.toml:4: 'replay_seconds' must be a number from 0 to 1e10");
}

TEST_F(SuiteTest, AReplayMayTakeAMinuteUnlessItIsSaid) {
  const std::string rest = "sizes = [10]\nworkloads = [\"fill\"]\n";
  const Suite suite = load(kHead + rest);
  EXPECT_EQ(suite.local.replay_seconds, 60);
  EXPECT_EQ(suite.remote.replay_seconds, 60);
  EXPECT_EQ(suite.local.items, 0U);  // the workload's default
  EXPECT_EQ(load(kHead + rest + "remote = { replay_seconds = 5 }\n").remote.replay_seconds, 5);
}

TEST_F(SuiteTest, NamesWhatIsMissing) {
  EXPECT_EQ(problem(""), "mine.toml:1: 'summary' is missing");
  EXPECT_EQ(problem("summary = \"x\"\nmin_seconds = 1\n"), "mine.toml:1: 'rounds' is missing");
  EXPECT_EQ(problem(kHead), "mine.toml: has neither workloads nor traces");
  EXPECT_EQ(problem(std::string(kHead) + "workloads = [\"fill\"]\n"),
            "mine.toml: 'sizes' is missing");
}

TEST_F(SuiteTest, SaysWhereItIsNoToml) {
  EXPECT_THAT(problem("summary = \"x\"\nsizes = [1,\n"), testing::StartsWith("mine.toml:2: "));
  EXPECT_THAT(problem("summary = x"), testing::StartsWith("mine.toml:1: "));
  EXPECT_THROW(load_suite(scratch_.path("absent.toml")), SuiteError);
}

TEST_F(SuiteTest, ShippedOnesCanBeRead) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(TIMERBENCH_SUITES)) {
    if (entry.path().extension() != ".toml") continue;
    EXPECT_NO_THROW(load_suite(entry.path())) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 9);
}

TEST_F(SuiteTest, AblationMeasuresEachOfItsDesigns) {
  const Suite suite = load_suite(fs::path(TIMERBENCH_SUITES) / "ablation.toml");
  const auto designs = []<class... Designs>(TypeList<Designs...>) {
    return std::array{Designs::traits.name...};
  }(AblationRoster{});
  for (const std::string_view design : designs) {
    EXPECT_TRUE(std::ranges::any_of(suite.backends, [&](const std::string& name) {
      return is_called(design, name);
    })) << design;
  }
}

}  // namespace
}  // namespace timerbench
