// Memory-mapped files. A file may be larger than the memory that a program wants to use, if it is
// read from start to end: only a window of it counts as the program's at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace timerbench {

// How much of such a file stays mapped in while it is read.
inline constexpr std::size_t kWindowBytes = std::size_t{16} << 20;

struct MappedFile {
  std::shared_ptr<const void> storage;  // keeps `bytes` alive
  std::string_view bytes;
};

// Maps the first `size` bytes of an open file, which may be closed afterwards. On failure storage
// is null and errno says why. REQUIRES: size > 0.
MappedFile map_file(int file, std::size_t size);

// Tells that these bytes have been read and are not needed soon. Those of a mapped file leave the
// process, and stay in the system's cache while it has room. Other memory is left alone.
void release_pages(const void* begin, std::size_t size);

// Loads these bytes, so that reading them does not wait. Applies to mapped files only, and to at
// most one window.
void prefault_pages(const void* begin, std::size_t size);

}  // namespace timerbench
