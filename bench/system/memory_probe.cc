#include "system/memory_probe.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace timerbench {
namespace {

constexpr std::size_t kBlocks = 16;
constexpr std::size_t kReadsPerBlock = 512;
constexpr std::size_t kLineBytes = 64;

MappedFile map_own_file() {
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  struct stat status {};
  MappedFile mapped;
  if (fstat(file, &status) == 0 && status.st_size > 0) {
    mapped = map_file(file, static_cast<std::size_t>(status.st_size));
  }
  close(file);
  if (!mapped.storage) return {};
  madvise(const_cast<char*>(mapped.bytes.data()), mapped.bytes.size(), MADV_RANDOM);
  return mapped;
}

}  // namespace

std::optional<double> MemoryProbe::read_ns(Clock::time_point now) {
  if (latest_ && now - measured_at_ < kFresh) return latest_;
  if (!file_.storage) file_ = map_own_file();
  if (file_.bytes.size() < kLineBytes) return {};
  // Page faults must not be measured. A hypervisor may forget pages, so each time.
  touch_pages(file_.bytes.data(), file_.bytes.size());
  latest_ = time_reads();
  measured_at_ = now;
  return latest_;
}

double MemoryProbe::time_reads() {
  const std::uint64_t lines = file_.bytes.size() / kLineBytes;
  std::array<double, kBlocks> blocks{};
  for (double& block : blocks) {
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < kReadsPerBlock; ++i) {
      // A linear congruential generator (Knuth's MMIX). The word read decides the next place.
      std::uint64_t word;
      std::memcpy(&word, file_.bytes.data() + ((place_ >> 32) * lines >> 32) * kLineBytes,
                  sizeof word);
      place_ = place_ * 6364136223846793005 + 1442695040888963407 + word;
    }
    block = std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / kReadsPerBlock;
  }
  std::ranges::nth_element(blocks, blocks.begin() + kBlocks / 2);
  return blocks[kBlocks / 2];
}

}  // namespace timerbench
