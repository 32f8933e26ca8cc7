// Remembers which contenders keep the contract, so that each is verified once per build.
#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace timerbench {

// The names are in a file beside the program, or in the user's cache for an installed one, and hold
// for that build only. Nothing is kept if the file cannot be written.
class VerifiedNames {
 public:
  explicit VerifiedNames(const std::filesystem::path& program);

  bool contains(const std::string& name) const { return names_.contains(name); }
  void add(const std::string& name);

 private:
  std::filesystem::path file_;
  std::string build_;  // identifies a build of the program
  std::set<std::string> names_;
};

}  // namespace timerbench
