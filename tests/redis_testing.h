// What the tests of Redis share: variables and folders for a while, errors of one line, patience.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <thread>

#include "core/backend_error.h"
#include "engines/scoped_variable.h"

namespace timerbench {

class EmptyFolder {
 public:
  EmptyFolder() { path_ = mkdtemp(path_.data()); }
  ~EmptyFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  bool empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::string path_ = std::filesystem::temp_directory_path() / "redis_test-XXXXXX";
};

// The text of the error that the call must throw, which must be one line.
template <class Error = BackendError, class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    std::string text = error.what();
    EXPECT_EQ(text.find('\n'), text.npos) << text;
    return text;
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

inline void expect_contains(const std::string& text, std::initializer_list<std::string> parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), text.npos) << "\"" << part << "\" is not in \"" << text << "\"";
  }
}

template <class Condition>
bool soon(Condition&& condition) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace timerbench
