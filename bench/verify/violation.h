// How a check says that a contract is broken.
#pragma once

#include <stdexcept>

namespace timerbench {

// The text says which of the contract's rules is broken, and what happened.
struct ContractViolation : std::logic_error {
  using std::logic_error::logic_error;
};

}  // namespace timerbench
