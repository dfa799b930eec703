// SPDX-License-Identifier: Apache-2.0
// Determinants and inverses.
#pragma once

#include "graph/op.h"

namespace quern {

// Determinant of the last two dimensions.
struct Det {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Det&) const = default;
};

// Inverse of each matrix in the last two dimensions. com.microsoft Inverse.
struct Inverse {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Inverse&) const = default;
};

using InverseOps = OpList<Det, Inverse>;

}  // namespace quern
