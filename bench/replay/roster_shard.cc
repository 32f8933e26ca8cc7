// Compiled once for each shard, with TIMERBENCH_SHARD = 0 .. kShards - 1.
#include "replay/roster_shard.h"

#include <cstddef>
#include <utility>

#if TIMERBENCH_ABLATION
#include "ablation/roster.h"
#endif
#include "queues/roster.h"
#include "replay/make_backend.h"

namespace timerbench {
namespace {

template <std::size_t Shard, class... Queues>
void fill(std::span<Backend> roster, TypeList<Queues...>) {
  const auto make = [&]<class Queue, std::size_t I>() {
    if constexpr (I % kShards == Shard) roster[I] = make_backend<Queue>();
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) { (make.template operator()<Queues, I>(), ...); }
  (std::index_sequence_for<Queues...>{});
}

template <class... A, class... B>
constexpr auto concatenated(TypeList<A...>, TypeList<B...>) {
  return TypeList<A..., B...>{};
}

#if !TIMERBENCH_ABLATION
using AblationRoster = TypeList<>;
#endif

constexpr auto kAll = concatenated(Roster{}, AblationRoster{});

}  // namespace

template <std::size_t Shard>
void fill_shard(std::span<Backend> roster) {
  fill<Shard>(roster, kAll);
}
template void fill_shard<TIMERBENCH_SHARD>(std::span<Backend>);

#if TIMERBENCH_SHARD == 0
std::size_t roster_size() {
  return []<class... Queues>(TypeList<Queues...>) { return sizeof...(Queues); }(kAll);
}
#endif

}  // namespace timerbench
