#include "replay/backend.h"

#include <utility>

#include "replay/roster_shard.h"

namespace timerbench {

std::span<const Backend> backends() {
  static const std::vector<Backend> roster = [] {
    std::vector<Backend> all(roster_size());
    [&]<std::size_t... Shard>(std::index_sequence<Shard...>) { (fill_shard<Shard>(all), ...); }
    (std::make_index_sequence<kShards>{});
    return all;
  }();
  return roster;
}

}  // namespace timerbench
