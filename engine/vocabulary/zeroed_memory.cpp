// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/zeroed_memory.h"

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace quern {

std::shared_ptr<std::byte> zeroed_memory(std::size_t bytes) {
  constexpr std::size_t alignment = 64;
  constexpr std::size_t large = 1 << 20;
  const std::size_t rounded = (bytes / alignment + 1) * alignment;
  if (rounded >= large) {
    // All of it is written next: one call brings its pages sooner than a fault for each.
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
    void* p = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    return {static_cast<std::byte*>(p), [rounded](std::byte* q) { ::munmap(q, rounded); }};
  }
  auto* p = static_cast<std::byte*>(std::aligned_alloc(alignment, rounded));
  if (!p) return nullptr;
  std::memset(p, 0, rounded);
  return {p, [](std::byte* q) { std::free(q); }};
}

}  // namespace quern
