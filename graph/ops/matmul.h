// SPDX-License-Identifier: Apache-2.0
// Products of matrices.
#pragma once

#include "graph/op.h"

namespace quern {

// numpy matmul of (a, b), each optionally transposed in its last two dimensions, times alpha.
// ONNX MatMul; Gemm imports as this with a Binary add. f32_result: a and b are 16-bit floats, the
// result is f32; not in ONNX.
struct MatMul {
  bool transpose_a = false;
  bool transpose_b = false;
  float alpha = 1;
  bool f32_result = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("transpose_a", s.transpose_a), f("transpose_b", s.transpose_b), f("alpha", s.alpha);
    f("f32_result", s.f32_result);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const MatMul&) const = default;
};

using MatmulOps = OpList<MatMul>;

}  // namespace quern
