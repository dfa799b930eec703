// SPDX-License-Identifier: Apache-2.0
// Walks a window over the elements of one channel, for references. Only the taps inside the input
// are visited, so that the time is bounded by the size of the tensors, whatever the attributes.
#pragma once

#include <algorithm>
#include <cstdint>

#include <quern/shape.h>

#include "engine/vocabulary/multiples.h"
#include "graph/ops/windows.h"
#include "kernels/contract/iterate.h"

namespace quern {

// The taps of one dimension at one position: tap k reads element first + k * dilation; the taps in
// [begin, end) lie inside [low, high).
struct TapRange {
  std::int64_t first, begin, end;
  std::int64_t size() const { return end - begin; }
};
inline TapRange taps_between(const ResolvedWindow& w, std::size_t d, std::int64_t position,
                             std::int64_t low, std::int64_t high) {
  const std::int64_t dilation = w.dilations[d];
  const std::int64_t first = position * w.strides[d] - w.pads_begin[d];
  const std::int64_t begin = first < low ? ceil_div(low - first, dilation) : 0;
  const std::int64_t end = first < high ? (high - 1 - first) / dilation + 1 : 0;
  return {first, begin, std::max(begin, std::min(end, w.kernel[d]))};
}

namespace detail {

template <class F>
struct TapWalk {
  const ResolvedWindow& w;
  const Shape& in;
  const Shape& position;
  StopCheck& check;
  const F& f;

  void operator()(std::size_t d, std::int64_t element, std::int64_t tap) const {
    if (d == in.rank()) return f(element, tap);
    const TapRange taps = taps_between(w, d, position[d], 0, in[d]);
    element = element * in[d] + taps.first;
    tap *= w.kernel[d];
    for_each_until(taps.size(), 4, check, [&](std::int64_t i) {
      const std::int64_t k = taps.begin + i;
      (*this)(d + 1, element + k * w.dilations[d], tap + k);
    });
  }
};

}  // namespace detail

// Calls f(element, tap) for each tap inside `in` with the window at `position`; both are row-major
// offsets, into the channel and into the kernel. Ends where `check` says so.
template <class F>
void for_each_tap(const ResolvedWindow& w, const Shape& in, const Shape& position, StopCheck& check,
                  const F& f) {
  detail::TapWalk<F>{w, in, position, check, f}(0, 0, 0);
}

// Calls f(index) for every index of `shape` in row-major order, until `check` ends the loop: an
// index takes about `cost` of its units.
template <class F>
void for_each_index(const Shape& shape, std::int64_t cost, StopCheck& check, const F& f) {
  Shape at = Shape::filled(shape.rank(), 0);
  for (std::int64_t left = shape.elements(); left > 0 && !check.spend(cost); --left) {
    f(static_cast<const Shape&>(at));
    for (std::size_t d = shape.rank(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
}

// The dimensions past batch and channel.
inline Shape spatial_of(const Shape& shape) {
  return Shape(shape.dims().subspan(2));
}

}  // namespace quern
