// Why a cell has no figure, and what became of the cells of a run.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace timerbench {

// The text begins with the status: wrong, error, timeout, skipped, unavailable, oom, interrupted.
struct CellFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The same text for whatever a backend, a trace or the system has thrown. REQUIRES: called while an
// exception is handled; passes on those that are not for a cell to survive.
std::string current_failure();

// Cells by what became of them, but for those that were never begun.
struct CellCounts {
  std::size_t measured = 0;
  std::size_t failed = 0;   // wrong or error
  std::size_t without = 0;  // of figures, for another reason

  void add_failure(std::string_view failure) {
    ++(failure.starts_with("wrong") || failure.starts_with("error") ? failed : without);
  }
};

}  // namespace timerbench
