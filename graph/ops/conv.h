// SPDX-License-Identifier: Apache-2.0
// Convolutions and transposed convolutions.
#pragma once

#include <cstdint>

#include "graph/op.h"
#include "graph/ops/window.h"

namespace quern {

// (x [N, C, spatial...], w [M, C/group, kernel...], bias [M]?) -> [N, M, spatial...]
// f32_result: x and w are 16-bit floats, the bias and the result f32; not in ONNX.
struct Conv {
  Window window;
  std::int64_t group = 1;
  bool f32_result = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    Window::fields(s.window, f), f("group", s.group), f("f32_result", s.f32_result);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Conv&) const = default;
};

// (x [N, C, spatial...], w [C, M/group, kernel...], bias [M]?)
struct ConvTranspose {
  Window window;
  std::int64_t group = 1;
  Ints output_padding;
  Ints output_shape;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    Window::fields(s.window, f), f("group", s.group);
    f("output_padding", s.output_padding), f("output_shape", s.output_shape);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const ConvTranspose&) const = default;
};

using ConvOps = OpList<Conv, ConvTranspose>;

}  // namespace quern
