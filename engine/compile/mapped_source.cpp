// SPDX-License-Identifier: Apache-2.0
#include "engine/compile/mapped_source.h"

#include "engine/vocabulary/platform/pages.h"

namespace quern {
namespace {

void* pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT: what a pool calls a number
}

}  // namespace

MappedSource::MappedSource() : page_(platform::page_size()) {}

std::optional<std::uint64_t> MappedSource::open(std::uint64_t bytes) {
  void* const at = bytes > SIZE_MAX ? nullptr : platform::reserve_addresses(bytes);
  if (!at) return std::nullopt;
  return reinterpret_cast<std::uint64_t>(at);
}

void MappedSource::close(std::uint64_t address, std::uint64_t bytes) {
  platform::release_addresses(pointer(address), bytes);
}

bool MappedSource::commit(std::uint64_t address, std::uint64_t bytes) {
  return platform::commit(pointer(address), bytes);
}

void MappedSource::decommit(std::uint64_t address, std::uint64_t bytes) {
  platform::decommit(pointer(address), bytes);
}

}  // namespace quern
