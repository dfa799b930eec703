// SPDX-License-Identifier: Apache-2.0
// Sums of products by an equation.
#pragma once

#include <string>

#include "graph/op.h"

namespace quern {

struct Einsum {
  std::string equation;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("equation", s.equation);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Einsum&) const = default;
};

using EinsumOps = OpList<Einsum>;

}  // namespace quern
