// SPDX-License-Identifier: Apache-2.0
#include "engine/memory_block.h"

#include <algorithm>
#include <cstring>

namespace quern {

bool MemoryBlock::grow(std::size_t used, std::size_t bytes) {
  if (bytes <= size_ && data_) return true;
  MemoryBlock larger;
  if (!larger.reserve(std::max(bytes, size_ * 2))) return false;
  if (used) std::memcpy(larger.data(), data(), used);
  *this = std::move(larger);
  return true;
}

}  // namespace quern
