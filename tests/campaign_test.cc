// What becomes of a cell: a figure, or the reason why there is none.
#include "suites/campaign.h"

#include <benchmark/benchmark.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "broken_queues.h"
#include "core/backend_error.h"
#include "queues/scan.h"
#include "replay/make_backend.h"
#include "scratch.h"
#include "suites/audit_cache.h"
#include "suites/cell_failure.h"
#include "suites/realtime_campaign.h"
#include "suites/reporter.h"
#include "system/cpu_time.h"
#include "system/supervised_program.h"
#include "workloads/drain.h"

namespace timerbench {
namespace {

namespace fs = std::filesystem;

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
  static void take_long() {
    for (const double end = cpu_seconds() + 0.4; cpu_seconds() < end;) continue;
  }
};

class Remote : public Sound {
 public:
  static constexpr Traits traits = sound_traits("remote", /*remote=*/true);
  using Sound::Sound;
};

class SlowRemote : public SlowQueue<Slow::advance> {
 public:
  static constexpr Traits traits = sound_traits("slow_remote", /*remote=*/true);
  using SlowQueue::SlowQueue;
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

// Wrong from its third replay on: it forgets what is due.
class WrongLater : public BrokenWheel<Bug::none> {
 public:
  static constexpr Traits traits = [] {
    Traits traits = BrokenWheel<Bug::none>::traits;
    traits.name = "wrong_later";
    return traits;
  }();
  static inline int replays_left = 0;
  explicit WrongLater(const QueueConfig& config)
      : BrokenWheel(config), is_wrong_(replays_left-- <= 0) {}
  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    return is_wrong_ ? BrokenWheel::advance(now, IgnoreExpiry{}) : BrokenWheel::advance(now, sink);
  }

 private:
  bool is_wrong_;
};

// Wrong in its second replay only.
class WrongOnce : public Sound {
 public:
  static constexpr Traits traits = sound_traits("wrong_once");
  static inline int replays = 0;
  explicit WrongOnce(const QueueConfig& config) : Sound(config), is_wrong_(++replays == 2) {}
  template <class Sink>
  std::size_t advance(Tick now, Sink&& sink) {
    return is_wrong_ ? Sound::advance(now, IgnoreExpiry{}) : Sound::advance(now, sink);
  }

 private:
  bool is_wrong_;
};

// Tells how often it was made for each capacity. Remote, so that a disturbed replay is not made again.
class Counted : public Sound {
 public:
  static constexpr Traits traits = sound_traits("counted", /*remote=*/true);
  static inline std::map<TimerId, int> made{};
  explicit Counted(const QueueConfig& config) : Sound(config) { ++made[config.capacity]; }
};

// Has no memory left for a timer.
class OutOfRoom : public Sound {
 public:
  static constexpr Traits traits = sound_traits("out_of_room");
  using Sound::Sound;
  void schedule(TimerId, Tick) { throw std::bad_alloc(); }
};

// Takes 10 MB for a moment with each cancel, and allocates 4 kB for good with each timer.
class Wasteful : public Sound {
 public:
  static constexpr Traits traits = sound_traits("wasteful");
  using Sound::Sound;
  void schedule(TimerId id, Tick deadline) {
    kept_.push_back(std::make_unique<std::array<char, 4096>>());
    Sound::schedule(id, deadline);
  }
  bool cancel(TimerId id) {
    kept_.clear();
    const std::vector<char> buffer(10'000'000);
    return Sound::cancel(id) && !buffer.empty();
  }

 private:
  std::vector<std::unique_ptr<std::array<char, 4096>>> kept_;
};

// Goes to another processor with each cancel.
class Wanderer : public Sound {
 public:
  static constexpr Traits traits = sound_traits("wanderer");
  static inline cpu_set_t allowed{};
  using Sound::Sound;
  bool cancel(TimerId id) {
    int other = 0;
    while (other == sched_getcpu() || !CPU_ISSET(other, &allowed)) ++other;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(other, &set);
    sched_setaffinity(0, sizeof set, &set);
    return Sound::cancel(id);
  }
};

// Wanders while there are journeys left.
class Settler : public Wanderer {
 public:
  static constexpr Traits traits = sound_traits("settler");
  static inline int journeys = 0;
  using Wanderer::Wanderer;
  bool cancel(TimerId id) { return journeys-- > 0 ? Wanderer::cancel(id) : Sound::cancel(id); }
};

class RemoteAndLate : public BrokenRing<Bug::late_by_a_round> {
 public:
  static constexpr Traits traits = sound_traits("remote_and_late", /*remote=*/true);
  using BrokenRing::BrokenRing;
};

// Arming takes 200 ms, cancelling 20.
class Sleepy : public Sound {
 public:
  static constexpr Traits traits = sound_traits("sleepy");
  using Sound::Sound;
  void schedule(TimerId id, Tick deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    Sound::schedule(id, deadline);
  }
  bool cancel(TimerId id) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return Sound::cancel(id);
  }
};

class CampaignTest : public testing::Test {
 protected:
  CampaignTest() { repeat(1); }
  ~CampaignTest() override { benchmark::ClearRegisteredBenchmarks(); }

  // Each cell; one iteration at a time, unless more are needed for `min_seconds`.
  static void repeat(int rounds, double min_seconds = 1e-9) {
    std::array<std::string, 3> words{"campaign_test",
                                     "--benchmark_min_time=" + std::to_string(min_seconds),
                                     "--benchmark_repetitions=" + std::to_string(rounds)};
    std::array<char*, 3> arguments{words[0].data(), words[1].data(), words[2].data()};
    int count = static_cast<int>(arguments.size());
    benchmark::Initialize(&count, arguments.data());
  }

  static Input drain(TimerId size, Input::Reach reach = Input::Reach::both) {
    return Input("drain", size, reach, 0, /*seeded=*/false,
                 [size](std::size_t) { return Drain{}.generate({.size = size}); });
  }

  // A trace of a workload of that name, all of it measured.
  static Input input(const char* name, const std::vector<Op>& ops, std::uint64_t setup_ops = 0) {
    const std::uint64_t items = ops.size() - setup_ops;
    return Input(name, 2, Input::Reach::both, 0, /*seeded=*/false, [=](std::size_t) {
      return Trace({.capacity = 2, .setup_ops = setup_ops, .items = items}, ops);
    });
  }

  // The cells by name, measured once each.
  std::map<std::string, benchmark::BenchmarkReporter::Run> run(
      Campaign& campaign, const std::vector<Backend>& backends) {
    std::vector<const Backend*> chosen;
    for (const Backend& backend : backends) chosen.push_back(&backend);
    campaign.register_cells(chosen);
    return run_registered();
  }

  static std::map<std::string, benchmark::BenchmarkReporter::Run> run_registered() {
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
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{60});
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

TEST_F(CampaignTest, WhoeverIsRefusedIsNotMeasured) {
  const std::vector<Backend> backends = {make_backend<Counted>(), make_backend<Sound>()};
  for (const Pass pass : {Pass::total, Pass::tails, Pass::memory}) {
    Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{60});
    campaign.choose_pass(pass);
    campaign.add_input(drain(100));
    campaign.refuse(backends[0], "wrong: for a reason");
    Counted::made.clear();
    const auto cells = run(campaign, backends);
    benchmark::ClearRegisteredBenchmarks();
    EXPECT_EQ(cells.at("test/drain/100/counted").error_message, "wrong: for a reason");
    EXPECT_TRUE(Counted::made.empty());
    EXPECT_FALSE(cells.at("test/drain/100/sound_ring").error_occurred);
    EXPECT_EQ(campaign.counts().failed, 1U);
  }
}

TEST_F(CampaignTest, AServiceThatIsRefusedIsNotMeasured) {
  RealtimeCampaign campaign;
  int measured = 0;
  for (const char* name : {"test/rate/1/good", "test/rate/2/good", "test/rate/1/not_good"}) {
    campaign.add(name, [&] {
      ++measured;
      return RealtimeFigures{.seconds = 1};
    });
  }
  campaign.refuse("good", "wrong: for a reason");
  campaign.register_cells();
  const auto cells = run_registered();
  EXPECT_EQ(measured, 1);
  EXPECT_EQ(cells.at("test/rate/2/good").error_message, "wrong: for a reason");
  EXPECT_FALSE(cells.at("test/rate/1/not_good").error_occurred);
  EXPECT_EQ(campaign.counts().failed, 2U);
}

TEST_F(CampaignTest, RoundedDeadlinesAreCheckedToo) {
  Campaign campaign("test", /*granularity=*/10, /*replay_seconds=*/{60});
  campaign.add_input(drain(100));
  const auto cells = run(campaign, {make_backend<BrokenWheel<Bug::late_by_a_granule>>(),
                                    make_backend<BrokenWheel<Bug::early_by_a_granule>>(),
                                    make_backend<BrokenWheel<Bug::none>>()});
  EXPECT_TRUE(cells.at("test/drain/100/broken_late_by_a_granule").error_occurred);
  EXPECT_TRUE(cells.at("test/drain/100/broken_early_by_a_granule").error_occurred);
  const auto& sound =
      cells.at("test/drain/100/" + std::string(BrokenWheel<Bug::none>::traits.name));
  EXPECT_FALSE(sound.error_occurred) << sound.error_message;
}

TEST_F(CampaignTest, AnAuditServesLaterCampaignsUntilItsFileIsDamaged) {
  const Scratch scratch;
  const auto audits = [&] {
    int made = 0;  // by an audit; a timed replay makes its queue itself
    Backend backend = make_backend<BrokenWheel<Bug::none>>();
    backend.make = [&made, make = backend.make](const QueueConfig& config) {
      ++made;
      return make(config);
    };
    Campaign campaign("test", /*granularity=*/10, /*replay_seconds=*/{60});
    campaign.keep_audits(AuditCache(scratch.path("audits")));
    campaign.add_input(drain(100));
    const auto cells = run(campaign, {backend});
    benchmark::ClearRegisteredBenchmarks();
    EXPECT_EQ(cells.size(), 1U);
    EXPECT_EQ(cells.begin()->second.error_message, "");
    return made;
  };
  EXPECT_EQ(audits(), 1);
  EXPECT_EQ(audits(), 0);
  const fs::path file = *fs::directory_iterator(scratch.path("audits"));
  fs::resize_file(file, fs::file_size(file) / 2);
  EXPECT_EQ(audits(), 1);
  EXPECT_EQ(audits(), 0);
}

TEST_F(CampaignTest, AnAuditIsThatOfItsTraceBackendAndGranularity) {
  const Scratch scratch;
  const AuditCache audits(scratch.path("audits"));
  const Trace trace({.capacity = 1}, {schedule_op(0, 1)});
  const Trace other({.capacity = 1}, {schedule_op(0, 2)});
  const Backend backend = make_backend<Sound>();
  EXPECT_EQ(audits.find(trace, backend, 10), std::nullopt);
  const Outcome outcome{.digest = 7, .pending = 1};
  audits.keep(outcome, trace, backend, 10);
  EXPECT_EQ(audits.find(trace, backend, 10), outcome);
  EXPECT_EQ(audits.find(other, backend, 10), std::nullopt);
  EXPECT_EQ(audits.find(trace, make_backend<BrokenWheel<Bug::none>>(), 10), std::nullopt);
  EXPECT_EQ(audits.find(trace, backend, 20), std::nullopt);
}

TEST_F(CampaignTest, WithoutAFolderNoAuditIsKept) {
  const Trace trace({.capacity = 1}, {schedule_op(0, 1)});
  AuditCache().keep({}, trace, make_backend<Sound>(), 10);
  EXPECT_EQ(AuditCache().find(trace, make_backend<Sound>(), 10), std::nullopt);
}

TEST_F(CampaignTest, ASlowReplayIsATimeoutAndLargerSizesAreSkipped) {
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{0.2});
  campaign.add_input(drain(10));
  campaign.add_input(drain(20));
  campaign.add_input(drain(1));
  campaign.add_input(input("other", {schedule_op(0, 1), cancel_op(0)}));
  const auto cells =
      run(campaign, {make_backend<SlowQueue<Slow::advance>>(), make_backend<Sound>()});
  for (const std::string cell : {"test/drain/20/sound_ring", "test/other/2/slow_advance"}) {
    EXPECT_FALSE(cells.at(cell).error_occurred) << cells.at(cell).error_message;
  }
  EXPECT_EQ(cells.at("test/drain/10/slow_advance").error_message,
            "timeout: one replay takes more than 0.2 s");
  EXPECT_EQ(cells.at("test/drain/20/slow_advance").error_message,
            "skipped: timeout at size 10 already");
  EXPECT_EQ(cells.at("test/drain/1/slow_advance").error_message,  // a smaller size has its chance
            "timeout: one replay takes more than 0.2 s");
}

TEST_F(CampaignTest, AReplayThatOnlyWaitsForItsProcessorIsNoTimeout) {
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{0.1});
  campaign.add_input(input("sleep", {schedule_op(0, 1), cancel_op(0), advance_op(1)}));
  const auto cells = run(campaign, {make_backend<Sleepy>()});
  const auto& cell = cells.begin()->second;
  EXPECT_FALSE(cell.error_occurred) << cell.error_message;
}

TEST_F(CampaignTest, TheCostIsThatOfTheMeasuredOperationsOverTheirNumber) {
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{60});
  campaign.add_input(input("sleep",
                           {schedule_op(0, 1), schedule_op(1, 1), cancel_op(0), cancel_op(1)},
                           /*setup_ops=*/2));
  const auto cells = run(campaign, {make_backend<Sleepy>()});
  const auto& cell = cells.at("test/sleep/2/sleepy");
  ASSERT_FALSE(cell.error_occurred) << cell.error_message;
  EXPECT_GE(cell.counters.at("ns_per_item"), 20e6);
  EXPECT_LT(cell.counters.at("ns_per_item"), 200e6);  // the setup's share would be as much
  EXPECT_NEAR(cell.real_accumulated_time / static_cast<double>(cell.iterations),
              cell.counters.at("ns_per_item") * 2e-9, 1e-9);
  EXPECT_EQ(cell.report_label, "granular, per op");
}

TEST_F(CampaignTest, ItemsAreThoseOfOneReplayAndDisturbanceIsThatOfAll) {
  repeat(1, /*min_seconds=*/0.3);
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{60});
  campaign.add_input(input("sleep", {cancel_op(0), cancel_op(1)}));
  const auto cells = run(campaign, {make_backend<Sleepy>()});
  const auto& cell = cells.at("test/sleep/2/sleepy");
  ASSERT_FALSE(cell.error_occurred) << cell.error_message;
  ASSERT_GT(cell.iterations, 1);
  EXPECT_EQ(cell.counters.at("items"), 2);
  EXPECT_GT(cell.counters.at("away_share"), 0.9);  // it sleeps all the time
  EXPECT_LT(cell.counters.at("away_share"), 1.2);
}

TEST_F(CampaignTest, EachRoundTellsWhatAReadOfMemoryTakes) {
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{60});
  campaign.add_input(drain(10));
  const auto cells = run(campaign, {make_backend<Sound>()});
  const auto& counters = cells.at("test/drain/10/sound_ring").counters;
  ASSERT_TRUE(counters.contains("memory_probe_ns"));
  EXPECT_GT(counters.at("memory_probe_ns"), 0);
}

TEST_F(CampaignTest, ReplaysThatEndOnAnotherProcessorAreCounted) {
  ASSERT_EQ(sched_getaffinity(0, sizeof Wanderer::allowed, &Wanderer::allowed), 0);
  if (CPU_COUNT(&Wanderer::allowed) < 2) GTEST_SKIP() << "one processor only";
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{60});
  campaign.add_input(input("once", {cancel_op(0)}));
  const auto cells = run(campaign, {make_backend<Wanderer>()});
  ASSERT_EQ(sched_setaffinity(0, sizeof Wanderer::allowed, &Wanderer::allowed), 0);
  const auto& cell = cells.at("test/once/2/wanderer");
  EXPECT_EQ(cell.counters.at("migrations"), static_cast<double>(cell.iterations));
}

TEST_F(CampaignTest, AShortReplayThatWasDisturbedIsMadeAgain) {
  ASSERT_EQ(sched_getaffinity(0, sizeof Wanderer::allowed, &Wanderer::allowed), 0);
  if (CPU_COUNT(&Wanderer::allowed) < 2) GTEST_SKIP() << "one processor only";
  Settler::journeys = 3;  // of the warm-up, and of two that are made again
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{60});
  campaign.add_input(input("once", {cancel_op(0)}));
  const auto cells = run(campaign, {make_backend<Settler>()});
  ASSERT_EQ(sched_setaffinity(0, sizeof Wanderer::allowed, &Wanderer::allowed), 0);
  const auto& counters = cells.at("test/once/2/settler").counters;
  EXPECT_EQ(counters.at("migrations"), 0);
  EXPECT_LT(Settler::journeys, 0);
}

TEST_F(CampaignTest, WhateverAReplayDidOtherwiseIsWrong) {
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{60});
  campaign.add_input(input("cancels", {schedule_op(0, 9), cancel_op(0), cancel_op(0)}));
  campaign.add_input(input("moves", {schedule_op(0, 9), schedule_op(0, 9)}));
  campaign.add_input(input("fires", {schedule_op(0, 1), advance_op(2)}));
  const auto cells = run(campaign, {make_backend<BrokenRing<Bug::cancel_true_twice>>(),
                                    make_backend<BrokenWheel<Bug::size_counts_moves>>(),
                                    make_backend<BrokenHeap<Bug::reports_now_as_deadline>>()});
  EXPECT_TRUE(cells.at("test/cancels/2/broken_cancel_true_twice").error_occurred);
  EXPECT_TRUE(cells.at("test/moves/2/broken_size_counts_moves").error_occurred);
  EXPECT_TRUE(cells.at("test/fires/2/broken_reports_now_as_deadline").error_occurred);
  EXPECT_EQ(campaign.counts().failed, 3U);
  EXPECT_EQ(campaign.counts().measured, 6U);
}

TEST_F(CampaignTest, ALaterReplayThatDiffersIsWrong) {
  repeat(6);
  for (const Tick granularity : {1, 10}) {
    Campaign campaign("test", granularity, /*replay_seconds=*/{60});
    campaign.add_input(drain(10));
    WrongLater::replays_left = 3;
    const auto cells = run(campaign, {make_backend<WrongLater>()});
    benchmark::ClearRegisteredBenchmarks();
    EXPECT_TRUE(cells.at("test/drain/10/wrong_later").error_message.starts_with("wrong: "));
  }
}

// The check fire by fire finds nothing then: it is a replay of its own.
TEST_F(CampaignTest, WhatIsWrongNowAndThenIsWrong) {
  repeat(6);
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{60});
  campaign.add_input(drain(10));
  WrongOnce::replays = 0;
  const auto cells = run(campaign, {make_backend<WrongOnce>()});
  EXPECT_EQ(cells.at("test/drain/10/wrong_once").error_message,
            "wrong: its outcome is not the model's");
}

TEST_F(CampaignTest, WhatHasNoMemorySaysSo) {
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{60});
  campaign.add_input(drain(10));
  campaign.add_input(Input("huge", 10, Input::Reach::both, /*bytes_needed=*/std::uint64_t{1} << 60,
                           /*seeded=*/false, [](std::size_t) -> Trace {
                             ADD_FAILURE() << "made in spite of that";
                             return Trace({}, {});
                           }));
  const auto cells = run(campaign, {make_backend<OutOfRoom>()});
  EXPECT_EQ(cells.at("test/drain/10/out_of_room").error_message,
            "oom: the memory is used up; choose a smaller size");
  const std::string huge = cells.at("test/huge/10/out_of_room").error_message;
  EXPECT_TRUE(huge.starts_with("oom: size 10 needs about ")) << huge;
}

TEST_F(CampaignTest, RemoteBackendsAreCheckedToo) {
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{60});
  campaign.add_input(drain(100));
  const auto cells = run(campaign, {make_backend<RemoteAndLate>()});
  EXPECT_TRUE(cells.at("test/drain/100/remote_and_late").error_occurred);
}

TEST_F(CampaignTest, ShortTracesComeInVariants) {
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{60});
  std::vector<std::size_t> made;
  campaign.add_input(
      Input("short", 1, Input::Reach::both, 0, /*seeded=*/true, [&made](std::size_t variant) {
        made.push_back(variant);
        return Trace({.capacity = 1, .setup_ops = 1024}, std::vector(4096, schedule_op(0, 1)));
      }));
  run(campaign, {make_backend<Sound>()});
  std::vector<std::size_t> expected(16);  // 65 536 operations
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(made, expected);
}

TEST_F(CampaignTest, VariantsTakeTurns) {
  repeat(32);
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{60});
  campaign.add_input(
      Input("short", 1, Input::Reach::both, 0, /*seeded=*/true, [](std::size_t variant) {
        return Trace({.capacity = static_cast<TimerId>(variant + 1)},
                     std::vector(1 << 12, schedule_op(0, 1)));
      }));
  Counted::made.clear();
  run(campaign, {make_backend<Counted>()});
  EXPECT_EQ(Counted::made.size(), 16U);
  for (const auto& [capacity, replays] : Counted::made) {
    EXPECT_EQ(replays, capacity == 1 ? 3 : 2) << capacity;  // the first one's is the warm-up
  }
}

TEST_F(CampaignTest, DestroyingTheQueueDoesNotCount) {
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{0.2});
  campaign.add_input(Input("none", 1, Input::Reach::both, 0, /*seeded=*/false, [](std::size_t) {
    return Trace({.capacity = 1, .item = "op"}, {schedule_op(0, 1), advance_op(1)});
  }));
  const auto cells = run(campaign, {make_backend<SlowQueue<Slow::destructor>>()});
  const auto& cell = cells.at("test/none/1/slow_destructor");
  EXPECT_FALSE(cell.error_occurred) << cell.error_message;
}

TEST_F(CampaignTest, ReplaysThatAreNearlyAllSetupAreATimeout) {
  repeat(1, /*min_seconds=*/3600);
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{0.1});
  campaign.add_input(input("setup", {schedule_op(0, 100), advance_op(1)}, /*setup_ops=*/1));
  const auto cells = run(campaign, {make_backend<SlowQueue<Slow::destructor>>()});
  const auto& cell = cells.at("test/setup/2/slow_destructor");
  EXPECT_TRUE(cell.error_occurred);
  EXPECT_TRUE(cell.error_message.starts_with("timeout: ")) << cell.error_message;
}

TEST_F(CampaignTest, RemoteBackendsHaveInputsOfTheirOwn) {
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{60});
  campaign.add_input(drain(100, Input::Reach::local));
  campaign.add_input(drain(10, Input::Reach::remote));
  const auto cells = run(campaign, {make_backend<Sound>(), make_backend<Remote>()});
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_TRUE(cells.contains("test/drain/100/" + std::string(Sound::traits.name)));
  EXPECT_TRUE(cells.contains("test/drain/10/remote"));
}

TEST_F(CampaignTest, RemoteBackendsHaveTimeOfTheirOwn) {
  Campaign campaign("test", /*granularity=*/1, {.local = 0.2, .remote = 60});
  campaign.add_input(input("once", {schedule_op(0, 1), advance_op(1)}));
  const auto cells =
      run(campaign, {make_backend<SlowQueue<Slow::advance>>(), make_backend<SlowRemote>()});
  EXPECT_EQ(cells.at("test/once/2/slow_advance").error_message,
            "timeout: one replay takes more than 0.2 s");
  EXPECT_FALSE(cells.at("test/once/2/slow_remote").error_occurred);
}

TEST_F(CampaignTest, AFailureInTheFirstRoundOfAServiceDoesNotEndTheRun) {
  repeat(4);
  RealtimeCampaign campaign;
  int measured = 0;
  campaign.add("test/rate/1/fails_first", [&] {
    if (++measured == 1) throw BackendError("connection lost");
    return RealtimeFigures{.seconds = 1};
  });
  campaign.add("test/rate/1/good", [] { return RealtimeFigures{.seconds = 1}; });
  campaign.register_cells();
  const auto cells = run_registered();
  EXPECT_EQ(measured, 1);
  EXPECT_EQ(cells.at("test/rate/1/fails_first").error_message, "error: connection lost");
  EXPECT_FALSE(cells.at("test/rate/1/good").error_occurred);
  EXPECT_EQ(campaign.counts().failed, 1U);
}

TEST_F(CampaignTest, AFailureInALaterRepetitionDoesNotEndTheRun) {
  repeat(6);
  for (const int replays : {1, 2, 3, 4, 5}) {
    Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{60});
    campaign.add_input(drain(10));
    FailsLater::replays_left = replays;
    const auto cells = run(campaign, {make_backend<FailsLater>(), make_backend<Sound>()});
    benchmark::ClearRegisteredBenchmarks();
    EXPECT_EQ(cells.at("test/drain/10/fails_later").error_message, "error: connection lost");
    EXPECT_FALSE(cells.at("test/drain/10/" + std::string(Sound::traits.name)).error_occurred);
  }
}

TEST_F(CampaignTest, TailsAreThoseOfThreeReplays) {
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{60});
  campaign.choose_pass(Pass::tails);
  campaign.add_input(Input("drain", 100, Input::Reach::both, 0, /*seeded=*/false, [](std::size_t) {
    return Drain{.delay = Delays("constant 50ms")}.generate({.size = 100});
  }));
  const auto cells = run(campaign, {make_backend<Scan>()});
  const auto& cell = cells.at("test/drain/100/scan");
  ASSERT_FALSE(cell.error_occurred) << cell.error_message;
  EXPECT_EQ(cell.counters.at("advance_count"), 3 * 50);
  const nlohmann::json distributions = campaign.distributions();
  const auto& timeline = distributions.at("test/drain/100/scan").at(0).at("timeline");
  ASSERT_EQ(timeline.at("op").size(), 50U);
  EXPECT_EQ(timeline.at("fired").at(48), 0);
  EXPECT_EQ(timeline.at("fired").at(49), 100);
  EXPECT_EQ(timeline.at("moved").at(49), 0);
}

TEST_F(CampaignTest, EachReplayOfTailsHasItsTime) {
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{1});
  campaign.choose_pass(Pass::tails);
  campaign.add_input(input("once", {schedule_op(0, 1), advance_op(1)}));  // takes 0.4 s
  const auto cells = run(campaign, {make_backend<SlowQueue<Slow::advance>>()});
  const auto& cell = cells.at("test/once/2/slow_advance");
  EXPECT_FALSE(cell.error_occurred) << cell.error_message;
}

TEST_F(CampaignTest, TheWorstCallIsTold) {
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{60});
  campaign.choose_pass(Pass::tails);
  campaign.add_input(input("nothing_due",
                           {schedule_op(0, 9), schedule_op(1, 9), advance_op(1), advance_op(1)},
                           /*setup_ops=*/2));
  const auto cells = run(campaign, {make_backend<Scan>()});
  const auto& cell = cells.at("test/nothing_due/2/scan");
  ASSERT_FALSE(cell.error_occurred) << cell.error_message;
  EXPECT_EQ(cell.counters.at("worst_fired"), 0);
  EXPECT_EQ(cell.counters.at("worst_moved"), 0);
  EXPECT_EQ(cell.counters.at("worst_passed"), 2);       // a scan looks at every timer
  EXPECT_FALSE(cell.counters.contains("most_queued"));  // and keeps no order
}

TEST_F(CampaignTest, MemoryIsThatOfTheInstantWithTheMostTimers) {
  Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{60});
  campaign.choose_pass(Pass::memory);
  campaign.add_input(input("cancels",
                           {schedule_op(0, 9), schedule_op(1, 9), cancel_op(0), cancel_op(1)},
                           /*setup_ops=*/2));
  const auto cells = run(campaign, {make_backend<Wasteful>()});
  const auto& cell = cells.at("test/cancels/2/wasteful");
  ASSERT_FALSE(cell.error_occurred) << cell.error_message;
  EXPECT_GE(cell.counters.at("peak_bytes"), 10e6);
  EXPECT_GE(cell.counters.at("bytes_per_timer"), 4'096);
  EXPECT_LT(cell.counters.at("bytes_per_timer"), 50'000);
  EXPECT_LT(cell.counters.at("drained_bytes"), 50'000);
  EXPECT_EQ(cell.counters.at("allocations_per_item"), 1);
}

TEST_F(CampaignTest, WhatIsWrongHasNoFigureInOtherPasses) {
  for (const Pass pass : {Pass::tails, Pass::memory, Pass::once}) {
    Campaign campaign("test", /*granularity=*/1, /*replay_seconds=*/{60});
    campaign.choose_pass(pass);
    campaign.add_input(drain(100));
    const auto cells =
        run(campaign, {make_backend<BrokenRing<Bug::late_by_a_round>>(), make_backend<Sound>()});
    benchmark::ClearRegisteredBenchmarks();
    const auto& wrong = cells.at("test/drain/100/broken_late_by_a_round");
    EXPECT_TRUE(wrong.error_message.starts_with("wrong: ")) << wrong.error_message;
    EXPECT_FALSE(cells.at("test/drain/100/sound_ring").error_occurred);
  }
}

TEST(CellFailureTest, TheStatusIsThatOfTheException) {
  const auto status_of = [](const auto& error) {
    try {
      throw error;
    } catch (...) {
      return current_failure();
    }
  };
  EXPECT_EQ(status_of(BackendLimit("no more files")), "limit: no more files");
  EXPECT_EQ(status_of(BackendUnavailable("no server")), "unavailable: no server");
  EXPECT_EQ(status_of(BackendError("lost")), "error: lost");
  EXPECT_EQ(status_of(ProgramFailure("timeout: it is silent")), "timeout: it is silent");
  EXPECT_EQ(status_of(CellFailure("wrong: late")), "wrong: late");
}

TEST(OutcomeTest, TheDigestTellsFiresApart) {
  struct Fire {
    Tick now;
    TimerId id;
    Tick deadline;
  };
  const auto digest = [](std::initializer_list<Fire> fires) {
    Outcome outcome;
    for (const auto& [now, id, deadline] : fires) DigestFires(outcome, now)(id, deadline);
    return outcome.digest;
  };
  EXPECT_EQ(digest({{9, 1, 5}, {9, 4, 7}}), digest({{9, 4, 7}, {9, 1, 5}}));
  const auto one = digest({{9, 1, 5}, {9, 4, 7}});
  EXPECT_NE(one, digest({{9, 1, 7}, {9, 4, 5}}));
  EXPECT_NE(one, digest({{9, 2, 5}, {9, 3, 7}}));
  EXPECT_NE(one, digest({{9, 1, 6}, {9, 4, 6}}));
  EXPECT_NE(one, digest({{8, 1, 5}, {9, 4, 7}}));
}

TEST(ReporterTest, AnErrorInALaterRoundSpoilsTheCell) {
  benchmark::BenchmarkReporter::Run good;
  good.run_name.function_name = "own/fill/10/scan";
  good.counters["ns_per_item"] = 5;
  benchmark::BenchmarkReporter::Run bad = good;
  bad.error_occurred = true;
  bad.error_message = "wrong: its outcome is not the model's";
  CostReporter reporter(1, [](std::string_view) { return Traits{}; });
  testing::internal::CaptureStdout();
  reporter.ReportRuns({good, bad, bad});
  reporter.Finalize();
  const std::string lines = testing::internal::GetCapturedStdout();
  EXPECT_NE(lines.find(bad.error_message), lines.npos) << lines;
  EXPECT_EQ(reporter.answer(), "");
}

TEST(ReporterTest, EachInputIsATableAndASentenceForEachPrecision) {
  const auto rounds = [](const std::string& name, std::vector<double> costs) {
    std::vector<benchmark::BenchmarkReporter::Run> runs(costs.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
      runs[i].run_name.function_name = name;
      runs[i].report_label = "exact, per cancel + insert";
      runs[i].counters["ns_per_item"] = costs[i];
    }
    return runs;
  };
  CostReporter reporter(3, [](std::string_view name) {
    Traits traits{};
    const bool is_wheel = name == "wheel";
    traits.precision = is_wheel ? Precision::granular : Precision::exact;
    traits.walks_ticks = is_wheel;
    return traits;
  });
  testing::internal::CaptureStdout();
  reporter.ReportRuns(rounds("own/churn/100000/wheel", {18, 17, 19}));
  reporter.ReportRuns(rounds("own/churn/100000/heap", {96, 95, 97}));
  reporter.ReportRuns(rounds("own/fill/1035/heap", {2, 2, 2}));
  reporter.Finalize();
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "churn, 10⁵ timers, ns per cancel + insert\n"
            "  exact     heap                        96.00  (95.00 to 97.00)\n"
            "  granular  wheel                       18.00  (17.00 to 19.00)\n"
            "\n"
            "fill, 1 035 timers, ns per cancel + insert\n"
            "  exact     heap                         2.00  (2.00 to 2.00)\n"
            "\n");
  EXPECT_EQ(reporter.answer(),
            "Figures are medians of 3 rounds; brackets hold the least and the greatest\n"
            "round. 'Tied' means that these ranges overlap, 'cheaper' that they do not.\n"
            "wheel has a licence: advance() walks every tick.\n"
            "\n"
            "Cheapest of each precision:\n"
            "churn, 10⁵ timers, exact: heap 96.0 ns, the only one\n"
            "churn, 10⁵ timers, granular: wheel 18.0 ns, the only one\n"
            "fill, 1 035 timers, exact: heap 2.00 ns, the only one\n");
}

class CostReportTest : public testing::Test {
 protected:
  static CostCell cell(std::string backend, std::string_view ranking, std::vector<double> rounds,
                       std::string failure = "") {
    return {.workload = "hold",
            .size = 30'000,
            .backend = std::move(backend),
            .ranking = ranking,
            .item = "fire + insert",
            .rounds = std::move(rounds),
            .failure = std::move(failure)};
  }
};

TEST_F(CostReportTest, TheTableIsByPrecisionThenCost) {
  const std::string table =
      cost_table({cell("null", "none", {1}), cell("slow", "exact", {30}),
                  cell("lost", "exact", {}, "wrong: operation 7 of 9"),
                  cell("coarse", "granular", {2}), cell("fast", "exact", {20})});
  EXPECT_EQ(table,
            "hold, 3·10⁴ timers, ns per fire + insert\n"
            "  exact     fast                        20.00\n"
            "  exact     slow                        30.00\n"
            "  exact     lost                  wrong: operation 7 of 9\n"
            "  granular  coarse                       2.00\n"
            "  none      null                         1.00\n");
}

TEST_F(CostReportTest, LibrariesAreRankedApart) {
  const std::vector<CostCell> cells{cell("null", "none", {1}), cell("wheel", "granular", {2}),
                                    cell("libev", "exact library", {30, 31}),
                                    cell("heap", "exact", {40}),
                                    cell("libuv", "exact library", {70, 75})};
  EXPECT_EQ(cost_table(cells),
            "hold, 3·10⁴ timers, ns per fire + insert\n"
            "  exact         heap                        40.00\n"
            "  granular      wheel                        2.00\n"
            "  exact library libev                       30.50  (30.00 to 31.00)\n"
            "  exact library libuv                       72.50  (70.00 to 75.00)\n"
            "  none          null                         1.00\n");
  EXPECT_EQ(cheapest(cells),
            "hold, 3·10⁴ timers, exact: heap 40.0 ns, the only one\n"
            "hold, 3·10⁴ timers, granular: wheel 2.00 ns, the only one\n"
            "hold, 3·10⁴ timers, exact library: libev 30.5 ns, 2.4 times cheaper than libuv\n");
}

TEST_F(CostReportTest, NoLineIsLongerThan80Columns) {
  std::string failure = "wrong:";
  for (int i = 0; i < 30; ++i) failure += " operation " + std::to_string(i);
  const std::vector<CostCell> cells{
      cell("kafka_wheel_floor_20", "exact", {250'000, 249'000, 9'251'000}),
      cell("kafka_wheel_floor_21", "exact", {250'001, 249'000, 9'251'000}),
      cell("kafka_wheel_floor_22", "exact", {250'002, 249'000, 9'251'000}),
      cell("lost", "exact", {}, failure)};
  std::istringstream lines(cost_table(cells) + cheapest(cells));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; }), 80) << line;
  }
}

TEST_F(CostReportTest, WhoseRoundsOverlapIsTied) {
  EXPECT_EQ(cheapest({cell("a", "exact", {20, 19, 23}), cell("b", "exact", {22, 21, 24}),
                      cell("c", "exact", {50, 48, 51})}),
            "hold, 3·10⁴ timers, exact: a 20.0 ns, tied with b, 2.5 times cheaper than c\n");
  EXPECT_EQ(cheapest({cell("a", "exact", {20, 19, 23}), cell("b", "exact", {22, 21, 24})}),
            "hold, 3·10⁴ timers, exact: a 20.0 ns, tied with b\n");
  EXPECT_EQ(cheapest({cell("a", "exact", {100}), cell("b", "exact", {102})}),
            "hold, 3·10⁴ timers, exact: a 100 ns, 2 % cheaper than b\n");
}

// tests/data/number_words.txt holds what scripts/lib/words.py says, too.
TEST_F(CostReportTest, NumbersAreThoseOfTheScripts) {
  std::ifstream lines(TIMERBENCH_TEST_DATA "/number_words.txt");
  int checked = 0;
  for (std::string kind, value, words; std::getline(lines, kind, '\t');) {
    std::getline(std::getline(lines, value, '\t'), words);
    const double number = std::stod(value);
    const std::string text =
        kind == "cost" ? cheapest({cell("a", "exact", {number})})
                       : cheapest({cell("a", "exact", {1}), cell("b", "exact", {number})});
    EXPECT_NE(text.find(" " + words), std::string::npos) << text << words;
    ++checked;
  }
  EXPECT_GT(checked, 20);
}

TEST_F(CostReportTest, APrecisionWithoutAnyFigureIsNamed) {
  EXPECT_EQ(cheapest({cell("a", "exact", {}, "timeout: one replay takes too long"),
                      cell("b", "granular", {2}), cell("null", "none", {1})}),
            "hold, 3·10⁴ timers, exact: no backend has a figure\n"
            "hold, 3·10⁴ timers, granular: b 2.00 ns, the only one\n");
}

TEST_F(CostReportTest, OnlyTheLikeAreCompared) {
  EXPECT_EQ(cheapest({cell("a", "exact", {20}), cell("b", "granular", {2}),
                      cell("lost", "granular", {}, "timeout: one replay takes too long"),
                      cell("early", "early", {1}), cell("null", "none", {0.3})}),
            "hold, 3·10⁴ timers, exact: a 20.0 ns, the only one\n"
            "hold, 3·10⁴ timers, granular: b 2.00 ns, the only one with a figure\n");
}

}  // namespace
}  // namespace timerbench
