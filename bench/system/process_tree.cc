#include "system/process_tree.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "system/entries.h"
#include "system/kernel_files.h"

namespace timerbench {
namespace {

struct Process {
  pid_t parent = 0;
  double cpu_seconds = 0;
};

// The fields of the file `stat` behind the name, which may hold spaces; see proc(5). Empty if there
// is no such process or thread any more.
std::istringstream fields_of_stat(const std::filesystem::path& folder) {
  const std::string text = first_line(folder / "stat").value_or("");
  const std::size_t end_of_name = text.rfind(')');
  return std::istringstream(end_of_name == text.npos ? "" : text.substr(end_of_name + 1));
}

Process read_stat(const std::filesystem::path& folder) {
  std::istringstream fields = fields_of_stat(folder);
  std::string state;
  Process process;
  fields >> state >> process.parent;
  constexpr int kFieldsBetween = 9;  // 5 to 13
  std::string skipped;
  for (int i = 0; i < kFieldsBetween; ++i) fields >> skipped;
  long long user = 0, system = 0, user_of_children = 0, system_of_children = 0;
  fields >> user >> system >> user_of_children >> system_of_children;
  process.cpu_seconds = static_cast<double>(user + system + user_of_children + system_of_children) /
                        static_cast<double>(sysconf(_SC_CLK_TCK));
  return process;
}

// Pss: a shared page counts in parts that add up.
std::uint64_t proportional_bytes(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/smaps_rollup", process));
  for (std::string word; file >> word;) {
    std::uint64_t kilobytes = 0;
    if (word == "Pss:" && file >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

// The number after `name` in /proc/PID/task/TID/status.
std::uint64_t number_in_status(const std::filesystem::path& thread, std::string_view name) {
  std::ifstream file(thread / "status");
  std::uint64_t number = 0;
  for (std::string word; file >> word;) {
    if (word == name && file >> number) break;
  }
  return number;
}

void add_threads(pid_t process, ProcessTreeUsage& usage) {
  for_each_entry(fmt::format("/proc/{}/task", process), [&](const auto& thread) {
    usage.wakeups += number_in_status(thread.path(), "voluntary_ctxt_switches:");
    double on_processor_ns = 0;
    std::ifstream(thread.path() / "schedstat") >> on_processor_ns;
    usage.living_cpu_seconds += on_processor_ns * 1e-9;
  });
}

// By their numbers: all processes, and those of trees.
std::map<pid_t, Process> all_processes() {
  std::map<pid_t, Process> all;
  for_each_entry("/proc", [&](const auto& entry) {
    const std::string name = entry.path().filename();
    pid_t process = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (error == std::errc{} && end == name.data() + name.size()) {
      all[process] = read_stat(entry.path());
    }
  });
  return all;
}

std::map<pid_t, Process> trees(const std::vector<pid_t>& roots) {
  const std::map<pid_t, Process> all = all_processes();
  const auto is_root = [&](pid_t one) {
    return one > 1 && std::ranges::find(roots, one) != roots.end();
  };
  std::map<pid_t, Process> found;
  for (const auto& [process, facts] : all) {
    pid_t ancestor = process;
    while (!is_root(ancestor) && ancestor > 1 && all.contains(ancestor)) {
      ancestor = all.at(ancestor).parent;
    }
    if (is_root(ancestor)) found.emplace(process, facts);
  }
  return found;
}

// Those that live, and those that have ended and were not waited for.
std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  if (!std::filesystem::exists("/proc/thread-self/children")) {  // without CONFIG_PROC_CHILDREN
    for (const auto& [other, facts] : all_processes()) {
      if (facts.parent == process) children.push_back(other);
    }
  }
  for_each_entry(fmt::format("/proc/{}/task", process), [&](const auto& thread) {
    std::ifstream file(thread.path() / "children");
    for (pid_t child = 0; file >> child;) children.push_back(child);
  });
  return children;
}

// Stops all descendants that are not in `stopped`, and adds them. Returns whether there were any. A
// stopped process starts no other, and keeps its number: so at the latest when there are no more
// numbers, none is new. Each is stopped as soon as it is found, for it may only live until it has
// started the next.
bool stop_descendants(pid_t process, std::set<pid_t>& stopped) {
  bool is_any_new = false;
  for (const pid_t child : children_of(process)) {
    if (stopped.insert(child).second) {
      kill(child, SIGSTOP);
      is_any_new = true;
    }
    is_any_new |= stop_descendants(child, stopped);
  }
  return is_any_new;
}

}  // namespace

std::vector<pid_t> processes_of_trees(const std::vector<pid_t>& roots) {
  std::vector<pid_t> processes;
  for (const auto& [process, facts] : trees(roots)) processes.push_back(process);
  return processes;
}

bool are_stopped(const std::vector<pid_t>& processes) {
  constexpr std::string_view kStopped = "TtZXx";
  bool are_stopped = true;
  for (const pid_t process : processes) {
    for_each_entry(fmt::format("/proc/{}/task", process), [&](const auto& thread) {
      char state = 'X';
      fields_of_stat(thread.path()) >> state;
      are_stopped &= kStopped.find(state) != kStopped.npos;
    });
  }
  return are_stopped;
}

bool stop_trees(const std::vector<pid_t>& roots, std::chrono::nanoseconds patience) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  std::vector<pid_t> before, stopped;
  do {
    if (std::chrono::steady_clock::now() >= give_up) return false;
    before = std::exchange(stopped, signal_trees(roots, SIGSTOP));
  } while (stopped != before || !are_stopped(stopped));
  return true;
}

std::vector<pid_t> signal_trees(const std::vector<pid_t>& roots, int signal) {
  std::vector<pid_t> processes = processes_of_trees(roots);
  for (const pid_t process : processes) kill(process, signal);
  return processes;
}

ProcessTreeUsage usage_of_trees(const std::vector<pid_t>& roots) {
  ProcessTreeUsage usage;
  for (const auto& [process, facts] : trees(roots)) {
    usage.cpu_seconds += facts.cpu_seconds;
    usage.bytes += proportional_bytes(process);
    add_threads(process, usage);
    ++usage.processes;
  }
  return usage;
}

std::uint64_t bytes_written(pid_t process) {
  const std::string file = fmt::format("/proc/{}/io", process);
  const auto by_calls = number(field(file, "wchar")).value_or(0);
  const auto to_disk = number(field(file, "write_bytes")).value_or(0);
  return static_cast<std::uint64_t>(std::max(by_calls, to_disk));
}

void end_descendants() {
  do {
    std::set<pid_t> stopped;
    while (stop_descendants(getpid(), stopped)) continue;
    for (const pid_t process : stopped) kill(process, SIGKILL);
    while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
  } while (waitpid(-1, nullptr, 0) > 0);
}

}  // namespace timerbench
