// SPDX-License-Identifier: Apache-2.0
// Convolutions with offsets, and the sum of columns.
#pragma once

#include <cstdint>

#include "graph/op.h"
#include "graph/ops/window.h"

namespace quern {

// (x, w, offset, bias?, mask?), 2-D; ONNX DeformConv.
struct DeformConv {
  Window window;
  std::int64_t group = 1;
  std::int64_t offset_group = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    Window::fields(s.window, f), f("group", s.group), f("offset_group", s.offset_group);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const DeformConv&) const = default;
};

// (columns [N, C*prod(block), L], image_shape, block_shape) -> [N, C, image...]
struct Col2Im {
  Ints strides;
  Ints pads;
  Ints dilations;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("strides", s.strides), f("pads", s.pads), f("dilations", s.dilations);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Col2Im&) const = default;
};

using DeformConvOps = OpList<DeformConv, Col2Im>;

}  // namespace quern
