// The faults of durable queues: the audit by the ledger, the disk and the proxy that break things, and
// whole runs, with sound queues and with such as break their promise.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "durable/journal.h"
#include "durable/shared_array.h"
#include "engines/private_server.h"
#include "engines/scoped_variable.h"
#include "faults/fault.h"
#include "redis/server.h"
#include "scratch.h"
#include "suites/realtime_suite.h"
#include "system/stop.h"
#include "wrapped_durable.h"

namespace timerbench {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Tick kMs = 1'000'000;
constexpr SurvivalTerms kStrict{
    .kept = Kept::all, .latest = 0, .delivery = Delivery::at_least_once};
constexpr SurvivalTerms kAtMostOnce{
    .kept = Kept::all, .latest = 0, .delivery = Delivery::at_most_once};

constexpr SurvivalTerms kMayLoseAll{
    .kept = Kept::none, .latest = 0, .delivery = Delivery::at_least_once};

// --- The audit ---

void arm(SurvivalLedger& ledger, DurableId id, Tick deadline) {
  ledger.add(Happening::asked, id, deadline);
  ledger.add(Happening::armed, id);
}

void fire(SurvivalLedger& ledger, DurableId id) {
  ledger.add(Happening::claimed, id);
  ledger.add(Happening::fired, id);
  ledger.add(Happening::completed, id);
}

TEST(SurvivalAudit, FindsNothingWrongIfEachTimerFiresOnce) {
  SurvivalLedger ledger;
  for (DurableId id = 1; id <= 3; ++id) arm(ledger, id, unix_now());
  for (DurableId id = 1; id <= 3; ++id) fire(ledger, id);
  const Survival survival = audit(ledger, kStrict);
  EXPECT_EQ(survival.breach, "");
  EXPECT_EQ(survival.acknowledged, 3U);
  EXPECT_EQ(survival.lost, 0U);
  EXPECT_EQ(survival.fired_twice, 0U);
  EXPECT_EQ(missing(ledger, Delivery::at_least_once), 0U);
}

TEST(SurvivalAudit, CountsWhatIsLost) {
  SurvivalLedger ledger;
  for (DurableId id = 1; id <= 3; ++id) arm(ledger, id, unix_now());
  fire(ledger, 2);
  const Survival survival = audit(ledger, kStrict);
  EXPECT_EQ(survival.lost, 2U);
  EXPECT_THAT(survival.breach, HasSubstr("acknowledged timer 1 never fired, and 1 more"));
  EXPECT_EQ(missing(ledger, Delivery::at_least_once), 2U);
  EXPECT_THAT(audit(ledger, kMayLoseAll).breach, HasSubstr("armed after all was mended"));
  ledger.add(Happening::fault);
  EXPECT_EQ(audit(ledger, kMayLoseAll).breach, "");
}

TEST(SurvivalAudit, WhatIsLostMayBeYoungIfThatIsPromised) {
  SurvivalLedger ledger;
  arm(ledger, 1, unix_now());
  std::this_thread::sleep_for(30ms);
  arm(ledger, 2, unix_now());
  ledger.add(Happening::fault);
  const auto breach = [&](Tick latest) {
    return audit(ledger, {.kept = Kept::but_the_latest, .latest = latest, .delivery = {}}).breach;
  };
  EXPECT_EQ(breach(10'000 * kMs), "");
  EXPECT_THAT(breach(25 * kMs), HasSubstr("timer 1 never fired, which was acknowledged"));
}

TEST(SurvivalAudit, WhatIsLostMayBeOfTheLastTimersIfThatIsPromised) {
  SurvivalLedger ledger;
  for (DurableId id = 1; id <= 4; ++id) {
    arm(ledger, id, unix_now());
    std::this_thread::sleep_for(1ms);
  }
  ledger.add(Happening::fault);
  const auto breach = [&](std::uint64_t timers) {
    return audit(
               ledger,
               {.kept = Kept::but_the_latest, .latest = 0, .delivery = {}, .latest_calls = timers})
        .breach;
  };
  EXPECT_EQ(breach(4), "");
  EXPECT_THAT(breach(3), HasSubstr("timer 1 never fired, which was acknowledged"));
  EXPECT_THAT(breach(3), Not(HasSubstr("more")));
  EXPECT_THAT(breach(0), HasSubstr("and 3 more"));
}

// SQLite's log of so many pages is also filled by what is cancelled.
TEST(SurvivalAudit, CancellingCountsAmongTheCallsThatMayBeLost) {
  SurvivalLedger ledger;
  arm(ledger, 1, unix_now());
  std::this_thread::sleep_for(1ms);
  for (DurableId id = 2; id <= 3; ++id) {
    arm(ledger, id, unix_now() + kHour);
    ledger.add(Happening::cancelling, id);
    ledger.add(Happening::cancelled, id);
  }
  ledger.add(Happening::fault);
  const auto breach = [&](std::uint64_t calls) {
    return audit(ledger,
                 {.kept = Kept::but_the_latest, .latest = 0, .delivery = {}, .latest_calls = calls})
        .breach;
  };
  EXPECT_EQ(breach(5), "");
  EXPECT_THAT(breach(4), HasSubstr("timer 1 never fired"));
}

// Each strike may take what was young when it began, and what was armed until it was mended.
TEST(SurvivalAudit, WhatIsLostMustHaveMetAStrike) {
  SurvivalLedger ledger;
  const auto lose = [&](DurableId id) { arm(ledger, id, unix_now()); };
  const auto breach_if_young_are_lost = [&] {
    return audit(ledger, {.kept = Kept::but_the_latest, .latest = 250 * kMs, .delivery = {}})
        .breach;
  };
  lose(1);
  ledger.add(Happening::fault);
  lose(2);
  ledger.add(Happening::mended);
  EXPECT_EQ(breach_if_young_are_lost(), "");
  lose(3);
  std::this_thread::sleep_for(300ms);
  EXPECT_THAT(breach_if_young_are_lost(), HasSubstr("timer 3 never fired, which was armed after"));
  EXPECT_THAT(audit(ledger, kMayLoseAll).breach, HasSubstr("timer 3 never fired, which was armed"));
  lose(4);
  ledger.add(Happening::fault);
  ledger.add(Happening::mended);
  EXPECT_THAT(breach_if_young_are_lost(), HasSubstr("timer 3 never fired, which was acknowledged"));
  EXPECT_THAT(breach_if_young_are_lost(), Not(HasSubstr("more")));
  EXPECT_EQ(audit(ledger, kMayLoseAll).breach, "");
}

TEST(SurvivalAudit, WhatIsMissingIsNotLostWhileTheQueueIsNotBack) {
  SurvivalLedger ledger;
  arm(ledger, 1, unix_now());
  ledger.add(Happening::fault);
  ledger.add(Happening::mended);
  ledger.add(Happening::given_up);
  for (const SurvivalTerms& terms : {kStrict, kMayLoseAll}) {
    const Survival survival = audit(ledger, terms);
    EXPECT_EQ(survival.lost, 0U);
    EXPECT_FALSE(survival.is_back);
    EXPECT_THAT(survival.breach, ContainsRegex("not back 0 s after .* 1 timers are missing"));
  }
}

TEST(SurvivalAudit, NobodyWasSilentIfATimerFiresInTheInstantOfItsDeadline) {
  SurvivalLedger ledger;
  arm(ledger, 1, unix_now() + kHour);  // what is early is taken for punctual
  fire(ledger, 1);
  EXPECT_EQ(audit(ledger, kStrict).silent_seconds, 0);
}

TEST(SurvivalAudit, WhatWasNotAcknowledgedMayFireOrNot) {
  SurvivalLedger ledger;
  ledger.add(Happening::asked, 1, unix_now());
  ledger.add(Happening::asked, 2, unix_now());
  fire(ledger, 2);
  const Survival survival = audit(ledger, kStrict);
  EXPECT_EQ(survival.breach, "");
  EXPECT_EQ(survival.acknowledged, 0U);
  EXPECT_EQ(survival.fired_without_acknowledgement, 1U);
}

TEST(SurvivalAudit, FindsTwiceOnlyWhereOnceIsPromised) {
  SurvivalLedger ledger;
  arm(ledger, 1, unix_now());
  ledger.add(Happening::fired, 1);
  fire(ledger, 1);
  EXPECT_EQ(audit(ledger, kStrict).breach, "");
  EXPECT_EQ(audit(ledger, kStrict).fired_twice, 1U);
  EXPECT_THAT(audit(ledger, kAtMostOnce).breach, HasSubstr("timer 1 fired 2 times"));
}

TEST(SurvivalAudit, WhatAWorkerHadCompletedIsNotLostIfItFiresAtMostOnce) {
  SurvivalLedger ledger;
  arm(ledger, 1, unix_now());
  const auto lost = [&](const SurvivalTerms& terms) { return audit(ledger, terms).lost; };
  ledger.add(Happening::claimed, 1);
  EXPECT_EQ(lost(kAtMostOnce), 1U);
  ledger.add(Happening::completing, 1);
  EXPECT_EQ(lost(kAtMostOnce), 0U);
  EXPECT_EQ(lost(kStrict), 1U);
  ledger.add(Happening::not_completed, 1);  // another holds it
  EXPECT_EQ(lost(kAtMostOnce), 1U);
  for (int i = 0; i < 2; ++i) ledger.add(Happening::completing, 1);  // the first answer was lost
  ledger.add(Happening::not_completed, 1);
  EXPECT_EQ(lost(kAtMostOnce), 0U);
  ledger.add(Happening::completing, 1);
  ledger.add(Happening::completed, 1);
  EXPECT_EQ(lost(kAtMostOnce), 0U);
}

TEST(SurvivalAudit, FindsWhatFiresEarlyOrFromNowhere) {
  SurvivalLedger early, unknown;
  arm(early, 1, unix_now() + 1000 * kMs);
  fire(early, 1);
  EXPECT_THAT(audit(early, kStrict).breach, HasSubstr("before its deadline"));
  fire(unknown, 1);
  EXPECT_THAT(audit(unknown, kStrict).breach, HasSubstr("nobody armed it"));
}

TEST(SurvivalAudit, FindsTwoWhoHeldATimer) {
  SurvivalLedger ledger;
  arm(ledger, 1, unix_now());
  fire(ledger, 1);
  fire(ledger, 1);
  EXPECT_THAT(audit(ledger, kStrict).breach,
              HasSubstr("2 workers were told that they held timer 1"));
}

TEST(SurvivalAudit, FindsWhatFiresAfterItWasCancelled) {
  SurvivalLedger at_once, later;
  for (SurvivalLedger* ledger : {&at_once, &later}) {
    arm(*ledger, 1, unix_now());
    ledger->add(Happening::cancelling, 1);
    ledger->add(Happening::cancelled, 1);
  }
  fire(at_once, 1);  // it was under way
  EXPECT_EQ(audit(at_once, kStrict).breach, "");
  std::this_thread::sleep_for(450ms);
  at_once.add(Happening::fired, 1);  // who holds it may be slow
  EXPECT_EQ(audit(at_once, kStrict).breach, "");
  fire(later, 1);
  EXPECT_EQ(audit(later, kStrict).fired_after_cancel, 1U);
  EXPECT_THAT(audit(later, kStrict).breach, HasSubstr("s after it was cancelled"));
}

// If all but the latest is kept, that is true of cancellations and completions too.
TEST(SurvivalAudit, WhatIsForgottenMustBeYoungIfThatIsPromised) {
  SurvivalLedger cancelled, completed;
  arm(cancelled, 1, unix_now());
  cancelled.add(Happening::cancelling, 1);
  cancelled.add(Happening::cancelled, 1);
  arm(completed, 1, unix_now());
  completed.add(Happening::claimed, 1);
  completed.add(Happening::completing, 1);
  completed.add(Happening::completed, 1);
  completed.add(Happening::fired, 1);
  std::this_thread::sleep_for(450ms);
  for (SurvivalLedger* ledger : {&cancelled, &completed}) {
    ledger->add(Happening::fault);
    ledger->add(Happening::mended);
    ledger->add(Happening::claimed, 1);
    ledger->add(Happening::completing, 1);
    ledger->add(Happening::completed, 1);
    ledger->add(Happening::fired, 1);
  }
  const auto breach = [](const SurvivalLedger& ledger, Tick latest) {
    return audit(
               ledger,
               {.kept = Kept::but_the_latest, .latest = latest, .delivery = Delivery::at_most_once})
        .breach;
  };
  EXPECT_EQ(breach(cancelled, 10'000 * kMs), "");
  EXPECT_THAT(breach(cancelled, 100 * kMs), HasSubstr("s after it was cancelled"));
  EXPECT_EQ(breach(completed, 10'000 * kMs), "");
  EXPECT_THAT(breach(completed, 100 * kMs),
              HasSubstr("2 workers were told that they held timer 1"));
  EXPECT_EQ(audit(completed, kMayLoseAll).breach, "");
}

// What happened before a strike is not excused by it.
TEST(SurvivalAudit, WhatIsForgottenMustHaveMetAStrike) {
  SurvivalLedger cancelled, completed;
  arm(cancelled, 1, unix_now());
  cancelled.add(Happening::cancelling, 1);
  cancelled.add(Happening::cancelled, 1);
  std::this_thread::sleep_for(450ms);
  cancelled.add(Happening::claimed, 1);
  arm(completed, 1, unix_now());
  for (int i = 0; i < 2; ++i) {
    completed.add(Happening::completing, 1);
    completed.add(Happening::completed, 1);
  }
  for (SurvivalLedger* ledger : {&cancelled, &completed}) {
    ledger->add(Happening::fault);
    ledger->add(Happening::mended);
    ledger->add(Happening::claimed, 1);
    ledger->add(Happening::fired, 1);
    for (const Kept kept : {Kept::but_the_latest, Kept::none}) {
      const SurvivalTerms terms{.kept = kept, .latest = 10'000 * kMs, .delivery = {}};
      EXPECT_NE(audit(*ledger, terms).breach, "");
    }
  }
}

TEST(SurvivalAudit, AnUnansweredCancelExcusesBoth) {
  SurvivalLedger ledger;
  for (DurableId id = 1; id <= 2; ++id) {
    arm(ledger, id, unix_now());
    ledger.add(Happening::cancelling, id);
  }
  fire(ledger, 2);
  EXPECT_EQ(audit(ledger, kStrict).breach, "");
  ledger.add(Happening::not_cancelled, 1);
  EXPECT_EQ(audit(ledger, kStrict).lost, 1U);
}

TEST(SurvivalAudit, MeasuresSilenceWhileSomethingIsDue) {
  SurvivalLedger ledger;
  const auto begin = std::chrono::steady_clock::now();
  arm(ledger, 1, unix_now());
  std::this_thread::sleep_for(60ms);
  fire(ledger, 1);
  const std::chrono::duration<double> most = std::chrono::steady_clock::now() - begin;
  std::this_thread::sleep_for(60ms);  // nothing is due
  arm(ledger, 2, unix_now());
  fire(ledger, 2);
  const Survival survival = audit(ledger, kStrict);
  EXPECT_GE(survival.silent_seconds, 0.060);
  EXPECT_LE(survival.silent_seconds, most.count() + 0.001);  // not while nothing was due
  EXPECT_GE(survival.latest_seconds, 0.060);
}

TEST(SurvivalAudit, DrawsATimeLine) {
  SurvivalLedger ledger;
  arm(ledger, 1, unix_now());
  std::this_thread::sleep_for(50ms);
  ledger.add(Happening::fault);
  fire(ledger, 1);
  ledger.add(Happening::mended);
  ledger.add(Happening::fault);
  const SurvivalTimeline line = timeline(ledger);
  ASSERT_GE(line.fired.size(), 3U);
  EXPECT_EQ(line.asked[0], 1U);
  EXPECT_EQ(line.fired[0], 0U);
  ASSERT_EQ(line.strikes.size(), 2U);
  EXPECT_GE(line.strikes[0].begin, 0.05);
  EXPECT_GE(line.strikes[0].end, line.strikes[0].begin);
  EXPECT_GE(line.strikes[1].begin, line.strikes[0].end);
  EXPECT_EQ(line.strikes[1].end, std::nullopt);
}

// --- What breaks things ---

class LoopDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = LoopDisk::unavailable(); !reason.empty()) GTEST_SKIP() << reason;
    disk_.emplace();
  }

  void write(std::string_view name, bool synchronise) {
    const int file = open((disk_->path() / name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_EQ(::write(file, "text", 4), 4);
    ASSERT_TRUE(!synchronise || fsync(file) == 0);
    close(file);
  }
  std::string read(std::string_view name) {
    std::ifstream file(disk_->path() / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // And not in what the kernel has of it in memory.
  void overwrite_on_disk(std::string_view text) {
    const int image = ::open((disk_->path().parent_path() / "image").c_str(), O_RDWR | O_CLOEXEC);
    void* const bytes =
        mmap(nullptr, LoopDisk::kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, image, 0);
    ASSERT_NE(bytes, MAP_FAILED);
    void* const found = memmem(bytes, LoopDisk::kBytes, text.data(), text.size());
    ASSERT_NE(found, nullptr);
    std::memset(found, 'x', text.size());
    EXPECT_EQ(msync(bytes, LoopDisk::kBytes, MS_SYNC), 0);
    munmap(bytes, LoopDisk::kBytes);
    close(image);
  }

  std::optional<LoopDisk> disk_;
};

TEST_F(LoopDiskTest, KeepsWhatWasSynchronisedWhenItsPowerIsCut) {
  write("kept", /*synchronise=*/true);
  write("lost", /*synchronise=*/false);
  EXPECT_EQ(read("lost"), "text");
  disk_->cut_power();
  EXPECT_EQ(read("kept"), "text");
  EXPECT_FALSE(std::filesystem::exists(disk_->path() / "lost"));
  write("kept_too", /*synchronise=*/false);
  disk_->synchronise();
  disk_->cut_power();
  EXPECT_EQ(read("kept"), "text");
  EXPECT_EQ(read("kept_too"), "text");
}

// So a synchronisation that has failed leaves a file: the kernel takes its bytes for written.
TEST_F(LoopDiskTest, AJournalHasWhatIsOnItAndNotWhatIsInMemory) {
  const auto path = disk_->path() / "timers.journal";
  const auto open = [&](std::vector<std::string>& records) {
    return std::make_unique<Journal>(
        path, std::chrono::microseconds(0),
        [&](std::string_view record) { records.emplace_back(record); });
  };
  std::vector<std::string> records;
  {
    const auto journal = open(records);
    for (const char* record : {"the first", "the second"}) journal->commit(journal->append(record));
  }
  disk_->synchronise();
  overwrite_on_disk("the second");
  const auto journal = open(records);
  EXPECT_EQ(records, std::vector<std::string>{"the first"});
}

TEST_F(LoopDiskTest, CanBeFull) {
  disk_->fill();
  std::ofstream file(disk_->path() / "more");
  EXPECT_FALSE((file << std::string(1 << 20, 'x')).flush());
  disk_->empty();
  std::ofstream again(disk_->path() / "again");
  EXPECT_TRUE((again << std::string(1 << 20, 'x')).flush());
}

TEST_F(LoopDiskTest, IsGoneAfterwards) {
  const std::filesystem::path folder = disk_->path();
  disk_.reset();
  EXPECT_FALSE(std::filesystem::exists(folder));
}

// A server that says each byte again.
class Echo {
 public:
  explicit Echo(const std::filesystem::path& path) : listener_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    const sockaddr_un address = address_of(path);
    bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    listen(listener_, 8);
    process_ = fork();
    if (process_ == 0) serve();
  }
  ~Echo() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    close(listener_);
  }

  static sockaddr_un address_of(const std::filesystem::path& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    return address;
  }

 private:
  [[noreturn]] void serve() const {
    signal(SIGCHLD, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int client; (client = accept(listener_, nullptr, nullptr)) >= 0; close(client)) {
      if (fork() != 0) continue;
      for (char byte; ::read(client, &byte, 1) == 1;) {
        if (::write(client, &byte, 1) != 1) break;
      }
      _exit(0);
    }
    _exit(0);
  }

  int listener_;
  pid_t process_;
};

class Caller {
 public:
  explicit Caller(const std::filesystem::path& path) : socket_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    const sockaddr_un address = Echo::address_of(path);
    connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    const timeval patience{.tv_sec = 1, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }
  ~Caller() { close(socket_); }

  enum class Answer { comes, does_not_come, connection_ended };
  Answer ask() const {
    if (send(socket_, "?", 1, MSG_NOSIGNAL) != 1) return Answer::connection_ended;
    char byte = 0;
    const ssize_t size = recv(socket_, &byte, 1, 0);
    if (size == 1) return Answer::comes;
    return size == 0 || errno == ECONNRESET ? Answer::connection_ended : Answer::does_not_come;
  }

 private:
  int socket_;
};

TEST(ProxyTest, BreaksConnectionsAsItIsTold) {
  const Scratch folder;
  const std::filesystem::path path = folder.path("socket");
  const Echo server(path);
  constexpr auto kInEffect = 200ms;
  {
    Proxy proxy(path);
    const auto answer = [&] { return Caller(path).ask(); };
    const auto with = [&](Proxy::Mode mode, const auto& use) {
      proxy.set(mode);
      std::this_thread::sleep_for(kInEffect);
      use();
      proxy.set(Proxy::Mode::pass);
      for (int i = 0; i < 500 && answer() != Caller::Answer::comes; ++i) {
        std::this_thread::sleep_for(10ms);
      }
    };
    EXPECT_EQ(answer(), Caller::Answer::comes);
    EXPECT_EQ(proxy.bytes(), 2U);  // a byte in each direction
    with(Proxy::Mode::refuse, [&] { EXPECT_EQ(answer(), Caller::Answer::connection_ended); });
    EXPECT_EQ(answer(), Caller::Answer::comes);
    with(Proxy::Mode::silence, [&] { EXPECT_EQ(answer(), Caller::Answer::does_not_come); });
    EXPECT_EQ(answer(), Caller::Answer::comes);
    with(Proxy::Mode::swallow_answers, [&] { EXPECT_EQ(answer(), Caller::Answer::does_not_come); });
    const Caller from_before(path);
    EXPECT_EQ(from_before.ask(), Caller::Answer::comes);
    with(Proxy::Mode::refuse,
         [&] { EXPECT_EQ(from_before.ask(), Caller::Answer::connection_ended); });
  }
  EXPECT_EQ(Caller(path).ask(), Caller::Answer::comes);
}

TEST(ProxyTest, PutsTheSocketBackIfItCannotBegin) {
  const Scratch folder;
  const std::filesystem::path path = folder.path("socket");
  const Echo server(path);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  EXPECT_THROW(Proxy proxy(path), std::system_error);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(Caller(path).ask(), Caller::Answer::comes);
}

sockaddr_in address_of(const std::string& host, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  return address;
}

// Connects from an address to another, where somebody listens. Nobody need accept.
// Why no connection comes, or 0.
int failure_to_reach(const std::string& from, const std::string& to, int port) {
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  const timeval patience{.tv_sec = 0, .tv_usec = 200'000};
  setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  const sockaddr_in source = address_of(from, 0), target = address_of(to, port);
  const bool is_reached =
      bind(client, reinterpret_cast<const sockaddr*>(&source), sizeof(source)) == 0 &&
      connect(client, reinterpret_cast<const sockaddr*>(&target), sizeof(target)) == 0;
  const int failure = is_reached ? 0 : errno;
  close(client);
  return failure;
}

bool reaches(const std::string& from, const std::string& to, int port) {
  return failure_to_reach(from, to, port) == 0;
}

// Takes connections to all addresses, at any port. Nobody need accept them.
class Listener {
 public:
  Listener() : socket_(socket(AF_INET, SOCK_STREAM, 0)) { listen(socket_, 64); }
  ~Listener() { close(socket_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int take() const { return accept(socket_, nullptr, nullptr); }
  int port() const {
    sockaddr_in address{};
    socklen_t size = sizeof(address);
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
  }

 private:
  const int socket_;
};

// Sends without a connection, so that nothing need come back.
class Datagrams {
 public:
  explicit Datagrams(const std::string& host) : socket_(socket(AF_INET, SOCK_DGRAM, 0)) {
    const sockaddr_in own = address_of(host, 0);
    bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof(own));
  }
  ~Datagrams() { close(socket_); }
  Datagrams(const Datagrams&) = delete;
  Datagrams& operator=(const Datagrams&) = delete;

  bool reach(const Datagrams& other) const {
    sockaddr_in target{};
    socklen_t size = sizeof(target);
    getsockname(other.socket_, reinterpret_cast<sockaddr*>(&target), &size);
    sendto(socket_, "x", 1, 0, reinterpret_cast<const sockaddr*>(&target), sizeof(target));
    pollfd waiting{.fd = other.socket_, .events = POLLIN, .revents = 0};
    char byte = 0;
    return poll(&waiting, 1, 100) == 1 && recv(other.socket_, &byte, 1, 0) == 1;
  }

 private:
  const int socket_;
};

TEST(OwnNetworkTest, PartsAddresses) {
  if (const std::string reason = OwnNetwork::unavailable(); !reason.empty()) GTEST_SKIP() << reason;
  const OwnNetwork network;
  const Listener listener;
  const int port = listener.port();
  const std::vector<std::string> others{"127.0.0.21", "127.0.0.22", "127.0.0.23"};
  EXPECT_TRUE(reaches("127.0.0.21", "127.0.0.22", port));
  network.part("127.0.0.21", others);
  EXPECT_FALSE(reaches("127.0.0.21", "127.0.0.22", port));
  EXPECT_FALSE(reaches("127.0.0.22", "127.0.0.21", port));
  EXPECT_TRUE(reaches("127.0.0.22", "127.0.0.23", port));
  EXPECT_TRUE(reaches("127.0.0.1", "127.0.0.21", port));
  network.heal("127.0.0.21", others);
  EXPECT_TRUE(reaches("127.0.0.21", "127.0.0.22", port));
}

TEST(OwnNetworkTest, StopsOneDirection) {
  if (const std::string reason = OwnNetwork::unavailable(); !reason.empty()) GTEST_SKIP() << reason;
  const OwnNetwork network;
  const Listener listener;
  const OwnNetwork::Addresses server{"127.0.0.21"}, client{OwnNetwork::kClient};
  for (const auto how : {OwnNetwork::Stop::drop, OwnNetwork::Stop::refuse}) {
    network.stop(client, server, how);
    const int failure = failure_to_reach(client[0], server[0], listener.port());
    EXPECT_NE(failure, 0);
    EXPECT_EQ(failure == EINPROGRESS, how == OwnNetwork::Stop::drop);  // has waited for an answer
    EXPECT_TRUE(reaches(client[0], "127.0.0.22", listener.port()));
    network.pass(client, server, how);
    EXPECT_TRUE(reaches(client[0], server[0], listener.port()));
  }
  const Datagrams here(client[0]), there(server[0]);
  network.stop(server, client, OwnNetwork::Stop::drop);
  EXPECT_TRUE(here.reach(there));
  EXPECT_FALSE(there.reach(here));
}

// The server of a pair of sockets over TCP.
class OnTcp : public DurableEngine {
 public:
  std::vector<std::string> nodes() override { return {"127.0.0.21"}; }

 private:
  std::unique_ptr<DurableQueue> do_open(const DurableConfig&) override { return nullptr; }
};

TEST(ClientConnectionsTest, BreaksThemOverTcpAsItIsTold) {
  if (const std::string reason = OwnNetwork::unavailable(); !reason.empty()) GTEST_SKIP() << reason;
  const OwnNetwork network;
  OnTcp engine;
  ClientConnections connections(engine, &network);
  struct Seen {
    bool by_server, by_client;
    bool operator==(const Seen&) const = default;
  };
  const auto see = [&](Proxy::Mode mode) {
    const Listener listener;
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in target = address_of("127.0.0.21", listener.port());
    EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&target), sizeof(target)), 0);
    const int server = listener.take();
    connections.break_them(mode);
    const auto passes = [](int from, int to) {
      if (send(from, "x", 1, MSG_NOSIGNAL) != 1) return false;
      pollfd waiting{.fd = to, .events = POLLIN, .revents = 0};
      char byte = 0;
      return poll(&waiting, 1, 100) == 1 && recv(to, &byte, 1, MSG_DONTWAIT) == 1;
    };
    const Seen seen{passes(client, server), passes(server, client)};
    const bool is_reached = reaches(OwnNetwork::kClient, "127.0.0.21", listener.port());
    EXPECT_EQ(is_reached, mode == Proxy::Mode::pass);
    connections.mend();
    EXPECT_TRUE(reaches(OwnNetwork::kClient, "127.0.0.21", listener.port()));
    close(client);
    close(server);
    return seen;
  };
  EXPECT_EQ(see(Proxy::Mode::pass), (Seen{true, true}));
  EXPECT_EQ(see(Proxy::Mode::swallow_answers), (Seen{true, false}));
  EXPECT_EQ(see(Proxy::Mode::silence), (Seen{false, false}));
  EXPECT_EQ(see(Proxy::Mode::refuse), (Seen{false, false}));
}

TEST(OwnNetworkTest, EndsConnectionsAndTellsBothEnds) {
  if (const std::string reason = OwnNetwork::unavailable(); !reason.empty()) GTEST_SKIP() << reason;
  const OwnNetwork network;
  const Listener listener;
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in target = address_of("127.0.0.21", listener.port());
  ASSERT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&target), sizeof(target)), 0);
  const int server = listener.take();
  network.stop({OwnNetwork::kClient}, {"127.0.0.21"}, OwnNetwork::Stop::refuse);
  network.disconnect(OwnNetwork::kClient, {"127.0.0.21"});
  for (const int end : {client, server}) {
    char byte = 0;
    EXPECT_LE(recv(end, &byte, 1, MSG_DONTWAIT), 0);
    EXPECT_NE(errno, EAGAIN);
    close(end);
  }
  EXPECT_THROW(network.disconnect("no address", {"127.0.0.21"}), BackendUnavailable);
}

TEST(OwnNetworkTest, IsLeftAgainIfItCannotBeMade) {
  if (const std::string reason = OwnNetwork::unavailable(); !reason.empty()) GTEST_SKIP() << reason;
  const auto network = [] { return std::filesystem::read_symlink("/proc/self/ns/net"); };
  const auto before = network();
  const Scratch folder;
  folder.write("libc.so.6", "");  // no program starts
  setenv("LD_LIBRARY_PATH", folder.path().c_str(), /*overwrite=*/1);
  EXPECT_THROW(OwnNetwork(), BackendUnavailable);
  unsetenv("LD_LIBRARY_PATH");
  EXPECT_EQ(network(), before);
}

// --- Whole runs ---

RealtimeFigures run(std::string_view fault, const DurableContender& contender,
                    std::uint64_t runs = 1) {
  const DurableSuite suite = faults_suite();
  const auto scenario = std::ranges::find(suite.scenarios, fault, &DurableLoadScenario::name);
  return scenario->measure(contender, runs, {.seconds = 1, .seed = 1});
}

double counter(const RealtimeFigures& figures, std::string_view name) {
  const auto found = std::ranges::find(figures.counters, name,
                                       [](const auto& one) { return std::string_view(one.first); });
  return found->second;
}

Fault fault_named(std::string_view name) {
  return *std::ranges::find(faults(), name, &Fault::name);
}

// A run with a fault that is not as in the roster. It needs neither a disk nor a network.
Survival run(const Fault& fault, const DurableContender& contender, SurvivalLedger& ledger,
             std::chrono::nanoseconds striking = 0s) {
  const Scratch folder;
  const auto engine = contender.start(folder.path());
  run_fault(fault, *engine, contender.traits, /*disk=*/nullptr, /*network=*/nullptr, "queue",
            /*seed=*/1, striking, ledger, StopFlag());
  return audit(ledger, terms_of(fault, contender.traits));
}

// When the last timer that was cancelled would have been due.
Tick last_due_of_cancelled(const SurvivalLedger& ledger) {
  std::set<DurableId> cancelled;
  for (std::size_t i = 0; i < ledger.size(); ++i) {
    if (ledger[i].what == Happening::cancelled) cancelled.insert(ledger[i].id);
  }
  Tick last = 0;
  for (std::size_t i = 0; i < ledger.size(); ++i) {
    if (cancelled.contains(ledger[i].id)) last = std::max(last, ledger[i].deadline);
  }
  return last;
}

TEST(FaultTest, AnEngineIsKilledAgainAndAgain) {
  SurvivalLedger ledger;
  const Survival survival = run(fault_named("engine_killed_repeatedly"),
                                durable_contender("journal_wheel_0"), ledger, 5s);
  const std::uint64_t strikes = count(ledger, Happening::fault);
  EXPECT_GE(strikes, 2U);  // a rest is 3 s at most
  EXPECT_LE(strikes, 5U);  // and 1 s at least
  EXPECT_EQ(count(ledger, Happening::mended), strikes);
  EXPECT_EQ(survival.breach, "");
  EXPECT_EQ(survival.lost, 0U);
  EXPECT_GT(last_due_of_cancelled(ledger), 0U);
  EXPECT_GT(unix_now(), last_due_of_cancelled(ledger));  // so it is seen that they do not fire
}

struct LosesOneOfTen : Wrapped {
  using Wrapped::Wrapped;
  void schedule(std::span<const DurableTimer> timers) override {
    if (timers[0].id % 10 != 0) queue_->schedule(timers);
  }
};

// As a client that the system kills because memory is short.
struct IsKilled : Wrapped {
  using Wrapped::Wrapped;
  void schedule(std::span<const DurableTimer> timers) override {
    queue_->schedule(timers);
    if (timers[0].id == 20) kill(getpid(), SIGKILL);
  }
};

TEST(FaultTest, AClientThatSomebodyElseKillsIsNoFinding) {
  SurvivalLedger ledger;
  EXPECT_THAT(error_of([&] { run(fault_named("lease_ends"), contender<IsKilled>(), ledger); }),
              HasSubstr("a client was ended by the signal 9"));
}

// Another is the master each time that somebody asks, for so many times.
struct ReplacesItsMaster : WrappedEngine {
  using WrappedEngine::WrappedEngine;
  static inline int times = 0;
  std::vector<std::string> masters() override {
    return {std::to_string(times > 0 ? times-- : times)};
  }
};

TEST(FaultTest, ARunInWhichAMasterWasReplacedTellsNothing) {
  const DurableContender& whole = durable_contender("redis_memory");
  const DurableContender contender{
      .traits = whole.traits, .start = [&whole](const std::filesystem::path& folder) {
        return std::make_unique<ReplacesItsMaster>(
            whole.start(folder), [](std::unique_ptr<DurableQueue> queue) { return queue; });
      }};
  ReplacesItsMaster::times = 1;
  const RealtimeFigures figures = run("lease_ends", contender);
  EXPECT_EQ(counter(figures, "disturbed"), 1);
  EXPECT_EQ(counter(figures, "runs"), 1);
  ReplacesItsMaster::times = 100;
  EXPECT_THAT(error_of([&] { run("lease_ends", contender); }), HasSubstr("a master was replaced"));
}

TEST(FaultTest, AProducerIsKilledWhileItWaitsForAnAnswer) {
  SurvivalLedger ledger;
  const Survival survival =
      run(fault_named("producer_killed"), durable_contender("redis_memory"), ledger);
  EXPECT_EQ(survival.breach, "");
  EXPECT_GT(count(ledger, Happening::asked), count(ledger, Happening::armed));
}

// Makes a file longer; and from a time on, like an engine that acknowledges first and writes later,
// writes its first block again, and then what it does into a .log.
struct WritesTheFirstBlock : Wrapped {
  using Wrapped::Wrapped;
  static inline std::filesystem::path folder;
  static inline std::chrono::steady_clock::time_point from;
  void schedule(std::span<const DurableTimer> timers) override {
    queue_->schedule(timers);
    std::filesystem::resize_file(folder / "file",
                                 std::filesystem::file_size(folder / "file") + 512);
    if (std::chrono::steady_clock::now() < from) return;
    std::fstream file(folder / "file", std::ios::in | std::ios::out);
    file << fmt::format("{:0500}", timers[0].id);  // never the same again
    file.close();
    std::ofstream(folder / "bridges.log", std::ios::app) << 'x';
  }
};

struct HasAFolder : WrappedEngine {
  using WrappedEngine::WrappedEngine;
  std::vector<std::filesystem::path> folders() const override {
    return {WritesTheFirstBlock::folder};
  }
};

void expect_that_the_last_block_is_spoilt(std::chrono::milliseconds writes_after) {
  const Scratch folder, timers;
  WritesTheFirstBlock::folder = folder.path();
  WritesTheFirstBlock::from = std::chrono::steady_clock::now() + writes_after;
  const std::string old(2000, '-');
  folder.write("file", old);
  HasAFolder engine(durable_contender("journal_wheel_0").start(timers.path()),
                    [](std::unique_ptr<DurableQueue> queue) {
                      return std::make_unique<WritesTheFirstBlock>(std::move(queue));
                    });
  SurvivalLedger ledger;
  DurableTraits traits = durable_contender("journal_wheel_0").traits;
  traits.promise.latest = 0;  // then the run is short
  run_fault(fault_named("last_block_spoilt"), engine, traits, /*disk=*/nullptr, /*network=*/nullptr,
            "queue", /*seed=*/1, /*striking=*/0s, ledger, StopFlag());
  const std::string file = folder.read("file"), log = folder.read("bridges.log");
  EXPECT_EQ(file.substr(512), old.substr(512) + std::string(file.size() - old.size(), '\0'));
  EXPECT_NE(file.substr(500, 12), old.substr(500, 12));
  EXPECT_EQ(log, std::string(log.size(), 'x'));
}

TEST(FaultTest, WhatIsSpoiltWasWrittenLast) { expect_that_the_last_block_is_spoilt(0ms); }

TEST(FaultTest, AnEngineThatWritesLaterIsAwaited) {
  expect_that_the_last_block_is_spoilt(/*writes_after=*/1500ms);
}

// It never says that it holds nothing more.
struct HoldsOneForEver : LosesOneOfTen {
  using LosesOneOfTen::LosesOneOfTen;
  std::size_t size() override { return 1; }
};

TEST(FaultTest, AQueueThatIsNotBackHasLostNothing) {
  Fault fault = fault_named("engine_killed");
  fault.longest_recovery = std::chrono::seconds(1);
  SurvivalLedger ledger;
  const Survival survival = run(fault, contender<HoldsOneForEver>(), ledger);
  EXPECT_EQ(survival.lost, 0U);
  EXPECT_THAT(survival.breach, HasSubstr("not back 1 s after all was mended"));
}

double breaches(std::string_view fault, const DurableContender& contender, std::uint64_t runs = 1) {
  return counter(run(fault, contender, runs), "breaches");
}

// Counts how often a worker waits for what is due earlier.
struct CountsWaits : Wrapped {
  using Wrapped::Wrapped;
  static inline SharedArray<std::atomic<int>> waits{1};
  bool await_earlier(Tick next_wakeup, std::chrono::nanoseconds longest) override {
    ++waits[0];
    return queue_->await_earlier(next_wakeup, longest);
  }
};

struct ArmsSlowly : Wrapped {
  using Wrapped::Wrapped;
  void schedule(std::span<const DurableTimer> timers) override {
    std::this_thread::sleep_for(100ms);
    queue_->schedule(timers);
  }
};

TEST(FaultTest, ARunOfFewerCallsThanMayBeLostTellsNothing) {
  DurableContender slow = contender<ArmsSlowly>();
  slow.traits.promise.when_killed = Kept::but_the_latest;
  slow.traits.promise.latest = 0;
  slow.traits.promise.latest_calls = 100;
  SurvivalLedger ledger;
  EXPECT_THAT(error_of([&] { run(fault_named("engine_killed"), slow, ledger); }),
              HasSubstr("too few timers were armed"));
}

TEST(FaultTest, ASoundQueueKeepsItsPromise) {
  const auto expect_kept = [](std::string_view fault, std::uint64_t runs) {
    CountsWaits::waits[0] = 0;
    const RealtimeFigures figures = run(fault, contender<CountsWaits>(), runs);
    EXPECT_GT(CountsWaits::waits[0], 0);
    EXPECT_EQ(counter(figures, "breaches"), 0) << fault << ": " << figures.summary;
    EXPECT_EQ(counter(figures, "lost"), 0) << fault;
    EXPECT_GT(counter(figures, "acknowledged"), 20) << fault;
    for (const char* seed : {"latest_seed", "silent_seed"}) {
      EXPECT_GE(counter(figures, seed), 1);
      EXPECT_LE(counter(figures, seed), runs);
    }
    return counter(figures, "fired_twice");
  };
  expect_kept("engine_killed", 1);             // fires again what it completed when it was killed
  EXPECT_GT(expect_kept("lease_ends", 3), 0);  // one handler in 60 is slow
  EXPECT_EQ(expect_kept("lease_ends_at_most_once", 1), 0);
}

// Says that it has what waits in memory.
struct HoldsBackTheLatest : Wrapped {
  using Wrapped::Wrapped;
  void schedule(std::span<const DurableTimer> timers) override {
    waiting_.insert(waiting_.end(), timers.begin(), timers.end());
    constexpr std::size_t kMost = 50;
    if (waiting_.size() >= kMost) write();
  }
  // Else it would hold them for ever.
  ~HoldsBackTheLatest() override { write(); }

 private:
  void write() {
    queue_->schedule(waiting_);
    waiting_.clear();
  }
  std::vector<DurableTimer> waiting_;
};

struct CancelsNothing : Wrapped {
  using Wrapped::Wrapped;
  bool cancel(DurableId) override { return true; }
};

// Forgets a timer as soon as a worker has it.
struct HasNoLease : Wrapped {
  using Wrapped::Wrapped;
  Claims claim(std::size_t most, Tick lease) override {
    Claims claims = queue_->claim(most, lease);
    queue_->complete(claims.timers);
    return claims;
  }
  std::vector<bool> complete(std::span<const ClaimedTimer> claims) override {
    return std::vector<bool>(claims.size(), true);
  }
};

TEST(FaultTest, FindsQueuesThatBreakTheirPromise) {
  EXPECT_EQ(breaches("engine_killed", contender<LosesOneOfTen>()), 1);
  EXPECT_EQ(breaches("engine_killed", contender<HoldsBackTheLatest>()), 1);
  EXPECT_EQ(breaches("engine_killed", contender<CancelsNothing>()), 1);
  EXPECT_EQ(breaches("engine_killed", contender<FiresEarly>()), 1);
  EXPECT_EQ(breaches("lease_ends", contender<SaysThatAllWereHeld>()), 1);
  EXPECT_EQ(breaches("lease_ends_at_most_once", contender<CompletesNothing>()), 1);
  // A worker may have begun all that it held when it is killed.
  EXPECT_GT(breaches("worker_killed", contender<HasNoLease>("redis_memory"), 3), 0);
}

// Restarts once in all engines of a test together: an engine whose queue is not back is replaced.
class DiesOnce : public WrappedEngine {
 public:
  using WrappedEngine::WrappedEngine;
  void restart() override {
    if (++restarts > 1) throw BackendError("it cannot be killed");
    WrappedEngine::restart();
  }
  static inline int restarts = 0;
};

TEST(FaultTest, ABrokenPromiseIsToldThoughALaterRunFails) {
  DiesOnce::restarts = 0;
  EXPECT_THAT(
      error_of([] { run("engine_killed", contender<LosesOneOfTen, DiesOnce>("redis_always"), 2); }),
      AllOf(HasSubstr("wrong: "), HasSubstr("(seed 1); "), HasSubstr("it cannot be killed")));
}

DurableContender with_promise(std::string_view name, Kept kept) {
  DurableContender contender = durable_contender(name);
  contender.traits.promise.when_killed = contender.traits.promise.when_power_fails = kept;
  return contender;
}

TEST(FaultTest, FindsEnginesThatKeepLessThanTheyPromise) {
  const RealtimeFigures figures = run("engine_killed", durable_contender("redis_memory"));
  EXPECT_GT(counter(figures, "lost"), 0);
  EXPECT_EQ(counter(figures, "breaches"), 0);
  DurableContender but_some = with_promise("redis_memory", Kept::but_the_latest);
  but_some.traits.promise.latest = 0;
  but_some.traits.promise.latest_calls = 50;
  EXPECT_EQ(breaches("engine_killed", but_some), 1);
}

TEST(FaultTest, PowerCutsTakeWhatWasNotSynchronised) {
  if (const std::string reason = LoopDisk::unavailable(); !reason.empty()) GTEST_SKIP() << reason;
  for (const std::string_view cut : {"power_cut", "power_cut_while_busy"}) {
    EXPECT_EQ(breaches(cut, durable_contender("journal_wheel_0")), 0);
  }
  EXPECT_GT(breaches("power_cut", with_promise("redis_everysec", Kept::all), 2), 0);
}

TEST(FaultTest, AnEngineThatDoesNotStartAgainHasLostAll) {
  // What is overwritten may be the last letters of a payload; then it starts.
  const RealtimeFigures figures = run("last_block_spoilt", durable_contender("redis_always"), 4);
  EXPECT_GT(counter(figures, "no_starts"), 0);
  EXPECT_EQ(counter(figures, "breaches"), 0);  // it does not promise that
  EXPECT_THAT(figures.summary, HasSubstr("redis-server does not start again: "));
  EXPECT_THAT(figures.summary, Not(ContainsRegex("[0-9]:M ")));  // its process, and when
  EXPECT_GT(counter(figures, "lost"), 0);
}

TEST(FaultTest, TheLastWordsOfAServerBeginALine) {
  const auto start = [] {
    PrivateServer(
        {.name = "sh",
         .advice = "help it",
         .arguments =
             [](const std::filesystem::path&) {
               return std::vector<std::string>{"sh", "-c",
                                               R"(printf '12:00 it is ill %0600d\n' 7; exit 1)"};
             },
         .probe =
             [](const std::filesystem::path&) { throw BackendUnavailable("it does not answer"); },
         .patience = std::chrono::milliseconds(5000),
         .stamp = R"([\d:]+ )"});
  };
  EXPECT_THAT(error_of(start), HasSubstr("cannot start a private sh: it is ill 000"));
}

// What this machine cannot do speaks against no engine.
TEST(FaultTest, AStrikeThatFailsIsNoFinding) {
  struct HasABadSwitch : WrappedEngine {
    using WrappedEngine::WrappedEngine;
    std::vector<EngineSwitch> switches() override {
      return {{"read_only", [] { throw BackendUnavailable("this machine is busy"); }, [] {}}};
    }
  };
  const DurableContender& whole = durable_contender("journal_wheel_0");
  const DurableContender contender{
      .traits = whole.traits, .start = [&whole](const std::filesystem::path& folder) {
        return std::make_unique<HasABadSwitch>(
            whole.start(folder), [](std::unique_ptr<DurableQueue> queue) { return queue; });
      }};
  EXPECT_EQ(error_of([&] { run("read_only", contender); }), "this machine is busy");
}

class RefusalTest : public testing::TestWithParam<const char*> {};

TEST_P(RefusalTest, ClientsOfAServerGoOnWhenItDoes) {
  const std::string_view fault = GetParam();
  const bool is_of_connections = fault_named(fault).breaks_connections;
  for (const char* name : {"redis_memory", "redis_replica", "redis_cluster"}) {
    const bool uses_tcp = std::string_view(name) != "redis_memory";
    if (is_of_connections && uses_tcp && !OwnNetwork::unavailable().empty()) continue;
    const RealtimeFigures figures = run(fault, durable_contender(name));
    EXPECT_EQ(counter(figures, "breaches"), 0) << name << ": " << figures.summary;
    EXPECT_GT(counter(figures, "acknowledged"), 20) << name;
    EXPECT_GT(counter(figures, "failed_calls"), 0) << name;
    EXPECT_GT(counter(figures, "silent_seconds"), is_of_connections ? 0.2 : 0) << name;
  }
}
INSTANTIATE_TEST_SUITE_P(Faults, RefusalTest,
                         testing::Values("memory_full", "read_only", "login_refused",
                                         "connections_cut", "answers_lost", "half_open"),
                         [](const auto& test) { return std::string(test.param); });

TEST(FaultTest, WorkersAreKilledWhileTheyHoldTimers) {
  const RealtimeFigures figures = run("worker_killed", durable_contender("redis_memory"));
  EXPECT_EQ(counter(figures, "breaches"), 0) << figures.summary;
  EXPECT_GT(counter(figures, "latest_seconds"), 0.15);  // what was held waited for its lease to end
  const DurableContender& at_most_once = durable_contender("redis_memory");
  EXPECT_EQ(breaches("worker_killed_at_most_once", at_most_once), 0);
}

TEST(FaultTest, AFullDiskIsFelt) {
  if (const std::string reason = LoopDisk::unavailable(); !reason.empty()) GTEST_SKIP() << reason;
  // beanstalkd has room for 10 MB in a file that it has made before.
  for (const DurableContender& contender : durable_roster()) {
    const std::string_view name = contender.traits.name;
    if (name != "redis_everysec" && name != "journal_wheel_0" && name != "beanstalkd_f0") continue;
    const RealtimeFigures figures = run("disk_full", contender);
    EXPECT_EQ(counter(figures, "breaches"), 0) << figures.summary;
    EXPECT_GT(counter(figures, "failed_calls"), 0) << name;
  }
}

// Says of every other timer that it is armed, though it could not be.
struct AcknowledgesFailures : Wrapped {
  using Wrapped::Wrapped;
  void schedule(std::span<const DurableTimer> timers) override {
    try {
      queue_->schedule(timers);
    } catch (const BackendError&) {
      if (timers[0].id % 2 == 0) throw;
    }
  }
};

TEST(FaultTest, AFullDiskTakesWhatAnEnginePromisesNotToKeep) {
  if (const std::string reason = LoopDisk::unavailable(); !reason.empty()) GTEST_SKIP() << reason;
  DurableContender lossy = contender<AcknowledgesFailures>("journal_wheel_0");
  EXPECT_EQ(breaches("disk_full", lossy), 1);
  lossy.traits.promise.when_disk_is_full = Kept::but_the_latest;
  EXPECT_EQ(breaches("disk_full", lossy), 0);
}

TEST(FaultTest, AReplicaThatTakesOverIsFelt) {
  const RealtimeFigures figures = run("partition", durable_contender("redis_replica"));
  EXPECT_EQ(counter(figures, "breaches"), 0) << figures.summary;
  EXPECT_GT(counter(figures, "failed_calls"), 0);
}

// What the old master acknowledges until it finds that it is alone is lost with it.
TEST(FaultTest, AMasterThatIsPartedLosesWhatOnlyItHas) {
  if (const std::string reason = OwnNetwork::unavailable(); !reason.empty()) GTEST_SKIP() << reason;
  EXPECT_GT(counter(run("master_parted", durable_contender("redis_cluster")), "lost"), 0);
}

TEST(FaultTest, SaysWhyItCannotHappen) {
  const auto why = [](std::string_view fault, std::string_view name) {
    return error_of([&] { run(fault, durable_contender(name)); });
  };
  EXPECT_EQ(why("worker_killed", "journal_wheel_0"),
            "skipped: producers and workers are one process");
  EXPECT_EQ(why("engine_stopped", "journal_wheel_0"), "skipped: it has no server");
  EXPECT_EQ(why("slots_moved", "redis_memory"), "skipped: it has no such state");
}

// Nothing is broken, nor hidden in a network of its own, before that is known.
TEST(FaultTest, AServerOfTheUserIsLeftAlone) {
  const PrivateRedisServer server;
  const LoopbackPort port;
  const PrivateRedisServer on_tcp(endpoint_at(port, "x"), PrivateRedisServer::kKeepsNothing);
  for (const std::string& url :
       {server.endpoint().url(), fmt::format("redis://:x@127.0.0.1:{}", port.number())}) {
    const ScopedVariable variable(kRedisUrlVariable, url);
    for (const char* fault :
         {"half_open", "connections_cut", "power_cut", "engine_killed", "master_parted"}) {
      EXPECT_EQ(error_of([&] { run(fault, durable_contender("redis_always")); }),
                "skipped: the server is the user's")
          << fault;
    }
  }
}

TEST(FaultTest, EachNameIsOnce) {
  std::set<std::string_view> names;
  for (const Fault& fault : faults()) EXPECT_TRUE(names.insert(fault.name).second) << fault.name;
}

}  // namespace
}  // namespace timerbench
