// Objects in memory that this process shares with those that it forks.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <system_error>
#include <type_traits>

namespace timerbench {

template <class T>
class SharedArray {
 public:
  static_assert(std::is_trivially_destructible_v<T>);

  // Throws std::system_error.
  explicit SharedArray(std::size_t size) : size_(size) {
    if (size == 0) return;
    void* const memory = mmap(nullptr, size * sizeof(T), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    objects_ = static_cast<T*>(memory);
    std::uninitialized_value_construct_n(objects_, size);
  }
  ~SharedArray() {
    if (size_ > 0) munmap(objects_, size_ * sizeof(T));
  }
  SharedArray(const SharedArray&) = delete;
  SharedArray& operator=(const SharedArray&) = delete;

  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return objects_[i]; }
  const T& operator[](std::size_t i) const { return objects_[i]; }

 private:
  const std::size_t size_;
  T* objects_ = nullptr;
};

}  // namespace timerbench
