// SPDX-License-Identifier: Apache-2.0
// Resize and sampling from grids.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op.h"

namespace quern {

enum class ResizeMode : std::uint8_t { nearest, linear, cubic };
std::span<const std::string_view> enum_names(ResizeMode);
enum class CoordinateMode : std::uint8_t {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  tf_crop_and_resize,
  tf_half_pixel_for_nn
};
std::span<const std::string_view> enum_names(CoordinateMode);
enum class NearestMode : std::uint8_t { round_prefer_floor, round_prefer_ceil, floor, ceil };
std::span<const std::string_view> enum_names(NearestMode);
enum class AspectPolicy : std::uint8_t { stretch, not_larger, not_smaller };
std::span<const std::string_view> enum_names(AspectPolicy);
// (x, roi?, scales?, sizes?); ONNX Resize and Upsample.
struct Resize {
  ResizeMode mode = ResizeMode::nearest;
  CoordinateMode coordinates = CoordinateMode::half_pixel;
  NearestMode nearest = NearestMode::round_prefer_floor;
  AspectPolicy aspect = AspectPolicy::stretch;
  float cubic_coeff_a = -0.75f;
  float extrapolation_value = 0;
  bool exclude_outside = false;
  bool antialias = false;
  Ints axes;  // empty: all
  // Not in ONNX. The input and the result are parts of larger tensors along one axis: {axis, size
  // of the larger input, first element of it that is there, first element of the result, their
  // number}. Scales or sizes are those of the whole; taps beyond the part fall on its edge. Empty:
  // all.
  Ints part;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("mode", s.mode), f("coordinates", s.coordinates), f("nearest", s.nearest);
    f("aspect", s.aspect), f("cubic_coeff_a", s.cubic_coeff_a);
    f("extrapolation_value", s.extrapolation_value), f("exclude_outside", s.exclude_outside);
    f("antialias", s.antialias), f("axes", s.axes), f("part", s.part);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Resize&) const = default;
};

enum class GridPadding : std::uint8_t { zeros, border, reflection };
std::span<const std::string_view> enum_names(GridPadding);
// (x, grid)
struct GridSample {
  ResizeMode mode = ResizeMode::linear;
  GridPadding padding = GridPadding::zeros;
  bool align_corners = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("mode", s.mode), f("padding", s.padding), f("align_corners", s.align_corners);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const GridSample&) const = default;
};

// (theta, size)
struct AffineGrid {
  bool align_corners = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("align_corners", s.align_corners);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const AffineGrid&) const = default;
};

using ResamplingOps = OpList<Resize, GridSample, AffineGrid>;

}  // namespace quern
