// How a check reports a violation of a contract.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace timerbench {

// The text says which rule is broken, and what happened.
struct ContractViolation : std::logic_error {
  explicit ContractViolation(const std::string& text, std::string last_calls = "")
      : std::logic_error(text), calls(std::move(last_calls)) {}

  std::string calls;  // the last calls, a line each; the very last one was wrong
};

}  // namespace timerbench
