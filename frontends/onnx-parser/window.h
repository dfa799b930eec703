// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "frontends/onnx-parser/node_import.h"
#include "graph/ops/window.h"

namespace quern::onnx {

// kernel_shape, strides, pads, dilations and auto_pad, of convolutions and pooling.
inline Window read_window(NodeImport& n) {
  Window w{.kernel = n.ints("kernel_shape"),
           .strides = n.ints("strides"),
           .pads = n.ints("pads"),
           .dilations = n.ints("dilations"),
           .auto_pad = n.choice<AutoPad>("auto_pad", "NOTSET",
                                         {{"NOTSET", AutoPad::notset},
                                          {"SAME_UPPER", AutoPad::same_upper},
                                          {"SAME_LOWER", AutoPad::same_lower},
                                          {"VALID", AutoPad::valid}})};
  // Explicit pads next to auto_pad have no effect; VALID is no padding.
  if (w.auto_pad != AutoPad::notset) w.pads.clear();
  if (w.auto_pad == AutoPad::valid) w.auto_pad = AutoPad::notset;
  return w;
}

inline Window read_window_with_kernel(NodeImport& n) {
  Window w = read_window(n);
  if (w.kernel.empty()) n.fail("attribute 'kernel_shape' is missing");
  return w;
}

}  // namespace quern::onnx
