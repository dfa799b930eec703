// SPDX-License-Identifier: Apache-2.0
// The edges of a window's walk: positions side by side under whose windows the same taps lie inside
// the input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/vocabulary/multiples.h"
#include "kernels/contract/window.h"

namespace quern {

// Positions [begin, end) of a dimension of the output, the taps [tap, tap + taps) that lie inside
// the input, and what lies under the first of these at `begin`.
struct Stretch {
  std::int64_t begin, end, tap, taps, in;

  std::int64_t size() const { return end - begin; }
  // The positions that are in [from, to) as well.
  Stretch within(std::int64_t from, std::int64_t to, std::int64_t stride) const {
    Stretch s = *this;
    s.begin = std::max(begin, from);
    s.end = std::max(s.begin, std::min(end, to));
    s.in += (s.begin - begin) * stride;
    return s;
  }
};

// The next position, `out` at most, under whose window other taps lie inside the `in` elements than
// `taps`: where one comes in at the window's begin, or one leaves at its end.
inline std::int64_t next_change(const ResolvedWindow& w, std::size_t d, std::int64_t in,
                                std::int64_t out, const TapRange& taps) {
  std::int64_t next = out;
  const auto reaches = [&](std::int64_t tap, std::int64_t element) {
    const std::int64_t padded = element - tap * w.dilations[d] + w.pads_begin[d];
    next = std::min(next, ceil_div(padded, w.strides[d]));
  };
  if (taps.begin > 0) reaches(std::min(taps.begin, w.kernel[d]) - 1, 0);
  if (taps.size() > 0) reaches(taps.end - 1, in);
  return next;
}

// All positions of dimension `d`, in their order: at most two stretches for each tap and one more,
// found in as many steps, however many positions there are.
inline std::vector<Stretch> stretches_of(const ResolvedWindow& window, std::size_t d,
                                         std::int64_t in, std::int64_t out) {
  std::vector<Stretch> all;
  for (std::int64_t o = 0; o < out;) {
    const TapRange taps = taps_between(window, d, o, 0, in);
    const std::int64_t end = next_change(window, d, in, out, taps);
    if (taps.size() > 0)
      all.push_back(
          {o, end, taps.begin, taps.size(), taps.first + taps.begin * window.dilations[d]});
    else if (!all.empty() && all.back().taps == 0)
      all.back().end = end;
    else
      all.push_back({o, end, 0, 0, 0});
    o = end;
  }
  return all;
}

}  // namespace quern
