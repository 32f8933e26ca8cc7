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

// Reads a byte of each page, so that the next read of it does not wait for the kernel, nor for a
// hypervisor: some, such as those without nested paging, have page tables of their own, which an
// access fills and MADV_POPULATE_READ does not. On such a machine, with pages of 4 KiB, that takes
// microseconds a page.
void touch_pages(const void* begin, std::size_t size);

}  // namespace timerbench
