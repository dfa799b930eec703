// SPDX-License-Identifier: Apache-2.0
// Normalisation by norms, along an axis and across channels.
#pragma once

#include <cstdint>

#include "graph/op.h"

namespace quern {

// Local response normalisation across channels.
struct Lrn {
  std::int64_t size = 1;
  float alpha = 1e-4f;
  float beta = 0.75f;
  float bias = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("size", s.size), f("alpha", s.alpha), f("beta", s.beta), f("bias", s.bias);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Lrn&) const = default;
};

// x / max(|x|_p, epsilon) along one axis; 0 where the norm is 0. ONNX's has no epsilon.
struct LpNorm {
  std::int64_t axis = -1;
  std::int64_t p = 2;
  float epsilon = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis), f("p", s.p), f("epsilon", s.epsilon);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const LpNorm&) const = default;
};

using LpNormOps = OpList<Lrn, LpNorm>;

}  // namespace quern
