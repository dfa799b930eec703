// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace quern {

// A block of memory that only grows, aligned to 64 bytes. Growing loses the contents: the old block
// is freed before the new one is allocated.
class MemoryBlock {
 public:
  // Returns false if the system has no memory.
  bool reserve(std::size_t bytes) {
    if (bytes <= size_ && data_) return true;
    release();
    data_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, size_for(bytes))));
    if (data_) size_ = size_for(bytes);
    return data_ != nullptr;
  }
  // The number of bytes that reserve(bytes) allocates.
  static constexpr std::size_t size_for(std::size_t bytes) {
    return (bytes / alignment + 1) * alignment;
  }
  void release() {
    data_.reset();
    size_ = 0;
  }
  std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t alignment = 64;
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace quern
