// SPDX-License-Identifier: Apache-2.0
// The linear memory of a guest during one call: it may move between calls, and other threads of the
// guest may write to it at any time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "frontends/wasi-nn/error.h"

namespace quern::wasi_nn {

static_assert(std::endian::native == std::endian::little, "wasm memory is little-endian");

struct Memory {
  std::byte* base = nullptr;  // null: the guest exports no memory
  std::uint64_t size = 0;
};

// The guest that makes a call.
struct Guest {
  Memory memory;
  // For WIT: calls the guest's cabi_realloc(0, 0, alignment, bytes), stores the address in `at`,
  // and updates `memory`. Returns false if the call trapped or the function does not exist. Null:
  // the guest has no such function.
  bool (*make_room)(Guest& guest, std::uint32_t alignment, std::uint32_t bytes,
                    std::uint32_t* at) = nullptr;
  void* host = nullptr;  // for make_room
};

class GuestMemory {
 public:
  explicit GuestMemory(Memory memory) : memory_(memory) {}

  // The range of `count` elements of `element_size` bytes; nullopt if it is not within the memory.
  std::optional<std::span<std::byte>> range(std::uint32_t at, std::uint64_t count,
                                            std::uint64_t element_size = 1) const {
    if (at > memory_.size || count > (memory_.size - at) / element_size) return std::nullopt;
    return std::span(memory_.base + at, static_cast<std::size_t>(count * element_size));
  }
  std::uint64_t size() const { return memory_.size; }
  // Reads a number exactly once, so that the checked value is the one used.
  template <class T>
  static T read(std::span<const std::byte> bytes, std::size_t at) {
    std::byte copy[sizeof(T)];
    const volatile std::byte* source = bytes.data() + at;
    for (std::size_t i = 0; i < sizeof(T); ++i) copy[i] = source[i];
    return std::bit_cast<T>(copy);
  }
  static void write(std::span<std::byte> place, std::uint32_t value) {
    std::memcpy(place.data(), &value, sizeof value);
  }

 private:
  Memory memory_;
};

}  // namespace quern::wasi_nn
