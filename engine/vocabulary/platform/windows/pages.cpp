// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/platform/pages.h"

#if defined(_WIN32)
#include <malloc.h>

#include "engine/vocabulary/platform/windows/system.h"

namespace quern::platform {
namespace {

const SYSTEM_INFO& system_info() {
  static const SYSTEM_INFO info = [] {
    SYSTEM_INFO i;
    ::GetSystemInfo(&i);
    return i;
  }();
  return info;
}

void* allocate(void* at, std::size_t bytes, DWORD how, DWORD protection) {
  void* const p = ::VirtualAlloc(at, bytes, how, protection);
  if (!p) set_errno();
  return p;
}

}  // namespace

std::size_t page_size() noexcept {
  return system_info().dwPageSize;
}

std::uint64_t memory_bytes() noexcept {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  return ::GlobalMemoryStatusEx(&status) ? status.ullTotalPhys : 0;
}

void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept {
  return ::_aligned_malloc(bytes, alignment);
}

void free_aligned(void* block) noexcept {
  ::_aligned_free(block);
}

// Pages come by faults: huge ones are for processes with a right that users do not have.
std::byte* take_pages(std::size_t bytes) noexcept {
  return static_cast<std::byte*>(
      allocate(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
}

void give_pages(std::byte* pages, std::size_t) noexcept {
  ::VirtualFree(pages, 0, MEM_RELEASE);
}

// Counted against the memory that processes may ask for, but without any until it is read.
const std::byte* take_zeros(std::size_t bytes) noexcept {
  return static_cast<const std::byte*>(
      allocate(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READONLY));
}

void give_zeros(const std::byte* zeros, std::size_t) noexcept {
  ::VirtualFree(const_cast<std::byte*>(zeros), 0, MEM_RELEASE);
}

void* reserve_addresses(std::size_t bytes) noexcept {
  return allocate(nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS);
}

void release_addresses(void* addresses, std::size_t) noexcept {
  ::VirtualFree(addresses, 0, MEM_RELEASE);
}

bool commit(void* part, std::size_t bytes) noexcept {
  return allocate(part, bytes, MEM_COMMIT, PAGE_READWRITE) != nullptr;
}

void decommit(void* part, std::size_t bytes) noexcept {
  ::VirtualFree(part, bytes, MEM_DECOMMIT);
}

void* map_file(const File& file, std::size_t) noexcept {
  const HANDLE mapping =
      ::CreateFileMappingW(handle_of(file.get()), nullptr, PAGE_READONLY, 0, 0, nullptr);
  void* const p = mapping ? ::MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0) : nullptr;
  if (!p) set_errno();
  if (mapping) ::CloseHandle(mapping);  // the view keeps it
  return p;
}

void unmap_file(void* mapping, std::size_t) noexcept {
  ::UnmapViewOfFile(mapping);
}

// Unlocking what is not locked takes it out of the working set.
void drop_mapped(const std::byte* part, std::size_t bytes) noexcept {
  ::VirtualUnlock(const_cast<std::byte*>(part), bytes);
}

}  // namespace quern::platform
#endif
