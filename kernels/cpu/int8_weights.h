// SPDX-License-Identifier: Apache-2.0
// Weights of integer convolutions in the order that the kernels of simd/int8.h read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <quern/dtype.h>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/stop.h"
#include "kernels/contract/parts.h"
#include "kernels/cpu/int8_conv.h"
#include "kernels/simd/int8.h"

namespace quern {

// The lanes of a depthwise convolution that are computed before their results are written.
inline constexpr std::int64_t int8_segments_at_once = 8;
inline constexpr std::int64_t int8_lanes_at_once = int8_segments_at_once * int8_lanes;

// The kind of computation: matrix products, by vectors or by units for matrices, or depthwise with
// one channel per kernel.
enum class Int8Variant : std::uint8_t { products, tiles, depthwise };

// How a depthwise convolution goes along lines (the last spatial dimension). Channels side by side
// are lanes: those of several positions where these are neighbours in x as well (`is_flat`), else
// blocks of channels, position by position. A line is cut into pieces whose woven bytes stay in a
// cache.
struct Int8Lines {
  explicit Int8Lines(const Int8Conv& c);

  std::int64_t blocks() const { return ceil_div(channels, block); }
  std::int64_t groups() const { return ceil_div(lines, int8_woven_lines); }
  // Columns of x that the first n positions of a piece read.
  std::int64_t columns(std::int64_t n) const { return (n - 1) * stride + reach + 1; }
  std::int64_t group_bytes() const {
    return round_up(columns(piece) * block + int8_lanes, int8_lanes) * int8_woven_lines;
  }
  std::int64_t woven_bytes() const { return groups() * group_bytes(); }
  std::int64_t block_bytes() const { return groups() * taps * weight_lanes * int8_woven_lines; }
  // False where pieces would be too large.
  bool is_sensible() const;

  std::int64_t channels;
  std::int64_t lines;  // of the window
  std::int64_t taps;   // along a line
  std::int64_t stride, dilation, pad;
  std::int64_t reach;  // from the first to the last tap
  bool is_flat;
  std::int64_t block;         // channels
  std::int64_t weight_lanes;  // repeated beyond a block, so that whole segments can be read
  std::int64_t piece;         // positions
};

// The layout of packed weights: the elements, then the i32 sum of every column.
struct PackedWeights {
  PackedWeights(const Int8Conv& c, Int8Variant v)
      : variant(v),
        inner(round_up(c.depth * c.taps(),
                       v == Int8Variant::tiles ? int8_tile_depth : simd_int8().group)),
        panels(ceil_div(c.columns, int8_panel_columns)) {
    Parts parts;
    const Int8Lines lines(c);
    parts.add(variant == Int8Variant::depthwise ? lines.blocks() * lines.block_bytes()
                                                : c.groups * group_bytes());
    sums = parts.add(c.channels() * 4);
    bytes = parts.size();
  }
  // The index of a channel's offset and multiplier. They are laid out like a kernel's sums, because
  // whole vectors of them are read.
  std::int64_t parameter_at(const Int8Conv& c, std::int64_t channel) const {
    if (variant == Int8Variant::depthwise) return channel;
    return channel / c.columns * panels * int8_panel_columns + channel % c.columns;
  }
  // The length of a list of these. Those of depthwise kernels are repeated to its end.
  std::int64_t parameters(const Int8Conv& c) const {
    const std::int64_t used = parameter_at(c, c.channels() - 1) + 1;
    return round_up(used + (variant == Int8Variant::depthwise ? int8_lanes_at_once : 0),
                    int8_panel_columns);
  }
  std::int64_t panel_bytes() const { return inner * int8_panel_columns; }
  std::int64_t group_bytes() const { return panels * panel_bytes(); }
  // The rows of x that are gathered before units for matrices read the first of them: stores take
  // a while until they can be loaded as whole tiles.
  std::int64_t gathered_rows() const {
    constexpr std::int64_t bytes = 16 << 10;
    return std::clamp<std::int64_t>(bytes / (inner * int8_tile_rows), 1, 4) * int8_tile_rows;
  }

  Int8Variant variant;
  std::int64_t inner;  // elements of a column, rounded up
  std::int64_t panels;
  std::size_t sums = 0;
  std::size_t bytes = 0;
};

// Packs into zeroed bytes the panels [begin, end) of products, counted over all groups.
void pack_panels(const Int8Conv& c, const PackedWeights& packed, DType type, const std::byte* w,
                 std::byte* to, std::int64_t begin, std::int64_t end, StopCheck& check);
// The same for all depthwise kernels.
void pack_depthwise(const Int8Conv& c, const PackedWeights& packed, DType type, const std::byte* w,
                    std::byte* to, StopCheck& check);

}  // namespace quern
