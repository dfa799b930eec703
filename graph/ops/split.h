// SPDX-License-Identifier: Apache-2.0
// Parts of a tensor along an axis.
#pragma once

#include <cstdint>

#include "graph/op.h"

namespace quern {

// (x, sizes?): without sizes, splits into one part per output, the last one smaller.
struct Split {
  std::int64_t axis = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Split&) const = default;
};

using SplitOps = OpList<Split>;

}  // namespace quern
