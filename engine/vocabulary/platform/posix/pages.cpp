// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/platform/pages.h"

#if !defined(_WIN32) && !defined(__wasi__)
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace quern::platform {
namespace {

constexpr std::size_t huge_page = 2 << 20;
constexpr int no_memory_behind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

std::size_t whole_pages(std::size_t bytes) {
  static const std::size_t page = page_size();
  return rounded_up(bytes, page);
}

// Zeroed pages from an address that is a multiple of `alignment`; null if the system has none.
std::byte* map_pages(std::size_t bytes, std::size_t alignment) {
  const std::size_t more = bytes + alignment;
  void* const p = ::mmap(nullptr, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  auto* const whole = static_cast<std::byte*>(p);
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  const std::size_t before = rounded_up(at, alignment) - at;
  if (before > 0) ::munmap(whole, before);
  if (before < alignment) ::munmap(whole + before + bytes, alignment - before);
  return whole + before;
}

// Huge pages are brought sooner than small ones, and all at once sooner than by a fault for each.
// Where the system has no such call they come by faults.
void bring_pages(std::byte* p, std::size_t bytes) {
  if (bytes >= huge_page) ::madvise(p, bytes, MADV_HUGEPAGE);
#ifdef MADV_POPULATE_WRITE
  ::madvise(p, bytes, MADV_POPULATE_WRITE);
#endif
}

void* mapped_or_null(void* p) {
  return p == MAP_FAILED ? nullptr : p;
}

}  // namespace

std::size_t page_size() noexcept {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t memory_bytes() noexcept {
  const auto pages = ::sysconf(_SC_PHYS_PAGES);
  const auto bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || bytes <= 0) return 0;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(bytes);
}

void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept {
  return std::aligned_alloc(alignment, bytes);
}

void free_aligned(void* block) noexcept {
  std::free(block);
}

std::byte* take_pages(std::size_t bytes) noexcept {
  if (bytes > SIZE_MAX - 2 * huge_page) return nullptr;
  const std::size_t whole = whole_pages(bytes);
  std::byte* const p = map_pages(whole, whole < huge_page ? page_size() : huge_page);
  if (p) bring_pages(p, whole);
  return p;
}

void give_pages(std::byte* pages, std::size_t bytes) noexcept {
  ::munmap(pages, whole_pages(bytes));
}

const std::byte* take_zeros(std::size_t bytes) noexcept {
  return static_cast<const std::byte*>(
      mapped_or_null(::mmap(nullptr, bytes, PROT_READ, no_memory_behind, -1, 0)));
}

void give_zeros(const std::byte* zeros, std::size_t bytes) noexcept {
  ::munmap(const_cast<std::byte*>(zeros), bytes);
}

void* reserve_addresses(std::size_t bytes) noexcept {
  return mapped_or_null(::mmap(nullptr, bytes, PROT_NONE, no_memory_behind, -1, 0));
}

void release_addresses(void* addresses, std::size_t bytes) noexcept {
  ::munmap(addresses, bytes);
}

bool commit(void* part, std::size_t bytes) noexcept {
  return ::mprotect(part, bytes, PROT_READ | PROT_WRITE) == 0;
}

// A new mapping over the old one also releases the memory that the system has committed.
void decommit(void* part, std::size_t bytes) noexcept {
  (void)::mmap(part, bytes, PROT_NONE, no_memory_behind | MAP_FIXED, -1, 0);
}

void* map_file(const File& file, std::size_t bytes) noexcept {
  return mapped_or_null(
      ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, static_cast<int>(file.get()), 0));
}

void unmap_file(void* mapping, std::size_t bytes) noexcept {
  ::munmap(mapping, bytes);
}

// Whole pages: neighbours that share the first and the last one are read again when they are
// needed.
void drop_mapped(const std::byte* part, std::size_t bytes) noexcept {
  const std::size_t before = reinterpret_cast<std::uintptr_t>(part) % page_size();
  ::madvise(const_cast<std::byte*>(part) - before, whole_pages(before + bytes), MADV_DONTNEED);
}

}  // namespace quern::platform
#endif
