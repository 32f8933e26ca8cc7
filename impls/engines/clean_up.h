// Takes away what this program has put on a server of the user's.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <string_view>

namespace timerbench {

class CleanUp {
 public:
  // Removes it; not in a process that was forked since, for it is the parent's. If that fails, says so
  // on standard error in one line: the error, which names the server, what may stay there, and how to
  // remove it by hand. For destructors: throws nothing.
  void run(const std::function<void()>& remove, std::string_view what,
           std::string_view by_hand) const noexcept {
    if (getpid() != owner_) return;
    try {
      remove();
    } catch (const std::exception& error) {
      tell(error, what, by_hand);
    }
  }

  // The line alone.
  static void tell(const std::exception& error, std::string_view what, std::string_view by_hand) {
    std::fputs(fmt::format("timerbench: cannot clean up: {}; {} may be left there; to remove what "
                           "is left, {}\n",
                           error.what(), what, by_hand)
                   .c_str(),
               stderr);
  }

 private:
  const pid_t owner_ = getpid();
};

}  // namespace timerbench
