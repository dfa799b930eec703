// SPDX-License-Identifier: Apache-2.0
#include "engine/run/run_memory.h"

#include <algorithm>
#include <cstring>

#include "engine/vocabulary/host_memory.h"
#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/platform/pages.h"
#include "engine/vocabulary/text_util.h"

namespace quern {
namespace {

// The size of the address range: the size of the machine's memory. Addresses cost nothing.
std::uint64_t address_space() {
  const std::uint64_t bytes = platform::memory_bytes();
  return bytes > 0 ? bytes : std::uint64_t{1} << 34;
}

}  // namespace

MemoryPool& RunMemory::pool() {
  if (!pool_) pool_ = kind_.make(source_, {.limit = limit_, .address_space = address_space()});
  return *pool_;
}

// A block of the host is held by a HostBlock of the same address and size.
Result<PoolBlock> RunMemory::allocate(std::size_t bytes) {
  if (!host_) return pool().allocate(bytes);
  const std::size_t whole = round_up(std::max<std::size_t>(bytes, 1), MemoryPool::granule);
  if (whole < bytes || whole > limit_ - std::min<std::size_t>(limit_, host_bytes_))
    return Status(Code::out_of_memory, cat(bytes, " bytes beside the ", host_bytes_,
                                           " that values of a run hold, the limit is ", limit_));
  const HostScope scope(host_);
  const HostBlock block = HostBlock::take(whole);
  if (!block.data) return Status(Code::out_of_memory, cat("no ", bytes, " bytes for a value"));
  host_bytes_ += whole;
  host_peak_ = std::max(host_peak_, host_bytes_);
  return PoolBlock{reinterpret_cast<std::uint64_t>(block.data), bytes, whole};
}

bool RunMemory::extend(PoolBlock& block, std::size_t bytes) {
  return !host_ && pool().extend(block, bytes);
}

void RunMemory::free(const PoolBlock& block) {
  if (!host_) return pool().free(block);  // NOLINT(clang-analyzer-unix.Malloc): not that of C
  const auto bytes = static_cast<std::size_t>(block.used);
  HostBlock held{reinterpret_cast<std::byte*>(block.address), bytes,  // NOLINT: as above
                 bytes > Host::least_bytes ? host_ : nullptr};
  held.release();
  host_bytes_ -= bytes;
}

void RunMemory::set_limit(std::size_t bytes) {
  limit_ = bytes;
  strings.limit(bytes / 4);
  if (pool_) pool_->set_limit(bytes);
}

void RunMemory::trim() {
  if (!pool_) return;
  pool_->trim();
  if (pool_->stats().live == 0) pool_.reset();  // releases its addresses too
}

Status RunBlock::reserve(std::size_t bytes) {
  if (holds_block() && bytes <= block_.bytes) return {};
  release();
  QUERN_ASSIGN(block_, memory_->allocate(bytes));
  record();
  return {};
}

Status RunBlock::grow(std::size_t used, std::size_t bytes) {
  if (holds_block() && bytes <= block_.bytes) return {};
  if (!holds_block()) return reserve(bytes);
  if (memory_->extend(block_, bytes + bytes / 8) || memory_->extend(block_, bytes)) {
    record();
    return {};
  }
  // Doubles the size, so that copies stay rare.
  auto larger = memory_->allocate(std::max<std::uint64_t>(bytes, block_.bytes * 2));
  if (!larger) larger = memory_->allocate(bytes);
  if (!larger) return std::move(larger).error();
  const PoolBlock old = std::exchange(block_, *larger);
  if (used) std::memcpy(data(), bytes_of(old), used);
  memory_->free(old);
  record();
  return {};
}

void RunBlock::release() {
  if (!holds_block()) return;
  if (memory_->recorder) memory_->recorder->free(recorded_);
  memory_->free(block_);
  block_ = {};
  recorded_ = MemoryRecorder::none;
}

// Records the block at its current size and frees the previous record.
void RunBlock::record() {
  MemoryRecorder* const recorder = memory_->recorder;
  if (!recorder || holds_ == Holds::arena) return;
  const MemoryRecorder::Id before =
      std::exchange(recorded_, recorder->allocate(block_.bytes, MemoryPool::granule));
  recorder->free(before);
}

}  // namespace quern
