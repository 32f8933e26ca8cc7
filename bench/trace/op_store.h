// Stores operations while they are written, for reading afterwards. Up to a window of them stays in
// memory; more go to a file without a name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "system/mapped_file.h"
#include "trace/op.h"

namespace timerbench {

inline constexpr std::size_t kWindowOps = kWindowBytes / sizeof(Op);

// Calls read(window) for one window after the other, and releases each window's memory if possible.
// Used by everything that reads a trace from start to end, but for replays that are timed.
template <class Read>
void for_each_window(std::span<const Op> ops, Read&& read) {
  if (ops.size() <= kWindowOps) {
    read(ops);
    return;
  }
  for (; !ops.empty(); ops = ops.subspan(std::min(kWindowOps, ops.size()))) {
    const auto window = ops.first(std::min(kWindowOps, ops.size()));
    read(window);
    release_pages(window.data(), window.size_bytes());
  }
}

struct StoredOps {
  StoredOps(std::shared_ptr<const void> owner, std::span<const Op> owned)
      : storage(std::move(owner)), ops(owned) {}

  std::shared_ptr<const void> storage;  // keeps `ops` alive
  std::span<const Op> ops;
};

class OpStore {
 public:
  OpStore() = default;
  ~OpStore();
  OpStore(const OpStore&) = delete;
  OpStore& operator=(const OpStore&) = delete;

  // Throws FileError if the folder for temporary files (TMPDIR, /tmp) has no room.
  void push_back(Op op) {
    window_.push_back(op);
    if (window_.size() == kWindowOps) spill();
  }

  std::uint64_t size() const { return spilled_ + window_.size(); }

  // Returns all operations. REQUIRES: called once, last. Throws FileError.
  StoredOps finish();

 private:
  void spill();

  std::vector<Op> window_;
  std::uint64_t spilled_ = 0;
  int file_ = -1;
};

}  // namespace timerbench
