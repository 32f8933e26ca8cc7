#include "realtime/pace.h"

#include <algorithm>
#include <span>

namespace timerbench {

double Pace::achieved() {
  constexpr std::size_t kFewest = 20;
  const auto done = static_cast<double>(done_.size());
  const double share = undone_ == 0 ? 1 : done / (done + static_cast<double>(undone_));
  if (done_.size() < kFewest) return share;

  std::ranges::sort(done_, {}, &Thing::planned);
  const std::span<Thing> all(done_);
  const std::span<Thing> first = all.first(all.size() / 2);
  const std::span<Thing> second = all.subspan(all.size() / 2);
  const auto median = [](std::span<Thing> half, Tick Thing::*what) {
    const auto nth = half.begin() + static_cast<std::ptrdiff_t>(half.size() / 2);
    std::ranges::nth_element(half, nth, {}, what);
    return static_cast<double>((*nth).*what);
  };
  const double apart = median(second, &Thing::planned) - median(first, &Thing::planned);
  const double later = median(second, &Thing::late) - median(first, &Thing::late);
  return apart <= 0 || later <= 0 ? share : std::min(share, apart / (apart + later));
}

}  // namespace timerbench
