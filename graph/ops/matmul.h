// SPDX-License-Identifier: Apache-2.0
// Products of matrices.
#pragma once

#include "graph/op.h"

namespace quern {

// numpy matmul of (a, b), each optionally transposed in its last two dimensions, times alpha.
// ONNX MatMul; Gemm imports as this with a Binary add.
struct MatMul {
  bool transpose_a = false;
  bool transpose_b = false;
  float alpha = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("transpose_a", s.transpose_a), f("transpose_b", s.transpose_b), f("alpha", s.alpha);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const MatMul&) const = default;
};

using MatmulOps = OpList<MatMul>;

}  // namespace quern
