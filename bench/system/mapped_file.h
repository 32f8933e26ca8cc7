// Files that are used where they are mapped. They may be larger than what a program wants to take of
// the memory, if they are read from one end to the other: a window at a time counts as its own.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace timerbench {

// How much of such a file is kept while it is read.
inline constexpr std::size_t kWindowBytes = std::size_t{16} << 20;

struct MappedFile {
  std::shared_ptr<const void> storage;  // keeps `bytes` alive
  std::string_view bytes;
};

// The first `size` bytes of an open file, which need not stay open. No storage if that fails: errno
// tells why. REQUIRES: size > 0.
MappedFile map_file(int file, std::size_t size);

// Says that these bytes have been read and will not be again soon. Those of a mapped file leave the
// process, and stay in the system's cache while it has room; of other memory nothing happens.
void release_pages(const void* begin, std::size_t size);

// Has these bytes at hand, so that reading them waits for nothing; as far as they are of a mapped
// file, and one window at most.
void prefault_pages(const void* begin, std::size_t size);

}  // namespace timerbench
