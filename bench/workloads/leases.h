// Leases, locks and sessions: N of them, each with a time to live of 10 to 60 s. Its holder renews
// it when a third of that has passed, as clients of ZooKeeper and etcd do. One renewal in a
// thousand does not come, because the holder has died; the lease then expires and is granted to
// another.
//
// The rates are customary, not published. Ticks are 1 ms.
#pragma once

#include <vector>

#include "workloads/random.h"
#include "workloads/simulation.h"

namespace timerbench {

struct Leases {
  static constexpr std::string_view name = "leases";
  static constexpr std::string_view summary =
      "N leases of 10 - 60 s, renewed at a third of that; one in a thousand is not";
  static constexpr std::string_view item = "renewal";
  static constexpr bool items_are_free = true;

  Delays ttl{"uniform 10s 60s"};
  double died = 0.001;

  Parameters parameters() {
    return {{"ttl", &ttl, "of a lease"}, {"died", &died, "the share of renewals that do not come"}};
  }

  Trace generate(const WorkloadOptions& options) const {
    const TimerId size = options.size;
    const std::uint64_t renewals = options.items != 0 ? options.items : 1'000'000;
    TraceWriter trace(*this, options);
    DelaySampler sample = trace.sampler(ttl);
    Random random(options.seed);
    Simulation world(trace, size);
    std::vector<std::uint32_t> ttls;
    const auto grant = [&](TimerId lease) {
      world.arm(lease, ttls[lease]);
      if (!random.chance(died)) world.expect(world.now() + ttls[lease] / 3, lease);
    };
    for (TimerId lease = 0; lease < size; ++lease) {
      ttls.push_back(sample(random));
      const std::uint32_t age = random.below(ttls[lease] / 3 + 1);
      world.arm(lease, ttls[lease] - age);
      world.expect(ttls[lease] / 3 - age, lease);
    }
    trace.end_setup();
    std::uint64_t renewed = 0;
    while (renewed < renewals) {
      world.go_on(grant, [&](TimerId lease) {
        grant(lease);
        ++renewed;
      });
    }
    return trace.finish(renewed, size);
  }
};
static_assert(Generator<Leases>);

}  // namespace timerbench
