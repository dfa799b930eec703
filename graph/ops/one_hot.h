// SPDX-License-Identifier: Apache-2.0
// Indices as rows of zeros with a one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/op.h"

namespace quern {

// (indices, depth, values [off, on])
struct OneHot {
  std::int64_t axis = -1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const OneHot&) const = default;
};

// The position of the new dimension in the result.
std::size_t new_axis(const OneHot& op, std::size_t rank);

using OneHotOps = OpList<OneHot>;

}  // namespace quern
