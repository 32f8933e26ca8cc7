// The page size of a program's memory. Beyond the caches it alone may be a factor of three: each 4
// KiB page needs its own entry in the TLB.
#pragma once

#include <string_view>

namespace timerbench {

// "4k": forbids larger pages. "2m": asks for them for allocated memory, by glibc's tunable
// glibc.malloc.hugetlb=1 (madvise). The tunable is read at a program's start, so this starts the
// program again with the same arguments. Throws std::runtime_error if the kernel has none.
// REQUIRES: size is "4k" or "2m".
void choose_page_size(std::string_view size);

}  // namespace timerbench
