// Import of kernel timer recordings: each rule on a few hand-written lines.
#include "trace/ftrace.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/iostreams/copy.hpp>
#include <boost/iostreams/filter/lzma.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "scratch.h"

namespace timerbench {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Lines as the kernel prints them, at HZ=250. Jiffies count from kBoot, timestamps from 2000 s, and
// both pass alike: jiffy 3 begins at 2000.012.
constexpr std::uint64_t kBoot = 4295565786;
constexpr std::string_view kHeader =
    "# kernel 6.18.0 CONFIG_HZ=250 trace_clock=mono\n# tracer: nop\n";

std::string line(int cpu, std::int64_t jiffy, std::string_view event) {
  return fmt::format("{:>16}-{:<7} [{:03}] d.s3. {:>11.6f}: {}\n", "nginx", 22587, cpu,
                     2000 + 0.004 * static_cast<double>(jiffy), event);
}

std::string start(int cpu, std::int64_t jiffy, std::uint64_t timer, std::int64_t timeout) {
  const std::uint64_t expires = kBoot + static_cast<std::uint64_t>(jiffy + timeout);
  return line(cpu, jiffy,
              fmt::format("timer_start: timer={:016x} function=tcp_write_timer expires={} "
                          "[timeout={}] bucket_expiry={} cpu={} idx=52 flags=",
                          timer, expires, timeout, expires + 1, cpu));
}

std::string cancel(int cpu, std::int64_t jiffy, std::uint64_t timer) {
  return line(cpu, jiffy, fmt::format("timer_cancel: timer={:016x}", timer));
}

std::string expire(int cpu, std::int64_t jiffy, std::uint64_t timer) {
  const std::uint64_t now = kBoot + static_cast<std::uint64_t>(jiffy);
  return line(cpu, jiffy,
              fmt::format("timer_expire_entry: timer={:016x} function=tcp_write_timer now={} "
                          "baseclk={}",
                          timer, now, now));
}

Trace imported(const std::string& text, const FtraceOptions& options = {}) {
  const Scratch scratch;
  return import_ftrace(scratch.write("t.txt", text), options);
}

std::vector<Op> ops_of(const std::string& events) {
  const Trace trace = imported(std::string(kHeader) + events);
  return {trace.ops().begin(), trace.ops().end()};
}

nlohmann::json parameters(const Trace& trace) {
  return nlohmann::json::parse(trace.info().parameters);
}

std::uint64_t parameter(const Trace& trace, const char* name) {
  return parameters(trace).at(name).get<std::uint64_t>();
}

std::vector<std::string> warnings(const Trace& trace) {
  return parameters(trace).at("warnings").get<std::vector<std::string>>();
}

std::string error_of_text(const std::string& text, const FtraceOptions& options = {}) {
  return error_of([&] { imported(text, options); });
}

constexpr std::uint64_t kA = 0xa74f9a28;
constexpr std::uint64_t kB = 0xffff8881a8d3c3d2;
constexpr std::uint64_t kC = 0x2ba1c8a5;

// ---- events to operations ----

TEST(Ftrace, StartAndCancel) {
  EXPECT_THAT(ops_of(start(0, 0, kA, 25) + start(0, 0, kB, 250) + cancel(0, 0, kA)),
              ElementsAre(schedule_op(0, 25), schedule_op(1, 250), cancel_op(0)));
}

TEST(Ftrace, CancelThenStartOnOneCpuIsOneMove) {
  const std::string events = start(0, 0, kA, 25) + cancel(0, 0, kA) + start(0, 0, kA, 50);
  EXPECT_THAT(ops_of(events), ElementsAre(schedule_op(0, 25), schedule_op(0, 50)));
  EXPECT_EQ(parameter(imported(std::string(kHeader) + events), "moves"), 1u);
}

TEST(Ftrace, MoveOfAnUnknownTimerIsItsFirstSchedule) {
  EXPECT_THAT(ops_of(cancel(0, 0, kA) + start(0, 0, kA, 50)), ElementsAre(schedule_op(0, 50)));
}

TEST(Ftrace, MoveSeesNothingOfOtherCpus) {
  EXPECT_THAT(
      ops_of(start(0, 0, kA, 25) + cancel(0, 0, kA) + start(1, 0, kB, 7) + start(0, 0, kA, 50)),
      ElementsAre(schedule_op(0, 25), schedule_op(1, 7), schedule_op(0, 50)));
}

TEST(Ftrace, CancelThenSomethingElseThenStartIsNoMove) {
  EXPECT_THAT(
      ops_of(start(0, 0, kA, 25) + cancel(0, 0, kA) + start(0, 0, kB, 7) + start(0, 0, kA, 50)),
      ElementsAre(schedule_op(0, 25), cancel_op(0), schedule_op(1, 7), schedule_op(0, 50)));
}

TEST(Ftrace, CancelThenStartOnAnotherCpuIsNoMove) {
  EXPECT_THAT(ops_of(start(0, 0, kA, 25) + cancel(0, 0, kA) + start(1, 0, kA, 50)),
              ElementsAre(schedule_op(0, 25), cancel_op(0), schedule_op(0, 50)));
}

// The timer lived on another CPU between the two events of CPU 0.
TEST(Ftrace, CancelThenALifeElsewhereThenStartIsNoMove) {
  const Trace trace =
      imported(std::string(kHeader) + start(0, 0, kA, 25) + cancel(0, 0, kA) + start(1, 0, kA, 1) +
               cancel(1, 2, kA) + expire(1, 2, kA) + start(0, 2, kA, 1));
  EXPECT_THAT(trace.ops(), ElementsAre(schedule_op(0, 25), cancel_op(0), schedule_op(0, 1),
                                       advance_op(1), advance_op(1), schedule_op(0, 1)));
  EXPECT_EQ(parameter(trace, "moves"), 0u);
  EXPECT_EQ(parameter(trace, "detaches"), 1u);
}

TEST(Ftrace, CancelThenExpireIsADetach) {
  const std::string events = start(0, 0, kA, 2) + cancel(0, 3, kA) + expire(0, 3, kA);
  EXPECT_THAT(ops_of(events),
              ElementsAre(schedule_op(0, 2), advance_op(1), advance_op(1), advance_op(1)));
  const Trace trace = imported(std::string(kHeader) + events);
  EXPECT_EQ(parameter(trace, "detaches"), 1u);
  EXPECT_EQ(parameter(trace, "unknown_expiries"), 0u);
}

TEST(Ftrace, DetachMayBeInterrupted) {
  EXPECT_THAT(ops_of(start(0, 0, kA, 1) + start(0, 0, kC, 9) + cancel(0, 1, kA) +
                     start(0, 1, kB, 50) + cancel(0, 1, kC) + expire(0, 1, kA)),
              ElementsAre(schedule_op(0, 1), schedule_op(1, 9), advance_op(1), schedule_op(2, 50),
                          cancel_op(1)));
}

TEST(Ftrace, CancelThenExpireOnAnotherCpuIsACancel) {
  EXPECT_THAT(ops_of(start(0, 0, kA, 1) + cancel(0, 0, kA) + expire(1, 1, kA)),
              ElementsAre(schedule_op(0, 1), cancel_op(0), advance_op(1)));
}

TEST(Ftrace, UnknownTimersAreLeftOutAndCounted) {
  const Trace trace = imported(std::string(kHeader) + cancel(0, 0, kA) + cancel(0, 0, kB) +
                               expire(0, 0, kB) + start(0, 0, kC, 5) + cancel(0, 0, kC));
  EXPECT_THAT(trace.ops(), ElementsAre(schedule_op(0, 5), cancel_op(0)));
  EXPECT_EQ(parameter(trace, "unknown_cancels"), 1u);
  EXPECT_EQ(parameter(trace, "unknown_expiries"), 1u);
  EXPECT_EQ(parameter(trace, "detaches"), 1u);
  EXPECT_EQ(parameter(trace, "starts"), 1u);
  EXPECT_EQ(parameter(trace, "cancels"), 3u);
  EXPECT_EQ(parameter(trace, "expiries"), 1u);
}

TEST(Ftrace, AddressReusedIsIdReused) {
  const Trace trace = imported(std::string(kHeader) + start(0, 0, kB, 5) + start(0, 0, kA, 5) +
                               cancel(0, 0, kB) + start(1, 0, kB, 6));
  EXPECT_THAT(trace.ops(),
              ElementsAre(schedule_op(0, 5), schedule_op(1, 5), cancel_op(0), schedule_op(0, 6)));
  EXPECT_EQ(trace.info().capacity, 2u);
}

// ---- the clock ----

TEST(Ftrace, OneAdvancePerJiffy) {
  EXPECT_THAT(ops_of(start(0, 5, kA, 9) + start(0, 7, kB, 9) + expire(0, 8, kC)),
              ElementsAre(schedule_op(0, 9), advance_op(1), advance_op(1), schedule_op(1, 9),
                          advance_op(1)));
}

TEST(Ftrace, CancelTakesTheLastClock) {
  EXPECT_THAT(ops_of(start(0, 0, kA, 9) + cancel(0, 2, kA) + start(0, 2, kB, 9)),
              ElementsAre(schedule_op(0, 9), cancel_op(0), advance_op(1), advance_op(1),
                          schedule_op(1, 9)));
}

// Another CPU may have read the jiffies just before they moved; the deadline is what counts.
TEST(Ftrace, ClockNeverGoesBack) {
  EXPECT_THAT(ops_of(start(0, 1, kA, 9) + start(1, 0, kB, 9)),
              ElementsAre(schedule_op(0, 9), schedule_op(1, 8)));
}

TEST(Ftrace, SecondRecordingInOneFileIsAnError) {
  const std::string recording = start(0, 0, kA, 25) + start(0, 200, kA, 25);
  EXPECT_THAT(error_of_text(std::string(kHeader) + recording + recording),
              HasSubstr("t.txt:5: time goes back"));
}

TEST(Ftrace, DueTimersHaveNoDelay) {
  EXPECT_THAT(ops_of(start(0, 0, kA, 0) + start(0, 0, kB, -3)),
              ElementsAre(schedule_op(0, 0), schedule_op(1, 0)));
}

TEST(Ftrace, EndlessDelaysAreCutOff) {
  const Trace trace =
      imported(std::string(kHeader) + start(0, 0, kA, std::int64_t{1} << 62) + cancel(0, 0, kA));
  EXPECT_EQ(trace.ops()[0], schedule_op(0, kMaxDelay));
  EXPECT_THAT(warnings(trace), Contains(HasSubstr("1 delays were cut off")));
}

TEST(Ftrace, UnitIsTheJiffy) {
  const std::string events = start(0, 0, kA, 25);
  EXPECT_EQ(imported(std::string(kHeader) + events).info().unit_ns, 4e6);
  EXPECT_EQ(imported(std::string(kHeader) + events, {.hz = 1000}).info().unit_ns, 1e6);
  EXPECT_EQ(imported(events, {.hz = 100}).info().unit_ns, 1e7);
}

TEST(Ftrace, WithoutHzIsAnError) {
  EXPECT_THAT(error_of_text("# tracer: nop\n" + start(0, 0, kA, 25)),
              AllOf(HasSubstr("t.txt:2: "), HasSubstr("--hz")));
  EXPECT_THAT(error_of_text("# CONFIG_HZ=none\n" + start(0, 0, kA, 25)), HasSubstr("--hz"));
  EXPECT_THAT(error_of_text(start(0, 0, kA, 25), {.hz = -1}), HasSubstr("--hz"));
}

TEST(Ftrace, WrongHzIsAnError) {
  const std::string events = start(0, 0, kA, 25) + start(0, 250, kB, 25);
  EXPECT_THAT(imported(events, {.hz = 250}).ops().size(), 252u);
  for (const double hz : {100.0, 1000.0}) {
    EXPECT_THAT(error_of_text(events, {.hz = hz}),
                AllOf(HasSubstr("t.txt:2: since line 1 the timestamp has moved by 1.000 s"),
                      HasSubstr(fmt::format("HZ is not {}", hz))));
  }
}

TEST(Ftrace, DamagedDigitsAreAnError) {
  const std::string before = std::string(kHeader) + start(0, 0, kA, 25);
  const auto damaged = [&before](std::string text, std::string_view from, std::string_view to) {
    return error_of_text(before + text.replace(text.find(from), from.size(), to));
  };
  const std::string start_line = start(0, 1, kB, 25);
  const std::string expire_line = expire(0, 1, kB);
  EXPECT_THAT(damaged(start_line, "expires=42", "expires=72"), HasSubstr("t.txt:4: since line 3"));
  EXPECT_THAT(damaged(start_line, "timeout=25", "timeout=9999999999"), HasSubstr("t.txt:4: "));
  EXPECT_THAT(damaged(start_line, " 2000.", " 9000."), HasSubstr("moved by 7000.004 s"));
  EXPECT_THAT(damaged(start_line, " 2000.004000", " nan"), HasSubstr("t.txt:4: "));
  EXPECT_THAT(damaged(expire_line, "now=42", "now=18446744073709"), HasSubstr("t.txt:4: "));
  EXPECT_THAT(damaged(expire_line, "now=42", "now="), HasSubstr("t.txt:4: since line 3"));
}

// ---- lines ----

TEST(Ftrace, SkipsWhatIsNoTimerEvent) {
  const std::string others =
      line(0, 0, "hrtimer_start: hrtimer=000000001 function=tick_sched_timer expires=5") +
      line(0, 0, "sched_switch: prev_comm=a timer_start: timer=0 next_pid=3") +
      " => hrtimer_cancel\n => timer_cancel\n\n##### CPU 1 buffer started ####\n";
  const std::string events =
      start(0, 0, kA, 25) + others + cancel(0, 0, kA) + others + start(0, 0, kA, 50);
  EXPECT_THAT(ops_of(events), ElementsAre(schedule_op(0, 25), schedule_op(0, 50)));
  EXPECT_EQ(parameter(imported(std::string(kHeader) + events), "skipped_lines"), 2u + 12u);
}

TEST(Ftrace, TaskNamesMayHoldBlanksAndBrackets) {
  const auto named = [](std::string text, std::string_view name) {
    return text.replace(text.find("nginx"), 5, name);
  };
  EXPECT_THAT(ops_of(named(start(0, 0, kA, 25), "Service Thread") +
                     named(cancel(0, 0, kA), "[a] [0] x: y") +
                     named(start(1, 0, kA, 25), "kworker/0:1 [12]")),
              ElementsAre(schedule_op(0, 25), cancel_op(0), schedule_op(0, 25)));
}

TEST(Ftrace, ColumnsMayDiffer) {
  const std::string fields =
      "timer_start:          timer=0xffff8881a8d3c3d2 function=f "
      "expires=1025 [timeout=25] bucket_expiry=1026 cpu=0 idx=5 flags=D\r\n";
  EXPECT_THAT(ops_of("nginx-22587 (  22500) [001] 12.000001: " + fields),
              ElementsAre(schedule_op(0, 25)));
  EXPECT_THAT(ops_of("<...>-1 [001] d..1. 12.000001: " + fields), ElementsAre(schedule_op(0, 25)));
}

TEST(Ftrace, DamagedTimerLinesAreErrors) {
  const std::string before = std::string(kHeader) + start(0, 0, kA, 25);
  const auto damaged = [&before](std::string text, std::string_view from, std::string_view to) {
    return error_of_text(before + text.replace(text.find(from), from.size(), to) +
                         cancel(0, 0, kA));
  };
  const auto complaint = HasSubstr("t.txt:4: not as the kernel prints it");
  EXPECT_THAT(damaged(start(0, 1, kB, 25), "timer=", "tim="), complaint);
  EXPECT_THAT(damaged(start(0, 1, kB, 25), "timer=ffff", "timer=xyzz"), complaint);
  EXPECT_THAT(damaged(start(0, 1, kB, 25), "timer=ffff", "timer=ffffffff"), complaint);
  EXPECT_THAT(damaged(start(0, 1, kB, 25), "[timeout=25]", ""), complaint);
  EXPECT_THAT(damaged(start(0, 1, kB, 25), "[timeout=25]", "[timeout=25"), complaint);
  EXPECT_THAT(damaged(start(0, 1, kB, 25), "expires=4", "expires=x"), complaint);
  EXPECT_THAT(damaged(expire(0, 1, kB), "now=4", "now=-4"), complaint);
  EXPECT_THAT(damaged(expire(0, 1, kB), "now=", "then="), complaint);
  EXPECT_THAT(damaged(cancel(0, 1, kB), "c3d2", "c3\x01"), complaint);
  EXPECT_THAT(damaged(cancel(0, 1, kB), "[000]", "[0x0]"), complaint);
  EXPECT_THAT(damaged(cancel(0, 1, kB), " 2000.004000:", " 2000;004000:"), complaint);
}

TEST(Ftrace, TruncatedLastLineIsAnError) {
  const std::string text = std::string(kHeader) + start(0, 0, kA, 25) + start(0, 0, kB, 25);
  EXPECT_THAT(error_of_text(text.substr(0, text.size() - 70)), HasSubstr("t.txt:4: "));
}

TEST(Ftrace, NothingOfInterestIsAnError) {
  for (const std::string& text : {std::string(), std::string(kHeader), std::string("hello\n"),
                                  std::string(kHeader) + cancel(0, 0, kA)}) {
    EXPECT_THAT(error_of_text(text), AllOf(HasSubstr("no timer_start in "), HasSubstr("enable"),
                                           HasSubstr("timer_expire_entry")));
  }
}

// ---- what is recorded of it ----

TEST(Ftrace, SourceIsTheHeaderOrTheOption) {
  const std::string events = start(0, 0, kA, 25);
  EXPECT_EQ(imported(std::string(kHeader) + events).info().source,
            "kernel 6.18.0 CONFIG_HZ=250 trace_clock=mono");
  EXPECT_EQ(imported(std::string(kHeader) + events, {.source = "nginx"}).info().source, "nginx");
  EXPECT_EQ(imported(events, {.hz = 250}).info().source, "t.txt");
}

TEST(Ftrace, InfoIsComplete) {
  const TraceInfo info = imported(std::string(kHeader) + start(0, 0, kA, 25) + start(0, 0, kB, 25) +
                                  cancel(0, 3, kA) + expire(0, 30, kC))
                             .info();
  EXPECT_EQ(info.workload, "ftrace");
  EXPECT_EQ(info.capacity, 2u);
  EXPECT_EQ(info.items, 3u);
  EXPECT_EQ(info.peak_pending, 2u);
  EXPECT_EQ(nlohmann::json::parse(info.parameters).at("hz"), 250);
}

TEST(Ftrace, LostEventsAreWarnedOf) {
  const std::string events = start(0, 0, kA, 1) + cancel(0, 1, kA) + expire(0, 1, kA);
  const auto written = [&events](std::string_view kept_and_written) {
    return imported(fmt::format("{}# entries-in-buffer/entries-written: {}   #P:2\n{}", kHeader,
                                kept_and_written, events));
  };
  EXPECT_THAT(warnings(written("3/3")), IsEmpty());
  EXPECT_EQ(parameter(written("3/3"), "lost_events"), 0u);
  EXPECT_THAT(warnings(written("3/10")), ElementsAre(HasSubstr("at least 7 events were lost")));
  EXPECT_EQ(parameter(written("3/10"), "lost_events"), 7u);

  const Trace trace = imported(std::string(kHeader) + "CPU:1 [LOST 17 EVENTS]\n" + events +
                               "CPU:0 [LOST EVENTS]\n");
  EXPECT_EQ(parameter(trace, "lost_events"), 18u);
  EXPECT_THAT(trace.ops(), ElementsAre(schedule_op(0, 1), advance_op(1)));
}

TEST(Ftrace, AbsentTracepointsAreWarnedOf) {
  EXPECT_THAT(warnings(imported(std::string(kHeader) + start(0, 0, kA, 25))),
              ElementsAre(HasSubstr("no timer_cancel"), HasSubstr("no timer_expire_entry")));
}

// ---- xz ----

std::string compressed(const std::string& text) {
  std::istringstream in(text);
  std::ostringstream out;
  boost::iostreams::filtering_ostream filter;
  filter.push(boost::iostreams::lzma_compressor());
  filter.push(out);
  boost::iostreams::copy(in, filter);
  return out.str();
}

std::string long_recording() {
  std::string text(kHeader);
  for (int i = 0; i < 5000; ++i) text += start(0, i / 100, std::uint64_t{7919} * i, i);
  return text;
}

TEST(Ftrace, ReadsXzByContentOrSuffix) {
  const Scratch scratch;
  const std::string text = long_recording();
  const Trace plain = imported(text);
  ASSERT_EQ(plain.ops().size(), 5049u);
  for (const char* name : {"t.txt.xz", "t.txt"}) {
    const Trace trace = import_ftrace(scratch.write(name, compressed(text)));
    EXPECT_THAT(trace.ops(), ElementsAreArray(plain.ops()));
  }
}

TEST(Ftrace, DamagedXzIsAnError) {
  const Scratch scratch;
  const std::string good = compressed(long_recording());
  std::string flipped = good;
  flipped[good.size() / 2] ^= 0x55;
  for (const std::string& bytes :
       {flipped, good.substr(0, good.size() / 2), good.substr(0, good.size() - 1),
        good.substr(0, 10), good + "rubbish", std::string(), long_recording()}) {
    EXPECT_THAT(error_of([&] { import_ftrace(scratch.write("t.xz", bytes)); }),
                HasSubstr("t.xz: damaged or truncated xz data after line "));
  }
}

TEST(Ftrace, BadFilesAreNamed) {
  const Scratch scratch;
  EXPECT_THAT(error_of([&] { import_ftrace(scratch.path("no.txt")); }),
              HasSubstr("no.txt: No such file or directory"));
  EXPECT_THAT(error_of([&] { import_ftrace(scratch.path()); }),
              AllOf(HasSubstr("cannot read"), HasSubstr("not a regular file")));
}

}  // namespace
}  // namespace timerbench
