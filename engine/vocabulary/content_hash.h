// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace quern {

// 128 bits that tell contents apart: the same on every machine of this byte order, and from call to
// call. It finds what was changed by accident; who wants two contents with one hash can make them.
using ContentHash = std::array<std::uint64_t, 2>;

// The hash of what was added, in whatever pieces.
class ContentHasher {
 public:
  ContentHasher();
  void add(std::span<const std::byte> bytes);
  ContentHash value() const;

 private:
  static constexpr std::size_t lanes = 4;
  static constexpr std::size_t block = lanes * sizeof(std::uint64_t);

  std::array<std::uint64_t, lanes> state_;
  std::array<std::byte, block> rest_ = {};  // of less than a block
  std::uint64_t size_ = 0;
};

ContentHash content_hash(std::span<const std::byte> bytes);

}  // namespace quern
