// A file descriptor that closes itself.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "core/backend_error.h"

namespace timerbench {

struct Descriptor {
  // `fd`: what a system call has returned. Throws BackendUnavailable if that is an error.
  Descriptor(int fd, const std::string& call) : fd(fd) {
    if (fd < 0) throw BackendUnavailable(call + ": " + std::strerror(errno));
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(fd); }

  const int fd;
};

}  // namespace timerbench
