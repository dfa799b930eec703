// SPDX-License-Identifier: Apache-2.0
// Offsets in an arena that is not the program's own: where one of several runs has its buffers.
#pragma once

#include <cstdint>
#include <vector>

namespace quern {

struct ArenaPlaces {
  // Of the operands of all steps, in order; 0 for those that lie elsewhere.
  std::vector<std::uint64_t> inputs;
  std::vector<std::uint64_t> outputs;
  std::vector<std::uint64_t> scratch;  // by step
  std::vector<std::uint64_t> results;  // of the program's outputs
};

}  // namespace quern
