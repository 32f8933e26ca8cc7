// Where the user's own server is.
#pragma once

#include <cstdlib>

namespace timerbench {

// What this variable of the environment says; nullptr if it is not set, or empty.
inline const char* users_url(const char* variable) {
  const char* const url = std::getenv(variable);
  return url != nullptr && *url != '\0' ? url : nullptr;
}

}  // namespace timerbench
