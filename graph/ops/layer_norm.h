// SPDX-License-Identifier: Apache-2.0
// Normalisation by statistics of rows and of groups of channels.
#pragma once

#include <cstdint>

#include "graph/op.h"

namespace quern {

// Over the dimensions from `axis` on: (x, scale?, bias?) -> y, mean?, inverse standard deviation?
// ONNX LayerNormalization; without `center` RMSNormalization.
struct LayerNorm {
  std::int64_t axis = -1;
  float epsilon = 1e-5f;
  bool center = true;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis), f("epsilon", s.epsilon), f("center", s.center);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const LayerNorm&) const = default;
};

// Over each group of channels of x [N, C, ...], with per-channel scale and bias [C]. ONNX
// GroupNormalization, and InstanceNormalization as groups = 0: one group per channel.
struct GroupNorm {
  std::int64_t groups = 0;
  float epsilon = 1e-5f;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("groups", s.groups), f("epsilon", s.epsilon);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const GroupNorm&) const = default;
};

using LayerNormOps = OpList<LayerNorm, GroupNorm>;

}  // namespace quern
