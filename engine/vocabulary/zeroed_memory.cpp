// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/zeroed_memory.h"

#include <cstring>
#include <utility>

#include "engine/vocabulary/host_memory.h"
#include "engine/vocabulary/platform/pages.h"

namespace quern {
std::shared_ptr<std::byte> zeroed_memory(std::size_t bytes) {
  if (bytes > Host::least_bytes && current_host()) {
    HostBlock block = HostBlock::take(bytes);
    if (!block.data) return nullptr;
    std::byte* const data = block.data;
    std::memset(data, 0, bytes);
    return {data, [block = std::move(block)](std::byte*) mutable { block.release(); }};
  }
  constexpr std::size_t alignment = 64;
  constexpr std::size_t large = 1 << 20;
  if (bytes >= large) {
    std::byte* const p = platform::take_pages(bytes);
    if (!p) return nullptr;
    return {p, [bytes](std::byte* q) { platform::give_pages(q, bytes); }};
  }
  const std::size_t rounded = (bytes / alignment + 1) * alignment;
  auto* p = static_cast<std::byte*>(platform::allocate_aligned(alignment, rounded));
  if (!p) return nullptr;
  std::memset(p, 0, rounded);
  return {p, [](std::byte* q) { platform::free_aligned(q); }};
}

}  // namespace quern
