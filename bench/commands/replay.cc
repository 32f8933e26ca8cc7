// timerbench replay: one backend replays one trace, and every fire can be recorded.
#include <fmt/core.h>

#include <filesystem>
#include <optional>

#include "commands/commands.h"
#include "commands/names.h"
#include "system/output_file.h"
#include "system/stop.h"
#include "trace/trace.h"
#include "verify/playback.h"

namespace timerbench {
namespace {

// Writes a row `now,id,deadline` for every fire, in the order of the fires.
class FiredRows {
 public:
  explicit FiredRows(const std::filesystem::path& path) : file_(path) {
    rows_ = "now,id,deadline\n";
  }

  void add(Tick now, TimerId id, Tick deadline) {
    fmt::format_to(std::back_inserter(rows_), "{},{},{}\n", now, id, deadline);
    if (rows_.size() >= kFlush) flush();
  }

  void finish() {
    flush();
    file_.sync();
    file_.commit();
  }

 private:
  static constexpr std::size_t kFlush = 1 << 16;

  void flush() {
    file_.write(rows_);
    rows_.clear();
  }

  OutputFile file_;
  std::string rows_;
};

}  // namespace

void replay_trace(const ReplayOptions& options) {
  const Backend& backend = find_backend(options.backend);
  const Trace trace = load_trace(options.trace);
  std::optional<FiredRows> rows;
  if (!options.fired.empty()) rows.emplace(options.fired);

  const QueueConfig config{.capacity = trace.info().capacity, .granularity = options.granularity};
  const auto queue =
      played_back(backend, config.capacity, trace.ops(), config.granularity, interrupted())
          .make(config);
  Tick now = 0;
  std::size_t fired = 0;
  std::size_t cancelled = 0;
  const AnySink sink = [&](TimerId id, Tick deadline) {
    if (rows) rows->add(now, id, deadline);
  };
  for (const Op op : trace.ops()) {
    throw_if_interrupted();
    if (op.id == kAdvance) {
      now += op.arg;
      fired += queue->advance(now, sink);
    } else if (op.arg == kCancel) {
      cancelled += queue->cancel(op.id);
    } else {
      queue->schedule(op.id, now + op.arg);
    }
  }
  queue->sync();
  if (rows) rows->finish();
  fmt::print("{}: {} operations up to {}, {} fired, {} cancelled, {} pending at the end\n",
             backend.traits.name, trace.ops().size(), now, fired, cancelled, queue->size());
}

}  // namespace timerbench
