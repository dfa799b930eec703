// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/host_memory.h"

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/platform/pages.h"

namespace quern {
namespace {

constexpr std::size_t block_alignment = 64;

// A pointer, which has no destructor to register where a thread has no memory for it.
thread_local const std::shared_ptr<Host>* scope_host = nullptr;

}  // namespace

void* Host::allocate(std::size_t bytes, std::size_t alignment) noexcept {
  return platform::allocate_aligned(alignment, round_up(bytes, alignment));
}

void Host::free(void* block, std::size_t, std::size_t) noexcept {
  platform::free_aligned(block);
}

void Host::log(Level, std::string_view) noexcept {}

HostScope::HostScope(const std::shared_ptr<Host>& host) : before_(scope_host) {
  scope_host = &host;
}

HostScope::~HostScope() {
  scope_host = before_;
}

std::shared_ptr<Host> current_host() {
  return scope_host ? *scope_host : nullptr;
}

void tell_host(Host::Level level, std::string_view sentence) {
  if (scope_host && *scope_host) (*scope_host)->log(level, sentence);
}

HostBlock HostBlock::take(std::size_t bytes) {
  HostBlock block{nullptr, bytes, bytes > Host::least_bytes ? current_host() : nullptr};
  void* const p =
      block.host ? block.host->allocate(bytes, block_alignment)
                 : platform::allocate_aligned(block_alignment, round_up(bytes, block_alignment));
  block.data = static_cast<std::byte*>(p);
  return block;
}

void HostBlock::release() {
  if (data && host)
    host->free(data, bytes, block_alignment);
  else
    platform::free_aligned(data);
  *this = {};
}

}  // namespace quern
