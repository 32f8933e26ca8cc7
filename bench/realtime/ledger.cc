#include "realtime/ledger.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <tuple>

namespace timerbench {
namespace {

constexpr auto kTimer = [](const auto& entry) { return std::tuple(entry.id, entry.deadline); };

// Counts a kind of fault, and names the first timer that had it.
struct Fault {
  std::string_view what;
  std::uint64_t times = 0;
  TimerId first = 0;

  void add(TimerId id) {
    if (times++ == 0) first = id;
  }
};

// A sorted list that is matched with armings in the same order.
template <class Entry>
class Matched {
 public:
  Matched(const std::vector<Entry>& entries, Fault& unmatched)
      : next_(entries.begin()), end_(entries.end()), unmatched_(unmatched) {}

  ~Matched() {
    for (; next_ != end_; ++next_) unmatched_.add(next_->id);
  }

  // Takes the next entry if it belongs to the arming.
  const Entry* take(const Arming& arming) {
    for (; next_ != end_ && kTimer(*next_) < kTimer(arming); ++next_) unmatched_.add(next_->id);
    return next_ != end_ && kTimer(*next_) == kTimer(arming) ? &*next_++ : nullptr;
  }

 private:
  typename std::vector<Entry>::const_iterator next_;
  const typename std::vector<Entry>::const_iterator end_;
  Fault& unmatched_;
};

}  // namespace

Accounts settle_accounts(std::vector<Arming>& armings, std::vector<Fire>& fires,
                         std::vector<PendingTimer>& pending,
                         const std::function<void(const Arming&, const Fire*)>& visit) {
  // Among armings of one timer with the same deadline, those with the strongest claim to a fire
  // come first.
  std::ranges::sort(armings, {}, [](const Arming& arming) {
    return std::tuple(arming.id, arming.deadline, arming.ending, arming.made);
  });
  std::ranges::sort(fires, {},
                    [](const Fire& fire) { return std::tuple(fire.id, fire.deadline, fire.at); });
  std::ranges::sort(pending, {}, kTimer);

  Accounts accounts{.armed = armings.size(), .fired = fires.size()};
  Fault extra{.what = "fired twice, unarmed, or though cancelled or handed back"};
  Fault stray{.what = "handed back though not pending"};
  Fault lost{.what = "lost: neither fired nor handed back"};
  {
    Matched matched_fires(fires, extra);
    Matched matched_pending(pending, stray);
    for (const Arming& arming : armings) {
      const bool handed_back =
          arming.ending == Ending::fire_or_pending && matched_pending.take(arming);
      const Fire* fire =
          handed_back || arming.ending == Ending::cancel ? nullptr : matched_fires.take(arming);
      visit(arming, fire);
      if (fire) continue;
      if (handed_back) {
        ++accounts.pending;
      } else if (arming.ending == Ending::cancel) {
        ++accounts.cancelled;
      } else if (arming.ending == Ending::fire_or_move) {
        ++accounts.moved;
      } else {
        lost.add(arming.id);
      }
    }
  }

  for (const Fault& fault : {extra, stray, lost}) {
    if (fault.times == 0) continue;
    accounts.violation +=
        fmt::format("{}{} {} (timer {}{})", accounts.violation.empty() ? "" : ", ", fault.times,
                    fault.what, fault.first, fault.times > 1 ? " first" : "");
  }
  return accounts;
}

}  // namespace timerbench
