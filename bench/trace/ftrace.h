// Import of a recording of the Linux kernel's own timers, as /sys/kernel/tracing/trace prints the
// tracepoints timer_start, timer_cancel and timer_expire_entry.
//
// What becomes of the events:
//
//   timer_start          a schedule, until `expires`; at once if that is past
//   timer_cancel         a cancel, but nothing if
//     - this CPU's next event, and this timer's, is its timer_start: mod_timer, which is one move;
//     - this timer's next event is its timer_expire_entry on this CPU, events of interrupts may
//       stand between: the kernel took it from the queue in order to run it;
//     - the timer was never armed in this recording: it is of no known deadline.
//   timer_expire_entry   nothing: a replay's own advance fires the timer
//
// A tick is a jiffy, and time begins at the first one known. The clock is advanced by one jiffy at
// a time, so that each timer can fire at its own. A timer's address is its identity; ids number the
// addresses in the order in which they are first armed, so they are reused as the memory is.
//
// The clock comes from the lines that say the jiffy: `expires - timeout` and `now`. A timer_cancel
// says none and takes the last. Its timestamp could be turned into a jiffy, which would put it
// later, by at most the time in which the kernel neither armed nor ran a timer. But the kernel's
// wheel runs timers late, so between their deadline and that run some are cancelled, and each jiffy
// that is added before a cancel fires more of those in the replay that never ran in the kernel.
#pragma once

#include <filesystem>
#include <string>

#include "trace/trace.h"

namespace timerbench {

struct FtraceOptions {
  double hz = 0;         // jiffies per second; 0: CONFIG_HZ=... of the header
  std::string source{};  // what was recorded, for people; empty: the header line with CONFIG_HZ
};

// Reads plain text or xz. `parameters` records how many events of each kind became what, and in
// "warnings", a list of strings, what is doubtful about the recording (lost events). Throws
// TraceError, with FILE:LINE.
Trace import_ftrace(const std::filesystem::path& path, const FtraceOptions& options = {});

}  // namespace timerbench
