// The roster in parts that are compiled separately. This is faster on several cores, and a
// backend's code is inlined regardless of the number of others in its translation unit.
#pragma once

#include <span>
#include <vector>

#include "replay/backend.h"

namespace timerbench {

inline constexpr std::size_t kShards = TIMERBENCH_SHARDS;

// The number of backends.
std::size_t roster_size();

// Makes every kShards-th backend of the roster, starting with number Shard.
template <std::size_t Shard>
void fill_shard(std::span<Backend> roster);

// The backends of TIMERBENCH_EXTRA_BACKENDS, each compiled by itself. CMake writes it.
std::vector<Backend> extra_backends();

}  // namespace timerbench
