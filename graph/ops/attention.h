// SPDX-License-Identifier: Apache-2.0
// Attention of queries to keys and values.
#pragma once

#include "graph/op.h"

namespace quern {

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

using AttentionOps = OpList<Attention>;

}  // namespace quern
