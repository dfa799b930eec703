// SPDX-License-Identifier: Apache-2.0
#include "engine/compile/mapped_source.h"

#include <sys/mman.h>
#include <unistd.h>

namespace quern {
namespace {

constexpr int no_memory_behind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

void* pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT: what a pool calls a number
}

}  // namespace

MappedSource::MappedSource() : page_(static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))) {}

std::optional<std::uint64_t> MappedSource::open(std::uint64_t bytes) {
  void* const at = ::mmap(nullptr, bytes, PROT_NONE, no_memory_behind, -1, 0);
  if (at == MAP_FAILED) return std::nullopt;
  return reinterpret_cast<std::uint64_t>(at);
}

void MappedSource::close(std::uint64_t address, std::uint64_t bytes) {
  ::munmap(pointer(address), bytes);
}

bool MappedSource::commit(std::uint64_t address, std::uint64_t bytes) {
  return ::mprotect(pointer(address), bytes, PROT_READ | PROT_WRITE) == 0;
}

// A new mapping over the old one also releases the memory that the system has committed.
void MappedSource::decommit(std::uint64_t address, std::uint64_t bytes) {
  (void)::mmap(pointer(address), bytes, PROT_NONE, no_memory_behind | MAP_FIXED, -1, 0);
}

}  // namespace quern
