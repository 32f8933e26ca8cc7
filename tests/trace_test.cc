// Traces as files: .npy with .json, CSV; and what is counted in them.
#include "trace/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "scratch.h"
#include "trace/csv.h"
#include "trace/stat.h"

namespace timerbench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// 0 armed for 5 and moved to 9, 1 armed and cancelled, 2 fires at 3; the first two are set-up.
const std::vector<Op> kOps = {schedule_op(0, 5), schedule_op(1, 7), schedule_op(2, 3),
                              advance_op(1),     schedule_op(0, 8), cancel_op(1),
                              advance_op(4),     cancel_op(2)};

Trace small_trace() {
  return {{.unit_ns = 2.5,
           .capacity = 3,
           .setup_ops = 2,
           .item = "pair",
           .items = 5,
           .peak_pending = 3,
           .workload = "test",
           .parameters = R"({"mean":4.5})",
           .seed = ~std::uint64_t{0},
           .source = "by hand"},
          kOps};
}

TEST(Trace, GivesItsParts) {
  const Trace trace = small_trace();
  EXPECT_THAT(trace.ops(), ElementsAreArray(kOps));
  EXPECT_EQ(trace.setup().size(), 2u);
  EXPECT_EQ(trace.measured().size(), kOps.size() - 2);
  EXPECT_EQ(trace.measured().front(), kOps[2]);
}

TEST(Trace, OutlivesBeingMoved) {
  Trace first = small_trace();
  const Trace second = std::move(first);
  EXPECT_THAT(second.ops(), ElementsAreArray(kOps));
}

TEST(Trace, RefusesWhatDoesNotFit) {
  const auto with = [](TraceInfo info) { return error_of([&] { Trace(info, kOps); }); };
  EXPECT_THAT(with({.capacity = 2, .workload = "w"}),
              AllOf(HasSubstr("w: operation 2 (of 8): id 2"), HasSubstr("capacity 2")));
  EXPECT_THAT(with({.capacity = 3, .setup_ops = 9}), HasSubstr("9 setup operations"));
  EXPECT_THAT(with({.unit_ns = 0, .capacity = 3}), HasSubstr("0 ns"));
}

TEST(Ops, AreCounted) {
  const OpCounts counts = count_ops(kOps);
  EXPECT_EQ(counts.schedules, 4u);
  EXPECT_EQ(counts.cancels, 2u);
  EXPECT_EQ(counts.advances, 2u);
  EXPECT_EQ(counts.timer_ops(), 6u);
}

TEST(Ops, AreHashedByXxh3) {
  EXPECT_EQ(hash_ops({}), 0x2d06800538d394c2U);  // of no bytes, as its specification has it
  EXPECT_EQ(hash_ops(std::vector{Op{1, 2}, Op{3, 0xffffffff}}), 0x92134ab0baa4e81fU);
}

TEST(Ops, EveryBitCountsForTheHash) {
  std::vector<Op> ops(100, schedule_op(7, 1'000));
  std::set<std::uint64_t> hashes{hash_ops(ops)};
  for (Op& op : ops) {
    for (int bit = 0; bit < 32; ++bit) {
      for (std::uint32_t* const half : {&op.id, &op.arg}) {
        *half ^= std::uint32_t{1} << bit;
        hashes.insert(hash_ops(ops));
        *half ^= std::uint32_t{1} << bit;
      }
    }
  }
  EXPECT_EQ(hashes.size(), 1U + 100 * 64);
  ops[3].arg ^= 0x80000000;  // two top bits, which cancel out where words are only multiplied
  ops[50].arg ^= 0x80000000;
  EXPECT_FALSE(hashes.contains(hash_ops(ops)));
}

TEST(Ops, PeakPendingCountsFires) {
  EXPECT_EQ(peak_pending(kOps, 3, "here"), 3u);
  EXPECT_EQ(
      peak_pending(std::vector{schedule_op(0, 1), advance_op(1), schedule_op(1, 1)}, 2, "here"),
      1u);
  EXPECT_EQ(peak_pending({}, 0, "here"), 0u);
}

// ---- .npy and .json ----

constexpr std::string_view kDictionary =
    "{'descr': [('id', '<u4'), ('arg', '<u4')], 'fortran_order': False, 'shape': (2,), }";
constexpr std::string_view kTwoOps("\1\0\0\0\2\0\0\0\xff\xff\xff\xff\3\0\0\0", 16);

// As numpy.save writes it: magic, version, header padded to the alignment, data.
std::string npy(std::string_view dictionary = kDictionary, std::string_view data = kTwoOps,
                int version = 1, std::size_t alignment = 64) {
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  std::string header(dictionary);
  while ((8 + length_bytes + header.size() + 1) % alignment != 0) header += ' ';
  header += '\n';
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (std::size_t i = 0; i < length_bytes; ++i) {
    file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  }
  return file + header + std::string(data);
}

constexpr std::string_view kLeastJson = R"({"version": 1, "unit_ns": 1000000, "capacity": 2})";

TEST(TraceFile, RoundTrip) {
  const Scratch scratch;
  small_trace().save(scratch.path("t"));
  EXPECT_THAT(scratch.names(), UnorderedElementsAre("t.npy", "t.json"));
  for (const char* name : {"t", "t.npy", "t.json"}) {
    const Trace trace = Trace::load(scratch.path(name));
    EXPECT_THAT(trace.ops(), ElementsAreArray(kOps));
    const TraceInfo& info = trace.info();
    EXPECT_EQ(info.unit_ns, 2.5);
    EXPECT_EQ(info.capacity, 3u);
    EXPECT_EQ(info.setup_ops, 2u);
    EXPECT_EQ(info.item, "pair");
    EXPECT_EQ(info.items, 5u);
    EXPECT_EQ(info.peak_pending, 3u);
    EXPECT_EQ(info.workload, "test");
    EXPECT_EQ(info.parameters, R"({"mean":4.5})");
    EXPECT_EQ(info.seed, ~std::uint64_t{0});
    EXPECT_EQ(info.source, "by hand");
  }
}

TEST(TraceFile, NameMayContainDots) {
  const Scratch scratch;
  small_trace().save(scratch.path("v1.5"));
  EXPECT_THAT(scratch.names(), UnorderedElementsAre("v1.5.npy", "v1.5.json"));
  EXPECT_EQ(Trace::load(scratch.path("v1.5")).ops().size(), kOps.size());
}

TEST(TraceFile, MayBeEmptyOfOperations) {
  const Scratch scratch;
  Trace({.capacity = 0}, {}).save(scratch.path("t"));
  EXPECT_THAT(Trace::load(scratch.path("t")).ops(), IsEmpty());
}

TEST(TraceFile, IsByteForByteWhatNumPySaves) {
  const Scratch scratch;
  Trace({.capacity = 2}, {{1, 2}, advance_op(3)}).save(scratch.path("t"));
  EXPECT_EQ(scratch.read("t.npy"), npy());
}

TEST(TraceFile, SidecarSaysEverything) {
  const Scratch scratch;
  small_trace().save(scratch.path("t"));
  const auto sidecar = nlohmann::json::parse(scratch.read("t.json"));
  EXPECT_EQ(sidecar, nlohmann::json::parse(R"({
    "version": 1, "unit_ns": 2.5, "capacity": 3, "ops": 8, "schedules": 4, "cancels": 2,
    "advances": 2, "setup_ops": 2, "item": "pair", "items": 5, "peak_pending": 3,
    "workload": "test", "parameters": {"mean": 4.5}, "seed": 18446744073709551615,
    "source": "by hand", "hash": "xxh3:5b55341021b33365"})"));
}

TEST(TraceFile, FromNumPyNeedsThreeNumbers) {
  const Scratch scratch;
  scratch.write("t.json", kLeastJson);
  for (const std::string& bytes :
       {npy(), npy(kDictionary, kTwoOps, 2), npy(kDictionary, kTwoOps, 1, 16)}) {
    scratch.write("t.npy", bytes);
    const Trace trace = Trace::load(scratch.path("t"));
    EXPECT_THAT(trace.ops(), ElementsAre(Op{1, 2}, advance_op(3)));
    EXPECT_EQ(trace.info().unit_ns, 1e6);
    EXPECT_EQ(trace.info().items, 1u);
    EXPECT_EQ(trace.info().peak_pending, 1u);
    EXPECT_EQ(trace.info().setup_ops, 0u);
    EXPECT_EQ(trace.info().item, "op");
  }
}

TEST(TraceFile, MissingItemsAreThoseOfTheMeasuredPart) {
  const Scratch scratch;
  scratch.write("t.npy", npy());
  scratch.write("t.json", R"({"version": 1, "unit_ns": 1, "capacity": 2, "setup_ops": 1})");
  EXPECT_EQ(Trace::load(scratch.path("t")).info().items, 0u);
}

struct Damage {
  std::string npy_bytes;
  std::string complaint;
};

TEST(TraceFile, DamagedNpyIsRefused) {
  const Scratch scratch;
  scratch.write("t.json", kLeastJson);
  const std::string good = npy();
  const auto edited = [](std::string_view from, std::string_view to) {
    std::string dictionary(kDictionary);
    return npy(dictionary.replace(dictionary.find(from), from.size(), to));
  };
  const auto byte_set = [good](std::size_t at, char value) {
    std::string bytes = good;
    bytes[at] = value;
    return bytes;
  };
  const std::vector<Damage> damages = {
      {"", "it is empty"},
      {"PK\3\4", "not an .npy file"},
      {good.substr(0, 5), "not an .npy file"},
      {good.substr(0, 9), "truncated in its header"},
      {good.substr(0, 60), "truncated in its header"},
      {good.substr(0, good.size() - 1), "15 bytes of operations where its header says 2"},
      {good.substr(0, good.size() - 8), "8 bytes of operations where its header says 2"},
      {good + "123", "19 bytes of operations where its header says 2"},
      {good + "12345678", "24 bytes of operations where its header says 2"},
      {byte_set(6, 9), "byte 6: .npy version 9"},
      {byte_set(9, 0x70), "a header of 28790 bytes; the file is damaged"},
      {byte_set(12, '\n'), "the array is {"},
      {edited("('id', '<u4'), ('arg', '<u4')", "('id', '<u8'), ('arg', '<u4')"), "'<u8'"},
      {edited("'<u4'), ('arg'", "'>u4'), ('arg'"), "'>u4'"},
      {edited("('arg', '<u4')", "('delay', '<u4')"), "of dtype [('id','<u4'),('arg','<u4')]"},
      {edited("[('id', '<u4'), ('arg', '<u4')]", "'<i8'"), "'<i8'"},
      {edited("False", "True"), "not in Fortran order"},
      {edited("(2,)", "(2, 1)"), "one-dimensional"},
      {edited("(2,)", "()"), "one-dimensional"},
      {edited("(2,)", "(-2,)"), "one-dimensional"},
      {edited("(2,)", "(2305843009213693954,)"), "2305843009213693954 operations"},
      {npy(kDictionary, kTwoOps, 1, 1), "is no multiple of 8"},
  };
  for (const auto& [bytes, complaint] : damages) {
    scratch.write("t.npy", bytes);
    EXPECT_THAT(error_of([&] { Trace::load(scratch.path("t")); }),
                AllOf(HasSubstr(scratch.path("t.npy").string()), HasSubstr(complaint)));
  }
}

TEST(TraceFile, DamagedJsonIsRefused) {
  const Scratch scratch;
  scratch.write("t.npy", npy());
  const auto with = [](std::string_view members) {
    return R"({"version": 1, "unit_ns": 1, "capacity": 2)" + std::string(members) + "}";
  };
  const std::vector<std::pair<std::string, std::string>> damages = {
      {"", "not JSON"},
      {"{\"version\": 1,\n", "not JSON"},
      {"\x93NUMPY", "not JSON"},
      {R"({"version": 1e999})", "not JSON"},
      {"[1, 2]", "not a JSON object"},
      {R"({"unit_ns": 1, "capacity": 2})", "\"version\" is missing"},
      {R"({"version": 1, "capacity": 2})", "\"unit_ns\" is missing"},
      {R"({"version": 1, "unit_ns": 1})", "\"capacity\" is missing"},
      {R"({"version": 2, "unit_ns": 1, "capacity": 2})", "version 2, but this program reads"},
      {R"({"version": 2})", "use a newer one"},
      {R"({"version": "1"})", "\"version\" must be a whole number"},
      {R"({"version": 1, "unit_ns": 0, "capacity": 2})", "\"unit_ns\" must be greater than 0"},
      {R"({"version": 1, "unit_ns": "ms", "capacity": 2})", "\"unit_ns\" must be a number"},
      {R"({"version": 1, "unit_ns": 1, "capacity": -2})", "\"capacity\" must be a whole number"},
      {R"({"version": 1, "unit_ns": 1, "capacity": 2.5})", "\"capacity\" must be a whole number"},
      {R"({"version": 1, "unit_ns": 1, "capacity": 4294967296})", "from 0 to 4294967295"},
      {R"({"version": 1, "unit_ns": 1, "capacity": 1})",
       "operation 0 (of 2): id 1 is not below the capacity 1"},
      {with(R"(, "ops": 3)"), "\"ops\" is 3, but "},
      {with(R"(, "schedules": 2)"), "\"schedules\" is 2, but "},
      {with(R"(, "cancels": 1)"), "does not belong to this .npy"},
      {with(R"(, "advances": 0)"), "\"advances\" is 0, but "},
      {with(R"(, "hash": "xxh3:0000000000000000")"), "\"hash\" is xxh3:0000000000000000"},
      {with(R"(, "hash": "fnv1a64:0000000000000000")"),
       "\"hash\" is fnv1a64:0000000000000000, which this version cannot check"},
      {with(R"(, "hash": 5)"), "\"hash\" must be a string"},
      {with(R"(, "setup_ops": 3)"), "\"setup_ops\" is 3"},
      {with(R"(, "peak_pending": 3)"), "\"peak_pending\" exceeds"},
      {with(R"(, "parameters": [])"), "\"parameters\" must be an object"},
      {with(R"(, "source": {})"), "\"source\" must be a string"},
  };
  for (const auto& [text, complaint] : damages) {
    scratch.write("t.json", text);
    EXPECT_THAT(error_of([&] { Trace::load(scratch.path("t")); }), HasSubstr(complaint));
  }
}

TEST(TraceFile, AnyFlippedBitOfTheOperationsIsFound) {
  const Scratch scratch;
  small_trace().save(scratch.path("t"));
  std::string bytes = scratch.read("t.npy");
  for (std::size_t at = bytes.size() - kOps.size() * sizeof(Op); at < bytes.size(); ++at) {
    bytes[at] ^= 0x10;
    scratch.write("t.npy", bytes);
    EXPECT_THROW(Trace::load(scratch.path("t")), TraceError) << "byte " << at;
    bytes[at] ^= 0x10;
  }
}

TEST(TraceFile, MissingFilesAreNamed) {
  const Scratch scratch;
  EXPECT_THAT(error_of([&] { Trace::load(scratch.path("none")); }),
              HasSubstr("none.npy: No such file or directory"));
  scratch.write("t.npy", npy());
  EXPECT_THAT(error_of([&] { Trace::load(scratch.path("t")); }),
              AllOf(HasSubstr("t.json: No such file"), HasSubstr("\"version\": 1"),
                    HasSubstr("\"unit_ns\""), HasSubstr("\"capacity\"")));
  std::filesystem::create_directory(scratch.path("d.npy"));
  EXPECT_THAT(error_of([&] { Trace::load(scratch.path("d")); }), HasSubstr("not a regular file"));
  std::filesystem::create_directory(scratch.path("t.json"));
  EXPECT_THAT(error_of([&] { Trace::load(scratch.path("t")); }),
              HasSubstr("t.json: it is not a regular file"));
}

TEST(TraceFile, UnreadableIsAnError) {
  constexpr uid_t kNobody = 65534;
  const Scratch scratch;
  small_trace().save(scratch.path("t"));
  std::filesystem::permissions(scratch.path("t.npy"), std::filesystem::perms::none);
  const uid_t user = geteuid();
  if (user == 0) {  // who reads everything
    ASSERT_EQ(seteuid(kNobody), 0);
  }
  EXPECT_THAT(error_of([&] { Trace::load(scratch.path("t")); }), HasSubstr("Permission denied"));
  ASSERT_EQ(seteuid(user), 0);
}

TEST(TraceFile, SaveIntoNoFolderIsAnError) {
  const Scratch scratch;
  EXPECT_THAT(error_of([&] { small_trace().save(scratch.path("no/t")); }),
              AllOf(HasSubstr("cannot write"), HasSubstr("No such file or directory")));
}

TEST(TraceFile, SaveReplacesNoFolder) {
  const Scratch scratch;
  std::filesystem::create_directory(scratch.path("t.json"));
  EXPECT_THAT(error_of([&] { small_trace().save(scratch.path("t")); }),
              HasSubstr("is not a regular file"));
  EXPECT_THAT(scratch.names(), UnorderedElementsAre("t.json"));
}

// Files cannot grow beyond a limit, which fails a write in the middle as a full disk does.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    signal(SIGXFSZ, handler_);
  }

 private:
  sighandler_t handler_;
  rlimit old_{};
};

TEST(TraceFile, FailedWriteKeepsTheOldAndLeavesNothing) {
  const Scratch scratch;
  small_trace().save(scratch.path("t"));
  const Trace big({.capacity = 1}, std::vector<Op>(100'000, schedule_op(0, 1)));
  {
    const FileSizeLimit limit(1 << 16);
    EXPECT_THAT(error_of([&] { big.save(scratch.path("t")); }),
                AllOf(HasSubstr("t.npy"), HasSubstr("File too large")));
    EXPECT_THAT(error_of([&] { export_csv(big, scratch.path("t.csv")); }), HasSubstr("t.csv"));
  }
  EXPECT_THAT(scratch.names(), UnorderedElementsAre("t.npy", "t.json"));
  EXPECT_THAT(Trace::load(scratch.path("t")).ops(), ElementsAreArray(kOps));
}

// Whoever finds a .json may trust the .npy beside it.
TEST(TraceFile, TheJsonAppearsAfterTheNpy) {
  const Scratch scratch;
  TraceOutput output(scratch.path("t"));
  std::filesystem::create_directory(scratch.path("t.npy"));  // in the way
  EXPECT_THAT(error_of([&] { output.write(small_trace()); }), HasSubstr("t.npy"));
  EXPECT_FALSE(std::filesystem::exists(scratch.path("t.json")));
}

// ---- CSV ----

std::vector<Op> imported(const std::string& rows) {
  const Scratch scratch;
  const Trace trace = import_csv(scratch.write("t.csv", "at,op,id,delay\n" + rows), 1);
  return {trace.ops().begin(), trace.ops().end()};
}

TEST(Csv, Export) {
  const Scratch scratch;
  export_csv(small_trace(), scratch.path("t.csv"));
  EXPECT_EQ(scratch.read("t.csv"),
            "at,op,id,delay\n"
            "0,schedule,0,5\n"
            "0,schedule,1,7\n"
            "0,schedule,2,3\n"
            "0,advance,,1\n"
            "1,schedule,0,8\n"
            "1,cancel,1,\n"
            "1,advance,,4\n"
            "5,cancel,2,\n");
  EXPECT_THAT(scratch.names(), UnorderedElementsAre("t.csv"));
}

TEST(Csv, RoundTripIsExact) {
  const Scratch scratch;
  constexpr TimerId kLast = 9;
  std::vector<Op> ops = {schedule_op(kLast, kMaxDelay),
                         advance_op(0),
                         advance_op(~0u),
                         advance_op(~0u),
                         advance_op(1),
                         cancel_op(kLast),
                         cancel_op(kLast),
                         schedule_op(0, 0),
                         advance_op(0)};
  for (std::uint32_t i = 0; i < 20'000; ++i) {  // more than one buffer of text
    ops.push_back(i % 3 == 0 ? advance_op(i) : schedule_op(i % 9, i * i));
  }
  export_csv(Trace({.capacity = kLast + 1}, ops), scratch.path("t.csv"));
  const Trace trace = import_csv(scratch.path("t.csv"), 1e6);
  EXPECT_THAT(trace.ops(), ElementsAreArray(ops));
  EXPECT_EQ(trace.info().capacity, kLast + 1);
  EXPECT_EQ(trace.info().unit_ns, 1e6);
  EXPECT_EQ(trace.info().items, count_ops(ops).timer_ops());
  EXPECT_EQ(trace.info().peak_pending, peak_pending(ops, kLast + 1, "t.csv"));
}

TEST(Csv, LaterRowImpliesAnAdvance) {
  EXPECT_THAT(
      imported("10,schedule,4,5\n"
               "10,cancel,4,\n"
               "12,cancel,4,\n"
               "20,advance,,\n"
               "20,advance,,\n"
               "21,advance,,3\n"
               "24,schedule,0,1\n"),
      ElementsAre(advance_op(10), schedule_op(4, 5), cancel_op(4), advance_op(2), cancel_op(4),
                  advance_op(8), advance_op(0), advance_op(1), advance_op(3), schedule_op(0, 1)));
}

TEST(Csv, LongGapIsSeveralAdvances) {
  EXPECT_THAT(imported("8589934590,cancel,0,\n"),
              ElementsAre(advance_op(~0u), advance_op(~0u), cancel_op(0)));
  EXPECT_THAT(imported("8589934591,cancel,0,\n"),
              ElementsAre(advance_op(~0u), advance_op(~0u), advance_op(1), cancel_op(0)));
  EXPECT_THAT(imported("0,advance,,4294967296\n"), ElementsAre(advance_op(~0u), advance_op(1)));
}

TEST(Csv, AcceptsWindowsLinesBlankLinesAndNoLastNewline) {
  const Scratch scratch;
  const auto path = scratch.write("t.csv", "at,op,id,delay\r\n0,schedule,1,5\r\n\r\n7,cancel,1,");
  EXPECT_THAT(import_csv(path, 1).ops(),
              ElementsAre(schedule_op(1, 5), advance_op(7), cancel_op(1)));
}

TEST(Csv, ErrorsNameTheLine) {
  const std::vector<std::pair<std::string, std::string>> errors = {
      {"0,schedule,1,5\n0,cancel,1\n", ":3: four fields expected"},
      {"0,schedule,1,5,\n", ":2: four fields expected"},
      {"5,cancel,0,\n4,cancel,0,\n", ":3: at 4 is in the past, the clock is 5"},
      {"0,advance,,9\n8,cancel,0,\n", ":3: at 8 is in the past, the clock is 9"},
      {"-1,cancel,0,\n", ":2: at is \"-1\", not a whole number"},
      {"1.5,cancel,0,\n", ":2: at is \"1.5\""},
      {",cancel,0,\n", ":2: at is \"\""},
      {"18446744073709551616,cancel,0,\n", ":2: at is \"18446744073709551616\""},
      {"9007199254740992,cancel,0,\n", ":2: an advance by 9007199254740992 ticks"},
      {"0,advance,,99999999999999999\n", ":2: delay is \"99999999999999999\""},
      {"0,remove,0,\n", ":2: op is \"remove\", not schedule, cancel or advance"},
      {"0,cancel,x,\n", ":2: id is \"x\""},
      {"0,cancel,,\n", ":2: id is \"\""},
      {"0,cancel,4294967295,\n",
       ":2: id is \"4294967295\", not a whole number from 0 to 999999999"},
      {"0,schedule,0,\n", ":2: delay is \"\""},
      {"0,schedule,0,4294967295\n",
       ":2: delay 4294967295 is more than 4294967294; choose a coarser"},
      {"0,cancel,0,5\n", ":2: cancel takes no delay"},
      {"0,advance,3,5\n", ":2: advance takes no id"},
      {"0,can\x01"
       "cel,0,\n",
       ":2: op is \"can?cel\""},
  };
  for (const auto& [rows, complaint] : errors) {
    EXPECT_THAT(error_of([&rows = rows] { imported(rows); }), HasSubstr("t.csv" + complaint));
  }
}

TEST(Csv, BadFilesAreNamed) {
  const Scratch scratch;
  const auto import = [](const std::filesystem::path& path) {
    return error_of([&path] { import_csv(path, 1); });
  };
  EXPECT_THAT(import(scratch.path("no.csv")), HasSubstr("no.csv: No such file or directory"));
  EXPECT_THAT(import(scratch.path()),
              AllOf(HasSubstr("cannot read"), HasSubstr("not a regular file")));
  EXPECT_THAT(import(scratch.write("e.csv", "")),
              HasSubstr("the first line must be at,op,id,delay"));
  EXPECT_THAT(import(scratch.write("h.csv", "0,cancel,0,\n")),
              HasSubstr("h.csv:1: the first line"));
  EXPECT_THAT(import(scratch.write("b.csv", std::string(100'000, '\0'))),
              HasSubstr("b.csv:1: longer than 65536 bytes"));
}

// ---- stat ----

TEST(TraceStat, TellsHowTimersEnd) {
  const TraceStat stat = stat_trace(small_trace());
  EXPECT_EQ(stat.ops, 8u);
  EXPECT_EQ(stat.duration, 5u);
  EXPECT_EQ(stat.peak_pending, 3u);
  EXPECT_EQ(stat.cancelled, 1u);
  EXPECT_EQ(stat.moved, 1u);
  EXPECT_EQ(stat.fired, 1u);
  EXPECT_EQ(stat.pending, 1u);
  EXPECT_EQ(stat.cancelled + stat.moved + stat.fired + stat.pending, stat.counts.schedules);
  EXPECT_EQ(stat.vain_cancels, 1u);
}

TEST(TraceStat, EndsInTheSetupDoNotCountAsMeasured) {
  for (const bool time_passes : {false, true}) {
    std::vector<Op> ops{schedule_op(0, 9), schedule_op(1, 9), schedule_op(1, 1), cancel_op(0)};
    if (time_passes) ops.push_back(advance_op(1));  // fires 1
    const std::size_t setup = ops.size();
    for (const Op op :
         {schedule_op(2, 5), schedule_op(2, 6), schedule_op(3, 7), cancel_op(3), advance_op(6)}) {
      ops.push_back(op);
    }
    Trace trace({.capacity = 4, .setup_ops = setup}, ops);
    for (const bool known : {false, true}) {
      if (known) {
        const std::uint64_t fired = time_passes ? 1 : 0;
        trace.set_setup_outcome({.fired = fired, .cancelled = 1, .pending = 1 - fired});
      }
      const Ends ends = measured_ends(trace, stat_trace(trace));
      EXPECT_EQ(ends.moved, 1u);
      EXPECT_EQ(ends.cancelled, 1u);
      EXPECT_EQ(ends.fired, time_passes ? 1u : 2u);
    }
  }
}

TEST(TraceStat, BelievesTheOutcomeOfTheSetupThatIsKnown) {
  Trace trace({.capacity = 1, .setup_ops = 1}, {schedule_op(0, 9), cancel_op(0)});
  EXPECT_EQ(measured_ends(trace, stat_trace(trace)).cancelled, 1u);
  trace.set_setup_outcome({.cancelled = 1});
  EXPECT_EQ(measured_ends(trace, stat_trace(trace)).cancelled, 0u);
}

TEST(TraceStat, ThePeakMayBeBeforeTheEnd) {
  const std::vector<Op> ops{schedule_op(0, 9), schedule_op(1, 9), schedule_op(2, 9), cancel_op(0),
                            cancel_op(1),      schedule_op(0, 9), cancel_op(0)};
  Trace trace({.capacity = 3, .peak_pending = 3}, ops);
  EXPECT_EQ(stat_trace(trace).peak_pending, 3u);
  EXPECT_EQ(stat_trace(trace).pending, 1u);
  trace.set_outcome({.cancelled = 3, .pending = 1});
  EXPECT_EQ(stat_trace(trace).peak_pending, 3u);
  EXPECT_EQ(stat_trace(trace).pending, 1u);
}

TEST(TraceStat, BelievesAnOutcomeThatIsKnown) {
  Trace trace = small_trace();
  const TraceStat worked_out = stat_trace(trace);
  trace.set_outcome({.fired = worked_out.fired,
                     .cancelled = worked_out.cancelled,
                     .pending = worked_out.pending});
  const TraceStat known = stat_trace(trace);
  EXPECT_EQ(known.moved, worked_out.moved);
  EXPECT_EQ(known.vain_cancels, worked_out.vain_cancels);
  EXPECT_EQ(known.fired, worked_out.fired);
  EXPECT_EQ(known.pending, worked_out.pending);
}

TEST(Trace, AnOutcomeOfMoreTimersThanThereAreIsRefused) {
  const Scratch scratch;
  const OpCounts counts = count_ops(small_trace().ops());
  for (const Outcome& wrong :
       {Outcome{.fired = counts.schedules + 1}, Outcome{.fired = 1, .pending = counts.schedules},
        Outcome{.cancelled = counts.cancels + 1}}) {
    Trace trace = small_trace();
    trace.set_outcome(wrong);
    trace.save(scratch.path("t"));
    EXPECT_THAT(error_of([&] { Trace::load(scratch.path("t")); }),
                HasSubstr("\"outcome\" has more"));
  }
}

TEST(Trace, TheOutcomeOfTheSetupIsKeptAndChecked) {
  const Scratch scratch;
  Trace trace({.capacity = 2, .setup_ops = 2},
              {schedule_op(0, 9), schedule_op(1, 9), cancel_op(0), advance_op(9)});
  const Outcome setup{.digest = 3, .pending = 2};
  const auto saved_with = [&](const Outcome& outcome) {
    trace.set_setup_outcome(outcome);
    trace.save(scratch.path("t"));
  };
  saved_with(setup);
  EXPECT_EQ(Trace::load(scratch.path("t")).info().setup_outcome, setup);
  saved_with({.pending = 3});
  EXPECT_THAT(error_of([&] { Trace::load(scratch.path("t")); }),
              HasSubstr("\"setup_outcome\" has more timers than its operations"));
  trace.set_outcome({.cancelled = 1, .pending = 1});
  saved_with({.fired = 1, .pending = 1});
  EXPECT_THAT(error_of([&] { Trace::load(scratch.path("t")); }),
              HasSubstr("\"setup_outcome\" has more timers than \"outcome\""));
}

TEST(TraceStat, PercentilesAreThoseOfAllDelaysInOrder) {
  std::vector<Op> ops;
  std::vector<std::uint32_t> delays;
  std::uint32_t state = 1;
  for (int i = 0; i < 5000; ++i) {
    state = state * 1664525 + 1013904223;
    delays.push_back((state >> (state % 31)) % kMaxDelay);  // of all magnitudes
    ops.push_back(schedule_op(0, delays.back()));
  }
  std::ranges::sort(delays);
  for (const auto& [percent, delay] : stat_trace(Trace({.capacity = 1}, ops)).percentiles) {
    EXPECT_EQ(delay, delays[(delays.size() - 1) * static_cast<std::size_t>(percent) / 100]);
  }
}

TEST(TraceStat, DistributesDelays) {
  std::vector<Op> ops;
  for (std::uint32_t delay = 0; delay <= 100; ++delay) ops.push_back(schedule_op(0, 100 - delay));
  ops.push_back(schedule_op(0, kMaxDelay));
  const TraceStat stat = stat_trace(Trace({.capacity = 1}, ops));
  const auto delay_of = [&stat](int percent) {
    return std::ranges::find(stat.percentiles, percent, &TraceStat::Percentile::percent)->delay;
  };
  EXPECT_EQ(delay_of(0), 0u);
  EXPECT_EQ(delay_of(1), 1u);
  EXPECT_EQ(delay_of(10), 10u);
  EXPECT_EQ(delay_of(50), 50u);
  EXPECT_EQ(delay_of(90), 90u);
  EXPECT_EQ(delay_of(99), 99u);
  EXPECT_EQ(delay_of(100), kMaxDelay);
  EXPECT_EQ(stat.histogram[0], 1u);   // 0
  EXPECT_EQ(stat.histogram[1], 1u);   // 1
  EXPECT_EQ(stat.histogram[6], 32u);  // 32 .. 63
  EXPECT_EQ(stat.histogram[7], 37u);  // 64 .. 100
  EXPECT_EQ(stat.histogram[32], 1u);
  EXPECT_EQ(std::accumulate(stat.histogram.begin(), stat.histogram.end(), std::uint64_t{0}), 102u);
}

TEST(TraceStat, TextShowsTicksAndSeconds) {
  const Trace trace({.unit_ns = 4e6,
                     .capacity = 1,
                     .workload = "w",
                     .parameters = R"({"mean": 4.5, "shape": "flat"})",
                     .source = "by hand"},
                    {schedule_op(0, 50), advance_op(250)});
  EXPECT_EQ(to_text(stat_trace(trace), trace.info()),
            R"(source          by hand
workload        w
parameters      mean=4.5 shape="flat"
tick            4 ms
duration        250 ticks, 1 s
operations                 2  (0 of them set-up)
  schedule                 1
  cancel                   0  (0 found nothing)
  advance                  1
ids                        1
peak pending               1
what was scheduled
  was cancelled            0    0.0 %
  was moved                0    0.0 %
  fired                    1  100.0 %
  is pending               0    0.0 %
delay                  ticks        time
  min                     50      200 ms
  p1                      50      200 ms
  p10                     50      200 ms
  p50                     50      200 ms
  p90                     50      200 ms
  p99                     50      200 ms
  max                     50      200 ms
delay from             ticks        time       count
                          32      128 ms           1  100.0 % ########################################
)");
}

TEST(TraceStat, OfNothing) {
  const Trace trace({.capacity = 0}, {});
  const TraceStat stat = stat_trace(trace);
  EXPECT_EQ(stat.ops, 0u);
  EXPECT_THAT(to_text(stat, trace.info()), HasSubstr("duration        0 ticks, 0 s"));
}

}  // namespace
}  // namespace timerbench
