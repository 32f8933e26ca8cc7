// The size of the pages that a program's memory comes in. Past the caches that alone may be a factor of
// three: a 4 KiB page needs an entry of the TLB of its own.
#pragma once

#include <string_view>

namespace timerbench {

// "4k": never larger ones; "2m": such as the kernel can give for what is allocated, by glibc's tunable
// glibc.malloc.hugetlb=1 (madvise). The latter is read when a program starts: it is started once more,
// with the same arguments. Throws std::runtime_error if the kernel gives none.
// REQUIRES: size is one of these.
void choose_page_size(std::string_view size);

}  // namespace timerbench
