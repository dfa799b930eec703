// SPDX-License-Identifier: Apache-2.0
// Tensors one behind another along an axis.
#pragma once

#include <cstdint>

#include "graph/op.h"

namespace quern {

struct Concat {
  std::int64_t axis = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Concat&) const = default;
};

using ConcatOps = OpList<Concat>;

}  // namespace quern
