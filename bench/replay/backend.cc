#include "replay/backend.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "process/process_peer.h"
#include "replay/roster_shard.h"

namespace timerbench {
namespace {

void check_names(std::span<const Backend> backends) {
  std::set<std::string_view> names;
  for (const Backend& backend : backends) {
    if (names.insert(backend.traits.name).second) continue;
    throw std::logic_error("two backends are called '" + std::string(backend.traits.name) +
                           "'; give one of them another name in its traits");
  }
}

// Those of add_process().
std::vector<Backend>& processes() {
  static std::vector<Backend> all;
  return all;
}

}  // namespace

void add_process(std::shared_ptr<const ProcessPeer> process) {
  const Traits traits = process->traits();
  processes().push_back({.traits = traits, .process = std::move(process)});
}

std::span<const Backend> backends() {
  static const std::vector<Backend> roster = [] {
    std::vector<Backend> all(roster_size());
    [&]<std::size_t... Shard>(std::index_sequence<Shard...>) { (fill_shard<Shard>(all), ...); }
    (std::make_index_sequence<kShards>{});
    std::ranges::move(extra_backends(), std::back_inserter(all));
    std::ranges::copy(processes(), std::back_inserter(all));
    check_names(all);
    return all;
  }();
  return roster;
}

}  // namespace timerbench
