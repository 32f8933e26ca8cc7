#include "faults/survival_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace timerbench {
namespace {

// A worker whose claim was under way when cancel() returned may learn of it later, by its patience.
constexpr Tick kRace = 400'000'000;

// A call that changes something; kNever: it was not made, or not answered.
struct Call {
  Tick asked = kNever;
  Tick acknowledged = kNever;
};

struct Story {
  Tick deadline = kNever;
  Call arming;
  Call cancelling;
  bool may_be_cancelled = false;  // an answer was lost
  std::vector<Tick> claims{};
  Tick last_asked_to_complete = kNever;
  std::vector<Call> completions{};     // that were acknowledged
  std::int32_t calls_to_complete = 0;  // that may have done so: not those that said no
  std::vector<Tick> fired{};

  bool is_armed() const { return arming.acknowledged != kNever; }
  bool is_cancelled() const { return cancelling.acknowledged != kNever; }
  bool must_fire() const { return is_armed() && !is_cancelled() && !may_be_cancelled; }

  // When it was first handed out after it was cancelled; kNever: it was not. Who was handed it before
  // may still fire it.
  Tick claimed_after_cancel() const {
    if (!is_cancelled()) return kNever;
    const auto found = std::ranges::upper_bound(claims, cancelling.acknowledged + kRace);
    return found == claims.end() ? kNever : *found;
  }

  // What fires at most once is completed before, so who has done that may have died then.
  bool is_lost(Delivery delivery) const {
    const bool may_have_begun = delivery == Delivery::at_most_once && calls_to_complete > 0;
    return must_fire() && fired.empty() && !may_have_begun;
  }
};

using Stories = std::unordered_map<DurableId, Story>;

// Visits the entries that were written as a whole.
template <class Visit>
void visit_entries(const SurvivalLedger& ledger, const Visit& visit) {
  for (std::size_t i = 0, size = ledger.size(); i < size; ++i) {
    const LedgerEntry& entry = ledger[i];
    const Happening what = entry.what.load(std::memory_order_acquire);
    if (what != Happening::nothing) visit(what, entry);
  }
}

Stories stories_of(const SurvivalLedger& ledger) {
  Stories stories;
  visit_entries(ledger, [&](Happening what, const LedgerEntry& entry) {
    if (what >= Happening::fault) return;  // not of a timer
    Story& story = stories[entry.id];
    switch (what) {
      case Happening::asked:
        story.arming.asked = entry.when;
        story.deadline = entry.deadline;
        break;
      case Happening::armed: story.arming.acknowledged = entry.when; break;
      case Happening::cancelling:
        story.may_be_cancelled = true;
        story.cancelling.asked = entry.when;
        break;
      case Happening::not_cancelled: story.may_be_cancelled = false; break;
      case Happening::cancelled:
        story.may_be_cancelled = false;
        story.cancelling.acknowledged = entry.when;
        break;
      case Happening::claimed: story.claims.push_back(entry.when); break;
      case Happening::fired: story.fired.push_back(entry.when); break;
      case Happening::completing:
        ++story.calls_to_complete;
        story.last_asked_to_complete = entry.when;
        break;
      case Happening::completed:
        story.completions.push_back({story.last_asked_to_complete, entry.when});
        break;
      case Happening::not_completed: --story.calls_to_complete; break;
      default: break;
    }
  });
  for (auto& [id, story] : stories) {
    std::ranges::sort(story.fired);
    std::ranges::sort(story.claims);
  }
  return stories;
}

Tick time_of(const SurvivalLedger& ledger, Happening wanted) {
  Tick when = kNever;
  visit_entries(ledger, [&](Happening what, const LedgerEntry& entry) {
    if (what == wanted) when = std::min(when, entry.when);
  });
  return when;
}

struct Strike {
  Tick begin;
  Tick takes_from;    // what was acknowledged before that must be kept
  Tick end = kNever;  // when it was mended; kNever: it never was
};

std::vector<Strike> strikes_of(const SurvivalLedger& ledger, const SurvivalTerms& terms) {
  std::vector<Strike> strikes;
  std::vector<Tick> calls;  // that changed one timer each
  const auto takes_from = [&](Tick begin) {
    if (terms.kept == Kept::none || calls.size() <= terms.latest_calls) return Tick{0};
    const Tick young = begin - terms.latest;
    return terms.latest_calls == 0 ? young
                                   : std::min(young, calls[calls.size() - terms.latest_calls]);
  };
  visit_entries(ledger, [&](Happening what, const LedgerEntry& entry) {
    if (what == Happening::armed || what == Happening::cancelled) calls.push_back(entry.when);
    if (what == Happening::fault) {
      strikes.push_back({.begin = entry.when, .takes_from = takes_from(entry.when)});
    }
    if (what == Happening::mended && !strikes.empty()) strikes.back().end = entry.when;
  });
  return strikes;
}

double seconds(Tick from, Tick to) { return to > from ? static_cast<double>(to - from) * 1e-9 : 0; }

// Of timers that did fire: one that is lost is due for ever.
double longest_silence(const Stories& stories) {
  struct Event {
    Tick when;
    int due;  // the change of how many are due
  };
  std::vector<Event> events;
  for (const auto& [id, story] : stories) {
    if (story.fired.empty() || story.deadline == kNever) continue;
    events.push_back({story.deadline, 1});
    events.push_back({std::max(story.fired.front(), story.deadline), -1});
  }
  std::ranges::sort(events, [](const Event& a, const Event& b) {
    return a.when != b.when ? a.when < b.when : a.due > b.due;
  });
  double longest = 0;
  Tick since = 0;  // when the last one fired, or the first one fell due
  int due = 0;
  for (const Event& event : events) {
    if (event.due > 0) {
      if (due == 0) since = event.when;
    } else {
      longest = std::max(longest, seconds(since, event.when));
      since = event.when;
    }
    due += event.due;
  }
  return longest;
}

// The first strike that may have undone what was asked for then; nullptr: that came after all.
const Strike* strike_on(Tick asked, const std::vector<Strike>& strikes) {
  const auto found = std::ranges::find_if(strikes, [&](const Strike& s) { return asked <= s.end; });
  return found == strikes.end() ? nullptr : &*found;
}

// The strike after which the terms allow that what the call has changed is as if it had not been
// made; nullptr: none does. The time in the ledger is a little later than the acknowledgement.
const Strike* strike_that_takes(const Call& call, const SurvivalTerms& terms,
                                const std::vector<Strike>& strikes) {
  if (terms.kept == Kept::all) return nullptr;
  const Strike* const strike = strike_on(call.asked, strikes);
  return strike != nullptr && call.acknowledged >= strike->takes_from ? strike : nullptr;
}

std::string loss_of(DurableId id, const Story& story, const SurvivalTerms& terms,
                    const std::vector<Strike>& strikes) {
  if (terms.kept == Kept::all) return fmt::format("acknowledged timer {} never fired", id);
  if (const Strike* const strike = strike_on(story.arming.asked, strikes)) {
    return fmt::format("timer {} never fired, which was acknowledged {:.1f} s before a strike", id,
                       seconds(story.arming.acknowledged, strike->begin));
  }
  return fmt::format("timer {} never fired, which was armed after all was mended", id);
}

// How a timer broke the terms; empty if it did not.
std::string breach_of(DurableId id, const Story& story, bool is_lost, const SurvivalTerms& terms,
                      const std::vector<Strike>& strikes) {
  if (!story.fired.empty()) {
    if (story.deadline == kNever) return fmt::format("timer {} fired, but nobody armed it", id);
    if (story.fired.front() < story.deadline) {
      return fmt::format("timer {} fired {} ns before its deadline", id,
                         story.deadline - story.fired.front());
    }
  }
  if (is_lost && strike_that_takes(story.arming, terms, strikes) == nullptr) {
    return loss_of(id, story, terms, strikes);
  }
  // Whether the call must not be forgotten, or not yet at that time.
  const auto holds = [&](const Call& call, Tick when) {
    const Strike* const strike = strike_that_takes(call, terms, strikes);
    return strike == nullptr || when < strike->begin;
  };
  const std::size_t completed = story.completions.size();
  for (std::size_t i = 1; i < completed; ++i) {
    if (!holds(story.completions[i - 1], story.completions[i].acknowledged)) continue;
    return fmt::format("{} workers were told that they held timer {} until its end", completed, id);
  }
  const Tick claimed = story.claimed_after_cancel();
  if (claimed != kNever && holds(story.cancelling, claimed)) {
    return fmt::format("timer {} was handed out {:.3f} s after it was cancelled", id,
                       seconds(story.cancelling.acknowledged, claimed));
  }
  // Each firing follows a completion; that those are too many was found above.
  if (terms.delivery == Delivery::at_most_once &&
      story.fired.size() > std::max<std::size_t>(completed, 1)) {
    return fmt::format("timer {} fired {} times", id, story.fired.size());
  }
  return "";
}

}  // namespace

std::uint64_t count(const SurvivalLedger& ledger, Happening wanted) {
  std::uint64_t count = 0;
  visit_entries(ledger, [&](Happening what, const LedgerEntry&) { count += what == wanted; });
  return count;
}

Tick last_time(const SurvivalLedger& ledger) {
  Tick last = 0;
  visit_entries(ledger,
                [&](Happening, const LedgerEntry& entry) { last = std::max(last, entry.when); });
  return last;
}

bool is_any_waiting(const SurvivalLedger& ledger) {
  return std::ranges::any_of(stories_of(ledger), [](const auto& entry) {
    return !entry.second.claims.empty() && entry.second.fired.empty();
  });
}

std::uint64_t missing(const SurvivalLedger& ledger, Delivery delivery) {
  const Stories stories = stories_of(ledger);
  return static_cast<std::uint64_t>(std::ranges::count_if(
      stories, [&](const auto& entry) { return entry.second.is_lost(delivery); }));
}

Survival audit(const SurvivalLedger& ledger, const SurvivalTerms& terms) {
  const Stories stories = stories_of(ledger);
  const std::vector<Strike> strikes = strikes_of(ledger, terms);
  Survival survival{.is_back = count(ledger, Happening::given_up) == 0,
                    .failed_calls = count(ledger, Happening::unarmed)};
  std::vector<std::string> breaches;
  for (const auto& [id, story] : stories) {
    const bool is_lost = survival.is_back && story.is_lost(terms.delivery);
    survival.acknowledged += story.must_fire();
    survival.lost += is_lost;
    survival.fired_twice += story.fired.size() > 1;
    survival.fired_without_acknowledgement += !story.fired.empty() && !story.is_armed();
    survival.fired_after_cancel += story.claimed_after_cancel() != kNever;
    if (!story.fired.empty() && story.deadline != kNever) {
      survival.latest_seconds =
          std::max(survival.latest_seconds, seconds(story.deadline, story.fired.front()));
    }
    if (std::string breach = breach_of(id, story, is_lost, terms, strikes); !breach.empty()) {
      breaches.push_back(std::move(breach));
    }
  }
  survival.silent_seconds = longest_silence(stories);
  if (!survival.is_back) {
    survival.breach = fmt::format(
        "the queue is not back {:.0f} s after all was mended, and {} timers are missing",
        seconds(strikes.empty() ? 0 : strikes.back().end, time_of(ledger, Happening::given_up)),
        missing(ledger, terms.delivery));
  } else if (!breaches.empty()) {
    survival.breach = *std::ranges::min_element(breaches);
    if (breaches.size() > 1) {
      survival.breach += fmt::format(", and {} more timers are wrong", breaches.size() - 1);
    }
  }
  return survival;
}

SurvivalTimeline timeline(const SurvivalLedger& ledger) {
  constexpr double kShortestStep = 0.02;
  constexpr double kMostSteps = 200;
  const Stories stories = stories_of(ledger);
  Tick begin = kNever, end = 0;
  visit_entries(ledger, [&](Happening, const LedgerEntry& entry) {
    begin = std::min(begin, entry.when);
    end = std::max(end, entry.when);
  });
  const double length = seconds(begin, end);
  SurvivalTimeline timeline{.step_seconds = std::max(kShortestStep, length / kMostSteps)};
  const auto steps = static_cast<std::size_t>(length / timeline.step_seconds) + 1;
  const auto count = [&](std::vector<std::uint32_t>& counts, Tick when) {
    counts.resize(steps);
    const auto step = static_cast<std::size_t>(seconds(begin, when) / timeline.step_seconds);
    ++counts[std::min(step, steps - 1)];
  };
  visit_entries(ledger, [&](Happening what, const LedgerEntry& entry) {
    switch (what) {
      case Happening::asked: count(timeline.asked, entry.when); break;
      case Happening::armed: count(timeline.acknowledged, entry.when); break;
      case Happening::fired: count(timeline.fired, entry.when); break;
      case Happening::fault: timeline.strikes.push_back({seconds(begin, entry.when), {}}); break;
      case Happening::mended:
        if (!timeline.strikes.empty()) timeline.strikes.back().end = seconds(begin, entry.when);
        break;
      default: break;
    }
  });
  for (const auto& [id, story] : stories) {
    if (story.must_fire() && story.deadline <= end) count(timeline.due, story.deadline);
  }
  return timeline;
}

}  // namespace timerbench
