// The roster in parts that are compiled apart: quicker on several cores, and no backend's code is
// inlined less because of how many others share its translation unit.
#pragma once

#include <span>

#include "replay/backend.h"

namespace timerbench {

inline constexpr std::size_t kShards = TIMERBENCH_SHARDS;

// The number of backends.
std::size_t roster_size();

// Makes every kShards-th backend of the roster, from number Shard on.
template <std::size_t Shard>
void fill_shard(std::span<Backend> roster);

}  // namespace timerbench
