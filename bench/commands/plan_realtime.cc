// Plans the cells of a wall-clock suite: all of them, or those that the options choose.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "commands/errors.h"
#include "commands/names.h"
#include "commands/plans.h"

namespace timerbench {
namespace {

void refuse(bool given, const char* option, std::string_view suite) {
  if (!given) return;
  throw UsageError(
      fmt::format("{} not for --suite={}; see 'timerbench run --help'", option, suite));
}

template <class Contender>
const ScenarioOf<Contender>& find_scenario(const RealtimeSuiteOf<Contender>& suite,
                                           const std::string& name) {
  std::vector<std::string_view> known;
  for (const auto& scenario : suite.scenarios) {
    if (scenario.name == name) return scenario;
    known.push_back(scenario.name);
  }
  throw UsageError(unknown(fmt::format("workload of {}", suite.name), name, known));
}

// The load that the options describe; nothing if they do not describe one.
std::optional<PurgatoryLoad> purgatory_load(const RunOptions& options, double seconds) {
  const PurgatoryOptions& given = options.purgatory;
  if (!given.any()) return {};
  PurgatoryLoad load{.num = 0,
                     .rate = given.rate.value_or(1'000),
                     .pct50 = given.pct50.value_or(20),
                     .pct75 = given.pct75.value_or(60),
                     .timeout = given.timeout.value_or(200),
                     .keys = given.keys.value_or(3),
                     .key_space_size = given.key_space_size.value_or(100),
                     .seed = options.seed};
  load.num = given.num.value_or(static_cast<std::uint32_t>(
      std::clamp(load.rate * seconds, 1.0, double{std::numeric_limits<std::uint32_t>::max()})));
  try {
    validate(load);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
  return load;
}

}  // namespace

std::vector<const ServiceBackend*> choose_contenders(const RunOptions& options,
                                                     const RealtimeSuite&) {
  return find_services(split(options.backends));
}

std::vector<const DurableContender*> choose_contenders(const RunOptions& options,
                                                       const DurableSuite&) {
  return find_durable(split(options.backends));
}

template <class Contender>
RealtimeCampaign plan_realtime(const RunOptions& options, const RealtimeSuiteOf<Contender>& suite) {
  refuse(!options.traces.empty() && !suite.trace_scenario, "--trace is", suite.name);
  refuse(options.items > 0, "--items is", suite.name);
  refuse(!options.settings.empty(), "--set is", suite.name);
  refuse(options.pass != "total", "--pass is", suite.name);
  refuse(options.granularity != 1, "--granularity is", suite.name);
  refuse(options.replay_seconds > 0, "--replay-seconds is", suite.name);
  const RealtimeOptions realtime{.seconds = options.seconds > 0 ? options.seconds : suite.seconds,
                                 .seed = options.seed};
  const auto load = purgatory_load(options, realtime.seconds);
  refuse(load && suite.name != "purgatory", "the options of requests, as --rate, are", suite.name);
  if (load && (!options.sizes.empty() || !options.workloads.empty())) {
    throw UsageError(
        "the options of requests, as --rate, make a workload of their own; leave out --sizes and "
        "--workloads");
  }
  const auto contenders = choose_contenders(options, suite);

  // In ascending order: if one saturates a service, larger ones are skipped.
  std::set<std::uint64_t> sizes;
  for (const std::string& text : split(options.sizes)) {
    const std::uint64_t size = parse_size(text);
    sizes.insert(size);
    if (size > suite.largest_size) {
      throw UsageError(fmt::format("--sizes: {} are too many {}; {} takes up to {}", text,
                                   suite.size_is, suite.name, suite.largest_size));
    }
  }

  RealtimeCampaign campaign;
  const auto sizes_of = [&](const ScenarioOf<Contender>& scenario) {
    return sizes.empty() ? scenario.sizes : std::vector(sizes.begin(), sizes.end());
  };
  const auto add = [&](const ScenarioOf<Contender>& scenario) {
    add_scenario(campaign, suite.name, scenario, sizes_of(scenario), contenders, realtime);
  };
  const auto add_trace = [&](const std::filesystem::path& path) {
    add(suite.trace_scenario(path.stem().string(), load_trace(path.string())));
  };
  for (const std::string& name : split(options.workloads)) add(find_scenario(suite, name));
  for (const std::string& path : split(options.traces)) add_trace(path);
  if constexpr (std::is_same_v<Contender, ServiceBackend>) {
    if (load) add(purgatory_scenario(*load));
  }
  if (options.workloads.empty() && options.traces.empty() && !load) {
    for (const auto& scenario : suite.scenarios) add(scenario);
    for (const std::string_view name : suite.traces) add_trace(shipped_trace(name));
  }
  return campaign;
}

template RealtimeCampaign plan_realtime(const RunOptions&, const RealtimeSuite&);
template RealtimeCampaign plan_realtime(const RunOptions&, const DurableSuite&);

}  // namespace timerbench
