// SPDX-License-Identifier: Apache-2.0
// Geometry of one- and two-dimensional convolutions for the kernels based on the engine's own
// matrix product, and the packing of the weights of one tap for them.
#pragma once

#include <array>
#include <cstdint>

#include "engine/vocabulary/multiples.h"
#include "graph/ops/windows.h"
#include "kernels/cpu/product_pieces.h"
#include "kernels/simd/simd.h"

namespace quern {

// Index 0 is the height, 1 the width; a 1-D problem is a 2-D one of height 1.
struct ConvPlane {
  std::int64_t batch = 1;
  std::int64_t groups = 1;
  std::int64_t in_channels = 1;   // of a group
  std::int64_t out_channels = 1;  // of a group
  std::array<std::int64_t, 2> in{1, 1}, out{1, 1}, kernel{1, 1}, strides{1, 1}, dilations{1, 1},
      pads{0, 0};

  // x and y are [batch, channels, spatial...] of rank 3 or 4; the caller sets the channel counts,
  // since Conv and ConvTranspose take them from different dimensions of their weights.
  static ConvPlane of(const Shape& x, const Shape& y, const ResolvedWindow& window,
                      std::int64_t groups) {
    ConvPlane p;
    p.batch = x[0];
    p.groups = groups;
    for (std::size_t d = 0; d < window.rank(); ++d) {
      const std::size_t to = 2 - window.rank() + d;
      p.in[to] = x[2 + d];
      p.out[to] = y[2 + d];
      p.kernel[to] = window.kernel[d];
      p.strides[to] = window.strides[d];
      p.dilations[to] = window.dilations[d];
      p.pads[to] = window.pads_begin[d];
    }
    return p;
  }

  std::int64_t all_in() const { return groups * in_channels; }
  std::int64_t all_out() const { return groups * out_channels; }
  std::int64_t taps() const { return kernel[0] * kernel[1]; }
  // Size of the weights of one group and one tap, in panels of output channels.
  std::int64_t matrix_floats() const { return round_up(out_channels, simd_panel) * in_channels; }
  std::int64_t packed_floats() const { return groups * taps() * matrix_floats(); }

  // Packs one such matrix for each [group][tap]; `weight(group, in channel, out channel, tap)`
  // counts channels within their group.
  template <class F>
  void pack(float* packed, const F& weight) const {
    StopCheck no_limit(nullptr);
    for (std::int64_t g = 0; g < groups; ++g)
      for (std::int64_t t = 0; t < taps(); ++t, packed += matrix_floats())
        pack_panels(in_channels, out_channels, packed, simd_panel * in_channels, no_limit,
                    [&](std::int64_t c, std::int64_t m) { return weight(g, c, m, t); });
  }
};

}  // namespace quern
