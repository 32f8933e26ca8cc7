#include "faults/survival_ledger.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

namespace timerbench {
namespace {

constexpr std::size_t kEntriesBegin = 64;
constexpr std::size_t kBytes = kEntriesBegin + SurvivalLedger::kCapacity * sizeof(LedgerEntry);

}  // namespace

SurvivalLedger::SurvivalLedger()
    : memory_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
  if (memory_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  static_assert(sizeof(Shared) <= kEntriesBegin);
  shared_ = new (memory_) Shared;
  // The kernel's zeros are entries of Happening::nothing.
  static_assert(Happening{} == Happening::nothing);
  entries_ = reinterpret_cast<LedgerEntry*>(static_cast<char*>(memory_) + kEntriesBegin);
}

SurvivalLedger::~SurvivalLedger() { munmap(memory_, kBytes); }

void SurvivalLedger::add(Happening what, DurableId id, Tick deadline) {
  const std::size_t at = shared_->size.fetch_add(1, std::memory_order_relaxed);
  if (at >= kCapacity) throw std::length_error("the ledger of timers is full");
  LedgerEntry& entry = entries_[at];
  entry.id = id;
  entry.when = unix_now();
  entry.deadline = deadline;
  entry.what.store(what, std::memory_order_release);
}

std::size_t SurvivalLedger::size() const {
  return std::min(shared_->size.load(std::memory_order_acquire), kCapacity);
}

}  // namespace timerbench
