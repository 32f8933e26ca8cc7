// Trace::load and Trace::save: the mapped file NAME.npy, and NAME.json.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>

#include "trace/excerpt.h"
#include "trace/trace.h"

namespace timerbench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "operations are used as they are mapped");

struct Files {
  fs::path npy;
  fs::path json;
};

Files files_of(fs::path path) {
  if (path.extension() == ".npy" || path.extension() == ".json") path.replace_extension();
  return {fs::path(path) += ".npy", fs::path(path) += ".json"};
}

// ---- NAME.npy: magic, version, header length, header, operations ----

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kDataAlignment = 64;    // as NumPy writes it
constexpr std::size_t kLongestHeader = 4096;  // in practice some 120 bytes

// The Python literal that NumPy writes as the header for `count` operations.
std::string npy_dictionary(std::uint64_t count) {
  return fmt::format(
      "{{'descr': [('id', '<u4'), ('arg', '<u4')], 'fortran_order': False, 'shape': ({},), }}",
      count);
}

std::string without_blanks(std::string_view text) {
  std::string rest(text);
  std::erase_if(rest, [](char c) { return c == ' ' || c == '\n'; });
  return rest;
}

std::string npy_header(std::uint64_t count) {
  constexpr std::size_t kPreamble = kMagic.size() + 4;  // and the version and the length
  std::string dictionary = npy_dictionary(count);
  const std::size_t unpadded = kPreamble + dictionary.size() + 1;
  dictionary.append((kDataAlignment - unpadded % kDataAlignment) % kDataAlignment, ' ');
  dictionary += '\n';
  const auto length = static_cast<std::uint16_t>(dictionary.size());
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  return header + dictionary;
}

MappedFile map_file(const fs::path& path) {
  const auto fail = [&path](const char* problem) {
    throw TraceError(fmt::format("cannot read {}: {}; a trace is NAME.npy with NAME.json",
                                 path.string(), problem));
  };
  const struct Descriptor {
    int fd;
    ~Descriptor() { close(fd); }
  } file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) fail(std::strerror(errno));
  struct stat status {};
  if (fstat(file.fd, &status) != 0) fail(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) fail("it is not a regular file");
  if (status.st_size == 0) fail("it is empty");
  MappedFile mapped = timerbench::map_file(file.fd, static_cast<std::size_t>(status.st_size));
  if (!mapped.storage) fail(std::strerror(errno));
  return mapped;
}

// The operations in the bytes of NAME.npy.
std::span<const Op> parse_npy(std::string_view bytes, const std::string& name) {
  const auto fail = [&name](const std::string& problem) {
    throw TraceError(fmt::format("{}: {}", name, problem));
  };

  const auto byte = [bytes](std::size_t i) {
    return std::size_t{static_cast<unsigned char>(bytes[i])};
  };
  if (!bytes.starts_with(kMagic)) fail("not an .npy file: it does not begin with \\x93NUMPY");
  const std::size_t version_at = kMagic.size();
  const std::size_t length_at = version_at + 2;
  if (bytes.size() < length_at + 4) fail("truncated in its header; copy it again");
  const std::size_t version = byte(version_at);
  if (version != 1 && version != 2) {
    fail(fmt::format("byte {}: .npy version {}; save it as version 1 or 2", version_at, version));
  }
  const std::size_t header_at = length_at + (version == 1 ? 2 : 4);
  std::size_t length = 0;
  for (std::size_t i = header_at; i-- > length_at;) length = length << 8 | byte(i);
  if (length > kLongestHeader) {
    fail(fmt::format("byte {}: a header of {} bytes; the file is damaged", length_at, length));
  }
  if (bytes.size() < header_at + length) fail("truncated in its header; copy it again");

  const std::string header = without_blanks(bytes.substr(header_at, length));
  constexpr std::string_view kShape = "'shape':(";
  std::uint64_t count = 0;
  if (const std::size_t shape = header.find(kShape); shape != std::string::npos) {
    std::from_chars(header.data() + shape + kShape.size(), header.data() + header.size(), count);
  }
  if (header != without_blanks(npy_dictionary(count))) {
    fail(
        fmt::format("byte {}: the array is {}; a trace is one-dimensional, not in Fortran order, "
                    "of dtype [('id','<u4'),('arg','<u4')]",
                    header_at, excerpt(header)));
  }

  const std::size_t data_at = header_at + length;
  if (data_at % sizeof(Op) != 0) {
    fail(
        fmt::format("the data begin at byte {}, which is no multiple of {}; save it again with "
                    "numpy.save",
                    data_at, sizeof(Op)));
  }
  const std::string_view data = bytes.substr(data_at);
  if (data.size() % sizeof(Op) != 0 || data.size() / sizeof(Op) != count) {
    fail(
        fmt::format("{} bytes of operations where its header says {} operations of {}; the file "
                    "is truncated or damaged, copy it again",
                    data.size(), count, sizeof(Op)));
  }
  return {reinterpret_cast<const Op*>(data.data()), static_cast<std::size_t>(count)};
}

// ---- NAME.json ----

constexpr std::string_view kHashKind = "xxh3:";

std::string hash_text(std::uint64_t hash) { return fmt::format("{}{:016x}", kHashKind, hash); }

ordered_json to_json(const Outcome& outcome) {
  return {{"fired", outcome.fired},
          {"cancelled", outcome.cancelled},
          {"digest", outcome.digest},
          {"pending", outcome.pending}};
}

ordered_json to_json(const TraceInfo& info, std::span<const Op> ops) {
  const OpCounts counts = count_ops(ops);
  ordered_json members{{"version", kTraceVersion},
                       {"unit_ns", info.unit_ns},
                       {"capacity", info.capacity},
                       {"ops", ops.size()},
                       {"schedules", counts.schedules},
                       {"cancels", counts.cancels},
                       {"advances", counts.advances},
                       {"setup_ops", info.setup_ops},
                       {"item", info.item},
                       {"items", info.items},
                       {"peak_pending", info.peak_pending},
                       {"workload", info.workload},
                       {"parameters", json::parse(info.parameters)},
                       {"seed", info.seed},
                       {"source", info.source},
                       {"hash", hash_text(hash_ops(ops))}};
  if (info.outcome) members["outcome"] = to_json(*info.outcome);
  if (info.setup_outcome) members["setup_outcome"] = to_json(*info.setup_outcome);
  return members;
}

// The members of NAME.json, read one by one with their types.
class Sidecar {
 public:
  Sidecar(const fs::path& path, const fs::path& npy) : name_(path.string()), npy_(npy.string()) {
    std::error_code unreadable;
    if (const auto status = fs::status(path, unreadable);
        fs::exists(status) && !fs::is_regular_file(status)) {
      fail("it is not a regular file");
    }
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    in.peek();
    if (!in.is_open() || in.bad()) {
      throw TraceError(
          fmt::format(R"(cannot read {}: {}; it must say at least {{"version": {}, )"
                      R"("unit_ns": nanoseconds per tick, "capacity": largest id + 1}})",
                      name_, std::strerror(errno), kTraceVersion));
    }
    try {
      members_ = json::parse(in, [this](int depth, json::parse_event_t, const json&) {
        if (depth > kDeepest) fail("nested too deep for the description of a trace");
        return true;
      });
    } catch (const json::exception& error) {
      const std::string_view what = error.what();  // "[json.exception...] parse error at line ..."
      fail(fmt::format("not JSON: {}", what.substr(what.find("] ") + 2)));
    }
    if (!members_.is_object()) fail("not a JSON object");
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw TraceError(fmt::format("{}: {}", name_, problem));
  }

  bool has(const char* key) const { return members_.contains(key); }

  template <class T>
  T required(const char* key) const {
    if (!has(key)) fail(fmt::format("\"{}\" is missing", key));
    const json& value = members_[key];
    if constexpr (std::is_unsigned_v<T>) {
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() > T(-1)) {
        fail(fmt::format("\"{}\" must be a whole number from 0 to {}", key, T(-1)));
      }
    } else if constexpr (std::is_same_v<T, double>) {
      if (!value.is_number()) fail(fmt::format("\"{}\" must be a number", key));
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!value.is_string()) fail(fmt::format("\"{}\" must be a string", key));
    } else {
      static_assert(std::is_same_v<T, json>);
      if (!value.is_object()) fail(fmt::format("\"{}\" must be an object", key));
    }
    return value.get<T>();
  }

  template <class T>
  T optional(const char* key, T otherwise) const {
    return has(key) ? required<T>(key) : otherwise;
  }

  // If the .json states this about the operations, it must be true.
  template <class T>
  void expect(const char* key, const T& actual) const {
    if (const T said = optional(key, actual); said != actual) {
      fail(
          fmt::format("\"{}\" is {}, but {} has {}: the .json does not belong to this .npy, or "
                      "one of them is damaged",
                      key, said, npy_, actual));
    }
  }

 private:
  static constexpr int kDeepest = 100;

  std::string name_;
  std::string npy_;
  json members_;
};

// The outcome under this key, if the .json has it. `counts` are those of its operations.
std::optional<Outcome> read_outcome(const Sidecar& sidecar, const char* key,
                                    const OpCounts& counts) {
  if (!sidecar.has(key)) return {};
  const auto members = sidecar.required<json>(key);
  const auto member = [&](const char* name) -> std::uint64_t {
    const auto found = members.find(name);
    if (found == members.end() || !found->is_number_unsigned()) {
      sidecar.fail(fmt::format("\"{}\" must be an object with a whole number \"{}\"", key, name));
    }
    return found->get<std::uint64_t>();
  };
  const Outcome outcome{.fired = member("fired"),
                        .cancelled = member("cancelled"),
                        .digest = member("digest"),
                        .pending = member("pending")};
  const std::uint64_t most = counts.schedules;
  const bool could_be =
      outcome.fired <= most && outcome.pending <= most - outcome.fired &&
      outcome.cancelled <= std::min(counts.cancels, most - outcome.fired - outcome.pending);
  if (!could_be) {
    sidecar.fail(fmt::format(
        "\"{}\" has more timers than its operations; make it again, or leave it out", key));
  }
  return outcome;
}

TraceInfo read_info(const Sidecar& sidecar) {
  if (const auto version = sidecar.required<std::uint64_t>("version"); version != kTraceVersion) {
    sidecar.fail(fmt::format("version {}, but this program reads version {}; {}", version,
                             kTraceVersion,
                             version > kTraceVersion ? "use a newer one" : "make the trace again"));
  }
  TraceInfo info;
  info.unit_ns = sidecar.required<double>("unit_ns");
  if (!(info.unit_ns > 0)) sidecar.fail("\"unit_ns\" must be greater than 0");
  info.capacity = sidecar.required<TimerId>("capacity");
  if (info.capacity > kMostIds) {
    sidecar.fail(fmt::format("\"capacity\" is more than {}; number the ids from 0", kMostIds));
  }
  info.setup_ops = sidecar.optional("setup_ops", info.setup_ops);
  info.item = excerpt(sidecar.optional("item", info.item));
  info.workload = sidecar.optional("workload", info.workload);
  if (sidecar.has("parameters")) info.parameters = sidecar.required<json>("parameters").dump();
  info.seed = sidecar.optional("seed", info.seed);
  info.source = sidecar.optional("source", info.source);
  return info;
}

void check_hash(const Sidecar& sidecar, std::span<const Op> ops) {
  if (!sidecar.has("hash")) return;
  if (const auto said = sidecar.required<std::string>("hash"); !said.starts_with(kHashKind)) {
    sidecar.fail(
        fmt::format("\"hash\" is {}, which this version cannot check: it writes {}...; make the "
                    "trace again, or take \"hash\" out of the file to use it unchecked",
                    excerpt(said), kHashKind));
  }
  sidecar.expect("hash", hash_text(hash_ops(ops)));
}

}  // namespace

Trace Trace::load(const fs::path& path) {
  const Files files = files_of(path);
  const std::string npy = files.npy.string();
  Trace trace;
  MappedFile mapped = map_file(files.npy);
  trace.ops_ = parse_npy(mapped.bytes, npy);
  trace.storage_ = std::move(mapped.storage);

  const Sidecar sidecar(files.json, files.npy);
  TraceInfo& info = trace.info_ = read_info(sidecar);
  const OpCounts counts = count_ops(trace.ops_);
  sidecar.expect<std::uint64_t>("ops", trace.ops_.size());
  sidecar.expect("schedules", counts.schedules);
  sidecar.expect("cancels", counts.cancels);
  sidecar.expect("advances", counts.advances);
  check_hash(sidecar, trace.ops_);
  info.outcome = read_outcome(sidecar, "outcome", counts);
  check_ids(trace.ops_, info.capacity, npy);
  if (info.setup_ops > trace.ops_.size()) {
    sidecar.fail(fmt::format("\"setup_ops\" is {}, but {} has only {} operations", info.setup_ops,
                             npy, trace.ops_.size()));
  }
  info.setup_outcome = read_outcome(sidecar, "setup_outcome", count_ops(trace.setup()));
  if (info.outcome && info.setup_outcome &&
      (info.setup_outcome->fired > info.outcome->fired ||
       info.setup_outcome->cancelled > info.outcome->cancelled)) {
    sidecar.fail("\"setup_outcome\" has more timers than \"outcome\"; make both again");
  }

  if (sidecar.has("items")) {
    info.items = sidecar.required<std::uint64_t>("items");
    // One advance may fire many of the counted timers, but each was armed.
    if (info.items > trace.ops_.size()) {
      sidecar.fail(fmt::format("\"items\" is {}, but there are only {} operations", info.items,
                               trace.ops_.size()));
    }
  } else {
    info.items = count_ops(trace.measured()).timer_ops();
  }
  if (sidecar.has("peak_pending")) {
    info.peak_pending = sidecar.required<std::uint64_t>("peak_pending");
    if (info.peak_pending > info.capacity) sidecar.fail("\"peak_pending\" exceeds \"capacity\"");
  } else {
    info.peak_pending = timerbench::peak_pending(trace.ops_, info.capacity, npy);
  }
  return trace;
}

void Trace::save(const fs::path& path) const { TraceOutput(path).write(*this); }

TraceOutput::TraceOutput(const fs::path& path)
    : npy_(files_of(path).npy), sidecar_(files_of(path).json) {
  if (path.filename().empty() || path.filename() == "." || path.filename() == "..") {
    throw TraceError(fmt::format("cannot write {}: it is a folder; add a name", path.string()));
  }
}

void TraceOutput::write(const Trace& trace) {
  const auto ops = trace.ops();
  npy_.write(npy_header(ops.size()));
  for_each_window(ops, [this](std::span<const Op> window) {
    npy_.write({reinterpret_cast<const char*>(window.data()), window.size_bytes()});
  });
  sidecar_.write(to_json(trace.info(), ops).dump(2, ' ', false, json::error_handler_t::replace) +
                 '\n');
  npy_.sync();
  sidecar_.sync();
  npy_.commit();
  sidecar_.commit();
}

}  // namespace timerbench
