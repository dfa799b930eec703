// SPDX-License-Identifier: Apache-2.0
// Convolutions and pools over windows.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op.h"
#include "graph/ops/window.h"

namespace quern {

// (x [N, C, spatial...], w [M, C/group, kernel...], bias [M]?) -> [N, M, spatial...]
struct Conv {
  Window window;
  std::int64_t group = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    Window::fields(s.window, f), f("group", s.group);
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

enum class PoolKind : std::uint8_t { max, average, lp };
std::span<const std::string_view> enum_names(PoolKind);
// ONNX MaxPool (second output: indices), AveragePool, LpPool, and the Global* forms (`global`).
// max propagates NaN.
struct Pool {
  PoolKind kind = PoolKind::max;
  Window window;
  bool global = false;
  bool ceil_mode = false;
  bool count_include_pad = false;
  std::int64_t p = 2;                 // of lp
  bool column_major_indices = false;  // storage_order = 1

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), Window::fields(s.window, f), f("global", s.global);
    f("ceil_mode", s.ceil_mode), f("count_include_pad", s.count_include_pad), f("p", s.p);
    f("column_major_indices", s.column_major_indices);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Pool&) const = default;
};

// (x, indices, output_shape?)
struct MaxUnpool {
  Window window;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    Window::fields(s.window, f);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const MaxUnpool&) const = default;
};

enum class RoiKind : std::uint8_t { align_average, align_max, max };
std::span<const std::string_view> enum_names(RoiKind);
// ONNX RoiAlign (x, rois, batch_indices) and MaxRoiPool (x, rois with the batch index in front).
struct RoiPool {
  RoiKind kind = RoiKind::align_average;
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t sampling_ratio = 0;
  float spatial_scale = 1;
  bool half_pixel = true;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("height", s.height), f("width", s.width);
    f("sampling_ratio", s.sampling_ratio), f("spatial_scale", s.spatial_scale);
    f("half_pixel", s.half_pixel);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const RoiPool&) const = default;
};

using ConvolutionOps = OpList<Conv, ConvTranspose, DeformConv, Col2Im, Pool, MaxUnpool, RoiPool>;

}  // namespace quern
