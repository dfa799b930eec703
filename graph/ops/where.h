// SPDX-License-Identifier: Apache-2.0
// Choice between two operands, element by element.
#pragma once

#include "graph/op.h"

namespace quern {

// where(condition, x, y), all three broadcast.
struct Where {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Where&) const = default;
};

using WhereOps = OpList<Where>;

}  // namespace quern
