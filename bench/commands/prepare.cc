// timerbench prepare: prints what a run would measure, for programs that run its cells one by one.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "commands/commands.h"
#include "commands/names.h"
#include "commands/plans.h"
#include "commands/processes.h"
#include "process/process_peer.h"
#include "system/machine.h"
#include "system/output_file.h"
#include "trace/excerpt.h"
#include "trace/stat.h"

namespace timerbench {
namespace {

using nlohmann::ordered_json;

void print_line(const ordered_json& line) {
  fmt::print("{}\n", line.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
  std::fflush(stdout);  // making the next trace may take minutes
}

std::string_view licence(const ServiceTraits&) { return ""; }

ordered_json described(const DurableTraits& traits) {
  return {{"precision", ranking(traits)},
          {"summary", traits.summary},
          {"licence", ""},
          {"remote", true},
          {"file", traits.file}};
}

template <class Traits>
ordered_json described(const Traits& traits) {
  return {{"precision", ranking(traits)}, {"summary", traits.summary}, {"follows", traits.paper},
          {"licence", licence(traits)},   {"remote", traits.remote},   {"file", traits.file}};
}

// The facts that all inputs share.
ordered_json head(const RunOptions& options, std::string_view suite, std::string_view summary,
                  int rounds) {
  ordered_json machine;
  for (const auto& [key, value] : machine_facts(/*load_seconds=*/0.3)) machine[key] = value;
  return {{"suite", suite},       {"summary", summary},
          {"rounds", rounds},     {"granularity", options.granularity},
          {"seed", options.seed}, {"pages", options.pages},
          {"machine", machine}};
}

// Describes a trace; the first one if there are several.
ordered_json described(const std::vector<Trace>& variants) {
  const Trace& trace = variants.front();
  const TraceInfo& info = trace.info();
  const TraceStat stat = stat_trace(trace);
  const Ends ends = measured_ends(trace, stat);
  const auto share = [&](std::uint64_t part) {
    const std::uint64_t ended = ends.cancelled + ends.moved + ends.fired;
    return ended > 0 ? static_cast<double>(part) / static_cast<double>(ended) : 0.0;
  };
  ordered_json hashes;
  for (const Trace& one : variants) hashes.push_back(fmt::format("{:016x}", hash_ops(one.ops())));
  ordered_json delays;
  for (const auto& [percent, ticks] : stat.percentiles) {
    delays[fmt::format("p{}", percent)] = ticks * info.unit_ns;
  }
  return {{"item", info.item},
          {"items", info.items},
          {"ops", trace.ops().size()},
          {"peak_pending", info.peak_pending},
          {"unit_ns", info.unit_ns},
          {"cancelled_share", share(ends.cancelled)},
          {"moved_share", share(ends.moved)},
          {"fired_share", share(ends.fired)},
          {"delay_ns", delays},
          {"parameters", ordered_json::parse(info.parameters)},
          {"hashes", hashes}};
}

std::string_view to_string(Input::Reach reach) {
  switch (reach) {
    case Input::Reach::local: return "local";
    case Input::Reach::remote: return "remote";
    case Input::Reach::both: return "both";
  }
  return "?";
}

void prepare_replays(const RunOptions& options, const Suite& suite) {
  const auto chosen = choose_backends(options, suite);
  remove_abandoned(options.cache);
  Campaign campaign = plan_replays(options, suite);
  ordered_json first = head(options, suite.name, suite.summary, suite.rounds);
  const ReplaySeconds limits = replay_limits(options, suite);
  first["kind"] = "replays";
  first["min_seconds"] = suite.min_seconds;
  first["replay_seconds"] = {{"local", limits.local}, {"remote", limits.remote}};
  for (const Backend* backend : chosen) {
    ordered_json& facts = first["backends"][std::string(backend->traits.name)];
    facts = described(backend->traits);
    if (backend->process) {
      facts["process"] = {{"command", backend->process->command()},
                          {"version", backend->traits.paper},
                          {"files", backend->process->files()}};
    }
  }
  // The sizes of inputs that a chosen backend replays, in order.
  first["sizes"] = ordered_json::array();
  for (const Input& input : campaign.inputs()) {
    const auto replays = [&](const Backend* backend) { return input.is_for(*backend); };
    if (std::ranges::any_of(chosen, replays)) first["sizes"].push_back(input.size());
  }
  first["inputs"] = first["sizes"].size();
  print_line(first);
  for (Input& input : campaign.inputs()) {
    ordered_json line{{"workload", printable(input.workload())},
                      {"size", input.size()},
                      {"for", to_string(input.reach())},
                      {"cells", ordered_json::array()}};
    for (const Backend* backend : chosen) {
      if (input.is_for(*backend)) line["cells"].push_back(campaign.cell_name(input, *backend));
    }
    if (line["cells"].empty()) continue;
    try {
      require_memory(input.bytes_needed(), fmt::format("size {}", input.size()));
      input.prepare();
      line.update(described(input.variants()));
    } catch (const Interrupted&) {
      throw;
    } catch (...) {
      line["failure"] = current_failure();
    }
    input.drop();
    print_line(line);
  }
}

template <class Contender>
void prepare_realtime(const RunOptions& options, const RealtimeSuiteOf<Contender>& suite) {
  const RealtimeCampaign campaign = plan_realtime(options, suite);
  ordered_json first = head(options, suite.name, suite.summary, suite.rounds);
  first["kind"] = "realtime";
  first["seconds"] = options.seconds > 0 ? options.seconds : suite.seconds;
  first["size_is"] = suite.size_is;
  for (const Contender* contender : choose_contenders(options, suite)) {
    first["backends"][std::string(contender->traits.name)] = described(contender->traits);
  }
  // Cells of one scenario and size are adjacent.
  std::vector<ordered_json> lines;
  for (const std::string& name : campaign.names()) {
    const std::size_t last = name.rfind('/');
    const std::size_t middle = name.rfind('/', last - 1);
    const std::string workload = name.substr(suite.name.size() + 1, middle - suite.name.size() - 1);
    const std::uint64_t size = std::stoull(name.substr(middle + 1));
    if (lines.empty() || lines.back()["workload"] != workload || lines.back()["size"] != size) {
      const auto scenario =
          std::ranges::find(suite.scenarios, workload, &ScenarioOf<Contender>::name);
      lines.push_back({{"workload", workload}, {"size", size}, {"cells", ordered_json::array()}});
      if (scenario != suite.scenarios.end()) lines.back()["summary"] = scenario->summary;
    }
    lines.back()["cells"].push_back(name);
  }
  first["inputs"] = lines.size();
  print_line(first);
  for (const ordered_json& line : lines) print_line(line);
}

}  // namespace

void prepare_suite(const RunOptions& options) {
  add_processes(options.processes);
  const auto suite = choose_suite(options);
  if (const auto* replays = std::get_if<Suite>(&suite)) {
    prepare_replays(options, *replays);
  } else if (const auto* realtime = std::get_if<RealtimeSuite>(&suite)) {
    prepare_realtime(options, *realtime);
  } else {
    prepare_realtime(options, std::get<DurableSuite>(suite));
  }
}

}  // namespace timerbench
