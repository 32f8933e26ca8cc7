// Memory that begins at a cache line: std::vector<Entry, LineAllocator<Entry>>.
#pragma once

#include <cstddef>
#include <new>

namespace timerbench {

inline constexpr std::size_t kCacheLine = 64;  // bytes

template <class T>
struct LineAllocator {
  using value_type = T;

  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kAlignment));
  }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, kAlignment); }

  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }

 private:
  static constexpr std::align_val_t kAlignment{kCacheLine};
};

}  // namespace timerbench
