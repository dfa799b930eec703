// SPDX-License-Identifier: Apache-2.0
#include "kernels/gpu/window.h"

#include <algorithm>

#include "graph/ops/windows.h"
#include "kernels/gpu/grid.h"

namespace quern::gpu {

bool Geometry::is_point() const {
  constexpr Triple ones = {1, 1, 1}, none = {0, 0, 0};
  return kernel == ones && strides == ones && pads == none && end_pads == none;
}

std::optional<Geometry> geometry_of(const Shape& x, const Shape& y, const ResolvedWindow& w) {
  const std::size_t spatial = x.rank() - 2;
  if (spatial < 1 || spatial > 3 || x.elements() >= (std::int64_t{1} << 31) ||
      y.elements() >= (std::int64_t{1} << 31))
    return std::nullopt;
  Geometry g;
  g.deep = spatial == 3;
  for (std::size_t d = 0; d < spatial; ++d) {
    const std::size_t at = d + 3 - spatial;
    g.in[at] = x[d + 2];
    g.out[at] = y[d + 2];
    g.kernel[at] = w.kernel[d];
    g.strides[at] = w.strides[d];
    g.pads[at] = w.pads_begin[d];
    g.end_pads[at] = w.pads_end[d];
    g.dilations[at] = w.dilations[d];
  }
  // Stored in half words, as are the sizes if there are three of them.
  constexpr auto is_small = [](std::int64_t v) { return v >= 0 && v < 65536; };
  for (const auto* t : {&g.kernel, &g.strides, &g.pads, &g.dilations})
    if (!std::ranges::all_of(*t, is_small)) return std::nullopt;
  for (const auto* t : {&g.in, &g.out})
    if (g.deep && !std::ranges::all_of(*t, is_small)) return std::nullopt;
  return g;
}

namespace {

std::uint32_t hw(const Geometry::Triple& t) {
  return hw_word({t[1], t[2]});
}

}  // namespace

void push_window(Dispatch& d, const Geometry& g) {
  for (const auto* size : {&g.in, &g.out}) {
    if (g.deep) {
      d.push.push_back(hw(*size));
    } else {
      d.push.push_back(word((*size)[1]));
      d.push.push_back(word((*size)[2]));
    }
  }
  for (const auto* t : {&g.kernel, &g.strides, &g.pads, &g.dilations}) d.push.push_back(hw(*t));
}

void push_depths(Dispatch& d, const Geometry& g) {
  d.push.insert(d.push.end(), {hw_word({g.in[0], g.out[0]}), hw_word({g.kernel[0], g.strides[0]}),
                               hw_word({g.pads[0], g.dilations[0]})});
}

}  // namespace quern::gpu
