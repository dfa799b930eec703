// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace quern {

// Bytes that only ever grow, aligned to 64; the contents are lost when they do.
class MemoryBlock {
 public:
  // False: the system refused.
  bool reserve(std::size_t bytes) {
    if (bytes <= size_ && data_) return true;
    const std::size_t rounded = (bytes / alignment + 1) * alignment;
    std::byte* fresh = static_cast<std::byte*>(std::aligned_alloc(alignment, rounded));
    if (!fresh) return false;
    data_.reset(fresh);
    size_ = rounded;
    return true;
  }
  // Keeps the first `used` bytes.
  bool grow(std::size_t used, std::size_t bytes);
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
