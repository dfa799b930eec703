// SPDX-License-Identifier: Apache-2.0
// Memory as the operating system gives it: pages, and addresses without any.
//
// Sizes are bytes. A null pointer is an error, whose reason errno has.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/vocabulary/platform/files.h"

namespace quern::platform {

// A power of two, at least 4096.
std::size_t page_size() noexcept;

// The memory of this machine; 0: not known.
std::uint64_t memory_bytes() noexcept;

// Memory of any alignment that is a power of two, for a size that is a multiple of it. Only
// free_aligned() may free it; null is nothing to free.
void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept;
void free_aligned(void* block) noexcept;

// Zeroed pages that are all written next, so that they are brought at once, in huge pages if the
// system has some. `bytes` may be any number above 0.
std::byte* take_pages(std::size_t bytes) noexcept;
// Returns what take_pages() gave for so many bytes to the system.
void give_pages(std::byte* pages, std::size_t bytes) noexcept;

// Zeros that are hardly ever read, and take no memory until then where the system can do that.
const std::byte* take_zeros(std::size_t bytes) noexcept;
void give_zeros(const std::byte* zeros, std::size_t bytes) noexcept;

// Addresses without memory. Sizes and what commit() and decommit() are given are whole pages.
void* reserve_addresses(std::size_t bytes) noexcept;
void release_addresses(void* addresses, std::size_t bytes) noexcept;
// Backs a part of them with zeroed memory; false: there is none.
bool commit(void* part, std::size_t bytes) noexcept;
// Takes the memory away; the contents are lost, and later reads fault where the system can do that.
void decommit(void* part, std::size_t bytes) noexcept;

// The bytes of a regular file, which are not written; `bytes` is its size, above 0. The system
// reads them when they are needed, and shares them with others that have mapped the file. A system
// that maps no files reads them here.
void* map_file(const File& file, std::size_t bytes) noexcept;
void unmap_file(void* mapping, std::size_t bytes) noexcept;
// Drops the memory of a part of a mapping, which is read again when it is needed.
void drop_mapped(const std::byte* part, std::size_t bytes) noexcept;

}  // namespace quern::platform
