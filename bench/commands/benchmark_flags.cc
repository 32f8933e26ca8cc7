#include "commands/benchmark_flags.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <utility>

#include "commands/errors.h"
#include "commands/numbers.h"
#include "system/output_file.h"
#include "trace/excerpt.h"

namespace timerbench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOutFlag = "--benchmark_out=";

// Returns what is wrong with a value; empty if it is right.
using ValueCheck = std::function<std::string(const std::string&)>;

ValueCheck one_of(std::vector<std::string> words) {
  return [words = std::move(words)](const std::string& text) {
    if (std::ranges::find(words, text) != words.end()) return std::string();
    return fmt::format("'{}' is not one of {}", text, fmt::join(words, ", "));
  };
}

std::string regex_problem(const std::string& text) try {
  const std::regex syntax_only(text.substr(text.starts_with('-')), std::regex::extended);
  return "";
} catch (const std::regex_error&) {
  return fmt::format("'{}' is not a regular expression", text);
}

struct Flag {
  std::string_view name;
  ValueCheck check{};  // empty: Google Benchmark checks it
};

// The flags of Google Benchmark 1.7.1.
const std::vector<Flag>& known_flags() {
  const auto seconds = [](const std::string& text) {
    return range_problem(text, 0.0, kMostSeconds);
  };
  const auto count = [](const std::string& text) { return range_problem(text, 1, 1'000'000); };
  const ValueCheck format = one_of({"console", "json", "csv"});
  static const std::vector<Flag> flags = {
      {"--benchmark_color"},
      {"--benchmark_context"},
      {"--benchmark_counters_tabular"},
      {"--benchmark_display_aggregates_only"},
      {"--benchmark_enable_random_interleaving"},
      {"--benchmark_filter", regex_problem},
      {"--benchmark_format", format},
      {"--benchmark_list_tests", one_of({"true", "false"})},
      {"--benchmark_min_time", seconds},
      {"--benchmark_min_warmup_time", seconds},
      {"--benchmark_out"},
      {"--benchmark_out_format", format},
      {"--benchmark_perf_counters"},
      {"--benchmark_repetitions", count},
      {"--benchmark_report_aggregates_only"},
      {"--benchmark_time_unit", one_of({"ns", "us", "ms", "s"})},
      {"--v"},
  };
  return flags;
}

// Google Benchmark writes NaN, which JSON lacks, for the relative deviation of a counter that is 0
// in all repetitions. Each member has its own line, and a text member ends with a quote.
std::string with_null_for_nan(const std::string& text) {
  static const std::regex nan(R"((": )-?NaN(,?)$)", std::regex::multiline);
  return std::regex_replace(text, nan, "$1null$2");
}

}  // namespace

bool any_begins(const std::vector<std::string>& flags, std::string_view prefix) {
  return std::ranges::any_of(flags, [&](const auto& flag) { return flag.starts_with(prefix); });
}

std::vector<std::string_view> benchmark_flag_names() {
  std::vector<std::string_view> names;
  for (const Flag& flag : known_flags()) names.push_back(flag.name);
  return names;
}

void check_benchmark_flags(const std::vector<std::string>& flags) {
  std::set<std::string> given;
  for (const std::string& flag : flags) {
    const std::size_t equals = std::min(flag.find('='), flag.size());
    if (!given.insert(flag.substr(0, equals)).second) {
      throw UsageError(fmt::format("{} is given twice", flag.substr(0, equals)));
    }
    if (printable(flag) != flag) throw UsageError(fmt::format("{}: write it in ASCII", flag));
    for (const auto& [name, check] : known_flags()) {
      if (flag.substr(0, equals) != name || !check) continue;
      // Google Benchmark reads --FLAG without a value as --FLAG=true.
      const std::string problem =
          check(equals < flag.size() ? flag.substr(equals + 1) : std::string("true"));
      if (!problem.empty()) throw UsageError(fmt::format("{}: {}", name, problem));
    }
  }
}

void initialize_benchmark(const std::vector<std::string>& flags) {
  static std::vector<std::string> arguments;  // Google Benchmark keeps the first for its context
  arguments = {"timerbench"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  benchmark::Initialize(&argc, argv.data());
  if (argc > 1) {
    throw UsageError(fmt::format("'{}' is not understood; see 'timerbench run --help'", argv[1]));
  }
}

ResultFile::ResultFile(std::vector<std::string>& flags)
    : is_json_(!any_begins(flags, "--benchmark_out_format=") ||
               any_begins(flags, "--benchmark_out_format=json")) {
  const auto flag =
      std::ranges::find_if(flags, [](const std::string& f) { return f.starts_with(kOutFlag); });
  if (flag == flags.end()) return;
  path_ = flag->substr(kOutFlag.size());
  std::error_code ignored;
  const auto status = fs::status(path_, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw FileError(fmt::format("{}: is not a regular file; choose another name", path()));
  }
  path_ = follow_links(path_);
  if (!std::ofstream(partial())) {
    throw FileError(
        fmt::format("{}: cannot be written; choose a folder that exists and is yours", path()));
  }
  *flag = std::string(kOutFlag) + partial();
}

ResultFile::~ResultFile() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove(partial(), ignored);  // does not exist if it was kept
}

void ResultFile::keep() const {
  if (path_.empty()) return;
  std::ifstream written(partial(), std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(written), {});
  if (is_json_) text = with_null_for_nan(text);
  const bool is_complete = is_json_ ? nlohmann::json::accept(text) : text.ends_with('\n');
  if (!is_complete) {
    throw std::runtime_error(
        fmt::format("{}: could not be written completely; is the disk full?", path()));
  }
  OutputFile file(path_);
  file.write(text);
  file.sync();
  file.commit();
}

std::string ResultFile::partial() const { return fmt::format("{}.{}.partial", path(), getpid()); }

}  // namespace timerbench
