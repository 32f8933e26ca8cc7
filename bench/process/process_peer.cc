#include "process/process_peer.h"

#include <fmt/core.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <string_view>
#include <utility>

#include "system/output_file.h"
#include "system/temporary_folder.h"
#include "trace/excerpt.h"
#include "trace/line_reader.h"

namespace timerbench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr ProcessPeer::Seconds kToDescribe{20};
constexpr std::size_t kLeastReplays = 3;

// A row of fires has at most 20 + 10 + 20 digits, two commas and an end.
constexpr std::uint64_t kLongestRow = 53;
constexpr std::uint64_t kOwnFileBytes = std::uint64_t{64} << 20;  // that it may write for itself

constexpr std::string_view kFiresHeader = "now,id,deadline";

// What the slowest language takes to start, and to read and replay so many operations.
ProcessPeer::Seconds usual_time(std::size_t ops) {
  return ProcessPeer::Seconds(10 + 20e-6 * static_cast<double>(ops));
}

std::vector<std::string> shell(const std::string& command, std::vector<std::string> arguments) {
  // The name is the shell's in its messages.
  std::vector<std::string> all{"/bin/sh", "-c", command + R"( "$@")", "sh"};
  std::ranges::move(arguments, std::back_inserter(all));
  return all;
}

// A JSON object on one line. Throws ProgramFailure.
json parse_object(const std::string& line, std::string_view wanted) {
  json object = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (object.is_object()) return object;
  throw ProgramFailure(
      fmt::format("error: it prints {} where {} is expected", excerpt(line), wanted));
}

[[noreturn]] void lacks(std::string_view line, const char* key, std::string_view kind) {
  throw ProgramFailure(fmt::format("error: \"{}\" of its {} is not {}", key, line, kind));
}

ToldReplay parse_replay(const std::string& line) {
  const json object = parse_object(line, "a JSON object for a replay");
  const auto number = [&](const char* key) -> std::uint64_t {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number_unsigned())
      lacks("replay", key, "a whole number");
    return found->get<std::uint64_t>();
  };
  return {.elapsed_ns = number("elapsed_ns"),
          .fired = number("fired"),
          .cancelled = number("cancelled"),
          .pending = number("pending")};
}

// Throws ProgramFailure.
WrittenFire parse_fire(const LineReader& lines, std::string_view line) {
  std::array<std::uint64_t, 3> numbers{};
  const char* at = line.data();
  const char* const end = line.data() + line.size();
  bool is_good = true;
  for (std::size_t i = 0; i < numbers.size() && is_good; ++i) {
    const auto [next, error] = std::from_chars(at, end, numbers[i]);
    const bool is_last = i + 1 == numbers.size();
    is_good = error == std::errc() && (is_last ? next == end : next != end && *next == ',');
    at = next + 1;
  }
  if (!is_good || numbers[1] > kMostIds) {
    throw ProgramFailure(fmt::format("error: line {} of its fires is {}, which is not {}",
                                     lines.line_number(), excerpt(line), kFiresHeader));
  }
  return {.now = numbers[0], .id = static_cast<TimerId>(numbers[1]), .deadline = numbers[2]};
}

std::vector<WrittenFire> read_fires(const fs::path& file) try {
  LineReader lines(file);
  if (const auto header = lines.next(); header != kFiresHeader) {
    throw ProgramFailure(fmt::format("error: the first line of its fires is {}, which is not {}",
                                     excerpt(header.value_or("")), kFiresHeader));
  }
  std::vector<WrittenFire> fires;
  while (const auto line = lines.next()) fires.push_back(parse_fire(lines, *line));
  return fires;
} catch (const TraceError& error) {
  throw ProgramFailure(fmt::format("error: its fires: {}", error.what()));
}

// What the process is given: without the outcomes, and the operations as they are.
void save(const Trace& trace, const fs::path& path) {
  TraceInfo info = trace.info();
  info.outcome.reset();
  info.setup_outcome.reset();
  Trace(std::move(info), StoredOps(nullptr, trace.ops())).save(path);
}

}  // namespace

ProcessPeer::ProcessPeer(std::string command) : command_(std::move(command)) {
  try {
    SupervisedProgram program(shell(command_, {"describe"}), kOwnFileBytes);
    const auto line = program.next_line(kToDescribe, interrupted());
    if (!line) throw ProgramFailure("error: it prints nothing");
    describe(*line);
    if (program.next_line(kToDescribe, interrupted())) {
      throw ProgramFailure("error: it prints more than one line");
    }
  } catch (const ProgramFailure& failure) {
    throw ProgramFailure(
        fmt::format("'{} describe': {}", printable(command_), printable(failure.what())));
  }
}

ProcessPeer::ProcessPeer(std::string command, const std::string& description)
    : command_(std::move(command)) {
  describe(description);
}

void ProcessPeer::describe(const std::string& text) {
  const json object = parse_object(text, "a JSON object that describes it");
  const auto words = [&](const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_string()) lacks("description", key, "a text");
    return printable(found->get<std::string>());
  };
  name_ = words("name");
  static const std::regex pattern("[a-z][a-z0-9]*(_[a-z0-9]+)*");
  if (name_.size() > 40 || !std::regex_match(name_, pattern)) {
    lacks("description", "name", "a name as my_heap, of at most 40 letters");
  }
  summary_ = words("summary");
  version_ = words("version");
  const std::string precision = words("precision");
  static constexpr std::array kPrecisions = {Precision::exact, Precision::granular,
                                             Precision::relative, Precision::early,
                                             Precision::none};
  const auto found = std::ranges::find(kPrecisions, precision, to_string);
  if (found == kPrecisions.end()) {
    lacks("description", "precision", "exact, granular, relative, early or none");
  }
  precision_ = *found;
  const auto is_set = [&](const char* key) {
    const auto found = object.find(key);
    if (found != object.end() && !found->is_boolean()) lacks("description", key, "true or false");
    return found != object.end() && found->get<bool>();
  };
  ordered_ = is_set("ordered");
  walks_ticks_ = is_set("walks_ticks");
  if (const auto files = object.find("files"); files != object.end()) {
    if (!files->is_array()) lacks("description", "files", "a list of texts");
    for (const json& file : *files) {
      if (!file.is_string()) lacks("description", "files", "a list of texts");
      files_.push_back(file);
    }
  }
}

Traits ProcessPeer::traits() const {
  return {.name = name_,
          .summary = summary_,
          .precision = precision_,
          .ordered = ordered_,
          .paper = version_,
          .is_library = precision_ != Precision::none,
          .walks_ticks = walks_ticks_,
          .file = command_.c_str()};
}

std::vector<ToldReplay> ProcessPeer::run(const std::vector<std::string>& arguments,
                                         const Bounds& bounds, const StopFlag& stop) const {
  using Clock = std::chrono::steady_clock;
  SupervisedProgram program(shell(command_, arguments), bounds.file_bytes);
  std::vector<ToldReplay> replays;
  auto has_enough = Clock::time_point::max();
  while (const auto line = program.next_line(bounds.silence, stop)) {
    const ToldReplay told = parse_replay(*line);
    if (std::chrono::duration<double, std::nano>(told.elapsed_ns) > bounds.longest_replay) {
      throw ProgramFailure(
          fmt::format("timeout: one replay takes more than {} s", bounds.longest_replay.count()));
    }
    replays.push_back(told);
    if (replays.size() == bounds.least_replays) {
      has_enough = Clock::now();
    } else if (Clock::now() > has_enough && Clock::now() - has_enough > bounds.until_end) {
      throw ProgramFailure(
          fmt::format("timeout: it does not end, and tells of {} replays so far", replays.size()));
    }
  }
  if (replays.size() < bounds.least_replays) {
    throw ProgramFailure(fmt::format("error: it tells of {} replays, and {} are wanted",
                                     replays.size(), bounds.least_replays));
  }
  return replays;
}

std::vector<ToldReplay> ProcessPeer::replay(std::span<const Trace> traces, Tick granularity,
                                            Seconds time, Seconds limit,
                                            const StopFlag& stop) const {
  const TemporaryFolder folder("timerbench-process");
  std::vector<std::string> arguments{"replay"};
  std::size_t ops = 0;
  for (const Trace& trace : traces) {
    const fs::path path = folder / std::to_string(arguments.size());
    save(trace, path);
    arguments.push_back(path);
    ops += trace.ops().size();
  }
  arguments.push_back(fmt::format("--granularity={}", granularity));
  arguments.push_back(fmt::format("--seconds={}", time.count()));
  const Seconds silence = usual_time(ops) + limit;
  return run(arguments,
             {.least_replays = std::max(kLeastReplays, traces.size()),
              .longest_replay = limit,
              .silence = silence,
              .until_end = time + silence,
              .file_bytes = kOwnFileBytes},
             stop);
}

ProcessPeer::Recording ProcessPeer::record(const Trace& trace, Tick granularity,
                                           const StopFlag& stop) const {
  const TemporaryFolder folder("timerbench-process");
  save(trace, folder / "trace");
  const Seconds silence = usual_time(trace.ops().size());
  const auto replays =
      run({"replay", folder / "trace", fmt::format("--granularity={}", granularity),
           fmt::format("--fires={}", (folder / "fires.csv").string())},
          {.least_replays = 1,
           .longest_replay = silence,
           .silence = silence,
           .until_end = Seconds(0),  // one line is all
           .file_bytes = kOwnFileBytes + kLongestRow * trace.ops().size()},
          stop);
  return {replays.front(), read_fires(folder / "fires.csv")};
}

}  // namespace timerbench
