// SPDX-License-Identifier: Apache-2.0
// Memory of WebAssembly is one block that grows: it has no pages that can be given back.
#include "engine/vocabulary/platform/pages.h"

#if defined(__wasi__)
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace quern::platform {
namespace {

constexpr std::size_t page = 65536;

constexpr std::size_t whole_pages(std::size_t bytes) {
  return (bytes + page - 1) / page * page;
}

}  // namespace

std::size_t page_size() noexcept {
  return page;
}

// What a pool of a run asks for at first. All of it would be taken at once.
std::uint64_t memory_bytes() noexcept {
  return std::uint64_t{16} << 20;
}

void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept {
  return std::aligned_alloc(alignment, bytes);
}

void free_aligned(void* block) noexcept {
  std::free(block);
}

std::byte* take_pages(std::size_t bytes) noexcept {
  if (bytes > SIZE_MAX - page) return nullptr;
  void* const pages = std::aligned_alloc(page, whole_pages(bytes));
  if (pages) std::memset(pages, 0, bytes);
  return static_cast<std::byte*>(pages);
}

void give_pages(std::byte* pages, std::size_t) noexcept {
  std::free(pages);
}

const std::byte* take_zeros(std::size_t bytes) noexcept {
  return take_pages(bytes);
}

void give_zeros(const std::byte* zeros, std::size_t bytes) noexcept {
  give_pages(const_cast<std::byte*>(zeros), bytes);
}

void* reserve_addresses(std::size_t bytes) noexcept {
  return std::aligned_alloc(page, bytes);
}

void release_addresses(void* addresses, std::size_t) noexcept {
  std::free(addresses);
}

bool commit(void* part, std::size_t bytes) noexcept {
  std::memset(part, 0, bytes);
  return true;
}

void decommit(void*, std::size_t) noexcept {}

void* map_file(const File& file, std::size_t bytes) noexcept {
  if (bytes > SIZE_MAX - page) {
    errno = ENOMEM;
    return nullptr;
  }
  auto* const read = static_cast<std::byte*>(std::aligned_alloc(page, whole_pages(bytes)));
  for (std::size_t at = 0; read && at < bytes;) {
    const std::ptrdiff_t n = read_at(file, at, read + at, bytes - at);
    if (n <= 0) {
      if (n == 0) errno = EIO;  // it shrank
      std::free(read);
      return nullptr;
    }
    at += static_cast<std::size_t>(n);
  }
  return read;
}

void unmap_file(void* mapping, std::size_t) noexcept {
  std::free(mapping);
}

void drop_mapped(const std::byte*, std::size_t) noexcept {}

}  // namespace quern::platform
#endif
