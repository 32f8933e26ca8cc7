#include "durable/counting_syncs.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace timerbench {

std::atomic<SyncCount*> sync_count = nullptr;

namespace {

void count() {
  if (SyncCount* const where = sync_count.load(std::memory_order_relaxed)) {
    where->fetch_add(1, std::memory_order_relaxed);
  }
}

[[gnu::constructor]] void begin() {
  const char* const path = std::getenv(kSyncsVariable);
  if (path == nullptr) return;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* const memory =
      mmap(nullptr, sizeof(SyncCount), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory != MAP_FAILED) sync_count = static_cast<SyncCount*>(memory);
}

}  // namespace
}  // namespace timerbench

extern "C" {

int fsync(int file) {
  timerbench::count();
  return static_cast<int>(syscall(SYS_fsync, file));
}

int fdatasync(int file) {
  timerbench::count();
  return static_cast<int>(syscall(SYS_fdatasync, file));
}

int msync(void* memory, size_t size, int flags) {
  if ((flags & MS_SYNC) != 0) timerbench::count();
  return static_cast<int>(syscall(SYS_msync, memory, size, flags));
}

int syncfs(int file) noexcept {
  timerbench::count();
  return static_cast<int>(syscall(SYS_syncfs, file));
}

void sync() noexcept {
  timerbench::count();
  syscall(SYS_sync);
}

}  // extern "C"
