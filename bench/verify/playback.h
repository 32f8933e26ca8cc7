// A queue that answers as another program did, from the fires that it wrote.
#pragma once

#include <span>

#include "replay/backend.h"
#include "system/stop.h"
#include "trace/op.h"

namespace timerbench {

// Returns the backend, or of another program one whose queue fires what the program wrote when it
// replayed the operations once. That queue throws ContractViolation where this is no answer: at
// sync(), called last, if the program wrote a fire at an instant that no advance() went to, or
// counted otherwise. cancel(), size() and next_wakeup() follow from the fires. Throws ProgramFailure,
// Interrupted, FileError. REQUIRES: the queue is given these operations, from 0 on if it is another
// program's.
Backend played_back(const Backend& backend, TimerId capacity, std::span<const Op> ops,
                    Tick granularity, const StopFlag& stop);

}  // namespace timerbench
