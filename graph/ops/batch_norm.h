// SPDX-License-Identifier: Apache-2.0
// Normalisation by given statistics.
#pragma once

#include "graph/op.h"

namespace quern {

// (x, scale, bias, mean, variance); in training mode also gives running mean and variance.
struct BatchNorm {
  float epsilon = 1e-5f;
  float momentum = 0.9f;
  bool training = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("epsilon", s.epsilon), f("momentum", s.momentum), f("training", s.training);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const BatchNorm&) const = default;
};

using BatchNormOps = OpList<BatchNorm>;

}  // namespace quern
