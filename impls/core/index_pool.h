// Hands out indices and takes them back: which elements of an array are in use.
//
// An index that was taken back is handed out next, before one that was never used. So an array is
// touched only as far as it was ever full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace timerbench {

class IndexPool {
 public:
  explicit IndexPool(std::size_t count)
      : free_(std::make_unique_for_overwrite<std::uint32_t[]>(count)) {}

  // REQUIRES: fewer than `count` are in use.
  std::uint32_t take() { return free_count_ == 0 ? unused_++ : free_[--free_count_]; }

  // REQUIRES: the index is in use.
  void give_back(std::uint32_t index) { free_[free_count_++] = index; }

  std::size_t in_use() const { return unused_ - free_count_; }

 private:
  std::unique_ptr<std::uint32_t[]> free_;
  std::size_t free_count_ = 0;
  std::uint32_t unused_ = 0;  // indices from this one on were never handed out
};

}  // namespace timerbench
