// SPDX-License-Identifier: Apache-2.0
// The input of a fuzz target as decisions, and reads that a sanitizer sees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>

namespace quern::fuzz {

inline std::uint64_t sum_of_all_reads = 0;  // NOLINT: so that the reads stay

inline void read_all(const void* data, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    sum_of_all_reads += static_cast<const unsigned char*>(data)[i];
}

// The bytes of the input, one after the other; zeros when there are no more.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  bool has_more() const { return at_ < size_; }
  std::uint8_t next() { return at_ < size_ ? data_[at_++] : 0; }
  std::size_t below(std::size_t count) { return next() % count; }
  bool one_in(std::size_t count) { return next() % count == count - 1; }
  // Small, at an edge, or anything.
  std::int64_t number() {
    constexpr std::int64_t edges[] = {-1,
                                      0,
                                      1,
                                      2,
                                      7,
                                      8,
                                      9,
                                      255,
                                      1 << 20,
                                      std::numeric_limits<std::int32_t>::max(),
                                      std::numeric_limits<std::int32_t>::min(),
                                      std::numeric_limits<std::int64_t>::max(),
                                      std::numeric_limits<std::int64_t>::min()};
    const std::uint8_t kind = next();
    if (kind < 160) return kind % 4;
    if (kind < 250) return edges[kind % std::size(edges)];
    return static_cast<std::int64_t>(next()) << 8 | next();
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_, at_ = 0;
};

}  // namespace quern::fuzz
