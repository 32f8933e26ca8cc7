// Imports a recording of the Linux kernel's own timers, in the format of /sys/kernel/tracing/trace,
// from the tracepoints timer_start, timer_cancel and timer_expire_entry.
//
// Events become operations:
//
//   timer_start          a schedule for `expires`; at once if that is past
//   timer_cancel         a cancel, except if
//     - the next event of this CPU and of this timer is its timer_start: mod_timer, one move;
//     - the timer's next event is its timer_expire_entry on this CPU, perhaps after events of
//       interrupts: the kernel has removed it in order to run it;
//     - the timer was never armed in this recording: its deadline is unknown.
//   timer_expire_entry   nothing: the replay's own advance fires the timer
//
// A tick is a jiffy, and time starts at the first known one. The clock advances by one jiffy at a
// time, so that each timer can fire at its own. A timer's address identifies it. Ids number the
// addresses in the order of their first arming, so they are reused as the memory is.
//
// The clock comes from lines that state the jiffy: `expires - timeout` and `now`. A timer_cancel
// has none and takes the last one. Its timestamp could be converted to a jiffy, which would put it
// later, by at most the time in which the kernel neither armed nor ran a timer. But the kernel's
// wheel runs timers late, so some are cancelled between their deadline and that run. Each jiffy
// added before a cancel would let the replay fire more of these timers, which never ran in the
// kernel.
#pragma once

#include <filesystem>
#include <string>

#include "trace/trace.h"

namespace timerbench {

struct FtraceOptions {
  double hz = 0;         // jiffies per second; 0: CONFIG_HZ=... in the header
  std::string source{};  // what was recorded, for people; empty: the header's line with CONFIG_HZ
};

// Reads plain text or xz. `parameters` counts the events of each kind by what they became; its
// "warnings", a list of strings, names doubts about the recording (lost events). Throws TraceError,
// with FILE:LINE.
Trace import_ftrace(const std::filesystem::path& path, const FtraceOptions& options = {});

}  // namespace timerbench
