// SPDX-License-Identifier: Apache-2.0
// Functions of one number.
#pragma once

#include "graph/op.h"
#include "graph/ops/unary_kind.h"

namespace quern {

// alpha and beta as ONNX names them: leaky_relu slope; elu, celu, thresholded_relu, swish alpha;
// selu alpha, gamma; hard_sigmoid slope, offset; shrink lambd, bias; clip low, high; affine alpha *
// x
// + beta and scaled_tanh alpha * tanh(beta * x), activations of the recurrent ops; is_inf: alpha
// != 0 detects -inf, beta != 0 detects +inf. round is half to even.
struct Unary {
  UnaryKind kind = UnaryKind::relu;
  double alpha = 0;
  double beta = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("alpha", s.alpha), f("beta", s.beta);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Unary&) const = default;
};

using UnaryOps = OpList<Unary>;

}  // namespace quern
