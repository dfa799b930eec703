// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "engine/vocabulary/host_memory.h"

namespace quern {

// A block of memory that only grows, aligned to 64 bytes. Growing loses the contents: the old block
// is freed before the new one is allocated.
class MemoryBlock {
 public:
  MemoryBlock() = default;
  ~MemoryBlock() { block_.release(); }
  MemoryBlock(MemoryBlock&& other) noexcept : block_(std::exchange(other.block_, {})) {}
  MemoryBlock& operator=(MemoryBlock&& other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }

  // The memory is that of the host of this call, if there is one. Returns false if there is none.
  bool reserve(std::size_t bytes) {
    if (bytes <= block_.bytes && block_.data) return true;
    release();
    block_ = HostBlock::take(size_for(bytes));
    if (!block_.data) block_ = {};
    return block_.data != nullptr;
  }
  // The number of bytes that reserve(bytes) allocates.
  static constexpr std::size_t size_for(std::size_t bytes) {
    return (bytes / alignment + 1) * alignment;
  }
  void release() { block_.release(); }
  std::byte* data() const { return block_.data; }
  std::size_t size() const { return block_.bytes; }

 private:
  static constexpr std::size_t alignment = 64;

  HostBlock block_;
};

}  // namespace quern
