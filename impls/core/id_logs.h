// Append-only logs of ids in chunks of a few cache lines: the buckets of a log wheel.
//
// A log is one pointer: where its next id goes. Its ids lie side by side in chunks, 61 in four
// lines, and each chunk knows the one before it. Nothing is ever unlinked: a log is read chunk by
// chunk, the newest first, and what was read is free again. So what the ids name can be prefetched
// long before it is needed, where a linked list is a chain of dependent misses.
//
//   append  1 line, which the append before has touched; one in 61 takes a free chunk
//   take    4 lines that follow each other for 61 ids
//
// Chunks for a number of ids and a block more are there from the beginning. More come in blocks of
// 64, when they are needed, and stay.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/timer_queue.h"

namespace timerbench {

template <std::size_t Lines>
class IdLogs {
  static_assert(std::has_single_bit(Lines));

  static constexpr std::size_t kBytes = 64 * Lines;  // of a chunk
  static constexpr std::size_t kBlock = 64;          // chunks: no block takes long to be had

 public:
  static constexpr std::size_t kIds = (kBytes - 12) / sizeof(TimerId);  // of a chunk

  class Log {
   public:
    bool empty() const { return end_ == nullptr; }

   private:
    friend IdLogs;
    // The next id goes here. At the end of a chunk it is full, or there is none.
    TimerId* end_ = nullptr;
  };

  // Has room for so many ids from the beginning, and gets more by blocks.
  explicit IdLogs(std::size_t ids) { add_block(ids / kIds + kBlock); }

  // Gets enough chunks to spread at most so many ids, those of all logs, over so many logs, when
  // they have been gathered in one. Gathering needs memory only before its first chunk: take() wants
  // kIds chunks to be free, and then each chunk that is read pays for the one that is filled. So
  // does spreading, but for the last chunk of each log.
  void reserve_for_all(std::size_t ids, std::size_t logs) {
    while (chunks_ < ids / kIds + logs + kIds) add_block(kBlock);
  }

  // Returns whether the log was empty. Throws std::bad_alloc and then has done nothing.
  bool append(Log& log, TimerId id) {
    const bool takes_chunk = reinterpret_cast<std::uintptr_t>(log.end_) % kBytes == 0;
    const bool was_empty = log.empty();
    if (takes_chunk) add_chunk(log);
    *log.end_++ = id;
    return was_empty;
  }

  std::size_t size(const Log& log) const {
    if (log.empty()) return 0;
    const Chunk* const chunk = newest(log);
    return (chunk->number - 1) * kIds + static_cast<std::size_t>(log.end_ - chunk->ids.data());
  }

  // Takes the newest chunks out of the log, at most so many, and calls visit(id) for each of their
  // ids, and fetch(id) as many chunks ahead of that. visit() may append to other logs. Throws
  // std::bad_alloc if the memory for that cannot be had; the ids that were not visited are still
  // there then.
  template <int kAhead, class Fetch, class Visit>
  void take(Log& log, std::size_t chunks, Fetch&& fetch, Visit&& visit) {
    if (log.empty()) return;
    // To fetch what a short log names would be too late. Of a long one, chunks are read twice as
    // far ahead as the ids in them.
    const Chunk* fetched = newest(log);
    const bool is_long = kAhead > 0 && fetched->older != nullptr;
    const Chunk* read = fetched;
    const auto fetch_chunk = [&] {
      if (fetched == nullptr) return;
      for (const TimerId id : fetched->ids) fetch(id);
      fetched = fetched->older;
      if (read != nullptr) read = read->older;
    };
    if (is_long) {
      for (int i = 0; i < kAhead && read != nullptr; ++i) read = read->older;
      for (int i = 0; i < kAhead; ++i) fetch_chunk();
    }
    do {
      while (free_count_ < kIds) add_block(kBlock);  // a chunk for each id, so visit() cannot throw
      if (is_long) fetch_chunk();
      Chunk* const chunk = newest(log);
      const TimerId* const end = log.end_;
      log.end_ = chunk->older == nullptr ? nullptr : chunk->older->ids.data() + kIds;
      for (const TimerId* id = chunk->ids.data(); id != end; ++id) visit(*id);
      release(chunk);
    } while (--chunks > 0 && !log.empty());
  }

 private:
  struct alignas(kBytes) Chunk {
    Chunk* older;          // the chunk before this one in its log, or nullptr
    std::uint32_t number;  // of this chunk in its log, counted from 1
    std::array<TimerId, kIds> ids;
  };
  static_assert(sizeof(Chunk) == kBytes);  // so a full chunk ends where one can begin

  // REQUIRES: the log is not empty.
  static Chunk* newest(const Log& log) {
    TimerId* const last = log.end_ - 1;
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(last) % kBytes;
    return reinterpret_cast<Chunk*>(reinterpret_cast<std::byte*>(last) - offset);
  }

  void add_chunk(Log& log) {
    if (free_count_ == 0) [[unlikely]]
      add_block(kBlock);
    Chunk* const chunk = free_;
    free_ = chunk->older;
    --free_count_;
    chunk->older = log.empty() ? nullptr : newest(log);
    chunk->number = log.empty() ? 1 : chunk->older->number + 1;
    log.end_ = chunk->ids.data();
  }

  void release(Chunk* chunk) {
    chunk->older = free_;
    free_ = chunk;
    ++free_count_;
  }

  [[gnu::noinline]] void add_block(std::size_t chunks) {
    blocks_.push_back(std::make_unique<Chunk[]>(chunks));  // zeros: take() may fetch what is unused
    for (std::size_t i = chunks; i > 0; --i) release(&blocks_.back()[i - 1]);
    chunks_ += chunks;
  }

  std::vector<std::unique_ptr<Chunk[]>> blocks_;
  Chunk* free_ = nullptr;
  std::size_t free_count_ = 0;
  std::size_t chunks_ = 0;  // of all blocks
};

}  // namespace timerbench
