// SPDX-License-Identifier: Apache-2.0
// Windows over one to three dimensions, in the form used by the shaders of convolution and pooling.
#pragma once

#include <array>
#include <optional>

#include "graph/ops/windows.h"
#include "kernels/contract/gpu.h"

namespace quern::gpu {

// Depth, height and width; missing dimensions have size 1.
struct Geometry {
  using Triple = std::array<std::int64_t, 3>;
  bool deep = false;  // has a depth
  Triple in = {1, 1, 1}, out = {1, 1, 1}, kernel = {1, 1, 1}, strides = {1, 1, 1};
  Triple pads = {0, 0, 0}, end_pads = {0, 0, 0}, dilations = {1, 1, 1};

  std::int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  // Loop iterations for walking over the kernel, outer loops included.
  std::int64_t iterations() const { return kernel[0] * (1 + kernel[1] * (1 + kernel[2])); }
  bool is_point() const;  // one tap, at every position
};

// For x and y [n, channels, spatial...]; nullopt if there are more than three spatial dimensions or
// a number is too large for the shaders.
std::optional<Geometry> geometry_of(const Shape& x, const Shape& y, const ResolvedWindow& w);

// Appends the heights and widths of in, out, kernel, strides, pads and dilations: WINDOW_WORDS of
// shaders/window.glsl.
void push_window(Dispatch& d, const Geometry& g);
// Appends the depths of in and out, kernel and strides, pads and dilations: DEPTH_WORDS.
void push_depths(Dispatch& d, const Geometry& g);

}  // namespace quern::gpu
