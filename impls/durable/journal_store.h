// The timers of one journal: in memory in a timer queue, on disk in the journal (durable/journal.h).
//
// Each change is a record: a timer that is armed, with its payload, or the id of one that is gone.
// Records are appended in the order of the changes, under the mutex; the caller waits for the disk
// after it has let go of the mutex, so that threads share a synchronisation. Claims are not written:
// those who hold them are in this process, and end with it.
//
// A timer that is claimed stays in the queue, due at the end of its lease. What the queue has fired
// and nobody has claimed yet stands in line, the oldest first.
//
// When the clock was set back, all timers move to a new queue: what is due by the new time is handed
// out, and a lease ends as much later. All callers wait for that, as when the queue grows.
//
// When the journal is longer than 1 MiB and than twice what is still armed, it is written anew. All
// callers wait for that: 0.3 s for 10^6 timers with 16 bytes each, 6 s with 1 KiB.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <list>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/timer_queue.h"
#include "durable/durable_queue.h"
#include "durable/journal.h"
#include "durable/tokens.h"

namespace timerbench {

template <TimerQueue Queue>
class JournalStore {
 public:
  // Reads the journal, or begins one. Throws BackendUnavailable.
  JournalStore(const std::filesystem::path& path, std::chrono::microseconds gather,
               Tick granularity, Tick now)
      : granularity_(granularity),
        now_(now),
        queue_(config(kFirstCapacity)),
        entries_(kFirstCapacity),
        free_(descending_places(0, kFirstCapacity)),
        journal_(path, gather, [this](std::string_view record) { replay(record); }) {}

  ~JournalStore() {
    try {
      journal_.commit(journal_.end());
    } catch (const BackendError&) {  // a destructor cannot report it
    }
  }
  JournalStore(const JournalStore&) = delete;
  JournalStore& operator=(const JournalStore&) = delete;

  void schedule(std::span<const DurableTimer> timers) {
    change([&] {
      arm(timers);
      return timers.size();
    });
  }

  // They are written with the next change of any client, or when they are many.
  void post(std::span<const DurableTimer> timers) {
    std::unique_lock lock(mutex_);
    arm(timers);
    if (journal_.unwritten_bytes() < kMostPosted) return;
    const Journal::Place place = journal_.end();
    lock.unlock();
    journal_.commit(place);
  }

  bool cancel(DurableId id) {
    return change([&] {
      const auto found = places_.find(id);
      if (found == places_.end()) return false;
      remove(found->second);
      return true;
    });
  }

  // The clock is asked under the mutex, so only one that was set back goes back. A broken journal
  // hands out nothing: none of it could be completed.
  Claims claim(std::size_t most, Tick lease, const std::function<Tick()>& clock) {
    const std::lock_guard lock(mutex_);
    journal_.throw_if_broken();
    const Tick now = clock();
    if (now < std::exchange(now_, now)) go_back();
    queue_->advance(now, [this](TimerId place, Tick) { put_in_line(place); });
    Claims claims;
    const std::uint64_t token = tokens_.next();
    while (claims.timers.size() < most && !line_.empty()) {
      const TimerId place = line_.front();
      leave_line(place);
      Entry& entry = entries_[place];
      entry.token = token;
      wait_for(place, lease_end(now, lease));
      claims.timers.push_back({entry.timer, token});
    }
    claims.next_wakeup = line_.empty() ? queue_->next_wakeup() : now;
    return claims;
  }

  std::vector<bool> complete(std::span<const ClaimedTimer> claims) {
    return change([&] {
      std::vector<bool> held;
      held.reserve(claims.size());
      for (const ClaimedTimer& claim : claims) {
        const std::optional<TimerId> place = place_of(claim);
        held.push_back(place.has_value());
        if (place) remove(*place);
      }
      return held;
    });
  }

  void give_back(std::span<const ClaimedTimer> claims) {
    const std::lock_guard lock(mutex_);
    for (const ClaimedTimer& claim : claims) {
      const std::optional<TimerId> place = place_of(claim);
      if (!place) continue;
      entries_[*place].token = Tokens::kNobody;
      entries_[*place].due = entries_[*place].timer.deadline;
      if (queue_->cancel(*place)) put_in_line(*place);  // else its lease has ended: it is in line
    }
    if (!line_.empty()) earlier_.notify_all();
  }

  bool await_earlier(Tick next_wakeup, std::chrono::nanoseconds longest) {
    std::unique_lock lock(mutex_);
    return earlier_.wait_for(lock, longest, [&] { return first_due() < next_wakeup; });
  }

  const std::string& damage() const { return journal_.damage(); }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return places_.size();
  }

 private:
  using Line = std::list<TimerId>;
  static constexpr TimerId kFirstCapacity = 1024;

  struct Entry {
    DurableTimer timer;
    std::uint64_t token = Tokens::kNobody;    // of the last claim
    Tick due = kNever;                        // the deadline, or the end of the lease; kNever: free
    std::optional<Line::iterator> in_line{};  // if it is not in the queue
  };

  enum class Kind : char { armed = 'a', gone = 'g' };

  static constexpr std::size_t kHeadBytes = sizeof(DurableId) + sizeof(Tick) + sizeof(Kind);
  static constexpr std::uint64_t kShortestJournal = 1 << 20;
  static constexpr std::uint64_t kMostPosted = 1 << 20;  // bytes that wait for a change

  static std::string record(Kind kind, DurableId id, Tick deadline, std::string_view payload) {
    std::string text(kHeadBytes, '\0');
    std::memcpy(text.data(), &id, sizeof(id));
    std::memcpy(text.data() + sizeof(id), &deadline, sizeof(deadline));
    text[kHeadBytes - 1] = static_cast<char>(kind);
    return text.append(payload);
  }

  static std::string record_of(const DurableTimer& timer) {
    return record(Kind::armed, timer.id, timer.deadline, timer.payload);
  }

  void replay(std::string_view text) {
    if (text.size() < kHeadBytes) return;
    DurableTimer timer{};
    std::memcpy(&timer.id, text.data(), sizeof(timer.id));
    std::memcpy(&timer.deadline, text.data() + sizeof(timer.id), sizeof(timer.deadline));
    timer.payload = text.substr(kHeadBytes);
    if (static_cast<Kind>(text[kHeadBytes - 1]) == Kind::armed) {
      arm(timer);
    } else if (const auto found = places_.find(timer.id); found != places_.end()) {
      forget(found->second);
    }
  }

  // What stands in line is due.
  Tick first_due() const { return line_.empty() ? queue_->next_wakeup() : 0; }

  // Changes the timers, and returns what `change` returns when the change is on the disk.
  auto change(const auto& change) {
    std::unique_lock lock(mutex_);
    auto result = change();
    if (journal_.bytes() > std::max({kShortestJournal, 2 * live_bytes_, refused_})) rewrite();
    const Journal::Place place = journal_.end();
    lock.unlock();
    journal_.commit(place);
    return result;
  }

  void arm(std::span<const DurableTimer> timers) {
    const Tick before = first_due();
    for (const DurableTimer& timer : timers) {
      journal_.append(record_of(timer));
      arm(timer);
    }
    if (first_due() < before) earlier_.notify_all();
  }

  // REQUIRES: the journal has a record of it.
  void arm(const DurableTimer& timer) {
    const auto [found, is_new] = places_.try_emplace(timer.id);
    if (is_new) found->second = free_place();
    const TimerId place = found->second;
    leave_line(place);
    live_bytes_ -= is_new ? 0 : bytes_of(entries_[place].timer);
    live_bytes_ += bytes_of(timer);
    entries_[place].timer = timer;
    entries_[place].token = Tokens::kNobody;
    wait_for(place, timer.deadline);
  }

  void remove(TimerId place) {
    journal_.append(record(Kind::gone, entries_[place].timer.id, 0, ""));
    forget(place);
  }

  // REQUIRES: the journal has a record of it.
  void forget(TimerId place) {
    Entry& entry = entries_[place];
    queue_->cancel(place);
    leave_line(place);
    places_.erase(entry.timer.id);
    live_bytes_ -= bytes_of(entry.timer);
    entry = {};
    free_.push_back(place);
  }

  // Where the timer of the claim is, if the claim still holds.
  std::optional<TimerId> place_of(const ClaimedTimer& claim) const {
    const auto found = places_.find(claim.timer.id);
    if (found == places_.end() || entries_[found->second].token != claim.token) return std::nullopt;
    return found->second;
  }

  void wait_for(TimerId place, Tick due) {
    entries_[place].due = due;
    queue_->schedule(place, due);
  }

  void put_in_line(TimerId place) { entries_[place].in_line = line_.insert(line_.end(), place); }

  void leave_line(TimerId place) {
    if (auto& in_line = entries_[place].in_line) line_.erase(*std::exchange(in_line, std::nullopt));
  }

  TimerId free_place() {
    if (free_.empty()) grow();
    const TimerId place = free_.back();
    free_.pop_back();
    return place;
  }

  // A queue has a fixed capacity, so all timers move to one of twice the capacity.
  void grow() {
    const auto capacity = static_cast<TimerId>(entries_.size());
    entries_.resize(std::size_t{2} * capacity);
    free_ = descending_places(capacity, 2 * capacity);
    renew_queue();
  }

  // The time of a queue does not go back. What stands in line may not be due any more. O(timers).
  void go_back() {
    while (!line_.empty()) leave_line(line_.front());
    renew_queue();
  }

  // All timers that are not in line move to a new queue.
  void renew_queue() {
    const auto capacity = static_cast<TimerId>(entries_.size());
    queue_.emplace(config(capacity));
    for (TimerId place = 0; place < capacity; ++place) {
      const Entry& entry = entries_[place];
      if (entry.due != kNever && !entry.in_line) queue_->schedule(place, entry.due);
    }
  }

  // So that the first place is taken first.
  static std::vector<TimerId> descending_places(TimerId first, TimerId end) {
    std::vector<TimerId> places(end - first);
    std::iota(places.rbegin(), places.rend(), first);
    return places;
  }

  QueueConfig config(TimerId capacity) const {
    return {.capacity = capacity, .start = now_, .granularity = granularity_};
  }

  // The old journal goes on if the disk has no room for a new one.
  void rewrite() {
    try {
      journal_.rewrite([this](const Journal::Visit& append) {
        for (const auto& [id, place] : places_) append(record_of(entries_[place].timer));
      });
      refused_ = 0;
    } catch (const BackendError&) {
      refused_ = 2 * journal_.bytes();
    }
  }

  static std::uint64_t bytes_of(const DurableTimer& timer) {
    return Journal::kHeadBytes + kHeadBytes + timer.payload.size();
  }

  const Tick granularity_;
  std::condition_variable earlier_;
  mutable std::mutex mutex_;  // of all that follows
  Tick now_;                  // of the last claim
  std::optional<Queue> queue_;
  std::vector<Entry> entries_;  // by place, which is the id in the queue
  std::vector<TimerId> free_;   // places without a timer
  std::unordered_map<DurableId, TimerId> places_;
  Line line_;
  Tokens tokens_;
  std::uint64_t live_bytes_ = 0;  // of the records of the timers there are
  std::uint64_t refused_ = 0;  // the length at which rewriting is tried again after it has failed
  Journal journal_;            // last: its records go into all the others
};

}  // namespace timerbench
