#include "system/pages.h"

#include <sys/prctl.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "system/kernel_files.h"
#include "system/program.h"

namespace timerbench {

void choose_page_size(std::string_view size) {
  constexpr const char* kTunables = "GLIBC_TUNABLES";
  constexpr const char* kHuge = "glibc.malloc.hugetlb=1";
  if (size == "4k") {
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    return;
  }
  const auto enabled = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  if (!enabled || enabled->find("[never]") != std::string::npos) {
    throw std::runtime_error(
        "--pages=2m: the kernel gives none; echo madvise | sudo tee "
        "/sys/kernel/mm/transparent_hugepage/enabled");
  }
  const char* tunables = std::getenv(kTunables);
  if (tunables != nullptr && std::string_view(tunables).find(kHuge) != std::string_view::npos) {
    return;
  }
  setenv(kTunables, kHuge, /*overwrite=*/1);
  exec_program(own_path());
}

}  // namespace timerbench
