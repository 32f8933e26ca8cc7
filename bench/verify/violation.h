// How a check says that a contract is broken.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace timerbench {

// The text says which of the contract's rules is broken, and what happened.
struct ContractViolation : std::logic_error {
  explicit ContractViolation(const std::string& text, std::string last_calls = "")
      : std::logic_error(text), calls(std::move(last_calls)) {}

  std::string calls;  // the last ones, a line each; the very last went wrong
};

}  // namespace timerbench
