// timerbench list: prints the backends, services, workloads and suites.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "commands/commands.h"
#include "commands/names.h"
#include "durable/engine.h"
#include "realtime/service.h"
#include "replay/backend.h"
#include "suites/realtime_suite.h"
#include "suites/suite.h"
#include "workloads/workload.h"

namespace timerbench {
namespace {

using nlohmann::json;

void print_json() {
  json out = {{"backends", json::array()}, {"services", json::array()},
              {"durable", json::array()},  {"workloads", json::array()},
              {"suites", json::array()},   {"realtime_suites", json::array()}};
  for (const Backend& backend : backends()) {
    out["backends"].push_back({{"name", backend.traits.name},
                               {"summary", backend.traits.summary},
                               {"precision", ranking(backend.traits)},
                               {"ordered", backend.traits.ordered},
                               {"licence", licence(backend.traits)},
                               {"follows", backend.traits.paper},
                               {"services", services_over(backend.traits.name)}});
  }
  for (const ServiceBackend& service : services()) {
    out["services"].push_back({{"name", service.traits.name},
                               {"summary", service.traits.summary},
                               {"precision", ranking(service.traits)},
                               {"follows", service.traits.paper},
                               {"queue", service.traits.queue}});
  }
  for (const DurableContender& queue : durable_roster()) {
    out["durable"].push_back({{"name", queue.traits.name},
                              {"summary", queue.traits.summary},
                              {"engine", queue.traits.engine},
                              {"poll_ns", queue.traits.poll_interval},
                              {"when_killed", to_text(queue.traits.promise.when_killed)},
                              {"when_power_fails", to_text(queue.traits.promise.when_power_fails)},
                              {"when_disk_fails", to_text(queue.traits.promise.when_disk_fails)}});
  }
  for (const Workload& workload : workloads()) {
    json parameters = json::array();
    for (const auto& [name, meaning, value] : workload.parameters) {
      parameters.push_back({{"name", name}, {"meaning", meaning}, {"value", value}});
    }
    out["workloads"].push_back({{"name", workload.name},
                                {"summary", workload.summary},
                                {"item", workload.item},
                                {"default_size", workload.default_size},
                                {"parameters", parameters}});
  }
  for (const auto& file : suite_files()) {
    const Suite suite = load_suite(file);
    std::vector<std::string_view> names;
    for (const SuiteWorkload& workload : suite.workloads) names.push_back(workload.name);
    out["suites"].push_back({{"name", suite.name},
                             {"summary", suite.summary},
                             {"backends", suite.backends},
                             {"workloads", names},
                             {"sizes", suite.sizes},
                             {"traces", suite.traces}});
  }
  const auto add = [&](const auto& suite) {
    json scenarios = json::array();
    for (const auto& scenario : suite.scenarios) {
      scenarios.push_back(
          {{"name", scenario.name}, {"summary", scenario.summary}, {"sizes", scenario.sizes}});
    }
    out["realtime_suites"].push_back({{"name", suite.name},
                                      {"summary", suite.summary},
                                      {"size_is", suite.size_is},
                                      {"scenarios", scenarios}});
  };
  std::ranges::for_each(realtime_suites(), add);
  for (const DurableSuite& suite : durable_suites()) add(suite);
  fmt::print("{}\n", out.dump(2));
}

void print_text() {
  fmt::print("Backends ({:<9} how late they may be)\n", "precision:");
  for (const Backend& backend : backends()) {
    const Traits& traits = backend.traits;
    fmt::print("  {:<22} {:<9} {:<8} {}{}{}\n", traits.name, ranking(traits),
               traits.ordered ? "ordered" : "", traits.summary,
               traits.paper.empty() ? "" : fmt::format(" ({})", traits.paper),
               licence(traits).empty() ? "" : fmt::format("; licensed: {}", licence(traits)));
  }
  fmt::print("\nServices, which drive such structures in real time\n");
  for (const ServiceBackend& service : services()) {
    const ServiceTraits& traits = service.traits;
    fmt::print("  {:<32} {:<9} {} ({})\n", traits.name, ranking(traits), traits.summary,
               traits.paper);
  }
  fmt::print("\nDurable queues, whose timers outlive the process\n");
  for (const DurableContender& queue : durable_roster()) {
    fmt::print("  {:<22} {}; after a power cut {} is kept\n", queue.traits.name,
               queue.traits.summary, to_text(queue.traits.promise.when_power_fails));
  }
  fmt::print("\nWorkloads\n");
  for (const Workload& workload : workloads()) {
    fmt::print("  {:<22} {}; cost per {}\n", workload.name, workload.summary, workload.item);
    for (const auto& [name, meaning, value] : workload.parameters) {
      fmt::print("  {:<22}   --set {}='{}'  {}\n", "", name, value, meaning);
    }
  }
  fmt::print("\nSuites\n");
  for (const auto& file : suite_files()) {
    const Suite suite = load_suite(file);
    fmt::print("  {:<22} {}\n", suite.name, suite.summary);
  }
  const auto print_suite = [](const auto& suite) {
    fmt::print("\nSuite {}: {}; sizes are {}\n", suite.name, suite.summary, suite.size_is);
    for (const auto& scenario : suite.scenarios) {
      fmt::print("  {:<22} {}\n", scenario.name, scenario.summary);
    }
  };
  std::ranges::for_each(realtime_suites(), print_suite);
  for (const DurableSuite& suite : durable_suites()) print_suite(suite);
}

}  // namespace

void print_list(bool as_json) { as_json ? print_json() : print_text(); }

}  // namespace timerbench
