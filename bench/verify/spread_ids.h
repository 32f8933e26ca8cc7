// A timer service under ids that are spread over a large range, so that a check with few timers
// also sees large ids.
#pragma once

#include "realtime/service.h"

namespace timerbench {

// The same service. Its ids become pairs of neighbours at equal distances between 0 and 70 000: ids
// of every magnitude, and some that lie together in memory. An id stays the same modulo 8, so that
// it stays in its shard. The handler and stop() tell the original ids, or 2^32 - 1 for an id that
// nobody has armed.
ServiceBackend with_spread_ids(const ServiceBackend& backend);

}  // namespace timerbench
