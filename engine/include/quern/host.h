// SPDX-License-Identifier: Apache-2.0
// What a host gives the engine in the place of the system's: memory, and a place for sentences.
// Its threads are a ThreadPool (thread_pool.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace quern {

// A class of the host overrides what it wants to have; each function does otherwise what the engine
// does without a host. Called by any threads at one time; nothing throws, and nothing calls the
// engine back. It lives as long as anything that was made with it (OnnxOptions::host,
// CompileOptions::host).
class Host {
 public:
  enum class Level : std::uint8_t { info, warning };

  virtual ~Host() = default;
  // Every block of more than `least_bytes` that holds tensors: arenas, packed weights, constants
  // that are decoded or computed, files that are read instead of mapped, values of loops. Of any
  // content, from an address that is a multiple of `alignment` (at most 64); null: no memory.
  virtual void* allocate(std::size_t bytes, std::size_t alignment) noexcept;
  // A block of allocate(), with what it was asked for.
  virtual void free(void* block, std::size_t bytes, std::size_t alignment) noexcept;
  // A sentence about what a model declares wrongly, what is missing on this machine or what was
  // planned otherwise than asked; nothing of it is an error. Without a host they are dropped.
  virtual void log(Level level, std::string_view sentence) noexcept;

  static constexpr std::size_t least_bytes = std::size_t{64} << 10;
};

}  // namespace quern
