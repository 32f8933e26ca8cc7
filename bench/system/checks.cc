#include "system/checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "system/kernel_files.h"

namespace timerbench {
namespace {

namespace fs = std::filesystem;

constexpr double kMostLoad = 0.5;          // of other programs, in processors
constexpr long long kMostSwappiness = 10;  // above it the kernel swaps with memory left
constexpr std::uint64_t kUsualSlackNs = 50'000;

Finding good(std::string found) { return {CheckState::good, std::move(found)}; }

Finding bad(std::string found, std::string advice) {
  return {CheckState::bad, std::move(found), std::move(advice)};
}

Finding unknown(std::string_view what) {
  return {CheckState::unknown, fmt::format("{} cannot be read", what)};
}

// The file's path on the real machine.
std::string name_of(const Machine& machine, const fs::path& file) {
  return fmt::format("/{}", file.lexically_relative(machine.root).string());
}

std::optional<std::string> allowed_processors(const Machine& machine) {
  return field(machine.root / "proc/self/status", "Cpus_allowed_list");
}

bool is_virtual_x86(const Machine& machine) {
  const auto flags = field(machine.root / "proc/cpuinfo", "flags");
  return flags && fmt::format(" {} ", *flags).find(" hypervisor ") != std::string::npos;
}

// The checks, in the order of kRows below.

Finding build(const Machine& machine) {
  if (machine.probes.build_type.empty()) return unknown("CMake's build type");
  const bool asserts = machine.probes.has_assertions;
  const std::string found = machine.probes.build_type + (asserts ? ", with assertions" : "");
  if (machine.probes.build_type == "Release" && !asserts) return good(found);
  return bad(found, "cmake --preset release && cmake --build --preset release");
}

// Watching shows the load of other programs now. Without it, the average of a minute may include a
// build or run that has ended, and the count at this instant may be chance; so take the smaller
// one.
Finding load(const Machine& machine) {
  const auto line = first_line(machine.root / "proc/loadavg");
  const std::string advice = "end what else is running; top names it";
  if (machine.load) {
    const double others = machine.load->of_all;
    const std::string found = fmt::format(
        "{:.2f} processors busy for others during {} s; load average {}", others,
        machine.probes.load_seconds, line ? line->substr(0, line->find(' ')) : "unknown");
    return others > kMostLoad ? bad(found, advice) : good(found);
  }
  double average = 0;
  int running = 0;  // this program is one of them
  if (!line || std::sscanf(line->c_str(), "%lf %*f %*f %d/", &average, &running) != 2) {
    return unknown("/proc/loadavg");
  }
  const int others = std::max(running - 1, 0);
  const std::string found = fmt::format("load average {}, {} others running now", average, others);
  return std::min(average, static_cast<double>(others)) > kMostLoad ? bad(found, advice)
                                                                    : good(found);
}

struct Quota {
  double processors;
  fs::path file;
  std::string_view none;  // writing this removes the quota
};

// Nothing if the group has no quota.
std::optional<Quota> quota_of(const fs::path& group) {
  long long micros = 0;
  long long period = 0;
  const auto both = first_line(group / "cpu.max");  // "150000 100000", or "max 100000"
  if (both) {
    if (std::sscanf(both->c_str(), "%lld %lld", &micros, &period) != 2) return std::nullopt;
  } else {  // version 1; -1 means none
    micros = number(first_line(group / "cpu.cfs_quota_us")).value_or(-1);
    period = number(first_line(group / "cpu.cfs_period_us")).value_or(0);
  }
  if (micros < 0 || period <= 0) return std::nullopt;
  return Quota{static_cast<double>(micros) / static_cast<double>(period),
               group / (both ? "cpu.max" : "cpu.cfs_quota_us"), both ? "max" : "-1"};
}

// Finds the smallest quota of the groups that bind this process.
Finding cpu_quota(const Machine& machine) {
  std::optional<Quota> least;
  long long throttled = 0;
  bool is_readable = false;  // the root of version 2 has no cpu.max
  for (const fs::path& group : control_groups(machine.root, "cpu")) {
    std::error_code error;
    is_readable = is_readable || fs::exists(group / "cpu.stat", error);
    throttled = std::max(throttled, number(field(group / "cpu.stat", "nr_throttled")).value_or(0));
    const auto quota = quota_of(group);
    if (quota && (!least || quota->processors < least->processors)) least = quota;
  }
  if (!least) return is_readable ? good("none") : unknown("cpu.max of the control group");
  const std::string found =
      fmt::format("{:.2f} processors, throttled {} times", least->processors, throttled);
  const std::size_t allowed = processor_list(allowed_processors(machine)).size();
  // A quota as large as the allowed processors has no effect.
  if (allowed > 0 && least->processors >= static_cast<double>(allowed) && throttled == 0) {
    return good(found);
  }
  return bad(found, fmt::format("echo {} | sudo tee {}; a container: start it without --cpus",
                                least->none, name_of(machine, least->file)));
}

Finding governor(const Machine& machine) {
  std::set<std::string> governors;
  for (const auto& [processor, line] :
       of_each_processor(machine.cpu(""), "cpufreq/scaling_governor")) {
    governors.insert(line);
  }
  if (governors.empty()) return unknown("/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor");
  const std::string found = fmt::format("{}", fmt::join(governors, ", "));
  // `userspace` keeps a frequency that somebody has set.
  const bool all_steady = std::ranges::all_of(
      governors, [](const auto& name) { return name == "performance" || name == "userspace"; });
  return all_steady ? good(found) : bad(found, "sudo cpupower frequency-set -g performance");
}

Finding turbo(const Machine& machine) {
  const auto judge = [](bool is_on, std::string_view off, std::string_view file) {
    return is_on ? bad("on: the frequency depends on heat and on the other cores",
                       fmt::format("echo {} | sudo tee {}", off, file))
                 : good("off");
  };
  if (const auto off = number(first_line(machine.cpu("intel_pstate/no_turbo")))) {
    return judge(*off == 0, "1", "/sys/devices/system/cpu/intel_pstate/no_turbo");
  }
  if (const auto on = number(first_line(machine.cpu("cpufreq/boost")))) {
    return judge(*on != 0, "0", "/sys/devices/system/cpu/cpufreq/boost");
  }
  const auto each = of_each_processor(machine.cpu(""), "cpufreq/boost");
  if (each.empty()) return unknown("intel_pstate/no_turbo or cpufreq/boost");
  const bool any_on = std::ranges::any_of(each, [](const auto& one) { return one.second != "0"; });
  return judge(any_on, "0", "/sys/devices/system/cpu/cpu*/cpufreq/boost");
}

// On a machine with fast and slow cores the kernel moves a program between them, and no figure
// holds for both. Otherwise it is better not to pin, since services have threads.
Finding pinning(const Machine& machine) {
  const auto allowed = allowed_processors(machine);
  if (!allowed) return unknown("Cpus_allowed_list of /proc/self/status");
  std::string found = "on " + *allowed;
  const auto tell = [&](std::string_view what, const std::optional<std::string>& list) {
    if (!processor_list(list).empty()) found += fmt::format(", {} {}", what, *list);
  };
  tell("online", first_line(machine.cpu("online")));
  tell("isolated", first_line(machine.cpu("isolated")));
  tell("nohz_full", first_line(machine.cpu("nohz_full")));
  const std::set<int> own = processor_list(allowed);
  if (own.size() == 1) found += "; threads of services take turns";

  // Intel lists the fast cores; ARM gives each processor's capacity.
  std::set<int> fast = processor_list(first_line(machine.root / "sys/devices/cpu_core/cpus"));
  if (fast.empty()) {
    long long most = 0;
    for (const auto& [processor, line] : of_each_processor(machine.cpu(""), "cpu_capacity")) {
      const long long capacity = number(line).value_or(0);
      if (capacity > most) fast.clear();
      most = std::max(most, capacity);
      if (capacity == most) fast.insert(processor);
    }
  }
  const auto is_fast = [&](int processor) { return fast.contains(processor); };
  if (std::ranges::none_of(own, is_fast) || std::ranges::all_of(own, is_fast)) return good(found);
  return bad(found + ": cores of two kinds",
             fmt::format("taskset -c {} build/release/timerbench run ...", fmt::join(fast, ",")));
}

Finding clock_source(const Machine& machine) {
  const fs::path folder = machine.root / "sys/devices/system/clocksource/clocksource0";
  const auto source = first_line(folder / "current_clocksource");
  if (!source) return unknown("current_clocksource");
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, *source) != names.end();
  };
  if (is_one_of({"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter",
                 "riscv_clocksource", "timebase", "tod"})) {
    return good(*source);
  }
  if (!is_one_of({"hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies", "xen",
                  "hyperv_clocksource_msr"})) {
    return {CheckState::unknown, *source + ": what a read of it costs is not known here"};
  }
  const auto others = first_line(folder / "available_clocksource");
  const bool has_tsc = fmt::format(" {} ", others.value_or("")).find(" tsc ") != std::string::npos;
  return bad(*source + ": each read of the clock takes long",
             has_tsc ? "echo tsc | sudo tee " + name_of(machine, folder / "current_clocksource")
                     : "the kernel does not offer the processor's own clock; dmesg says why");
}

// Whether this is the name of a virtual machine. Amazon also rents real ones, whose type is metal.
bool is_virtual_name(const std::string& name) {
  constexpr std::string_view kVirtual[] = {
      "KVM", "QEMU", "VMware", "VirtualBox", "Virtual Machine", "Xen", "BHYVE", "Google"};
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  return std::ranges::any_of(kVirtual, has) || (has("Amazon") && !has("metal"));
}

// On x86 a flag shows a hypervisor; on other processors only names do.
Finding hypervisor(const Machine& machine) {
  const fs::path dmi = machine.root / "sys/class/dmi/id";
  const std::string name = fmt::format("{} {}", first_line(dmi / "sys_vendor").value_or(""),
                                       first_line(dmi / "product_name").value_or(""));
  const bool has_name = name != " ";
  const auto type = first_line(machine.root / "sys/hypervisor/type");
  const bool is_x86 = field(machine.root / "proc/cpuinfo", "flags").has_value();
  if (type || (is_x86 ? is_virtual_x86(machine) : is_virtual_name(name))) {
    return bad("a virtual machine: " + (has_name ? name : type.value_or("nothing names it")),
               "cannot be mended: neighbours take time unseen; compare figures of one run only");
  }
  if (is_x86) return good("none");
  return has_name ? good("none known: " + name) : unknown("the machine's name");
}

// Every round is a process of its own, so random layouts are sampled. Without them one layout
// decides.
Finding aslr(const Machine& machine) {
  const auto level = number(first_line(machine.root / "proc/sys/kernel/randomize_va_space"));
  if (machine.probes.is_randomized == false) {
    return bad("off for this process: every round has the same layout",
               "start it without setarch -R or a debugger");
  }
  if (!level) return unknown("/proc/sys/kernel/randomize_va_space");
  if (*level >= 2) return good("on: rounds sample layouts");
  return bad(*level == 0 ? "off: every round has the same layout" : "off for the heap",
             "echo 2 | sudo tee /proc/sys/kernel/randomize_va_space");
}

Finding smt(const Machine& machine) {
  const auto active = number(first_line(machine.cpu("smt/active")));
  if (!active) return unknown("/sys/devices/system/cpu/smt/active");
  if (*active == 0 && is_virtual_x86(machine)) {
    return {CheckState::unknown, "no siblings told, but a hypervisor may hide them"};
  }
  if (*active == 0) return good("off, or no siblings");
  std::string found = "on: two threads may share a core";
  if (machine.load) {
    found +=
        fmt::format("; the busiest processor was {:.0f} % busy", machine.load->of_busiest * 100);
  }
  return bad(found, "echo off | sudo tee /sys/devices/system/cpu/smt/control");
}

Finding swap(const Machine& machine) {
  const auto total = number(field(machine.root / "proc/meminfo", "SwapTotal"));  // kB
  const auto free = number(field(machine.root / "proc/meminfo", "SwapFree"));
  if (!total || !free) return unknown("SwapTotal and SwapFree of /proc/meminfo");
  if (*total == 0) return good("none");
  if (*total > *free) {
    return bad(fmt::format("{} of {} MB used", (*total - *free) / 1024, *total / 1024),
               "sudo swapoff -a");
  }
  const auto swappiness = number(first_line(machine.root / "proc/sys/vm/swappiness"));
  if (!swappiness) return unknown("/proc/sys/vm/swappiness");
  const std::string found = fmt::format("unused, swappiness {}", *swappiness);
  return *swappiness > kMostSwappiness ? bad(found, "echo 0 | sudo tee /proc/sys/vm/swappiness")
                                       : good(found);
}

// With `always` chance decides which memory gets huge pages.
Finding huge_pages(const Machine& machine) {
  const auto modes = first_line(machine.root / "sys/kernel/mm/transparent_hugepage/enabled");
  if (!modes) return unknown("/sys/kernel/mm/transparent_hugepage/enabled");
  const auto is_chosen = [&](std::string_view mode) {
    return modes->find(fmt::format("[{}]", mode)) != std::string::npos;
  };
  for (const char* mode : {"madvise", "never"}) {
    if (is_chosen(mode)) return good(mode);
  }
  if (!is_chosen("always")) return unknown("the mode in: " + *modes);
  return bad("always: chance decides which memory gets them",
             "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled");
}

// Takes the maximum: neighbouring processors count the same events, so adding would count them
// twice.
Finding throttling(const Machine& machine) {
  std::optional<long long> most;
  for (const char* file : {"core_throttle_count", "package_throttle_count"}) {
    for (const auto& [processor, line] :
         of_each_processor(machine.cpu(""), std::string("thermal_throttle/") + file)) {
      if (const auto count = number(line)) most = std::max(most.value_or(0), *count);
    }
  }
  if (!most) return unknown("/sys/devices/system/cpu/cpu*/thermal_throttle");
  if (*most == 0) return good("never since the start");
  return bad(fmt::format("{} times since the start", *most),
             "it slowed down when it was hot: cool it, or measure with turbo off");
}

Finding perf_counters(const Machine& machine) {
  const auto error = machine.probes.counter_error;
  if (!error) return unknown("whether perf_event_open works");
  const auto paranoid = number(first_line(machine.root / "proc/sys/kernel/perf_event_paranoid"));
  const std::string level = paranoid ? std::to_string(*paranoid) : "unknown";
  if (*error == 0) return good("available, perf_event_paranoid " + level);
  const std::string found = fmt::format("none: errno {} ({}), perf_event_paranoid {}", *error,
                                        std::strerror(*error), level);
  if (*error != EACCES && *error != EPERM) {
    return bad(found, "cannot be mended: times cannot be explained by counts here");
  }
  // Above 2, a level that some distributions have added, only root may count.
  return bad(found, paranoid.value_or(0) > 2
                        ? "echo 2 | sudo tee /proc/sys/kernel/perf_event_paranoid"
                        : "a container: start it with --cap-add PERFMON");
}

// Applies to sleeps that do not set their own slack.
Finding timer_slack(const Machine& machine) {
  const auto slack = machine.probes.timer_slack_ns;
  if (!slack) return unknown("PR_GET_TIMERSLACK");
  const double micros = static_cast<double>(*slack) / 1000;
  if (*slack > kUsualSlackNs) {
    return bad(fmt::format("{} us: sleeps end so much later", micros),
               "echo 50000 | sudo tee /proc/$$/timerslack_ns");
  }
  return good(fmt::format("{} us; services that wait by nanosleep set their own", micros));
}

Finding mitigations(const Machine& machine) {
  int in_force = 0;
  int open = 0;
  std::error_code error;
  const fs::path folder = machine.cpu("vulnerabilities");
  if (!fs::is_directory(folder, error)) return unknown("/sys/devices/system/cpu/vulnerabilities");
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string line = first_line(entry).value_or("");
    in_force += line.starts_with("Mitigation") ? 1 : 0;
    open += line.starts_with("Vulnerable") ? 1 : 0;
  }
  return good(fmt::format("{} in force, {} vulnerabilities left open", in_force, open));
}

Finding frequency(const Machine& machine) {
  const auto mhz = [&](std::string_view file) {
    return number(first_line(machine.cpu("cpu0/cpufreq") / file)).value_or(0) / 1000;
  };
  if (const long long now = mhz("scaling_cur_freq"); now > 0) {
    return good(fmt::format("processor 0 at {} MHz, from {} to {} possible", now,
                            mhz("cpuinfo_min_freq"), mhz("cpuinfo_max_freq")));
  }
  const auto told = number(field(machine.root / "proc/cpuinfo", "cpu MHz"));
  if (!told) return unknown("scaling_cur_freq, and cpu MHz of /proc/cpuinfo,");
  return good(fmt::format("processor 0 at {} MHz", *told));
}

constexpr Row kRows[] = {
    {"build", Weight::fatal, build},
    {"load", Weight::severe, load},
    {"cpu_quota", Weight::severe, cpu_quota},
    {"governor", Weight::moderate, governor},
    {"turbo", Weight::moderate, turbo},
    {"pinning", Weight::moderate, pinning},
    {"clock_source", Weight::moderate, clock_source},
    {"hypervisor", Weight::moderate, hypervisor},
    {"aslr", Weight::moderate, aslr},
    {"smt", Weight::slight, smt},
    {"swap", Weight::slight, swap},
    {"huge_pages", Weight::slight, huge_pages},
    {"throttling", Weight::slight, throttling},
    {"perf_counters", Weight::slight, perf_counters},
    {"timer_slack", Weight::slight, timer_slack},
    {"mitigations", Weight::info, mitigations},
    {"frequency", Weight::info, frequency},
};

}  // namespace

std::span<const Row> rows() { return kRows; }

}  // namespace timerbench
