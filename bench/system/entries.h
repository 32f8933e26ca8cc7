// What is in a folder that may change meanwhile, as those of /proc do.
#pragma once

#include <filesystem>
#include <system_error>

namespace timerbench {

// Calls `with` for each entry, as far as the system tells them; for none if there is no such folder.
// Iterator: std::filesystem::directory_iterator, or the recursive one.
template <class Iterator = std::filesystem::directory_iterator, class With>
void for_each_entry(const std::filesystem::path& folder, const With& with) {
  std::error_code gone;
  for (Iterator entry(folder, gone); !gone && entry != Iterator(); entry.increment(gone)) {
    with(*entry);
  }
}

}  // namespace timerbench
