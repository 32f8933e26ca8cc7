#include "suites/audit_cache.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <fstream>
#include <string>

#include "system/output_file.h"
#include "system/program.h"

namespace timerbench {
namespace {

namespace fs = std::filesystem;

// One file a program, trace, backend and granularity; a new build replaces it.
std::string name_of(const Trace& trace, const Backend& backend, Tick granularity) {
  const std::string all =
      fmt::format("{} {:016x} {} {} {}", own_path().filename().string(), hash_ops(trace.ops()),
                  trace.info().capacity, backend.traits.name, granularity);
  return fmt::format("audited-{:016x}", XXH3_64bits(all.data(), all.size()));
}

// Reads the program's file once, for a cell of short traces asks for up to 32 of them.
std::uint64_t hash_of_program() {
  static const std::uint64_t hash = [] {
    std::ifstream in("/proc/self/exe", std::ios::binary);  // though it has been replaced since
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    return XXH3_64bits(bytes.data(), bytes.size());
  }();
  return hash;
}

}  // namespace

std::optional<Outcome> AuditCache::find(const Trace& trace, const Backend& backend,
                                        Tick granularity) const {
  if (folder_.empty()) return {};
  std::ifstream in(folder_ / name_of(trace, backend, granularity));
  std::uint64_t program;
  Outcome outcome;
  in >> program >> outcome.fired >> outcome.cancelled >> outcome.digest >> outcome.pending;
  if (!in || program != hash_of_program()) return {};
  return outcome;
}

void AuditCache::keep(const Outcome& outcome, const Trace& trace, const Backend& backend,
                      Tick granularity) const {
  if (folder_.empty()) return;
  try {
    fs::create_directories(folder_);
    OutputFile file(folder_ / name_of(trace, backend, granularity));
    file.write(fmt::format("{} {} {} {} {}\n", hash_of_program(), outcome.fired, outcome.cancelled,
                           outcome.digest, outcome.pending));
    file.sync();
    file.commit();
  } catch (const FileError&) {  // it is audited again next time
  } catch (const fs::filesystem_error&) {
  }
}

}  // namespace timerbench
