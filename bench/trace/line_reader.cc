#include "trace/line_reader.h"

#include <fmt/core.h>

#include <boost/iostreams/filter/lzma.hpp>
#include <cerrno>
#include <cstring>

#include "system/stop.h"
#include "trace/trace.h"

namespace timerbench {
namespace {

constexpr std::size_t kLongestLine = 1 << 16;
constexpr std::streamsize kBuffer = 1 << 16;
constexpr int kFirstByteOfXz = 0xFD;  // never that of a text

}  // namespace

LineReader::LineReader(const std::filesystem::path& path)
    : name_(path.string()), file_(path, std::ios::binary), line_(kLongestLine) {
  const int first = file_.peek();
  if (!file_.is_open() || file_.bad()) {
    throw TraceError(fmt::format("cannot read {}: {}", name_, std::strerror(errno)));
  }
  if (first == kFirstByteOfXz || path.extension() == ".xz") {
    text_.push(boost::iostreams::lzma_decompressor({}, kBuffer), kBuffer);
  }
  file_.clear();  // an empty file has met its end by now
  text_.push(file_, kBuffer);
  text_.exceptions(std::ios::badbit);
}

std::optional<std::string_view> LineReader::next() {
  throw_if_interrupted();
  try {
    text_.getline(line_.data(), static_cast<std::streamsize>(line_.size()));
  } catch (const boost::iostreams::lzma_error&) {
    throw TraceError(fmt::format("{}: damaged or truncated xz data after line {}; see xz --test",
                                 name_, line_number_));
  } catch (const std::ios::failure& error) {
    throw TraceError(
        fmt::format("{}: read error after line {}: {}", name_, line_number_, error.what()));
  }
  auto length = static_cast<std::size_t>(text_.gcount());
  if (length == 0) return std::nullopt;
  ++line_number_;
  if (text_.fail()) fail(fmt::format("longer than {} bytes: not a text file", kLongestLine));
  if (!text_.eof()) --length;  // the newline, which was taken and counted
  if (length > 0 && line_[length - 1] == '\r') --length;
  return std::string_view(line_.data(), length);
}

void LineReader::fail(std::string_view problem) const {
  if (line_number_ == 0) throw TraceError(fmt::format("{}: is empty; {}", name_, problem));
  throw TraceError(fmt::format("{}:{}: {}", name_, line_number_, problem));
}

}  // namespace timerbench
