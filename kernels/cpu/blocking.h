// SPDX-License-Identifier: Apache-2.0
// Blocked formats as oneDNN describes them, copied without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/numeric.h"

namespace quern {

struct Blocking {
  using Numbers = std::vector<std::int64_t>;

  Numbers padded;   // the dimensions, rounded up to whole blocks
  Numbers strides;  // in elements, of a step by one whole block, for each dimension
  Numbers sizes;    // of the blocks, from the outermost to the innermost
  Numbers axes;     // the dimension that each of them belongs to
};

// Copies the elements of a tensor, floats, from one format to the other, and rounds them to bf16 if
// those are wanted; `src` may be unaligned, as weights in a mapped file are. What pads `to` stays
// as it is.
void copy_blocks(const Blocking::Numbers& dims, const Blocking& from, const std::byte* src,
                 const Blocking& to, float* dst);
void copy_blocks(const Blocking::Numbers& dims, const Blocking& from, const std::byte* src,
                 const Blocking& to, BFloat16* dst);

}  // namespace quern
