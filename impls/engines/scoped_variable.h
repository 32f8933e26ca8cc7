// A variable of the environment that has another value for a while.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace timerbench {

// REQUIRES: no other thread looks at the environment meanwhile, or changes it.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), /*overwrite=*/1);
  }
  ~ScopedVariable() {
    if (before_) {
      setenv(name_, before_->c_str(), /*overwrite=*/1);
    } else {
      unsetenv(name_);
    }
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace timerbench
