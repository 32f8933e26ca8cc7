// What becomes of a cell: a figure, or the reason why there is none.
#include "suites/campaign.h"

#include <benchmark/benchmark.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "broken_queues.h"
#include "core/backend_error.h"
#include "replay/make_backend.h"
#include "suites/reporter.h"
#include "workloads/drain.h"

namespace timerbench {
namespace {

using Sound = BrokenRing<Bug::none>;

constexpr Traits sound_traits(std::string_view name, bool remote = false) {
  Traits traits = Sound::traits;
  traits.name = name;
  traits.remote = remote;
  return traits;
}

// A sound queue that takes its time where `slow` says.
enum class Slow { advance, destructor };
template <Slow kSlow>
class SlowQueue : public Sound {
 public:
  static constexpr Traits traits =
      sound_traits(kSlow == Slow::advance ? "slow_advance" : "slow_destructor");
  using Sound::Sound;
  ~SlowQueue() {
    if (kSlow == Slow::destructor) take_long();
  }
  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    if (kSlow == Slow::advance) take_long();
    return Sound::advance(now, sink);
  }

 private:
  static void take_long() { std::this_thread::sleep_for(std::chrono::milliseconds(400)); }
};

class Remote : public Sound {
 public:
  static constexpr Traits traits = sound_traits("remote", /*remote=*/true);
  using Sound::Sound;
};

// Whose server is lost after some replays.
class FailsLater : public Sound {
 public:
  static constexpr Traits traits = sound_traits("fails_later");
  static inline int replays_left = 0;
  explicit FailsLater(const QueueConfig& config) : Sound(config) {
    if (replays_left-- == 0) throw BackendError("connection lost");
  }
};

class CampaignTest : public testing::Test {
 protected:
  CampaignTest() { repeat(1); }
  ~CampaignTest() override { benchmark::ClearRegisteredBenchmarks(); }

  // Each cell, one iteration at a time.
  static void repeat(int repetitions) {
    std::array<std::string, 3> words{"campaign_test", "--benchmark_min_time=1e-9",
                                     "--benchmark_repetitions=" + std::to_string(repetitions)};
    std::array<char*, 3> arguments{words[0].data(), words[1].data(), words[2].data()};
    int count = static_cast<int>(arguments.size());
    benchmark::Initialize(&count, arguments.data());
  }

  static Input drain(TimerId size, Input::Reach reach = Input::Reach::both) {
    return Input("drain", size, reach, 0, /*seeded=*/false,
                 [size](std::size_t) { return Drain{}.generate({.size = size}); });
  }

  // The cells by name, measured once each.
  std::map<std::string, benchmark::BenchmarkReporter::Run> run(
      Campaign& campaign, const std::vector<Backend>& backends) {
    std::vector<const Backend*> chosen;
    for (const Backend& backend : backends) chosen.push_back(&backend);
    campaign.register_cells(chosen);
    Collector collector;
    benchmark::RunSpecifiedBenchmarks(&collector);
    return collector.runs;
  }

 private:
  struct Collector : benchmark::BenchmarkReporter {
    bool ReportContext(const Context&) override { return true; }
    void ReportRuns(const std::vector<Run>& reported) override {
      for (const Run& run : reported) {
        const auto [known, is_new] = runs.emplace(run.run_name.function_name, run);
        if (!is_new && run.error_occurred) known->second = run;
      }
    }
    std::map<std::string, Run> runs;
  };
};

TEST_F(CampaignTest, WhoeverIsWrongHasNoFigureAndTheOthersDo) {
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/60);
  campaign.add_input(drain(100));
  const auto cells =
      run(campaign, {make_backend<BrokenRing<Bug::late_by_a_round>>(), make_backend<Sound>()});
  const auto& wrong = cells.at("test/drain/100/broken_late_by_a_round");
  EXPECT_TRUE(wrong.error_occurred);
  EXPECT_TRUE(wrong.error_message.starts_with("wrong: operation ")) << wrong.error_message;
  const auto& sound = cells.at("test/drain/100/" + std::string(Sound::traits.name));
  EXPECT_FALSE(sound.error_occurred) << sound.error_message;
  EXPECT_EQ(sound.counters.at("items"), 100);
  EXPECT_GT(sound.counters.at("ns_per_item"), 0);
}

TEST_F(CampaignTest, RoundedDeadlinesAreCheckedToo) {
  Campaign campaign("test", /*granularity=*/10, /*replay_seconds=*/60);
  campaign.add_input(drain(100));
  const auto cells = run(campaign, {make_backend<BrokenWheel<Bug::late_by_a_granule>>(),
                                    make_backend<BrokenWheel<Bug::none>>()});
  EXPECT_TRUE(cells.at("test/drain/100/broken_late_by_a_granule").error_occurred);
  const auto& sound =
      cells.at("test/drain/100/" + std::string(BrokenWheel<Bug::none>::traits.name));
  EXPECT_FALSE(sound.error_occurred) << sound.error_message;
}

TEST_F(CampaignTest, ASlowReplayIsATimeoutAndLargerSizesAreSkipped) {
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/0.2);
  campaign.add_input(drain(10));
  campaign.add_input(drain(20));
  const auto cells = run(campaign, {make_backend<SlowQueue<Slow::advance>>()});
  EXPECT_EQ(cells.at("test/drain/10/slow_advance").error_message,
            "timeout: one replay takes more than 0.2 s");
  EXPECT_EQ(cells.at("test/drain/20/slow_advance").error_message,
            "skipped: timeout at size 10 already");
}

TEST_F(CampaignTest, DestroyingTheQueueDoesNotCount) {
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/0.2);
  campaign.add_input(Input("none", 1, Input::Reach::both, 0, /*seeded=*/false, [](std::size_t) {
    return Trace({.capacity = 1, .item = "op"}, {schedule_op(0, 1), advance_op(1)});
  }));
  const auto cells = run(campaign, {make_backend<SlowQueue<Slow::destructor>>()});
  const auto& cell = cells.at("test/none/1/slow_destructor");
  EXPECT_FALSE(cell.error_occurred) << cell.error_message;
}

TEST_F(CampaignTest, RemoteBackendsHaveInputsOfTheirOwn) {
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/60);
  campaign.add_input(drain(100, Input::Reach::local));
  campaign.add_input(drain(10, Input::Reach::remote));
  const auto cells = run(campaign, {make_backend<Sound>(), make_backend<Remote>()});
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_TRUE(cells.contains("test/drain/100/" + std::string(Sound::traits.name)));
  EXPECT_TRUE(cells.contains("test/drain/10/remote"));
}

TEST_F(CampaignTest, AFailureInALaterRepetitionDoesNotEndTheRun) {
  repeat(6);
  for (const int replays : {1, 2, 3, 4, 5}) {
    Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/60);
    campaign.add_input(drain(10));
    FailsLater::replays_left = replays;
    const auto cells = run(campaign, {make_backend<FailsLater>(), make_backend<Sound>()});
    benchmark::ClearRegisteredBenchmarks();
    EXPECT_EQ(cells.at("test/drain/10/fails_later").error_message, "error: connection lost");
    EXPECT_FALSE(cells.at("test/drain/10/" + std::string(Sound::traits.name)).error_occurred);
  }
}

TEST(CellReporterTest, AnErrorInALaterRepetitionSpoilsTheCell) {
  benchmark::BenchmarkReporter::Run good;
  good.counters["ns_per_item"] = 5;
  benchmark::BenchmarkReporter::Run bad;
  bad.error_occurred = true;
  bad.error_message = "wrong: its outcome is not the model's";
  CellReporter reporter(1);
  testing::internal::CaptureStdout();
  reporter.ReportRuns({good, bad, bad});
  const std::string line = testing::internal::GetCapturedStdout();
  EXPECT_NE(line.find(bad.error_message), line.npos) << line;
  EXPECT_EQ(reporter.counts().measured, 0U);
  EXPECT_EQ(reporter.counts().failed, 1U);
}

}  // namespace
}  // namespace timerbench
