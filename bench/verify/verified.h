// Which backends of a program keep the contract, found out once a build.
#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace timerbench {

// Their names, in a file beside the program; it holds for this very file of the program. Nothing is
// kept where it cannot be written.
class VerifiedNames {
 public:
  explicit VerifiedNames(const std::filesystem::path& program);

  bool contains(const std::string& name) const { return names_.contains(name); }
  void add(const std::string& name);

 private:
  std::filesystem::path file_;
  std::string build_;  // what tells one build of the program from another
  std::set<std::string> names_;
};

}  // namespace timerbench
