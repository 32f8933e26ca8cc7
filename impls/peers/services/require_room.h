// Memory for runtimes that end the process if they find none when they start.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <string>

#include "core/backend_error.h"

namespace timerbench {

// Throws BackendUnavailable unless `what` can reserve so many bytes of addresses, and use so many
// others. It is no promise: others may take them meanwhile.
inline void require_room(const std::string& what, std::size_t reserved, std::size_t used) {
  const auto is_there = [](std::size_t bytes, int protection, int flags) {
    if (bytes == 0) return true;
    void* const room = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return room != MAP_FAILED && munmap(room, bytes) == 0;
  };
  if (is_there(reserved + used, PROT_NONE, MAP_NORESERVE) &&
      is_there(used, PROT_READ | PROT_WRITE, 0)) {
    return;
  }
  const auto gib = [](std::size_t bytes) { return std::to_string(bytes >> 30) + " GiB"; };
  throw BackendUnavailable(what + " needs " + gib(reserved + used) + " of addresses" +
                           (used > 0 ? ", and " + gib(used) + " of memory" : "") +
                           "; raise ulimit -v, or free memory");
}

}  // namespace timerbench
