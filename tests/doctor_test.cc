// The checks of a machine, on folders that look like /proc and /sys, and the grade.
#include "system/doctor.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "scratch.h"
#include "system/kernel_files.h"

namespace timerbench {

void PrintTo(CheckState state, std::ostream* out) { *out << to_string(state); }

namespace {

constexpr auto kGood = CheckState::good;
constexpr auto kBad = CheckState::bad;
constexpr auto kUnknown = CheckState::unknown;
constexpr const char* kCpu = "sys/devices/system/cpu/";
constexpr const char* kHypervisorFlags = "flags\t\t: fpu hypervisor sse\n";

class DoctorTest : public ::testing::Test {
 protected:
  void put(const std::string& file, std::string_view text) {
    std::filesystem::create_directories(root_.path(file).parent_path());
    root_.write(file, text);
  }
  void put_cpu(const std::string& file, std::string_view text) { put(kCpu + file, text); }
  void remove(const std::string& file) {
    ASSERT_TRUE(std::filesystem::remove_all(root_.path(file)));
  }

  // Two processors of one kind on which all is as it should be.
  void make_ideal() {
    put("proc/loadavg", "0.30 0.20 0.10 1/99 4711\n");
    put("proc/self/cgroup", "0::/a/b\n");
    put("proc/self/status", "Name:\tx\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n");
    put("proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2600.000\nflags\t\t: fpu sse\n");
    put("proc/meminfo", "MemTotal: 9 kB\nSwapTotal:     0 kB\nSwapFree:      0 kB\n");
    put("proc/sys/kernel/randomize_va_space", "2\n");
    put("proc/sys/kernel/perf_event_paranoid", "2\n");
    put("proc/sys/vm/swappiness", "60\n");
    put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/a/b/cpu.stat", "usage_usec 1\nnr_periods 0\nnr_throttled 0\n");
    put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    put("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    put("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm \n");
    put_cpu("online", "0-1\n");
    put_cpu("isolated", "\n");
    put_cpu("nohz_full", "(null)\n");
    put_cpu("smt/active", "0\n");
    put_cpu("intel_pstate/no_turbo", "1\n");
    put_cpu("vulnerabilities/one", "Mitigation: PTI\n");
    put_cpu("vulnerabilities/two", "Vulnerable\n");
    put_cpu("vulnerabilities/three", "Not affected\n");
    for (const std::string cpu : {"cpu0/", "cpu1/"}) {
      put_cpu(cpu + "cpufreq/scaling_governor", "performance\n");
      put_cpu(cpu + "thermal_throttle/core_throttle_count", "0\n");
      put_cpu(cpu + "thermal_throttle/package_throttle_count", "0\n");
      put_cpu(cpu + "cpu_capacity", "1024\n");
    }
    probes_.build_type = "Release";
    probes_.is_randomized = true;
    probes_.timer_slack_ns = 50'000;
    probes_.counter_error = 0;
  }

  std::vector<Check> all() const { return diagnose(root_.path(), probes_); }

  Check check(std::string_view name) const {
    const std::vector<Check> checks = all();
    const auto found = std::ranges::find(checks, name, &Check::name);
    if (found != checks.end()) return *found;
    ADD_FAILURE() << "no check " << name;
    return {};
  }

  // The check must have this state, say `found` among others, and advise exactly so.
  void expect(std::string_view name, CheckState state, std::string_view found,
              std::string_view advice = "") const {
    const Check is = check(name);
    EXPECT_EQ(is.state, state) << name << ": " << is.found;
    EXPECT_NE(is.found.find(found), std::string::npos) << name << ": " << is.found;
    EXPECT_EQ(is.advice, advice) << name;
  }

  // While the load is watched each processor has had so many ticks of user time, of idle time, half
  // of which it waited for a disk, and stolen. The sum, and what guests had, is not to be counted.
  void watch(std::vector<std::vector<int>> processors) {
    const auto write = [this, processors](int times) {
      std::string text = fmt::format("cpu  {} 2 3 4 5 6 7 8 9 10\n", 1 + times * 1000);
      for (std::size_t i = 0; i < processors.size(); ++i) {
        const int idle = times * processors[i][1] / 2;
        text +=
            fmt::format("cpu{} {} 0 50 {} {} 0 0 {} {} 0\n", i, 1000 + times * processors[i][0],
                        9000 + idle, 700 + idle, 30 + times * processors[i][2], 500 + times * 1000);
      }
      put("proc/stat", text + "intr 5 5\n");
    };
    write(0);
    probes_.load_seconds = 1;
    probes_.wait = [write](double seconds) {
      EXPECT_EQ(seconds, 1);
      write(1);
    };
  }

  Scratch root_;
  Probes probes_;
};

TEST_F(DoctorTest, WhereAllIsAsItShouldBeAllIsGood) {
  make_ideal();
  const std::vector<Check> checks = all();
  EXPECT_EQ(checks.size(), 17);
  for (const Check& check : checks) {
    EXPECT_EQ(check.state, kGood) << check.name << ": " << check.found;
    EXPECT_NE(check.found, "") << check.name;
    EXPECT_EQ(check.advice, "") << check.name;
  }
  EXPECT_EQ(grade(checks), 'A');
  EXPECT_EQ(grade_reasons(checks), "");
}

TEST_F(DoctorTest, WhereNothingCanBeReadAllIsUnknown) {
  for (const double seconds : {0.0, 1.0}) {
    probes_.load_seconds = seconds;
    probes_.wait = [](double) { FAIL() << "for nothing"; };
    const std::vector<Check> checks = all();
    EXPECT_EQ(checks.size(), 17);
    for (const Check& check : checks) {
      EXPECT_EQ(check.state, kUnknown) << check.name << ": " << check.found;
      EXPECT_NE(check.found, "") << check.name;
      EXPECT_EQ(check.advice, "") << check.name;
    }
    EXPECT_EQ(grade(checks), 'B');
  }
}

// As other kernels may have it: no crash, no answer made up.
// As a process's own, if it ends between the opening and the reading: the stream itself would throw.
TEST_F(DoctorTest, AFileThatOpensButCannotBeReadHasNoLine) {
  EXPECT_EQ(first_line("/proc"), std::nullopt);  // a folder
  EXPECT_EQ(field("/proc", "wchar"), std::nullopt);
}

TEST_F(DoctorTest, FilesWithoutSenseAreUnknown) {
  make_ideal();
  for (const char* file :
       {"proc/loadavg", "proc/self/status", "proc/meminfo", "proc/sys/kernel/randomize_va_space",
        "sys/kernel/mm/transparent_hugepage/enabled", "sys/devices/system/cpu/smt/active",
        "sys/devices/system/cpu/intel_pstate/no_turbo",
        "sys/devices/system/clocksource/clocksource0/current_clocksource"}) {
    put(file, "?]x[\n");
  }
  for (const char* name :
       {"load", "pinning", "swap", "aslr", "huge_pages", "smt", "turbo", "clock_source"}) {
    EXPECT_EQ(check(name).state, kUnknown) << name;
  }
}

TEST_F(DoctorTest, Build) {
  const char* advice = "cmake --preset release && cmake --build --preset release";
  probes_.build_type = "Debug";
  expect("build", kBad, "Debug", advice);
  probes_.build_type = "RelWithDebInfo";
  expect("build", kBad, "RelWithDebInfo", advice);
  probes_.build_type = "Release";
  expect("build", kGood, "Release");
  probes_.has_assertions = true;
  expect("build", kBad, "Release, with assertions", advice);
}

TEST_F(DoctorTest, LoadWithoutAWatchIsTheLessOfTheAverageAndOfNow) {
  const char* advice = "end what else is running; top names it";
  put("proc/loadavg", "1.80 1.00 1.00 3/99 4711\n");
  expect("load", kBad, "load average 1.8, 2 others running now", advice);
  put("proc/loadavg", "1.80 1.00 1.00 1/99 4711\n");  // a build that has ended
  expect("load", kGood, "0 others");
  put("proc/loadavg", "0.40 1.00 1.00 5/99 4711\n");  // by chance
  expect("load", kGood, "4 others");
  put("proc/loadavg", "0.00 0.00 0.00 0/0 0\n");
  expect("load", kGood, "0 others");
}

TEST_F(DoctorTest, LoadWatchedIsTheTimeOfAllProcessors) {
  const char* advice = "end what else is running; top names it";
  put("proc/loadavg", "1.80 1.00 1.00 3/99 4711\n");
  watch({{10, 90, 0}, {20, 80, 0}});
  expect("load", kGood, "0.30 processors busy for others during 1 s; load average 1.80");
  watch({{30, 70, 0}, {20, 60, 0}});
  expect("load", kBad, "0.55 processors", advice);
  watch({{10, 20, 70}});  // a neighbour
  expect("load", kBad, "0.80 processors", advice);
  std::filesystem::remove(root_.path("proc/loadavg"));
  watch({{0, 100, 0}, {0, 0, 0}});  // the second one is off
  expect("load", kGood, "0.00 processors busy for others during 1 s; load average unknown");
}

TEST_F(DoctorTest, AClockThatStandsWatchesNothing) {
  put("proc/loadavg", "1.80 1.00 1.00 3/99 4711\n");
  watch({{0, 0, 0}});
  expect("load", kBad, "load average 1.8, 2 others", "end what else is running; top names it");
}

TEST_F(DoctorTest, AtAGlanceOnlyLoadThatSeemsToBeThereIsWatched) {
  const auto glance = [&] {
    const std::vector<Check> checks = diagnose_at_a_glance(root_.path(""), probes_);
    return *std::ranges::find(checks, "load", &Check::name);
  };
  put("proc/loadavg", "1.80 1.00 1.00 3/99 4711\n");
  watch({{10, 90, 0}});
  EXPECT_EQ(glance().state, kGood);
  watch({{90, 10, 0}});
  EXPECT_EQ(glance().state, kBad);
  put("proc/loadavg", "0.00 0.00 0.00 1/99 4711\n");
  EXPECT_EQ(glance().state, kGood);
  EXPECT_EQ(glance().found, "load average 0, 0 others running now");
}

TEST_F(DoctorTest, CpuQuotaOfAnyGroupUpToTheRoot) {
  make_ideal();
  const std::string container = "; a container: start it without --cpus";
  put("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  put("sys/fs/cgroup/cpu.max", "190000 100000\n");
  expect("cpu_quota", kBad, "1.50 processors, throttled 0 times",
         "echo max | sudo tee /sys/fs/cgroup/a/cpu.max" + container);
  put("sys/fs/cgroup/cpu.max", "25000 50000\n");
  expect("cpu_quota", kBad, "0.50 processors",
         "echo max | sudo tee /sys/fs/cgroup/cpu.max" + container);
}

TEST_F(DoctorTest, CpuQuotaThatAllowsAllThereIs) {
  make_ideal();
  put("sys/fs/cgroup/a/b/cpu.max", "200000 100000\n");
  expect("cpu_quota", kGood, "2.00 processors");
  put("sys/fs/cgroup/a/b/cpu.stat", "nr_throttled 7\n");
  const Check throttled = check("cpu_quota");
  EXPECT_EQ(throttled.state, kBad);
  EXPECT_EQ(throttled.found, "2.00 processors, throttled 7 times");
  put("sys/fs/cgroup/a/b/cpu.stat", "nr_throttled 0\n");
  remove("proc/self/status");  // nobody knows how many there are
  EXPECT_EQ(check("cpu_quota").state, kBad);
}

TEST_F(DoctorTest, CpuQuotaWhereOnlyTheRootCanBeSeen) {
  put("proc/self/cgroup", "0::/../elsewhere\n");
  put("sys/fs/cgroup/cpu.stat", "usage_usec 1\n");  // the real root has no cpu.max
  expect("cpu_quota", kGood, "none");
}

TEST_F(DoctorTest, CpuQuotaOfVersion1) {
  put("proc/self/cgroup", "9:memory:/m\n4:cpu,cpuacct:/c\n0::/\n");
  put("sys/fs/cgroup/cpu/c/cpu.stat", "nr_throttled 0\n");
  put("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "-1\n");
  put("sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
  expect("cpu_quota", kGood, "none");
  put("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "50000\n");
  expect("cpu_quota", kBad, "0.50 processors",
         "echo -1 | sudo tee /sys/fs/cgroup/cpu/c/cpu.cfs_quota_us; "
         "a container: start it without --cpus");
  put("sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "0\n");
  expect("cpu_quota", kGood, "none");
}

TEST_F(DoctorTest, GovernorOfEveryProcessor) {
  make_ideal();
  put_cpu("cpu10/cpufreq/scaling_governor", "powersave\n");
  expect("governor", kBad, "performance, powersave", "sudo cpupower frequency-set -g performance");
  put_cpu("cpu10/cpufreq/scaling_governor", "userspace\n");
  expect("governor", kGood, "performance, userspace");
  for (const std::string changing : {"schedutil", "ondemand", "conservative"}) {
    put_cpu("cpu10/cpufreq/scaling_governor", changing);
    expect("governor", kBad, changing, "sudo cpupower frequency-set -g performance");
  }
}

TEST_F(DoctorTest, TurboInEachOfItsPlaces) {
  const auto advice = [](std::string_view off, std::string_view file) {
    return fmt::format("echo {} | sudo tee /{}{}", off, kCpu, file);
  };
  for (const std::string cpu : {"cpu0/", "cpu1/"}) put_cpu(cpu + "cpufreq/boost", "0\n");
  expect("turbo", kGood, "off");
  put_cpu("cpu1/cpufreq/boost", "1\n");
  expect("turbo", kBad, "on", advice("0", "cpu*/cpufreq/boost"));
  put_cpu("cpufreq/boost", "0\n");
  expect("turbo", kGood, "off");
  put_cpu("cpufreq/boost", "1\n");
  expect("turbo", kBad, "on", advice("0", "cpufreq/boost"));
  put_cpu("intel_pstate/no_turbo", "1\n");
  expect("turbo", kGood, "off");
  put_cpu("intel_pstate/no_turbo", "0\n");
  expect("turbo", kBad, "on", advice("1", "intel_pstate/no_turbo"));
}

TEST_F(DoctorTest, PinningIsToldWhereAllProcessorsAreOfOneKind) {
  make_ideal();
  EXPECT_EQ(check("pinning").found, "on 0-1, online 0-1");
  put_cpu("isolated", "1\n");
  put_cpu("nohz_full", "1,3-4\n");
  put("proc/self/status", "Cpus_allowed_list:\t1\n");
  expect("pinning", kGood,
         "on 1, online 0-1, isolated 1, nohz_full 1,3-4; threads of services take turns");
}

TEST_F(DoctorTest, PinningToOneKindOfProcessors) {
  const auto allow = [&](const std::string& list) {
    put("proc/self/status", "Cpus_allowed_list:\t" + list + "\n");
  };
  put_cpu("cpu0/cpu_capacity", "400\n");
  put_cpu("cpu1/cpu_capacity", "1024\n");
  put_cpu("cpu2/cpu_capacity", "1024\n");
  allow("0-2");
  expect("pinning", kBad, "cores of two kinds", "taskset -c 1,2 build/release/timerbench run ...");
  allow("1-2");
  EXPECT_EQ(check("pinning").state, kGood);
  allow("0");
  EXPECT_EQ(check("pinning").state, kGood);
  put("sys/devices/cpu_core/cpus", "0,2\n");  // Intel's own word comes first
  allow("0,2");
  EXPECT_EQ(check("pinning").state, kGood);
  allow("0-2");
  expect("pinning", kBad, "cores of two kinds", "taskset -c 0,2 build/release/timerbench run ...");
}

TEST_F(DoctorTest, ClockSource) {
  const std::string folder = "sys/devices/system/clocksource/clocksource0/";
  const auto offer = [&](const std::string& current, const std::string& available) {
    put(folder + "current_clocksource", current + "\n");
    put(folder + "available_clocksource", available + " \n");
  };
  for (const char* name : {"tsc", "kvm-clock", "arch_sys_counter"}) {
    offer(name, name);
    expect("clock_source", kGood, name);
  }
  for (const char* name : {"hpet", "acpi_pm"}) {
    offer(name, "tsc-early hpet acpi_pm");
    expect("clock_source", kBad, name,
           "the kernel does not offer the processor's own clock; dmesg says why");
    offer(name, "tsc hpet acpi_pm");
    expect("clock_source", kBad, name, "echo tsc | sudo tee /" + folder + "current_clocksource");
  }
  offer("sundial", "tsc sundial");
  expect("clock_source", kUnknown, "sundial");
}

TEST_F(DoctorTest, HypervisorByTheFlagOfTheProcessor) {
  const char* advice =
      "cannot be mended: neighbours take time unseen; compare figures of one run only";
  put("proc/cpuinfo", kHypervisorFlags);
  expect("hypervisor", kBad, "a virtual machine: nothing names it", advice);
  put("sys/class/dmi/id/product_name", "m5.large\n");
  expect("hypervisor", kBad, "m5.large", advice);
  put("proc/cpuinfo", "flags\t\t: fpu nohypervisor\n");
  put("sys/class/dmi/id/product_name", "KVM switch maker's server\n");
  expect("hypervisor", kGood, "none");
  put("sys/hypervisor/type", "xen\n");
  EXPECT_EQ(check("hypervisor").state, kBad);
}

TEST_F(DoctorTest, HypervisorByNameWhereProcessorsHaveNoSuchFlag) {
  put("proc/cpuinfo", "Features\t: fp asimd\n");
  expect("hypervisor", kUnknown, "name");
  const std::map<std::pair<std::string, std::string>, CheckState> machines = {
      {{"QEMU", "KVM Virtual Machine"}, kBad},
      {{"Google", "Google Compute Engine"}, kBad},
      {{"Amazon EC2", "m6g.large"}, kBad},
      {{"Amazon EC2", "m6g.metal"}, kGood},
      {{"Ampere", "Altra"}, kGood},
  };
  for (const auto& [name, state] : machines) {
    put("sys/class/dmi/id/sys_vendor", name.first + "\n");
    put("sys/class/dmi/id/product_name", name.second + "\n");
    EXPECT_EQ(check("hypervisor").state, state) << name.second;
  }
}

TEST_F(DoctorTest, AslrIsGoodWhenOn) {
  const std::string file = "proc/sys/kernel/randomize_va_space";
  const std::string advice = "echo 2 | sudo tee /" + file;
  put(file, "2\n");
  expect("aslr", kGood, "on");
  put(file, "1\n");
  expect("aslr", kBad, "off for the heap", advice);
  put(file, "0\n");
  expect("aslr", kBad, "off: ", advice);
  put(file, "2\n");
  probes_.is_randomized = false;
  expect("aslr", kBad, "off for this process", "start it without setarch -R or a debugger");
}

TEST_F(DoctorTest, Smt) {
  put_cpu("smt/active", "0\n");
  expect("smt", kGood, "off");
  put("proc/cpuinfo", kHypervisorFlags);
  expect("smt", kUnknown, "hypervisor");
  put_cpu("smt/active", "1\n");
  const std::string advice = "echo off | sudo tee /" + std::string(kCpu) + "smt/control";
  expect("smt", kBad, "on", advice);
  watch({{10, 90, 0}, {26, 74, 0}, {20, 80, 0}});
  expect("smt", kBad, "the busiest processor was 26 % busy", advice);
}

TEST_F(DoctorTest, Swap) {
  const auto have = [&](int free) {
    put("proc/meminfo",
        fmt::format("SwapCached: 1 kB\nSwapTotal: 4096000 kB\nSwapFree: {} kB\n", free));
  };
  have(2048000);
  expect("swap", kBad, "2000 of 4000 MB used", "sudo swapoff -a");
  have(4096000);
  expect("swap", kUnknown, "swappiness");
  put("proc/sys/vm/swappiness", "60\n");
  expect("swap", kBad, "unused, swappiness 60", "echo 0 | sudo tee /proc/sys/vm/swappiness");
  put("proc/sys/vm/swappiness", "10\n");
  expect("swap", kGood, "unused, swappiness 10");
}

TEST_F(DoctorTest, HugePages) {
  const std::string file = "sys/kernel/mm/transparent_hugepage/enabled";
  put(file, "[always] madvise never\n");
  expect("huge_pages", kBad, "always", "echo madvise | sudo tee /" + file);
  put(file, "always madvise [never]\n");
  expect("huge_pages", kGood, "never");
}

TEST_F(DoctorTest, ThrottlingOfAnyProcessorOrPackage) {
  const char* advice = "it slowed down when it was hot: cool it, or measure with turbo off";
  make_ideal();
  put_cpu("cpu1/thermal_throttle/core_throttle_count", "3\n");
  expect("throttling", kBad, "3 times", advice);
  put_cpu("cpu0/thermal_throttle/package_throttle_count", "12\n");
  expect("throttling", kBad, "12 times", advice);
}

TEST_F(DoctorTest, PerfCountersByErrorAndLevel) {
  const std::string file = "proc/sys/kernel/perf_event_paranoid";
  probes_.counter_error = 0;
  expect("perf_counters", kGood, "perf_event_paranoid unknown");
  put(file, "3\n");
  probes_.counter_error = EACCES;
  expect("perf_counters", kBad, fmt::format("errno {} (Permission denied), ", EACCES),
         "echo 2 | sudo tee /" + file);
  put(file, "2\n");
  probes_.counter_error = EPERM;
  expect("perf_counters", kBad, "perf_event_paranoid 2",
         "a container: start it with --cap-add PERFMON");
  probes_.counter_error = ENOENT;
  expect("perf_counters", kBad, "none",
         "cannot be mended: times cannot be explained by counts here");
}

TEST_F(DoctorTest, TimerSlack) {
  probes_.timer_slack_ns = 50'000;
  expect("timer_slack", kGood, "50 us");
  probes_.timer_slack_ns = 50'001;
  expect("timer_slack", kBad, "50.001 us", "echo 50000 | sudo tee /proc/$$/timerslack_ns");
}

TEST_F(DoctorTest, MitigationsAndFrequencyAreTold) {
  make_ideal();
  expect("mitigations", kGood, "1 in force, 1 vulnerabilities left open");
  expect("frequency", kGood, "processor 0 at 2600 MHz");
  put_cpu("cpu0/cpufreq/scaling_cur_freq", "1800000\n");
  put_cpu("cpu0/cpufreq/cpuinfo_min_freq", "800000\n");
  put_cpu("cpu0/cpufreq/cpuinfo_max_freq", "3900000\n");
  expect("frequency", kGood, "processor 0 at 1800 MHz, from 800 to 3900 possible");
}

char grade_of(std::vector<std::pair<CheckState, Weight>> findings) {
  std::vector<Check> checks = {{"x", kGood, "", "", Weight::fatal}};
  for (const auto& [state, weight] : findings) {
    checks.push_back({"x", state, "", "", weight});
  }
  return grade(checks);
}

TEST(GradeTest, FollowsFromTheGravestThatIsBad) {
  EXPECT_EQ(grade_of({}), 'A');
  EXPECT_EQ(grade_of({{kBad, Weight::slight}}), 'B');
  EXPECT_EQ(grade_of({{kBad, Weight::slight}, {kBad, Weight::slight}}), 'B');
  EXPECT_EQ(grade_of({{kBad, Weight::moderate}, {kBad, Weight::slight}}), 'C');
  EXPECT_EQ(grade_of({{kBad, Weight::moderate}, {kBad, Weight::moderate}}), 'D');
  EXPECT_EQ(grade_of({{kBad, Weight::severe}}), 'E');
  EXPECT_EQ(grade_of({{kBad, Weight::moderate}, {kBad, Weight::moderate}, {kBad, Weight::severe}}),
            'E');
  EXPECT_EQ(grade_of({{kBad, Weight::severe}, {kBad, Weight::severe}}), 'E');
  EXPECT_EQ(grade_of({{kBad, Weight::severe}, {kBad, Weight::fatal}}), 'F');
}

TEST(GradeTest, WhatIsUnknownIsNoA) {
  EXPECT_EQ(grade_of({{kUnknown, Weight::info}, {kUnknown, Weight::slight}}), 'A');
  for (const Weight weight : {Weight::moderate, Weight::severe, Weight::fatal}) {
    EXPECT_EQ(grade_of({{kUnknown, weight}}), 'B');
  }
  EXPECT_EQ(grade_of({{kUnknown, Weight::severe}, {kBad, Weight::moderate}}), 'C');
}

TEST_F(DoctorTest, GradeAndReasonsOfAWholeMachine) {
  make_ideal();
  const auto expect_grade = [&](char expected, const char* reasons) {
    const std::vector<Check> checks = all();
    EXPECT_EQ(grade(checks), expected);
    EXPECT_EQ(grade_reasons(checks), reasons);
  };
  probes_.counter_error = ENOENT;
  expect_grade('B', "perf_counters");
  put("proc/cpuinfo", kHypervisorFlags);
  expect_grade('C', "hypervisor; perf_counters");
  put_cpu("intel_pstate/no_turbo", "0\n");
  expect_grade('D', "turbo; hypervisor; perf_counters");
  put("proc/loadavg", "1.80 1.00 1.00 3/99 4711\n");
  expect_grade('E', "load; turbo; hypervisor; perf_counters");
  probes_.build_type = "Debug";
  expect_grade('F', "build; load; turbo; hypervisor; perf_counters");
}

TEST(WeightsTest, NameEveryCheckOnce) {
  const std::vector<std::string> lines = weights();
  EXPECT_EQ(lines.size(), 5);
  EXPECT_EQ(lines.front(), "fatal: build");
  EXPECT_EQ(lines[1], "severe: load, cpu_quota");
}

// On whatever machine this runs.
TEST(ProbesTest, WhatTheKernelTells) {
  const Probes probes = ask_kernel();
  EXPECT_NE(probes.build_type, "");
#ifdef NDEBUG
  EXPECT_FALSE(probes.has_assertions);
#else
  EXPECT_TRUE(probes.has_assertions);
#endif
  EXPECT_EQ(probes.load_seconds, 0);
  EXPECT_TRUE(probes.wait);
  EXPECT_TRUE(probes.counter_error.has_value());
  EXPECT_EQ(diagnose("/", probes).size(), 17);
}

}  // namespace
}  // namespace timerbench
