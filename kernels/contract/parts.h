// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/vocabulary/multiples.h"

namespace quern {

// Computes the offsets of the parts of a block of memory, each aligned to 64 bytes.
class Parts {
 public:
  std::size_t add(std::int64_t bytes) {
    const std::size_t begin = size_;
    size_ += static_cast<std::size_t>(round_up(bytes, 64));
    return begin;
  }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_ = 0;
};

}  // namespace quern
