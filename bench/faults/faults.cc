#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "durable/proxy.h"
#include "faults/fault.h"
#include "system/entries.h"
#include "system/process_tree.h"
#include "system/stopped_trees.h"

namespace timerbench {
namespace {

namespace fs = std::filesystem;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

std::optional<EngineSwitch> find_switch(DurableEngine& engine, std::string_view name) {
  for (EngineSwitch& one : engine.switches()) {
    if (one.name == name) return one;
  }
  return {};
}

void sleep(std::chrono::nanoseconds time) { std::this_thread::sleep_for(time); }

// Longer than the patience of the clients: each of them meets the fault.
constexpr auto kLongEnough = 500ms;
// A server has stopped within it, also on a busy machine.
constexpr auto kPatience = 10s;
// What breaks lasts until a client has felt it, unless the engine can do without what is broken.
constexpr auto kLongestFault = 5s;
// beanstalkd fills 10 MB before, on a slow disk at 1 MB/s.
constexpr auto kLongestFullDisk = 15s;

// Of workers that look once a second.
constexpr std::uint64_t kEnoughEmptyAnswers = 2;
// What fires again and again although nothing is missing is not waited for.
constexpr auto kLongestEcho = 5s;

// Whether it was more than so long ago.
bool is_past(Tick when, std::chrono::nanoseconds time) {
  return unix_now() > when + static_cast<Tick>(time.count());
}

// What engines promise.

Kept keeps_all(const DurablePromise&) { return Kept::all; }
Kept when_killed(const DurablePromise& promise) { return promise.when_killed; }
Kept when_silent(const DurablePromise& promise) { return promise.when_silent; }
Kept when_power_fails(const DurablePromise& promise) { return promise.when_power_fails; }
Kept when_disk_is_full(const DurablePromise& promise) { return promise.when_disk_is_full; }
Kept when_block_is_spoilt(const DurablePromise& promise) { return promise.when_block_is_spoilt; }

// What cannot happen to whom.

std::string_view to_all(DurableEngine&, const DurableTraits&) { return ""; }

std::string_view to_sharers(DurableEngine&, const DurableTraits& traits) {
  return traits.shared_by == SharedBy::threads ? "producers and workers are one process" : "";
}

std::string_view to_private(DurableEngine& engine, const DurableTraits&) {
  return engine.is_restartable() ? "" : "the server is the user's";
}

std::string_view to_servers(DurableEngine& engine, const DurableTraits& traits) {
  if (engine.processes().empty() && engine.is_restartable()) return "it has no server";
  return to_private(engine, traits);
}

std::string_view to_those_with_connections(DurableEngine& engine, const DurableTraits& traits) {
  if (const auto reason = to_servers(engine, traits); !reason.empty()) return reason;
  return engine.sockets().empty() && engine.nodes().empty()
             ? "its servers have no addresses of their own"
             : "";
}

std::string_view to_those_with_files(DurableEngine& engine, const DurableTraits& traits) {
  if (const auto reason = to_private(engine, traits); !reason.empty()) return reason;
  return traits.promise.when_power_fails == Kept::none ? "it keeps nothing on disk" : "";
}

std::string_view to_clusters(DurableEngine& engine, const DurableTraits& traits) {
  if (const auto reason = to_private(engine, traits); !reason.empty()) return reason;
  return engine.masters().empty() ? "it has no nodes that agree who is a master" : "";
}

// What happens.

// All of them, when one holds a timer that it has not come to.
void kill_workers(FaultScene& scene) {
  const auto give_up = std::chrono::steady_clock::now() + 5s;
  while (!is_any_waiting(scene.ledger) && std::chrono::steady_clock::now() < give_up) sleep(5ms);
  for (std::size_t i = 0; i < Crew::kWorkers; ++i) scene.crew.replace_worker(i);
}

// Again, if it was answered before it died.
void kill_producer(FaultScene& scene) {
  const std::size_t producer = scene.random() % Crew::kProducers;
  const auto give_up = std::chrono::steady_clock::now() + 5s;
  const auto is_late = [&] { return std::chrono::steady_clock::now() >= give_up; };
  do {  // a call takes less time than a sleep
    while (!scene.crew.is_asking(producer) && !is_late()) {
    }
  } while (!scene.crew.replace_producer(producer) && !is_late());
}

void kill_engine(FaultScene& scene) {
  if (scene.engine.processes().empty()) {
    scene.crew.kill();
    scene.crew.start();
  } else {
    scene.engine.restart();
  }
}

void stop_engine(FaultScene& scene) {
  {
    const StoppedTrees stopped(scene.engine.processes(), kPatience);
    sleep(5s);
  }
  scene.engine.masters();  // returns when all agree who they are: each may take the others for dead
}

// Nobody writes while the disk is copied, for all are stopped. They end without another word.
void cut_power(FaultScene& scene) {
  scene.crew.stop();
  {
    const StoppedTrees stopped(scene.engine.processes(), kPatience);
    scene.disk->cut_power();
    scene.crew.kill();
    signal_trees(scene.engine.processes(), SIGKILL);
  }
  scene.engine.restart();
  scene.crew.start();
}

// Returns when that has happened once more, after so long at least; does `meanwhile` again and again.
void await_another(
    const FaultScene& scene, Happening what, std::chrono::nanoseconds at_least,
    std::chrono::nanoseconds longest = kLongestFault,
    const std::function<void()>& meanwhile = [] { sleep(20ms); }) {
  const auto begin = std::chrono::steady_clock::now();
  const auto is_over = [&](std::chrono::nanoseconds time) {
    return std::chrono::steady_clock::now() >= begin + time;
  };
  const std::uint64_t before = count(scene.ledger, what);
  do {
    meanwhile();
  } while (!is_over(at_least) || (count(scene.ledger, what) == before && !is_over(longest)));
}

void wait_until_felt(const FaultScene& scene) {
  await_another(scene, Happening::unarmed, kLongEnough);
}

// What the engine gives back meanwhile is taken too. A server that has ended is started again, as a
// service manager does.
void fill_disk(FaultScene& scene) {
  await_another(scene, Happening::unarmed, kLongEnough, kLongestFullDisk, [&] {
    scene.disk->fill();
    sleep(100ms);
  });
  scene.disk->empty();
  if (std::ranges::count(scene.engine.processes(), 0) > 0) scene.engine.restart();
}

// The files of an engine that hold timers, and what is in each.
using Files = std::map<fs::path, std::string>;

Files read_files(const std::vector<fs::path>& folders) {
  Files files;
  for (const fs::path& folder : folders) {
    for_each_entry<fs::recursive_directory_iterator>(folder, [&](const fs::directory_entry& entry) {
      // SQLite makes the first anew from its log; the others are what programs say.
      const fs::path name = entry.path().filename();
      const bool is_data = entry.is_regular_file() && !name.string().ends_with("-shm") &&
                           name != "log" && name.extension() != ".log";
      if (!is_data) return;
      std::ostringstream content;
      content << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      files[entry.path()] = std::move(content).str();
    });
  }
  return files;
}

constexpr std::size_t kBlock = 512;

// Where the last block begins in which a file is not as it was before. What has been added to it and
// is still 0 was not written.
std::optional<std::size_t> last_change(std::string before, const std::string& now) {
  before.resize(now.size());
  for (std::size_t at = (now.size() + kBlock - 1) / kBlock * kBlock; at > 0;) {
    at -= kBlock;
    if (now.compare(at, kBlock, before, at, kBlock) != 0) return at;
  }
  return {};
}

struct Block {
  fs::path path;
  std::size_t begin, size;
};

// Engines use their files again, and make them longer than they need. So what was written last is
// not at the end, but where the file that was changed last is not as it was before.
std::optional<Block> last_written(const Files& before, const Files& now) {
  std::optional<Block> latest;
  auto latest_time = fs::file_time_type::min();
  for (const auto& [path, content] : now) {
    std::error_code gone;
    const auto time = fs::last_write_time(path, gone);
    if (gone || time < latest_time) continue;
    const auto old = before.find(path);
    const auto begin = last_change(old == before.end() ? "" : old->second, content);
    if (!begin) continue;
    latest = {path, *begin, std::min(kBlock, content.size() - *begin)};
    latest_time = time;
  }
  return latest;
}

void overwrite(const Block& block, std::mt19937_64& random) {
  std::fstream file(block.path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(block.begin));
  for (std::size_t i = 0; i < block.size; ++i) file.put(static_cast<char>(random()));
  if (!file.flush()) throw BackendError("cannot write to " + block.path.string());
}

void spoil_files(FaultScene& scene) {
  const auto before = read_files(scene.engine.folders());
  const auto begin_of_wait = std::chrono::steady_clock::now();
  // An engine may acknowledge first and write later: PostgreSQL does, with synchronous_commit off.
  do {
    await_another(scene, Happening::armed, 100ms);
  } while (!last_written(before, read_files(scene.engine.folders())) &&
           std::chrono::steady_clock::now() < begin_of_wait + kLongestFault);
  scene.crew.kill();
  scene.engine.kill();
  const auto latest = last_written(before, read_files(scene.engine.folders()));
  if (!latest) throw BackendError("the engine has written nothing for 5 s");
  overwrite(*latest, scene.random);
  scene.engine.restart();
  scene.crew.start();
}

// Long enough for the others to find that it is gone, and to choose another.
void part_master(FaultScene& scene) {
  const std::vector<std::string> masters = scene.engine.masters(), nodes = scene.engine.nodes();
  const std::string& master = masters[scene.random() % masters.size()];
  scene.network->part(master, nodes);
  sleep(3s);
  scene.network->heal(master, nodes);
  scene.engine.masters();  // returns when all agree who they are
}

template <Proxy::Mode mode>
void break_connections(FaultScene& scene) {
  scene.connections->break_them(mode);
  wait_until_felt(scene);
  scene.connections->mend();
}

void switch_until_felt(FaultScene& scene) {
  const EngineSwitch state = *find_switch(scene.engine, scene.fault.engine_switch);
  state.on();
  wait_until_felt(scene);
  state.off();
}

void move_slots(FaultScene& scene) { find_switch(scene.engine, "slots_moved")->on(); }

// The handlers are the fault.
void wait_a_while(FaultScene& /*scene*/) { sleep(kLongEnough); }

}  // namespace

std::span<const Fault> faults() {
  static constexpr Fault kFaults[] = {
      {.name = "worker_killed",
       .summary = "the workers are killed (kill -9) while one holds timers",
       .promised = keeps_all,
       .possible = to_sharers,
       .strike = kill_workers,
       .handlers = Handlers::busy},
      {.name = "worker_killed_at_most_once",
       .summary = "the same, with workers that complete a timer before they act",
       .promised = keeps_all,
       .possible = to_sharers,
       .strike = kill_workers,
       .delivery = Delivery::at_most_once,
       .handlers = Handlers::busy},
      {.name = "producer_killed",
       .summary = "a producer is killed while it waits for an answer",
       .promised = keeps_all,
       .possible = to_sharers,
       .strike = kill_producer},
      {.name = "lease_ends",
       .summary = "handlers take longer than the lease of their timers",
       .promised = keeps_all,
       .possible = to_all,
       .strike = wait_a_while,
       .handlers = Handlers::outlast_leases},
      {.name = "lease_ends_at_most_once",
       .summary = "the same, with workers that complete a timer before they act",
       .promised = keeps_all,
       .possible = to_all,
       .strike = wait_a_while,
       .delivery = Delivery::at_most_once,
       .handlers = Handlers::outlast_leases},
      {.name = "engine_killed",
       .summary =
           "the server, or the master of a replica, is killed; it is started again, or replaced",
       .promised = when_killed,
       .possible = to_private,
       .strike = kill_engine},
      {.name = "engine_killed_repeatedly",
       .summary = "the same again and again, 1 to 3 s after it is back",
       .promised = when_killed,
       .possible = to_private,
       .strike = kill_engine,
       .is_repeated = true},
      {.name = "engine_stopped",
       .summary = "the server is stopped for 5 s (SIGSTOP) and goes on",
       .promised = when_silent,
       .possible = to_servers,
       .strike = stop_engine},
      {.name = "power_cut",
       .summary = "only what has reached the disk is there afterwards",
       .promised = when_power_fails,
       .possible = to_those_with_files,
       .strike = cut_power,
       .needs_disk = true},
      {.name = "power_cut_while_busy",
       .summary = "the same under load, while files are copied and written anew",
       .promised = when_power_fails,
       .possible = to_those_with_files,
       .strike = cut_power,
       .is_busy = true,
       .needs_disk = true},
      {.name = "last_block_spoilt",
       .summary = "the engine is killed, and the last block that it wrote is overwritten",
       .promised = when_block_is_spoilt,
       .possible = to_those_with_files,
       .strike = spoil_files},
      {.name = "disk_full",
       .summary = "the disk is full until a call fails, for 15 s at most, under load",
       .promised = when_disk_is_full,
       .possible = to_those_with_files,
       .strike = fill_disk,
       .is_busy = true,  // beanstalkd has room for 10 MB in its file
       .needs_disk = true},
      {.name = "memory_full",
       .summary = "the server may take no more memory until a call fails",
       .promised = keeps_all,
       .possible = to_private,
       .strike = switch_until_felt,
       .engine_switch = "memory_full"},
      {.name = "read_only",
       .summary = "the server refuses to write until a call fails, as a replica does",
       .promised = keeps_all,
       .possible = to_private,
       .strike = switch_until_felt,
       .engine_switch = "read_only"},
      {.name = "login_refused",
       .summary = "the server takes no client's password until a call fails",
       .promised = keeps_all,
       .possible = to_private,
       .strike = switch_until_felt,
       .engine_switch = "login_refused"},
      {.name = "connections_cut",
       .summary = "connections are cut and refused for half a second",
       .promised = keeps_all,
       .possible = to_those_with_connections,
       .strike = break_connections<Proxy::Mode::refuse>,
       .breaks_connections = true},
      {.name = "answers_lost",
       .summary = "the server gets each call for half a second, but its answers are lost",
       .promised = keeps_all,
       .possible = to_those_with_connections,
       .strike = break_connections<Proxy::Mode::swallow_answers>,
       .breaks_connections = true},
      {.name = "half_open",
       .summary = "for half a second nothing comes through, and nobody is told",
       .promised = keeps_all,
       .possible = to_those_with_connections,
       .strike = break_connections<Proxy::Mode::silence>,
       .breaks_connections = true},
      {.name = "partition",
       .summary = "the replica takes over while clients still reach the old master",
       .promised = when_killed,
       .possible = to_private,
       .strike = switch_until_felt,
       .engine_switch = "partition"},
      {.name = "master_parted",
       .summary = "the other nodes do not reach a master for 3 s, but its clients do",
       .promised = when_killed,
       .possible = to_clusters,
       .strike = part_master,
       .needs_network = true},
      {.name = "slots_moved",
       .summary = "each slot of a cluster that has timers moves to another master",
       .promised = keeps_all,
       .possible = to_private,
       .strike = move_slots,
       .engine_switch = "slots_moved"},
  };
  return kFaults;
}

std::string_view left_out(const Fault& fault, DurableEngine& engine, const DurableTraits& traits) {
  if (const auto reason = fault.possible(engine, traits); !reason.empty()) return reason;
  const bool has_state = fault.engine_switch.empty() || find_switch(engine, fault.engine_switch);
  return has_state ? "" : "it has no such state";
}

SurvivalTerms terms_of(const Fault& fault, const DurableTraits& traits) {
  return {.kept = fault.promised(traits.promise),
          .latest = traits.promise.latest,
          .delivery = fault.delivery,
          .latest_calls = traits.promise.latest_calls};
}

std::chrono::nanoseconds patience_with(const DurableTraits& traits) {
  return 2s + std::chrono::nanoseconds(4 * traits.resolution);
}

namespace {

// Looks now and then whether it is over; returns false if the time is over before. A look reads the
// whole ledger, on the processors that the clients and the engine use.
template <class IsOver>
bool wait(const FaultScene& scene, std::chrono::nanoseconds time, const IsOver& is_over) {
  constexpr std::chrono::nanoseconds kBetweenLooks = 50ms;
  const auto end = std::chrono::steady_clock::now() + time;
  while (!is_over()) {
    const std::chrono::nanoseconds left = end - std::chrono::steady_clock::now();
    if (left <= 0s) return false;
    if (scene.stop) throw Interrupted();
    if (const std::string error = scene.crew.failure(); !error.empty()) throw BackendError(error);
    sleep(std::min(left, kBetweenLooks));
  }
  return true;
}

void wait(const FaultScene& scene, std::chrono::nanoseconds time) {
  wait(scene, time, [] { return false; });
}

// What may be lost is what is young: so there must be old timers that are still to fire.
std::chrono::nanoseconds age_of(const SurvivalTerms& terms) {
  if (terms.kept != Kept::but_the_latest) return 0s;
  return std::chrono::nanoseconds(terms.latest) +
         static_cast<std::int64_t>(terms.latest_calls) * CrewPlan().between_timers;
}

CrewPlan plan_of(const Fault& fault, const DurableTraits& traits, const std::string& queue,
                 std::uint64_t seed) {
  const std::chrono::nanoseconds longest_delay = 600ms + 2 * age_of(terms_of(fault, traits));
  constexpr Tick kLease = 200'000'000;
  CrewPlan plan{.queue = queue,
                .seed = seed,
                .delivery = fault.delivery,
                .lease = std::max(kLease, traits.resolution),
                .longest_delay = static_cast<Tick>(longest_delay.count()),
                .handlers = fault.handlers};
  if (fault.is_busy) {
    plan.between_timers = std::chrono::microseconds(200);
    plan.payload = 4096;
  }
  return plan;
}

void strike(FaultScene& scene, std::chrono::nanoseconds striking) {
  const auto end = std::chrono::steady_clock::now() + striking;
  for (;;) {
    scene.ledger.add(Happening::fault);
    scene.fault.strike(scene);
    scene.ledger.add(Happening::mended);
    const auto rest = 1s + std::chrono::milliseconds(scene.random() % 2000);
    if (!scene.fault.is_repeated || std::chrono::steady_clock::now() + rest >= end) return;
    wait(scene, rest);
  }
}

// Workers fire what is left. What is missing is lost if they are answered for a while that nothing
// is left; a busy engine may need long for that, as it may hold what a client that gave up has
// claimed. If nothing is missing, a lease may end once more, and then a timer fires twice; and what
// was cancelled last is watched until it would be due, if that is soon.
void await_end(FaultScene& scene, const CrewPlan& plan) {
  const std::chrono::nanoseconds resolution(scene.traits.resolution), lease(plan.lease),
      longest_delay(plan.longest_delay);
  const auto lease_is_over = lease + 100ms;
  const auto cancelled_are_due =
      std::min<std::chrono::nanoseconds>(longest_delay, 1s) + resolution + 100ms;
  const Tick begin = unix_now();
  std::uint64_t before = scene.crew.empty_answers();
  Tick last = 0;
  const auto is_over = [&] {
    if (std::exchange(last, last_time(scene.ledger)) != last) before = scene.crew.empty_answers();
    if (missing(scene.ledger, plan.delivery) == 0) {
      return is_past(begin, cancelled_are_due) &&
             (is_past(last, lease_is_over) || is_past(begin, kLongestEcho));
    }
    return is_past(last, lease_is_over + patience_with(scene.traits)) &&
           scene.crew.empty_answers() > before + kEnoughEmptyAnswers;
  };
  if (!wait(scene, scene.fault.longest_recovery, is_over)) scene.ledger.add(Happening::given_up);
}

}  // namespace

void run_fault(const Fault& fault, DurableEngine& engine, const DurableTraits& traits,
               LoopDisk* disk, OwnNetwork* network, const std::string& queue, std::uint64_t seed,
               std::chrono::nanoseconds striking, SurvivalLedger& ledger, const StopFlag& stop) {
  std::mt19937_64 random(seed);
  std::optional<ClientConnections> connections;
  if (fault.breaks_connections) connections.emplace(engine, network);
  const CrewPlan plan = plan_of(fault, traits, queue, seed);
  const std::vector<std::string> masters = engine.masters();
  Crew crew(engine, traits.shared_by, plan, ledger);
  FaultScene scene{fault,  engine, traits,  crew,
                   ledger, disk,   network, connections ? &*connections : nullptr,
                   random, stop};
  wait(scene, 10s, [&] { return count(ledger, Happening::fired) > 0; });
  const std::uint64_t longest_wait = fault.is_busy ? 2000 : 300;
  const SurvivalTerms terms = terms_of(fault, traits);
  const std::chrono::nanoseconds age = age_of(terms);
  wait(scene, age + 100ms + std::chrono::milliseconds(random() % longest_wait));
  // Calls before those that may be lost; without any, a run could find nothing.
  constexpr std::uint64_t kOldCalls = 100;
  const auto is_enough_old = [&] {
    return count(ledger, Happening::armed) + count(ledger, Happening::cancelled) >
           terms.latest_calls + kOldCalls;
  };
  if (terms.kept == Kept::but_the_latest && terms.latest_calls > 0 &&
      !wait(scene, 10 * age, is_enough_old)) {
    throw DisturbedRun("too few timers were armed to say which are old; is the machine busy?");
  }
  strike(scene, striking);
  wait(scene, 300ms);
  crew.end_producers();
  await_end(scene, plan);
  constexpr std::uint64_t kAlmostNothing = 1 << 20;
  if (disk != nullptr && disk->free_bytes() < kAlmostNothing) {
    throw BackendError(fmt::format("the run has filled its disk of {} MiB, so it tells nothing",
                                   LoopDisk::kBytes >> 20));
  }
  if (const std::string error = crew.end(); !error.empty()) throw BackendError(error);
  // A master that is too slow for the others is replaced, and what it alone has is lost.
  if (fault.promised(traits.promise) == Kept::all && engine.masters() != masters) {
    throw DisturbedRun("a master was replaced that nobody had killed; is the machine busy?");
  }
}

}  // namespace timerbench
