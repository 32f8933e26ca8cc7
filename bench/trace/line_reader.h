// Reads the lines of a text file, plain or compressed with xz, or of a pipe.
#pragma once

#include <boost/iostreams/filtering_stream.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace timerbench {

// Both the constructor and next() throw TraceError on every failure (no such file, a special file,
// damaged or truncated xz, not text), and Interrupted, even while they wait for a pipe.
class LineReader {
 public:
  explicit LineReader(const std::filesystem::path& path);

  // The next line without its end (LF or CR LF), valid until the next call; nothing at the end of
  // the file.
  std::optional<std::string_view> next();

  // The number of the line that next() returned last; the first is 1.
  std::uint64_t line_number() const { return line_number_; }

  // Throws TraceError: "FILE:LINE: problem", or for an empty file "FILE: is empty; problem".
  [[noreturn]] void fail(std::string_view problem) const;

 private:
  std::string name_;
  boost::iostreams::filtering_istream text_;
  std::vector<char> line_;
  std::uint64_t line_number_ = 0;
};

}  // namespace timerbench
