// A file that appears complete or not at all. It is written under a temporary name in the same
// folder, and renamed when it is on the disk.
#pragma once

#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace timerbench {

// A file could not be written. The text says which and why, in one line.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Where a file of this name would be: the target of its symbolic links, or the name itself.
std::filesystem::path follow_links(std::filesystem::path path);

// Removes what writers that were killed have left in a folder: their temporary files of more than a
// day.
void remove_abandoned(const std::filesystem::path& folder);

// Every failure throws FileError. A file that is not committed is removed.
class OutputFile {
 public:
  // Replaces a regular file of that name, or the one that a link leads to. Refuses to replace
  // anything else.
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);

  // Flushes everything to the disk and closes. Afterwards only the rename in commit() can fail.
  void sync();

  // Renames the file to its name. REQUIRES: sync() has been called.
  void commit();

 private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty after commit()
  std::FILE* file_;
};

}  // namespace timerbench
