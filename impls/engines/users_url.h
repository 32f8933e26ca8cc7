// Where the user's own server is.
#pragma once

#include <cstdlib>
#include <string_view>

namespace timerbench {

// What this variable of the environment says; nullptr if it is not set, or empty.
inline const char* users_url(const char* variable) {
  const char* const url = std::getenv(variable);
  return url != nullptr && *url != '\0' ? url : nullptr;
}

// Whether it has only letters of host names and of addresses. Anything else, such as a password
// behind a question mark, would be repeated in messages.
inline bool is_host(std::string_view text) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:%";
  return text.find_first_not_of(kLetters) == text.npos;
}

}  // namespace timerbench
