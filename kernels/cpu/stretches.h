// SPDX-License-Identifier: Apache-2.0
// The edges of a window's walk: positions side by side under whose windows the same taps lie inside
// the input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

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

// All positions of dimension `d`, in their order. Those under whose windows all taps lie are found
// at once.
inline std::vector<Stretch> stretches_of(const ResolvedWindow& window, std::size_t d,
                                         std::int64_t in, std::int64_t out) {
  const std::int64_t last_first = in - window.extent(d) + window.pads_begin[d];
  const std::int64_t inner_end = last_first < 0 ? 0 : last_first / window.strides[d] + 1;
  std::vector<Stretch> all;
  for (std::int64_t o = 0; o < out;) {
    const TapRange taps = taps_between(window, d, o, 0, in);
    const bool has_all = taps.size() == window.kernel[d];
    const std::int64_t end = has_all ? std::min(out, inner_end) : o + 1;
    if (!all.empty() && all.back().tap == taps.begin && all.back().taps == taps.size()) {
      all.back().end = end;
    } else {
      const std::int64_t first =
          taps.size() > 0 ? taps.first + taps.begin * window.dilations[d] : 0;
      all.push_back({o, end, taps.begin, taps.size(), first});
    }
    o = end;
  }
  return all;
}

}  // namespace quern
