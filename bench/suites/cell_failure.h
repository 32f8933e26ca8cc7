// Why a cell has no figure, and how the cells of a run ended.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace timerbench {

// The text begins with the status: wrong, error, timeout, skipped, unavailable, limit, oom,
// interrupted.
struct CellFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The failure text for the exception being handled: of a backend, a trace or the system. Rethrows
// exceptions that must end the run. REQUIRES: called in a handler.
std::string current_failure();

// How many cells ended in which way. Cells that never began are not counted.
struct CellCounts {
  std::size_t measured = 0;
  std::size_t failed = 0;   // wrong or error
  std::size_t without = 0;  // no figure, for another reason

  void add_failure(std::string_view failure) {
    ++(failure.starts_with("wrong") || failure.starts_with("error") ? failed : without);
  }
};

}  // namespace timerbench
