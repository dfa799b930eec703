// SPDX-License-Identifier: Apache-2.0
// Every n-th element of a range.
#pragma once

#include <algorithm>
#include <cstdint>

#include "graph/op.h"

namespace quern {

// (x, starts, ends, axes?, steps?)
struct Slice {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Slice&) const = default;
};

// One dimension of a Slice.
struct SliceRange {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t step = 1;
};

// The bounds for a dimension of d elements: start is a position unless the slice is empty.
inline SliceRange clamped(SliceRange cut, std::int64_t d) {
  if (cut.start < 0) cut.start += d;
  if (cut.end < 0) cut.end += d;
  if (cut.step > 0) {
    cut.start = std::clamp<std::int64_t>(cut.start, 0, d);
    cut.end = std::clamp<std::int64_t>(cut.end, 0, d);
  } else {
    cut.start = std::min(std::max<std::int64_t>(cut.start, 0), d - 1);
    cut.end = std::min(std::max<std::int64_t>(cut.end, -1), d - 1);
  }
  return cut;
}

using SliceOps = OpList<Slice>;

}  // namespace quern
