#include "system/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace timerbench {
namespace {

std::size_t page_bytes() {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return page;
}

// The mapped files: the end of each range by its start. Advice is given for them alone, since it
// would clear any other memory.
class Mappings {
 public:
  void add(const char* begin, std::size_t size) {
    const std::lock_guard lock(mutex_);
    ends_[begin] = begin + size;
  }
  void remove(const char* begin) {
    const std::lock_guard lock(mutex_);
    ends_.erase(begin);
  }
  // Advises on the whole pages among the bytes.
  void advise(const char* begin, std::size_t size, int advice) {
    const std::size_t page = page_bytes();
    const std::lock_guard lock(mutex_);
    const auto after = ends_.upper_bound(begin);
    if (after == ends_.begin() || std::prev(after)->second <= begin) return;
    const auto [mapped, end] = *std::prev(after);  // a page starts at `mapped`
    const auto last = static_cast<std::size_t>(std::min(begin + size, end) - mapped);
    const std::size_t from = (static_cast<std::size_t>(begin - mapped) + page - 1) / page * page;
    const std::size_t to = last / page * page;
    if (from < to) madvise(const_cast<char*>(mapped) + from, to - from, advice);
  }

 private:
  std::mutex mutex_;
  std::map<const char*, const char*> ends_;
};

Mappings& mappings() {
  static Mappings all;
  return all;
}

}  // namespace

MappedFile map_file(int file, std::size_t size) {
  void* const address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (address == MAP_FAILED) return {};
  madvise(address, size, MADV_SEQUENTIAL);
  const auto* const begin = static_cast<const char*>(address);
  mappings().add(begin, size);
  const auto unmap = [size](void* mapped) {
    mappings().remove(static_cast<const char*>(mapped));
    munmap(mapped, size);
  };
  return {{address, unmap}, {begin, size}};
}

void release_pages(const void* begin, std::size_t size) {
  mappings().advise(static_cast<const char*>(begin), size, MADV_DONTNEED);
}

void touch_pages(const void* begin, std::size_t size) {
  const auto* const bytes = static_cast<const volatile char*>(begin);
  for (std::size_t i = 0; i < size; i += page_bytes()) static_cast<void>(bytes[i]);
}

}  // namespace timerbench
