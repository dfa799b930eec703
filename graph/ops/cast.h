// SPDX-License-Identifier: Apache-2.0
// Changes of type.
#pragma once

#include <quern/dtype.h>

#include "graph/op.h"

namespace quern {

// ONNX Cast, CastLike. Float to integer truncates and saturates, NaN gives 0.
struct Cast {
  DType to = DType::f32;
  bool saturate = true;  // for the 8-bit floats

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("to", s.to), f("saturate", s.saturate);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Cast&) const = default;
};

// Reinterprets the bits; both types have the same size.
struct BitCast {
  DType to = DType::f32;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("to", s.to);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const BitCast&) const = default;
};

using CastOps = OpList<Cast, BitCast>;

}  // namespace quern
