// A fake timerbench, for the tests of scripts/bench: it starts in a few milliseconds and measures
// nothing. Variables of the environment say how its backends behave:
//
//   ACTS=ring_512=crash,scan=slow   what each does; ring_512@other is the one of the other build
//   SOURCE                          how the paths of its files and of the backends' sources begin
//   KERNEL, REASONS, REMOTE, NO_ROOM, OTHER_TRACE, SECONDS_A_TRACE   what prepare() tells
//
// A copy with the word "other" at its end is another build.
#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using Json = nlohmann::ordered_json;  // backends keep their order
using Strings = std::vector<std::string>;

[[noreturn]] void fail(const std::string& text) {
  fmt::print(stderr, "timerbench: {}\n", text);
  std::exit(1);
}

[[noreturn]] void end_by(int signal) {
  raise(signal);
  std::abort();
}

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

std::string variable(const char* name, const std::string& otherwise = "") {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

std::string source(const std::string& name) { return variable("SOURCE") + name; }

Strings parts(const std::string& text, char separator) {
  Strings all;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    if (!part.empty()) all.push_back(part);
  }
  return all;
}

[[noreturn]] void hang() {
  std::ofstream(source("hanging.pid"), std::ios::app) << getpid() << '\n' << std::flush;
  sleep_for(1000);
  std::exit(1);
}

std::string ending_of_program() {
  std::ifstream program("/proc/self/exe", std::ios::binary);
  program.seekg(-5, std::ios::end);
  return {std::istreambuf_iterator<char>(program), {}};
}

std::size_t processors() {
  cpu_set_t usable;
  sched_getaffinity(0, sizeof(usable), &usable);
  return CPU_COUNT(&usable);
}

// The command line, with the defaults of the suite that it names.
class Fake {
 public:
  explicit Fake(Strings arguments) : arguments_(std::move(arguments)) {
    for (const auto& act : parts(variable("ACTS"), ',')) {
      const auto equals = act.find('=');
      acts_[act.substr(0, equals)] = act.substr(equals + 1);
    }
  }

  int run() const {
    const std::string& command = arguments_.at(0);
    if (command == "prepare") return prepare();
    if (command == "limits") return fmt::print("{{\"clock_ns\": 20}}\n"), 0;
    if (command == "verify") return verify();
    return measure();
  }

 private:
  std::string option(const std::string& name, const std::string& otherwise = "") const {
    for (const auto& argument : arguments_) {
      if (argument.starts_with(name + "=")) return argument.substr(name.size() + 1);
    }
    return otherwise;
  }

  static Strings listed(const std::string& chosen, const std::string& otherwise) {
    const Strings all = parts(chosen, ',');
    return all.empty() ? parts(otherwise, ',') : all;
  }

  static Strings in_digits(Strings sizes) {
    for (auto& size : sizes) {
      if (size.ends_with("k")) size.replace(size.size() - 1, 1, "000");
    }
    return sizes;
  }

  std::string act_of(const std::string& backend) const {
    const auto found = acts_.find(backend);
    return found == acts_.end() ? "" : found->second;
  }

  Strings cells(const std::string& workload, const std::string& size) const {
    Strings all;
    for (const auto& backend : backends_) {
      all.push_back(fmt::format("{}/{}/{}/{}", suite_, workload, size, backend));
    }
    return all;
  }

  int prepare() const {
    if (std::ranges::find(backends_, "nonsense") != backends_.end()) {
      fail("unknown backend 'nonsense'");
    }
    Json told = {
        {"suite", suite_},
        {"rounds", 2},
        {"granularity", 1},
        {"seed", 1},
        {"machine",
         {{"compiler", "C"},
          {"grade", "B"},
          {"grade_reasons", variable("REASONS")},
          {"processor", "Test 1000"},
          {"kernel", variable("KERNEL", "Linux 6")}}},
        {"kind", is_realtime_ ? "realtime" : "replays"},
        {"seconds", 0.5},
        {"replay_seconds", {{"local", 1}, {"remote", 1}}},
        {"inputs", workloads_.size() * sizes_.size()},
        {"sizes", Json::array()},
        {"backends", Json::object()},
    };
    for (std::size_t i = 0; i < workloads_.size(); ++i) {
      for (const auto& size : sizes_) told["sizes"].push_back(std::stoi(size));
    }
    for (const auto& backend : backends_) {
      told["backends"][backend] = {{"precision", is_realtime_ ? "granular" : "exact"},
                                   {"remote", backend == variable("REMOTE")},
                                   {"file", source(backend)}};
    }
    print_line(told);
    for (const auto& workload : workloads_) {
      for (const auto& size : sizes_) print_line(input(workload, size));
    }
    return 0;
  }

  static void print_line(const Json& line) {
    fmt::print("{}\n", line.dump());
    std::fflush(stdout);
  }

  Json input(const std::string& workload, const std::string& size) const {
    std::ofstream(source("preparing"));
    sleep_for(std::stod(variable("SECONDS_A_TRACE", "0")));
    Json line = {
        {"workload", workload}, {"size", std::stoi(size)}, {"cells", cells(workload, size)}};
    if (!variable("NO_ROOM").empty()) {
      line["failure"] = "error: cannot write churn.npy: No space left on device";
    } else if (!is_realtime_) {
      const bool differs = is_other_ && !variable("OTHER_TRACE").empty();
      line.update({{"hashes", {differs ? "abd" : "abc"}},
                   {"item", "insert"},
                   {"items", 10},
                   {"for", "both"}});
    }
    return line;
  }

  int verify() const {
    bool is_wrong = false;
    for (auto name = arguments_.begin() + 2; name < arguments_.end(); ++name) {
      const std::string act = act_of(*name);
      if (act == "crash_verify") end_by(SIGSEGV);
      if (act == "slow_verify") sleep_for(2);
      if (act == "hang_verify") hang();
      std::string said = "ok: 20 scenarios";
      if (act == "unverified") said = "WRONG: fired early";
      if (act == "crash_isolated") said = "ERROR: crash: SIGSEGV in random traces";
      fmt::print("{0}   ok: it says so itself\n{0}   {1}\n", *name, said);
      std::fflush(stdout);
      is_wrong |= act == "unverified" || act == "crash_isolated" || act == "odd_verify";
    }
    return is_wrong;
  }

  std::string chosen_cell() const {
    const std::regex filter(option("--benchmark_filter"));
    for (const auto& workload : workloads_) {
      for (const auto& size : sizes_) {
        for (const auto& cell : cells(workload, size)) {
          if (std::regex_search(cell + tail_, filter)) return cell;
        }
      }
    }
    fail("no such cell");
  }

  int measure() const {
    const std::string cell = chosen_cell();
    const Strings before = measured();
    const auto attempt = 1 + std::ranges::count(before, cell);
    std::ofstream(source("measured.log"), std::ios::app) << cell << '\n';
    const std::string act = act_of(parts(cell, '/')[3] + (is_other_ ? "@other" : ""));
    misbehave(act, attempt);
    const std::string out = option("--benchmark_out");
    const Json entry = entry_of(cell, act, attempt);
    std::ofstream(out) << Json{{"context", {{"num_cpus", 2}, {"grade", "E"}}},
                               {"benchmarks", {entry}}};
    if (is_realtime_) {
      const std::string stem = out.substr(0, out.rfind(".json"));
      std::ofstream(stem + ".distributions.json") << Json{{cell + tail_, {Json::object()}}};
    }
    return 0;
  }

  static Strings measured() {
    std::ifstream log(source("measured.log"));
    return parts({std::istreambuf_iterator<char>(log), {}}, '\n');
  }

  void misbehave(const std::string& act, std::ptrdiff_t attempt) const {
    if (act == "crash") end_by(SIGSEGV);
    if (act == "full") fail("cannot keep operations: No space left on device");
    if (act == "fills") fill_the_disk();
    if (act == "die") fail("something is odd");
    if (act == "hang" || (act == "hang_later" && attempt == 2)) hang();
    if (act == "kill" || (act == "killed_once" && attempt == 2)) end_by(SIGKILL);
    if (act == "eat") eat();
    if (act == "meets") meet(2 * attempt);
    while (act == "held" && !std::filesystem::exists(source("go"))) sleep_for(0.05);
    if (act == "slow") sleep_for(0.3);
    if (act == "slower") sleep_for(0.7);
  }

  // Writes more than there is room for.
  void fill_the_disk() const {
    std::signal(SIGXFSZ, SIG_IGN);
    const auto folder = std::filesystem::path(option("--benchmark_out")).parent_path();
    std::ofstream big(folder / "big", std::ios::binary);
    big << std::string(1'000'000, '\0') << std::flush;
    if (!big) fail(std::strerror(errno));
  }

  static void eat() {
    std::vector<std::unique_ptr<char[]>> memory;
    try {
      for (int i = 0; i < 10'000; ++i) {
        memory.push_back(std::make_unique_for_overwrite<char[]>(10'000'000));
      }
    } catch (const std::bad_alloc&) {
      fail("out of memory; choose a smaller size");
    }
  }

  // Ends when so many measurements have begun.
  static void meet(std::ptrdiff_t begun) {
    for (int i = 0; i < 100; ++i) {
      if (std::ssize(measured()) >= begun) return;
      sleep_for(0.05);
    }
    fail("nobody came");
  }

  Json entry_of(const std::string& cell, const std::string& act, std::ptrdiff_t attempt) const {
    Json entry = {{"name", cell + tail_},    {"run_name", cell + tail_},
                  {"run_type", "iteration"}, {"iterations", 1},
                  {"real_time", 1.0},        {"cpu_time", 1.0},
                  {"time_unit", "ns"},       {"items", 10.0}};
    const std::string failure = failure_of(act, attempt);
    entry.update(failure.empty() ? figures_of(cell, act, attempt)
                                 : Json{{"error_occurred", true}, {"error_message", failure}});
    return entry;
  }

  // "timeout_at_2_3" fails at the second attempt and at the third; so does "noisy_timeout_at_2_3",
  // whose other attempts are noisy.
  static std::string failure_of(const std::string& act, std::ptrdiff_t attempt) {
    if (act == "wrong_later" && attempt == 3) return "wrong: at last";
    if (act.starts_with("fails ")) return act.substr(6) + ": so it is";
    if (act.find("timeout_at_") == std::string::npos) return "";
    const Strings attempts = parts(act, '_');
    return std::ranges::count(attempts, std::to_string(attempt)) ? "timeout: too long" : "";
  }

  Json figures_of(const std::string& cell, const std::string& act, std::ptrdiff_t attempt) const {
    const std::string pass = option("--pass");
    const std::string label = "exact, per insert";
    if (pass == "tails") return {{"label", label}, {"worst_ns", 50.0}};
    if (pass == "memory") return {{"label", label}, {"bytes_per_timer", 16.0}};
    if (pass == "counters") return {{"label", label}, {"cycles_per_item", 12.0}};
    if (suite_ == "faults") {
      Json entry = {{"label", "keeps all, per timer"}, {"runs", 10.0}, {"acknowledged", 100.0}};
      for (const char* count :
           {"breaches", "no_starts", "not_back", "lossy", "lost", "fired_twice",
            "fired_without_acknowledgement", "fired_after_cancel", "failed_calls", "latest_seconds",
            "silent_seconds", "median_silent_seconds", "worst_seed", "latest_seed",
            "silent_seed"}) {
        entry[count] = 0.0;
      }
      return entry;
    }
    if (is_realtime_) {
      std::random_device random;
      const double noise = std::uniform_real_distribution(0.0, 1.0)(random);
      const bool is_noisy = cell.find("/10000/") != std::string::npos;
      return {{"label",
               act == "saturated" ? "granular, per request, saturated" : "granular, per request"},
              {"cpu_share", 0.029},
              {"lateness_p50_ns", 50.0},
              {"calls_per_second", 1e6},
              {"processors", processors()},
              {"cpu_ns_per_request", 100 * (1 + (is_noisy ? noise : 0))}};
    }
    const bool is_noisy = act.starts_with("noisy");  // most at its first attempt
    const double usual = is_other_ ? 2 : is_noisy ? static_cast<double>(attempt) : 1;
    const bool is_figure = !act.empty() && std::isdigit(static_cast<unsigned char>(act[0]));
    const bool waits = act == "waits" && (attempt == 15 || attempt == 16 || attempt == 18);
    const std::vector<double> away = {0.5, 0.1, 0.3};
    return {{"label", label},
            {"switches", 3.0},
            {"ns_per_item", is_figure ? std::stod(act) : usual},
            {"away_share", is_noisy ? away[static_cast<std::size_t>((attempt + 2) % 3)] : 0},
            {"memory_probe_ns", waits ? 200.0 : 80.0},
            {"disturbed", is_noisy ? 1.0 : 0.0},
            {"processors", processors()}};
  }

  Strings arguments_;
  std::map<std::string, std::string> acts_;
  bool is_other_ = ending_of_program() == "other";
  std::string suite_ = std::filesystem::path(option("--suite")).stem();
  bool is_realtime_ =
      suite_ == "accuracy" || suite_ == "contention" || suite_ == "purgatory" || suite_ == "faults";
  std::string tail_ = is_realtime_ ? "/iterations:1/manual_time" : "/manual_time";
  Strings backends_ =
      listed(option("--backends"), is_realtime_ ? "delay_queue,system_timer" : "scan,ring_512");
  Strings workloads_ = listed(option("--workloads"), is_realtime_ ? "low" : "fill");
  Strings sizes_ = in_digits(listed(option("--sizes"), is_realtime_ ? "1000,10000" : "10"));
};

}  // namespace

int main(int argc, char** argv) { return Fake(Strings(argv + 1, argv + argc)).run(); }
