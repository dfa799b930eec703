// SPDX-License-Identifier: Apache-2.0
// Matrix products, Einsum, determinants, inverses and attention.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

// softmax(scale * q k^T + mask) v over (q, k, v, mask?), each [..., heads, rows, width]; the heads
// of q are a multiple of those of k and v. Recognised by the passes; also ONNX Attention.
struct Attention {
  float scale = 1;
  bool k_transposed = false;  // k is [..., heads, width, rows]

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("scale", s.scale), f("k_transposed", s.k_transposed);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Attention&) const = default;
};

using MatrixOps = OpList<MatMul, Einsum, Det, Inverse, Attention>;

}  // namespace quern
