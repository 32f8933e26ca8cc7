#include "durable/beanstalk_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <thread>
#include <utility>

#include "durable/tokens.h"

namespace timerbench {
namespace {

using Answer = BeanstalkConnection::Answer;

constexpr Tick kSecond = BeanstalkQueue::kResolution;
constexpr Tick kMs = 1'000'000;
constexpr Tick kRemembered = 60 * kSecond;  // after the deadline

// The delay of a job counts from when the server gets to it, after all that was sent before.
constexpr std::size_t kTogether = 64;

// Of the jobs of a tube that is emptied; their bodies come too.
constexpr std::size_t kDeletedTogether = 256;

// A claim is a number of its connection and a number of a job.
constexpr int kJobBits = 40;
constexpr std::uint64_t kJobMask = (std::uint64_t{1} << kJobBits) - 1;

constexpr std::size_t kLongestHeader = 100;

constexpr std::chrono::nanoseconds kPause = std::chrono::milliseconds(50);

constexpr Tick whole_seconds(Tick duration) {
  return duration / kSecond + (duration % kSecond > 0 ? 1 : 0);
}

// A job that is not there any more, or that somebody else has reserved, is no failure.
constexpr bool is_done(const Answer& answer, std::string_view word) {
  return answer.word == word || answer.word == "NOT_FOUND";
}

// The value of "name: value" in what `stats` answers; empty if it has none.
std::string_view value_of(std::string_view name, std::string_view lines) {
  const std::string start = fmt::format("\n{}: ", name);
  const auto at = lines.find(start);
  if (at == lines.npos) return {};
  const std::string_view rest = lines.substr(at + start.size());
  return rest.substr(0, rest.find('\n'));
}

std::uint64_t number_of(std::string_view name, std::string_view lines, int base = 10) {
  const std::string_view text = value_of(name, lines);
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, base);
  return number;
}

// How many jobs of these states are in the tube.
std::size_t jobs_in(BeanstalkConnection& server, const std::string& tube,
                    std::initializer_list<const char*> states) {
  std::size_t count = 0;
  const std::string stats = "stats-tube " + tube;
  server.run({&stats, 1}, [&](std::size_t, const Answer& answer) {
    for (const char* state : states) {
      count += number_of(fmt::format("current-jobs-{}", state), answer.body);
    }
    return answer.word == "OK";
  });
  return count;
}

std::uint32_t priority_of(Tick deadline) {
  return static_cast<std::uint32_t>(std::min<Tick>(deadline / kSecond, ~std::uint32_t{0}));
}

// A body is "CLIENT ID DEADLINE READY\nPAYLOAD": who has armed it, the timer, and when it was to be
// ready.
struct Body {
  DurableTimer timer;
  Tick ready;
};

std::optional<Body> parse(std::string_view bytes) {
  Body body{};
  const auto line_end = bytes.find('\n');
  const auto client_end = bytes.find(' ');
  if (line_end == bytes.npos || client_end >= line_end) return std::nullopt;
  const char* at = bytes.data() + client_end;
  const char* const end = bytes.data() + line_end;
  for (std::uint64_t* const number : {&body.timer.id, &body.timer.deadline, &body.ready}) {
    if (at == end || *at != ' ') return std::nullopt;
    const auto [after, error] = std::from_chars(at + 1, end, *number);
    if (error != std::errc{}) return std::nullopt;
    at = after;
  }
  if (at != end) return std::nullopt;
  body.timer.payload = bytes.substr(line_end + 1);
  return body;
}

// Deletes some of the jobs of the tube that the connection uses and watches. If others hold them all,
// waits a little and returns false. Buried and delayed jobs can only be found one by one, so they are
// made ready first.
bool delete_some(BeanstalkConnection& server) {
  std::vector<std::string> commands{fmt::format("kick {}", kDeletedTogether)};
  commands.resize(1 + kDeletedTogether, "reserve-with-timeout 0");
  std::vector<std::string> deletes;
  server.run(commands, [&](std::size_t i, const Answer& answer) {
    if (i == 0) return answer.word == "KICKED";
    if (answer.word == "RESERVED") deletes.push_back(fmt::format("delete {}", answer.number));
    return answer.word == "RESERVED" || answer.word == "TIMED_OUT" ||
           answer.word == "DEADLINE_SOON";
  });
  server.run(deletes, [](std::size_t, const Answer& answer) { return is_done(answer, "DELETED"); });
  if (deletes.empty()) std::this_thread::sleep_for(kPause);
  return !deletes.empty();
}

}  // namespace

BeanstalkQueue::BeanstalkQueue(BeanstalkEndpoint endpoint, std::string tube,
                               const DurableConfig& config)
    : endpoint_(std::move(endpoint)),
      tube_(std::move(tube)),
      config_(config),
      mark_(fmt::format("{:x} ", Tokens().next())) {
  try {
    connection();
  } catch (const BackendError& error) {
    throw BackendUnavailable(error.what());
  }
}

BeanstalkConnection& BeanstalkQueue::connection() {
  if (!connection_ || !connection_->usable()) connect();
  delete_outdated();
  return *connection_;
}

void BeanstalkQueue::connect() {
  auto fresh = std::make_unique<BeanstalkConnection>(endpoint_, config_.patience);
  const std::string commands[] = {"use " + tube_, "watch " + tube_, "ignore default", "stats"};
  std::string stats;
  fresh->run(commands, [&](std::size_t i, const Answer& answer) {
    if (i == 3) stats = answer.body;
    return answer.word == (i == 0 ? "USING" : i == 3 ? "OK" : "WATCHING");
  });
  if (value_of("id", stats).empty()) {
    throw fresh->error(
        fmt::format("its version {} does not name its runs", value_of("version", stats)),
        "take 1.12");
  }
  if (number_of("binlog-current-index", stats) == 0) {
    throw fresh->error("it has no binlog, so no timer would outlive it", "start it with -b");
  }
  if (number_of("max-job-size", stats) < kLongestPayload + kLongestHeader) {
    throw fresh->error("its jobs are too short", "start it with -z 65535 or more");
  }
  server_ = number_of("id", stats, 16);
  connection_number_ = Tokens().next() >> kJobBits;
  connection_ = std::move(fresh);
}

void BeanstalkQueue::schedule(std::span<const DurableTimer> timers) {
  for (std::size_t first = 0; first < timers.size(); first += kTogether) {
    schedule_some(timers.subspan(first, std::min(kTogether, timers.size() - first)));
  }
}

// A timer that is moved is armed before the old job is deleted, so that it is never lost. If that
// fails half-way, the next call deletes it.
void BeanstalkQueue::schedule_some(std::span<const DurableTimer> timers) {
  BeanstalkConnection& server = connection();
  look_for(timers);
  forget_what_has_passed();
  const Tick ttr = std::min<Tick>(whole_seconds(config_.lease), ~std::uint32_t{0});
  const Tick now = unix_now();
  std::vector<std::string> puts;
  for (const auto& [id, deadline, payload] : timers) {
    const Tick delay = whole_seconds(deadline - std::min(now, deadline));
    const std::string body =
        fmt::format("{}{} {} {}\n{}", mark_, id, deadline, now + delay * kSecond, payload);
    puts.push_back(
        fmt::format("put {} {} {} {}\r\n{}", priority_of(deadline), delay, ttr, body.size(), body));
  }
  server.run(puts, [&](std::size_t i, const Answer& answer) {
    if (answer.word != "INSERTED") return false;
    const auto [known, is_new] =
        armed_.try_emplace(timers[i].id, answer.number, timers[i].deadline, server_);
    if (!is_new) {
      outdated_.push_back({timers[i].id, known->second.job, known->second.server});
      known->second = {answer.number, timers[i].deadline, server_};
    }
    return true;
  });
  delete_outdated();
}

void BeanstalkQueue::delete_outdated() {
  if (outdated_.empty()) return;
  std::vector<Job> jobs;
  std::vector<std::string> peeks;
  std::vector<Outdated> unsure;
  for (const Outdated& old : outdated_) {
    if (old.server == server_) {
      jobs.push_back(old.job);
    } else {
      unsure.push_back(old);
      peeks.push_back(fmt::format("peek {}", old.job));
    }
  }
  // As in look_for(); and the job of that number may be the one that the timer was moved to.
  connection_->run(peeks, [&](std::size_t i, const Answer& answer) {
    const auto& [id, job, server] = unsure[i];
    const auto known = armed_.find(id);
    const bool is_new = known != armed_.end() && known->second.job == job;
    if (!is_new && answer.body.starts_with(fmt::format("{}{} ", mark_, id))) jobs.push_back(job);
    return is_done(answer, "FOUND");
  });
  delete_jobs(jobs);
  outdated_.clear();
}

void BeanstalkQueue::look_for(std::span<const DurableTimer> timers) {
  std::vector<DurableId> unsure;
  std::vector<std::string> peeks;
  for (const DurableTimer& timer : timers) {
    const auto known = armed_.find(timer.id);
    if (known == armed_.end() || known->second.server == server_) continue;
    unsure.push_back(timer.id);
    peeks.push_back(fmt::format("peek {}", known->second.job));
  }
  if (peeks.empty()) return;
  connection_->run(peeks, [&](std::size_t i, const Answer& answer) {
    if (answer.body.starts_with(fmt::format("{}{} ", mark_, unsure[i]))) {
      armed_.at(unsure[i]).server = server_;
    } else {
      armed_.erase(unsure[i]);
    }
    return is_done(answer, "FOUND");
  });
}

void BeanstalkQueue::forget_what_has_passed() {
  if (armed_.size() < next_forgetting_) return;
  const Tick now = unix_now();
  std::erase_if(armed_, [&](const auto& one) { return one.second.deadline + kRemembered < now; });
  next_forgetting_ = std::max<std::size_t>(1024, 2 * armed_.size());
}

bool BeanstalkQueue::cancel(DurableId id) {
  connection();
  const DurableTimer timer{id, 0};
  look_for({&timer, 1});
  const auto known = armed_.find(id);
  if (known == armed_.end()) return false;
  const bool was_there = delete_jobs({&known->second.job, 1})[0];
  // Else somebody may hold it, and lose it again.
  if (was_there) armed_.erase(known);
  return was_there;
}

// Asks for one job and then for as many as it has got: asking costs the server something also if
// nothing is ready. What is no timer is buried, or it would be handed out first for ever.
Claims BeanstalkQueue::claim(std::size_t most, Tick) {
  BeanstalkConnection& server = connection();
  Claims claims;
  std::size_t asked = 0;
  std::vector<std::string> burials;
  while (asked < most && claims.timers.size() == asked) {
    const std::size_t more = std::min(std::max<std::size_t>(asked, 1), most - asked);
    asked += more;
    const std::vector<std::string> reserves(more, "reserve-with-timeout 0");
    server.run(reserves, [&](std::size_t, const Answer& answer) {
      // DEADLINE_SOON: nothing is ready, and the lease of something that this client holds ends.
      if (answer.word != "RESERVED") {
        return answer.word == "TIMED_OUT" || answer.word == "DEADLINE_SOON";
      }
      if (auto body = parse(answer.body)) {
        claims.timers.push_back(
            {std::move(body->timer), connection_number_ << kJobBits | (answer.number & kJobMask)});
      } else {
        burials.push_back(fmt::format("bury {} 0", answer.number));
      }
      return true;
    });
  }
  if (!burials.empty()) {
    server.run(burials,
               [](std::size_t, const Answer& answer) { return is_done(answer, "BURIED"); });
    server.close();  // gives back what it has reserved
    throw server.error(
        fmt::format("the tube {} held a job that is no timer, and it is buried now", tube_),
        "look at it (peek-buried), and keep other programs off this tube");
  }
  if (claims.timers.empty()) claims.next_wakeup = next_wakeup();
  return claims;
}

// What somebody holds may come back at any moment, for holders die.
Tick BeanstalkQueue::next_wakeup() {
  const std::string commands[] = {"peek-delayed", "stats-tube " + tube_};
  const Tick now = unix_now();
  Tick next = kNever;
  connection_->run(commands, [&](std::size_t i, const Answer& answer) {
    if (i == 0) {
      // The server may have begun its delay a little later.
      if (const auto body = parse(answer.body)) next = std::max(body->ready, now + kMs);
      return is_done(answer, "FOUND");
    }
    const bool is_held = number_of("current-jobs-reserved", answer.body) > 0;
    const bool is_ready = number_of("current-jobs-ready", answer.body) > 0;
    if (is_held) next = std::min(next, now + kSecond);
    if (is_ready) next = std::min(next, now + kMs);
    return answer.word == "OK";
  });
  return next;
}

std::vector<bool> BeanstalkQueue::complete(std::span<const ClaimedTimer> claims) {
  connection();
  std::vector<Job> jobs;
  for (const ClaimedTimer& claim : claims) jobs.push_back(job_of(claim));
  const std::vector<bool> held = delete_jobs(jobs);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const auto known = armed_.find(claims[i].timer.id);
    if (held[i] && known != armed_.end() && known->second.job == jobs[i]) armed_.erase(known);
  }
  return held;
}

void BeanstalkQueue::give_back(std::span<const ClaimedTimer> claims) {
  BeanstalkConnection& server = connection();
  std::vector<std::string> releases;
  for (const ClaimedTimer& claim : claims) {
    const std::uint32_t priority = priority_of(claim.timer.deadline);
    if (const Job job = job_of(claim); job != 0) {
      releases.push_back(fmt::format("release {} {} 0", job, priority));
    }
  }
  server.run(releases,
             [](std::size_t, const Answer& answer) { return is_done(answer, "RELEASED"); });
}

// What it reserves goes back at once, for a lease is to begin with a claim.
bool BeanstalkQueue::await_earlier(Tick, std::chrono::nanoseconds longest) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(longest);
  const std::string reserve = fmt::format("reserve-with-timeout {}", seconds.count());
  std::string release;
  bool ends_soon = false;
  BeanstalkConnection& server = connection();
  server.run(
      {&reserve, 1},
      [&](std::size_t, const Answer& answer) {
        if (answer.word == "RESERVED") {
          const auto body = parse(answer.body);
          release = fmt::format("release {} {} 0", answer.number,
                                body ? priority_of(body->timer.deadline) : 0);
        }
        ends_soon = answer.word == "DEADLINE_SOON";
        return ends_soon || answer.word == "RESERVED" || answer.word == "TIMED_OUT";
      },
      seconds);
  if (!release.empty()) {
    server.run({&release, 1},
               [](std::size_t, const Answer& answer) { return is_done(answer, "RELEASED"); });
  }
  // The lease of something that this client holds ends within a second, so the server does not wait.
  if (ends_soon) std::this_thread::sleep_for(std::min(longest, kPause));
  return ends_soon || !release.empty();
}

std::size_t BeanstalkQueue::size() {
  return jobs_in(connection(), tube_,
                 {"ready", "reserved", "delayed"});  // what is buried is no timer
}

BeanstalkQueue::Job BeanstalkQueue::job_of(const ClaimedTimer& claim) const {
  return claim.token >> kJobBits == connection_number_ ? claim.token & kJobMask : 0;
}

// No job has the number 0.
std::vector<bool> BeanstalkQueue::delete_jobs(std::span<const Job> jobs) {
  std::vector<bool> deleted;
  std::vector<std::string> commands;
  for (const Job job : jobs) commands.push_back(fmt::format("delete {}", job));
  connection_->run(commands, [&](std::size_t, const Answer& answer) {
    deleted.push_back(answer.word == "DELETED");
    return is_done(answer, "DELETED");
  });
  return deleted;
}

void BeanstalkQueue::delete_tubes(const BeanstalkEndpoint& endpoint, std::string_view prefix,
                                  std::chrono::milliseconds patience,
                                  std::chrono::milliseconds longest) {
  using Clock = std::chrono::steady_clock;
  BeanstalkConnection server(endpoint, patience);
  std::string lines;
  const std::string list = "list-tubes";
  server.run({&list, 1}, [&](std::size_t, const Answer& answer) {
    lines = answer.body;
    return answer.word == "OK";
  });
  std::string watched = "default";
  // A line is "- name".
  for (std::string_view rest = lines; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.starts_with(fmt::format("- {}", prefix))) continue;
    const std::string tube(line.substr(2));
    const std::string commands[] = {"use " + tube, "watch " + tube, "ignore " + watched};
    server.run(commands, [](std::size_t i, const Answer& answer) {
      return answer.word == (i == 0 ? "USING" : "WATCHING");
    });
    watched = tube;
    auto last = Clock::now();
    while (jobs_in(server, tube, {"ready", "reserved", "delayed", "buried"}) > 0) {
      if (Clock::now() - last >= longest) {
        throw server.error(fmt::format("jobs of the tubes {}* could not be deleted for {} s",
                                       prefix, std::chrono::duration<double>(longest).count()),
                           "check that no program holds them");
      }
      if (delete_some(server)) last = Clock::now();
    }
  }
}

}  // namespace timerbench
