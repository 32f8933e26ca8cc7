// The version for programs that do not count.
#include "system/allocations.h"

namespace timerbench {

bool allocations_are_counted() { return false; }
Allocations allocations() { return {}; }
void reset_allocation_peak() {}

}  // namespace timerbench
