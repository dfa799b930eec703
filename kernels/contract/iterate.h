// SPDX-License-Identifier: Apache-2.0
// Walking over the elements of tensors by strides, for references and generic kernels.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <quern/shape.h>

#include "engine/vocabulary/stop.h"
#include "graph/type.h"
#include "kernels/contract/layout.h"

namespace quern {

// Strides in elements of a dense row-major tensor.
inline Shape row_major_strides(const Shape& shape) {
  return Layout::row_major(shape).strides;
}

// Strides that read a tensor of shape `from` as if it had the shape `to` that it broadcasts to: 0
// along dimensions of size 1 and along missing ones.
inline Shape broadcast_strides(const Shape& from, const Shape& strides, const Shape& to) {
  Shape s = Shape::filled(to.rank(), 0);
  const std::size_t offset = to.rank() - from.rank();
  for (std::size_t i = 0; i < from.rank(); ++i)
    if (from[i] != 1) s[offset + i] = strides[i];
  return s;
}
inline Shape broadcast_strides(const Shape& from, const Shape& to) {
  return broadcast_strides(from, row_major_strides(from), to);
}

// Calls f(offsets) for the indices [begin, end) of `shape` in row-major order; offsets[k] is the
// dot product of the index and strides[k].
template <std::size_t N, class F>
void for_each_offset(const Shape& shape, const std::array<Shape, N>& strides, std::int64_t begin,
                     std::int64_t end, F&& f) {
  std::array<std::int64_t, Shape::max_rank> at{};
  std::array<std::int64_t, N> offsets{};
  std::int64_t rest = begin;
  for (std::size_t d = shape.rank(); d-- > 0 && rest > 0;) {
    at[d] = rest % shape[d];
    rest /= shape[d];
    for (std::size_t k = 0; k < N; ++k) offsets[k] += at[d] * strides[k][d];
  }
  for (std::int64_t i = begin; i < end; ++i) {
    f(offsets);
    for (std::size_t d = shape.rank(); d-- > 0;) {
      for (std::size_t k = 0; k < N; ++k) offsets[k] += strides[k][d];
      if (++at[d] < shape[d]) break;
      for (std::size_t k = 0; k < N; ++k) offsets[k] -= strides[k][d] * shape[d];
      at[d] = 0;
    }
  }
}
template <std::size_t N, class F>
void for_each_offset(const Shape& shape, const std::array<Shape, N>& strides, F&& f) {
  for_each_offset(shape, strides, 0, shape.elements(), f);
}

// ---- loops that end where a StopCheck says so; one element takes about `cost` of its units

// Calls f(begin, end) for [0, n) in pieces of some microseconds.
template <class F>
void for_each_piece(std::int64_t n, std::int64_t cost, StopCheck& check, F&& f) {
  constexpr std::int64_t units = 16384;
  const std::int64_t piece = std::max<std::int64_t>(1, units / cost);
  for (std::int64_t begin = 0; begin < n; begin += piece) {
    const std::int64_t end = n - begin < piece ? n : begin + piece;
    if (check.spend(cost * (end - begin))) return;
    f(begin, end);
  }
}
// Calls f(i) for i in [0, n).
template <class F>
void for_each_until(std::int64_t n, std::int64_t cost, StopCheck& check, F&& f) {
  for_each_piece(n, cost, check, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(i);
  });
}
template <std::size_t N, class F>
void for_each_offset(const Shape& shape, const std::array<Shape, N>& strides, std::int64_t cost,
                     StopCheck& check, F&& f) {
  for_each_piece(shape.elements(), cost, check, [&](std::int64_t begin, std::int64_t end) {
    for_each_offset(shape, strides, begin, end, f);
  });
}

// The number of elements before, along and after one axis: x[outer][axis][inner].
struct AxisSplit {
  std::int64_t outer, axis, inner;
};
inline AxisSplit split_at(const Shape& shape, std::size_t axis) {
  return {shape.elements(0, axis), shape[axis], shape.elements(axis + 1)};
}
}  // namespace quern
