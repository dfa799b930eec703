// SPDX-License-Identifier: Apache-2.0
// Sets of the nodes of an OrderProblem: a bit for each, 64 to a word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quern {

using Words = std::vector<std::uint64_t>;  // of one set, or of several in a row

inline bool has_node(const std::uint64_t* set, std::size_t node) {
  return (set[node / 64] >> (node % 64) & 1) != 0;
}
inline void add_node(std::uint64_t* set, std::size_t node) {
  set[node / 64] |= std::uint64_t{1} << (node % 64);
}

}  // namespace quern
