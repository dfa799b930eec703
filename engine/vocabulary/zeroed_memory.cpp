// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/zeroed_memory.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "engine/vocabulary/host_memory.h"
#include "engine/vocabulary/multiples.h"

namespace quern {
namespace {

constexpr std::size_t huge_page = 2 << 20;

// Zeroed pages from an address that is a multiple of `alignment`; null if the system has none.
std::byte* map_pages(std::size_t bytes, std::size_t alignment) {
  const std::size_t more = bytes + alignment;
  void* const p = ::mmap(nullptr, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  auto* const whole = static_cast<std::byte*>(p);
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  const std::size_t before = round_up(at, alignment) - at;
  if (before > 0) ::munmap(whole, before);
  if (before < alignment) ::munmap(whole + before + bytes, alignment - before);
  return whole + before;
}

// All of them are written next: huge pages are brought sooner than small ones, and all at once
// sooner than by a fault for each. Where the system has no such call they come by faults.
void bring_pages(std::byte* p, std::size_t bytes) {
  if (bytes >= huge_page) ::madvise(p, bytes, MADV_HUGEPAGE);
#ifdef MADV_POPULATE_WRITE
  ::madvise(p, bytes, MADV_POPULATE_WRITE);
#endif
}

}  // namespace

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
    static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (bytes > SIZE_MAX - 2 * huge_page) return nullptr;
    const std::size_t whole = round_up(bytes + 1, page);
    std::byte* const p = map_pages(whole, whole < huge_page ? page : huge_page);
    if (!p) return nullptr;
    bring_pages(p, whole);
    return {p, [whole](std::byte* q) { ::munmap(q, whole); }};
  }
  const std::size_t rounded = (bytes / alignment + 1) * alignment;
  auto* p = static_cast<std::byte*>(std::aligned_alloc(alignment, rounded));
  if (!p) return nullptr;
  std::memset(p, 0, rounded);
  return {p, [](std::byte* q) { std::free(q); }};
}

}  // namespace quern
