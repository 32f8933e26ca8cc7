#include "replay/backend.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "process/process_peer.h"
#include "replay/roster_shard.h"

namespace timerbench {
namespace {

// Those of add_process().
std::vector<Backend>& processes() {
  static std::vector<Backend> all;
  return all;
}

}  // namespace

void check_names(std::span<const Backend> backends) {
  std::map<std::string_view, std::string_view> files;
  for (const Backend& backend : backends) {
    const auto [first, is_new] = files.emplace(backend.traits.name, backend.traits.file);
    if (is_new) continue;
    throw std::logic_error(
        fmt::format("two backends are called '{}', in {} and {}; give one of them another name",
                    backend.traits.name, first->second, backend.traits.file));
  }
}

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
