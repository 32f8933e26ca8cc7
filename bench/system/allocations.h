// Counts what a program allocates. Only timerbench_memory and tests link counting_new.cc, since
// counting costs time.
#pragma once

#include <cstdint>

namespace timerbench {

struct Allocations {
  std::uint64_t made = 0;   // calls of operator new so far
  std::uint64_t bytes = 0;  // in use, as the allocator rounds them up
  std::uint64_t peak = 0;   // the most since reset_peak()
};

// Whether this program counts them.
bool allocations_are_counted();

Allocations allocations();
void reset_allocation_peak();

// By how much a quantity has grown; 0 if it has shrunk.
constexpr std::uint64_t growth(std::uint64_t before, std::uint64_t now) {
  return now > before ? now - before : 0;
}

// Bytes of anonymous memory that this process has; 0 if the kernel does not tell.
std::uint64_t resident_bytes();

// The part of them in pages of 2 MiB.
std::uint64_t huge_page_bytes();

}  // namespace timerbench
