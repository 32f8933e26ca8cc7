#include "durable/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace timerbench {
namespace {

constexpr std::string_view kMagic = "timerbench journal 1\n";

struct Head {
  std::uint32_t bytes;
  std::uint32_t checksum;  // of the bytes
};
static_assert(sizeof(Head) == Journal::kHeadBytes);

void append_to(std::string& buffer, std::string_view record) {
  const Head head{static_cast<std::uint32_t>(record.size()),
                  XXH32(record.data(), record.size(), /*seed=*/0)};
  buffer.append(reinterpret_cast<const char*>(&head), sizeof(head)).append(record);
}

// The head at the beginning, if it is whole and possible.
std::optional<Head> head_of(std::string_view bytes) {
  Head head;
  if (bytes.size() < sizeof(head)) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof(head));
  if (head.bytes > Journal::kLongestRecord) return std::nullopt;
  return head;
}

// The record at the beginning, without its head, if it is whole and undamaged.
std::optional<std::string_view> record_of(std::string_view bytes) {
  const std::optional<Head> head = head_of(bytes);
  if (!head || bytes.size() < sizeof(*head) + head->bytes) return std::nullopt;
  const std::string_view record = bytes.substr(sizeof(*head), head->bytes);
  if (XXH32(record.data(), record.size(), /*seed=*/0) != head->checksum) return std::nullopt;
  return record;
}

// Whether the end of a file is what is left of a write that was interrupted: the beginning of a
// record. A whole record behind it shows that its length is wrong; 1 MiB is searched for one, since
// each byte may seem to be the head of a long record.
bool is_unfinished(std::string_view end) {
  if (end.size() < sizeof(Head)) return true;
  const std::optional<Head> head = head_of(end);
  if (!head || end.size() >= sizeof(*head) + head->bytes) return false;
  constexpr std::size_t kSearched = 1 << 20;
  for (end = end.substr(0, kSearched); !end.empty(); end.remove_prefix(1)) {
    if (record_of(end)) return false;
  }
  return true;
}

// Returns 0, or the error.
int write_all(int file, std::string_view bytes, std::uint64_t at) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return ENOSPC;
    bytes.remove_prefix(static_cast<std::size_t>(written));
    at += static_cast<std::uint64_t>(written);
  }
  return 0;
}

// Returns 0, or the error.
int synchronise_folder_of(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return errno;
  const int error = fsync(file) == 0 ? 0 : errno;
  close(file);
  return error;
}

// Copies what is in one file from there on to another, which is empty. Returns 0, or the error.
int copy_end(int from, std::uint64_t begin, int to) {
  std::vector<char> piece(1 << 20);
  for (std::uint64_t at = begin;;) {
    const ssize_t got = pread(from, piece.data(), piece.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) return 0;
    const auto bytes = static_cast<std::size_t>(got);
    if (const int error = write_all(to, {piece.data(), bytes}, at - begin)) return error;
    at += bytes;
  }
}

// Reads a file in large pieces.
class Reader {
 public:
  explicit Reader(int file) : file_(file) {}

  // The next `count` bytes, valid until the next call; fewer if the file ends. Throws errno.
  std::string_view peek(std::size_t count) {
    while (buffer_.size() - begin_ < count) {
      buffer_.erase(0, std::exchange(begin_, 0));
      const std::size_t old_size = buffer_.size();
      buffer_.resize(old_size + kPiece);
      const ssize_t got = read(file_, buffer_.data() + old_size, buffer_.size() - old_size);
      buffer_.resize(old_size + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      if (got < 0 && errno != EINTR) throw errno;
      if (got == 0) break;
    }
    return std::string_view(buffer_).substr(begin_, count);
  }

  void skip(std::size_t count) { begin_ += count; }

 private:
  static constexpr std::size_t kPiece = 1 << 20;

  int file_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of what was not skipped
};

std::optional<std::string_view> peek_record(Reader& reader) {
  const std::optional<Head> head = head_of(reader.peek(sizeof(Head)));
  if (!head) return std::nullopt;
  return record_of(reader.peek(sizeof(*head) + head->bytes));
}

}  // namespace

Journal::Journal(std::filesystem::path path, std::chrono::microseconds gather, const Visit& visit)
    : path_(std::move(path)), gather_(gather) {
  try {
    lock_file();
    replay(visit);
  } catch (const BackendError& error) {
    if (file_ >= 0) close(file_);
    throw BackendUnavailable(error.what());
  } catch (...) {
    if (file_ >= 0) close(file_);
    throw;
  }
}

Journal::~Journal() { close(file_); }

// Opens the file under its path and locks it, so that no other process uses it.
void Journal::lock_file() {
  for (;;) {
    // Whatever it is, to open it must not wait.
    file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
    if (file_ < 0) fail("cannot open it", errno);
    struct stat opened {
    }, named{};
    if (fstat(file_, &opened) != 0) fail("cannot look at it", errno);
    if (!S_ISREG(opened.st_mode)) {
      throw BackendError(
          fmt::format("{} is no regular file; take another, or move it away", path_.string()));
    }
    if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) fail("cannot lock it", errno);
      throw BackendError(fmt::format(
          "{} is in use by another process; end that one, or take another file", path_.string()));
    }
    if (stat(path_.c_str(), &named) == 0 && named.st_ino == opened.st_ino) return;
    close(file_);  // rewrite() has put another file there meanwhile
  }
}

void Journal::replay(const Visit& visit) {
  // Else what a failed synchronisation has left in memory would be read, and be gone some day with
  // what follows it. What a process that was killed has written goes to the disk before.
  if (fdatasync(file_) != 0) fail("cannot synchronise it", errno);
  if (const int error = posix_fadvise(file_, 0, 0, POSIX_FADV_DONTNEED))
    fail("cannot read it", error);
  Reader reader(file_);
  std::uint64_t good_bytes = 0;
  bool is_damaged = false;
  try {
    std::string_view magic = reader.peek(kMagic.size());
    // A new file, or one that was new when its creation was interrupted.
    if (magic.size() < kMagic.size() && kMagic.starts_with(magic)) {
      if (const int error = write_all(file_, kMagic, 0)) fail("cannot write to it", error);
      magic = reader.peek(kMagic.size());
    }
    if (magic != kMagic) {
      throw BackendError(fmt::format(
          "{} is no journal of timers; take another file, or move it away", path_.string()));
    }
    reader.skip(kMagic.size());
    good_bytes = kMagic.size();
    while (const std::optional<std::string_view> record = peek_record(reader)) {
      visit(*record);
      reader.skip(kHeadBytes + record->size());
      good_bytes += kHeadBytes + record->size();
    }
    is_damaged = !is_unfinished(reader.peek(kHeadBytes + kLongestRecord));
  } catch (int error) {
    fail("cannot read it", error);
  }
  const off_t end = lseek(file_, 0, SEEK_END);
  if (end < 0) fail("cannot read it", errno);
  file_bytes_ = good_bytes;
  if (is_damaged) {
    damage_ = fmt::format(
        "{} is damaged at byte {}: the {} bytes from there are no longer in it, but in {}; check "
        "the disk, unless the power has failed: then they may never have been committed",
        path_.string(), good_bytes, static_cast<std::uint64_t>(end) - good_bytes,
        put_aside(good_bytes).string());
  }
  if (static_cast<std::uint64_t>(end) > good_bytes &&
      ftruncate(file_, static_cast<off_t>(good_bytes)) != 0) {
    fail("cannot cut off its end", errno);
  }
  if (fdatasync(file_) != 0) fail("cannot synchronise it", errno);
  if (const int error = synchronise_folder_of(path_)) fail("cannot synchronise its folder", error);
}

// Copies the rest of the file to a new file, which is on the disk then. Returns its path.
std::filesystem::path Journal::put_aside(std::uint64_t begin) const {
  constexpr std::string_view kFailed = "cannot put its damaged end aside";
  std::filesystem::path path;
  int aside = -1;
  for (int number = 1; aside < 0; ++number) {
    path = fmt::format("{}.damaged.{}", path_.string(), number);
    aside = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (aside < 0 && errno != EEXIST) fail(kFailed, errno);
  }
  int error = copy_end(file_, begin, aside);
  if (error == 0 && fsync(aside) != 0) error = errno;
  close(aside);
  if (error == 0) error = synchronise_folder_of(path);
  if (error != 0) {
    unlink(path.c_str());
    fail(kFailed, error);
  }
  return path;
}

Journal::Place Journal::append(std::string_view record) {
  if (record.size() > kLongestRecord) {
    throw std::invalid_argument(fmt::format("a record of {} bytes is too long for {}; it takes {}",
                                            record.size(), path_.string(), kLongestRecord));
  }
  std::unique_lock lock(mutex_);
  if (error_ && !is_committing_) write_and_synchronise(lock);
  if (error_) throw BackendError(*error_);
  append_to(buffer_, record);
  return ++appended_;
}

void Journal::throw_if_broken() const {
  const std::lock_guard lock(mutex_);
  if (is_broken_) throw BackendError(*error_);
}

void Journal::commit(Place place) {
  std::unique_lock lock(mutex_);
  while (on_disk_ < place) {
    if (is_committing_) {
      committed_.wait(lock);
      if (on_disk_ < place && error_) throw BackendError(*error_);
    } else {
      write_and_synchronise(lock);
      if (error_) throw BackendError(*error_);
    }
  }
}

// Sets error_. REQUIRES: `lock` holds mutex_, and nobody is committing.
void Journal::write_and_synchronise(std::unique_lock<std::mutex>& lock) {
  if (is_broken_) return;
  is_committing_ = true;
  if (gather_.count() > 0) {
    lock.unlock();
    std::this_thread::sleep_for(gather_);
    lock.lock();
  }
  std::string bytes = std::exchange(buffer_, {});
  const Place place = appended_;
  const std::uint64_t at = file_bytes_;
  lock.unlock();
  int error = write_all(file_, bytes, at);
  bool is_broken = false;
  if (error != 0) {
    is_broken = ftruncate(file_, static_cast<off_t>(at)) != 0;
  } else if (fdatasync(file_) != 0) {
    error = errno;
    is_broken = true;
  }
  lock.lock();
  is_committing_ = false;
  is_broken_ = is_broken;
  if (error == 0) {
    file_bytes_ = at + bytes.size();
    on_disk_ = place;
    ++synchronisations_;
    error_.reset();
  } else {
    buffer_.insert(0, bytes);
    error_ = fmt::format("{}: {}: {}; {}", path_.string(),
                         is_broken ? "cannot synchronise it" : "cannot write to it",
                         std::strerror(error),
                         is_broken ? "open it again, and check the disk"
                                   : "free some space; what was asked for is written then");
  }
  committed_.notify_all();
}

void Journal::rewrite(const std::function<void(const Visit& append)>& write) {
  std::unique_lock lock(mutex_);
  committed_.wait(lock, [this] { return !is_committing_; });
  if (is_broken_) throw BackendError(*error_);
  const std::filesystem::path path = path_.string() + ".new";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) fail("cannot make a new file beside it", errno);
  const auto give_up = [&](int error) {
    close(file);
    unlink(path.c_str());
    fail("cannot write a new file beside it", error);
  };
  if (flock(file, LOCK_EX | LOCK_NB) != 0) give_up(errno);
  constexpr std::size_t kPiece = 1 << 20;
  std::string piece{kMagic};
  std::uint64_t bytes = 0;
  const auto write_piece = [&] {
    if (const int error = write_all(file, piece, bytes)) give_up(error);
    bytes += piece.size();
    piece.clear();
  };
  write([&](std::string_view record) {
    append_to(piece, record);
    if (piece.size() >= kPiece) write_piece();
  });
  write_piece();
  if (fdatasync(file) != 0) give_up(errno);
  if (rename(path.c_str(), path_.c_str()) != 0) give_up(errno);
  close(std::exchange(file_, file));
  buffer_.clear();
  file_bytes_ = bytes;
  ++synchronisations_;
  if (const int error = synchronise_folder_of(path_)) {
    is_broken_ = true;
    error_ = fmt::format("{}: cannot synchronise its folder: {}; open it again, and check the disk",
                         path_.string(), std::strerror(error));
    throw BackendError(*error_);
  }
  on_disk_ = appended_;
  error_.reset();
  committed_.notify_all();
}

Journal::Place Journal::end() const {
  const std::lock_guard lock(mutex_);
  return appended_;
}

std::uint64_t Journal::bytes() const {
  const std::lock_guard lock(mutex_);
  return file_bytes_ + buffer_.size();
}

std::uint64_t Journal::unwritten_bytes() const {
  const std::lock_guard lock(mutex_);
  return buffer_.size();
}

std::uint64_t Journal::synchronisations() const {
  const std::lock_guard lock(mutex_);
  return synchronisations_;
}

void Journal::fail(std::string_view what, int error) const {
  throw BackendError(fmt::format("{}: {}: {}; check the disk and its permissions", path_.string(),
                                 what, std::strerror(error)));
}

}  // namespace timerbench
