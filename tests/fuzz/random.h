// SPDX-License-Identifier: Apache-2.0
// Numbers that are the same on every machine: splitmix64.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::fuzz {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
  }
  // 0 .. count - 1; 0 for a count of 0.
  std::size_t below(std::size_t count) { return count ? next() % count : 0; }
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <class Container>
  auto& of(Container& all) {
    return all[below(all.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace quern::fuzz
