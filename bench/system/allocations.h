// What a program has allocated: known only to the program timerbench_memory, into which
// counting_new.cc is linked. Counting costs time, so the other one does not.
#pragma once

#include <cstdint>

namespace timerbench {

struct Allocations {
  std::uint64_t made = 0;   // calls of operator new so far
  std::uint64_t bytes = 0;  // that are in use, as the allocator rounds them up
  std::uint64_t peak = 0;   // the most since reset_peak()
};

// Whether they are counted in this program.
bool allocations_are_counted();

Allocations allocations();
void reset_allocation_peak();

// By how much something has grown; 0 if it has shrunk.
constexpr std::uint64_t growth(std::uint64_t before, std::uint64_t now) {
  return now > before ? now - before : 0;
}

// Bytes of anonymous memory that the kernel has given this process; 0 if it does not tell.
std::uint64_t resident_bytes();

// Of these, those in pages of 2 MiB.
std::uint64_t huge_page_bytes();

}  // namespace timerbench
