// Counting operator new and delete. The standard library's other forms call these, but for those that
// do not throw: the address sanitizer has its own.
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "system/allocations.h"

namespace timerbench {
namespace {

std::atomic<std::uint64_t> made{0};
std::atomic<std::uint64_t> bytes{0};
std::atomic<std::uint64_t> peak{0};

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  made.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t now = bytes.fetch_add(malloc_usable_size(memory), std::memory_order_relaxed) +
                            malloc_usable_size(memory);
  std::uint64_t highest = peak.load(std::memory_order_relaxed);
  while (now > highest && !peak.compare_exchange_weak(highest, now, std::memory_order_relaxed)) {
  }
  return memory;
}

void forget(void* memory) {
  bytes.fetch_sub(malloc_usable_size(memory), std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

bool allocations_are_counted() { return true; }

Allocations allocations() { return {made.load(), bytes.load(), peak.load()}; }

void reset_allocation_peak() { peak.store(bytes.load()); }

}  // namespace timerbench

void* operator new(std::size_t size) { return timerbench::counted(std::malloc(size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto align = static_cast<std::size_t>(alignment);
  return timerbench::counted(std::aligned_alloc(align, (size + align - 1) / align * align));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept try {
  return ::operator new(size);
} catch (const std::bad_alloc&) {
  return nullptr;
}
void operator delete(void* memory) noexcept { timerbench::forget(memory); }
void operator delete(void* memory, std::size_t) noexcept { timerbench::forget(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { timerbench::forget(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  timerbench::forget(memory);
}
