// SPDX-License-Identifier: Apache-2.0
// Functions of two numbers, and comparisons.
#pragma once

#include "graph/op.h"
#include "graph/ops/binary_kind.h"

namespace quern {

// numpy broadcasting. prelu(x, slope); comparisons give bool; mod takes the divisor's sign, fmod
// the dividend's. x / 0 and x mod 0 of integers are 0, INT_MIN / -1 wraps (facts: the peers
// disagree or crash). min and max propagate NaN.
struct Binary {
  BinaryKind kind = BinaryKind::add;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Binary&) const = default;
};

using BinaryOps = OpList<Binary>;

}  // namespace quern
