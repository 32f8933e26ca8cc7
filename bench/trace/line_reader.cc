#include "trace/line_reader.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <boost/iostreams/filter/lzma.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "system/stop.h"
#include "trace/trace.h"

namespace timerbench {
namespace {

constexpr std::size_t kLongestLine = 1 << 16;
constexpr std::streamsize kBuffer = 1 << 16;
constexpr int kFirstByteOfXz = 0xFD;  // no text starts with it

// An open file, or a pipe.
class Source {
 public:
  using char_type = char;
  using category = boost::iostreams::source_tag;

  // Throws TraceError.
  explicit Source(const std::filesystem::path& path) {
    const auto fail = [&path](const char* problem) {
      throw TraceError(fmt::format("cannot read {}: {}", path.string(), problem));
    };
    // O_NONBLOCK: do not wait for a writer of a FIFO.
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) fail(std::strerror(errno));
    file_ = std::shared_ptr<const int>(new int(file), [](const int* opened) {
      close(*opened);
      delete opened;
    });
    struct stat status {};
    struct statfs system {};
    if (fstat(file, &status) != 0 || fstatfs(file, &system) != 0) fail(std::strerror(errno));
    // A pipe without a name, as /dev/stdin may be, has had a writer from the start.
    if (!S_ISREG(status.st_mode) && system.f_type != PIPEFS_MAGIC) fail("it is not a regular file");
  }

  // The next byte, not consumed; kNone at the end.
  int peek() {
    char first;
    if (peeked_ == kNone && read(&first, 1) == 1) peeked_ = static_cast<unsigned char>(first);
    return peeked_;
  }

  // Boost's interface: returns the number of bytes, or -1 at the end.
  std::streamsize read(char* to, std::streamsize size) {
    if (peeked_ != kNone) {
      *to = static_cast<char>(std::exchange(peeked_, kNone));
      return 1;
    }
    for (;;) {
      throw_if_interrupted();
      pollfd input{.fd = *file_, .events = POLLIN, .revents = 0};
      if (poll(&input, 1, kLookMilliseconds) <= 0) continue;
      const ssize_t count = ::read(*file_, to, static_cast<std::size_t>(size));
      if (count > 0) return count;
      if (count == 0) return -1;
      if (errno != EINTR && errno != EAGAIN) throw std::ios::failure(std::strerror(errno));
    }
  }

 private:
  static constexpr int kNone = -1;
  static constexpr int kLookMilliseconds = 100;  // between two checks of interrupted()

  std::shared_ptr<const int> file_;  // shared, since Boost copies the source
  int peeked_ = kNone;
};

}  // namespace

LineReader::LineReader(const std::filesystem::path& path)
    : name_(path.string()), line_(kLongestLine) {
  Source file(path);
  if (file.peek() == kFirstByteOfXz || path.extension() == ".xz") {
    text_.push(boost::iostreams::lzma_decompressor({}, kBuffer), kBuffer);
  }
  text_.push(file, kBuffer);
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
  if (!text_.eof()) --length;  // the newline was counted
  if (length > 0 && line_[length - 1] == '\r') --length;
  return std::string_view(line_.data(), length);
}

void LineReader::fail(std::string_view problem) const {
  if (line_number_ == 0) throw TraceError(fmt::format("{}: is empty; {}", name_, problem));
  throw TraceError(fmt::format("{}:{}: {}", name_, line_number_, problem));
}

}  // namespace timerbench
