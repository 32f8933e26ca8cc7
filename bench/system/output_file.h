// A file that appears complete or not at all: written under a temporary name beside its own and
// renamed when it is on the disk.
#pragma once

#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace timerbench {

// What could not be written and why, in one line.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Where a file of this name would be: the end of a chain of symbolic links, or the name itself.
std::filesystem::path follow_links(std::filesystem::path path);

// Every failure throws FileError; whatever was not committed is removed.
class OutputFile {
 public:
  // Replaces a regular file of that name, or that a link of that name leads to, and refuses to
  // replace anything else.
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);

  // Puts everything on the disk and closes. Afterwards only the rename of commit() can fail.
  void sync();

  // Gives the file its name. REQUIRES: sync() has been called.
  void commit();

 private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty: committed
  std::FILE* file_;
};

}  // namespace timerbench
