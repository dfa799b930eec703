// SPDX-License-Identifier: Apache-2.0
// The memory layout of a tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <quern/dtype.h>
#include <quern/shape.h>

namespace quern {

// Strides in elements, one per dimension. With block = b > 1 dimension 1 is cut into blocks of b
// channels that lie innermost (oneDNN's nChw16c and its like): element (n, c, s...) is at
// n*strides[0] + (c/b)*strides[1] + s*strides[2..] + c%b, and the last block is padded with zeros.
struct Layout {
  Shape strides;
  std::uint8_t block = 0;

  static Layout row_major(const Shape& shape);
  static Layout channels_last(const Shape& shape);
  static Layout channel_blocked(const Shape& shape, std::uint8_t block);
  // Dense, with dimension order[0] outermost; dimensions of size 1 may be left out.
  static Layout permuted(const Shape& shape, std::span<const std::int64_t> order);

  std::string text() const;
  bool operator==(const Layout&) const = default;
};

// A tensor's element type, shape and layout.
struct TensorDesc {
  DType dtype = DType::f32;
  Shape shape;
  Layout layout;

  static TensorDesc row_major(DType dtype, const Shape& shape) {
    return {dtype, shape, Layout::row_major(shape)};
  }
  // The extent in memory from the first to the last byte, padding included.
  std::size_t bytes() const;
  bool operator==(const TensorDesc&) const = default;
};

// True if both layouts put every element of `shape` at the same place: strides of dimensions of
// size 1 do not matter.
bool same_placement(const Shape& shape, const Layout& a, const Layout& b);
inline bool is_row_major(const TensorDesc& t) {
  return same_placement(t.shape, t.layout, Layout::row_major(t.shape));
}
inline bool is_channels_last(const TensorDesc& t) {
  return t.shape.rank() >= 3 && same_placement(t.shape, t.layout, Layout::channels_last(t.shape));
}
// True if the elements fill bytes() in some order, without holes, overlap or padding.
bool is_dense(const TensorDesc& t);
// Gives the layout that shows the same elements under another shape without moving them; false if
// the strides do not allow it.
bool reshape_in_place(const TensorDesc& from, const Shape& shape, Layout& to);

}  // namespace quern
