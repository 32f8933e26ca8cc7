// The lines of a text file, plain or compressed with xz.
#pragma once

#include <boost/iostreams/filtering_stream.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace timerbench {

// Every failure throws TraceError: no such file, damaged or truncated xz, not text. next() throws
// Interrupted too.
class LineReader {
 public:
  explicit LineReader(const std::filesystem::path& path);

  // The next line without its end (LF or CR LF), valid until the next call; nothing at the end of
  // the file.
  std::optional<std::string_view> next();

  // Of the line that next() returned last; the first is 1.
  std::uint64_t line_number() const { return line_number_; }

  // Throws TraceError: "FILE:LINE: problem", of an empty file "FILE: is empty; problem".
  [[noreturn]] void fail(std::string_view problem) const;

 private:
  std::string name_;
  std::ifstream file_;
  boost::iostreams::filtering_istream text_;
  std::vector<char> line_;
  std::uint64_t line_number_ = 0;
};

}  // namespace timerbench
