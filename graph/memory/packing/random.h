// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace quern {

// Pseudo-random numbers from seeds, the same everywhere.
inline std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace quern
