// SPDX-License-Identifier: Apache-2.0
// Pooling over windows and over regions, and what undoes it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op.h"
#include "graph/ops/window.h"

namespace quern {

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

using PoolOps = OpList<Pool, MaxUnpool, RoiPool>;

}  // namespace quern
