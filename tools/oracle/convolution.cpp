// SPDX-License-Identifier: Apache-2.0
#include "tools/oracle/convolution.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/vocabulary/multiples.h"
#include "graph/ops/conv.h"
#include "graph/ops/windows.h"

namespace quern::tools {
namespace {

// The dimensions past batch and channel.
Shape spatial(const Shape& shape) {
  return Shape(shape.dims().subspan(2));
}

// One position of the window in all dimensions but the last: a line of x and a line of w.
struct LinePair {
  std::int64_t x, w;  // offsets within a channel
};

// The lines that line `row` of y is made of; it counts through all dimensions but the last.
std::vector<LinePair> lines_of(const ResolvedWindow& window, const Shape& in, const Shape& out,
                               std::int64_t row) {
  std::vector<LinePair> lines = {{0, 0}};
  std::int64_t below = out.elements(0, out.rank() - 1);
  for (std::size_t d = 0; d + 1 < in.rank(); ++d) {
    below /= out[d];
    const std::int64_t first = row / below % out[d] * window.strides[d] - window.pads_begin[d];
    std::vector<LinePair> longer;
    for (const LinePair& l : lines)
      for (std::int64_t k = 0; k < window.kernel[d]; ++k) {
        const std::int64_t at = first + k * window.dilations[d];
        if (at >= 0 && at < in[d]) longer.push_back({l.x * in[d] + at, l.w * window.kernel[d] + k});
      }
    lines = std::move(longer);
  }
  for (LinePair& l : lines) {
    l.x *= in.back();
    l.w *= window.kernel.back();
  }
  return lines;
}

// The part [begin, end) of a line of y that one tap of the last dimension adds to, and the element
// of x that it reads for element 0 of y, which may lie outside.
struct LineTap {
  std::int64_t begin, end, first;
};

std::vector<LineTap> taps_of_lines(const ResolvedWindow& window, std::int64_t in,
                                   std::int64_t out) {
  const std::size_t d = window.rank() - 1;
  const std::int64_t stride = window.strides[d];
  std::vector<LineTap> taps;
  for (std::int64_t k = 0; k < window.kernel[d]; ++k) {
    const std::int64_t first = k * window.dilations[d] - window.pads_begin[d];
    const std::int64_t begin = first < 0 ? ceil_div(-first, stride) : 0;
    const std::int64_t end = first < in ? (in - 1 - first) / stride + 1 : 0;
    taps.push_back({begin, std::min(end, out), first});
  }
  return taps;
}

void add_line(double w, const double* x, std::int64_t stride, const LineTap& tap, double* y) {
  if (stride == 1) {
    for (std::int64_t o = tap.begin; o < tap.end; ++o) y[o] += w * x[tap.first + o];
  } else {
    for (std::int64_t o = tap.begin; o < tap.end; ++o) y[o] += w * x[tap.first + o * stride];
  }
}

}  // namespace

bool are_f64(std::span<const Tensor> operands) {
  return std::ranges::all_of(operands,
                             [](const Tensor& t) { return !t.valid() || t.dtype() == DType::f64; });
}

void convolve_f64(const Conv& op, std::span<const Tensor> operands, Tensor& y) {
  const Shape& xs = operands[0].shape();
  const Shape& ws = operands[1].shape();
  const Shape& ys = y.shape();
  if (ys.elements() == 0) return;
  const Shape in = spatial(xs);
  const Shape out = spatial(ys);
  const ResolvedWindow window = resolve_window(op.window, in, spatial(ws));
  const std::int64_t stride = window.strides.back();
  const std::vector<LineTap> taps = taps_of_lines(window, in.back(), out.back());
  const std::span<const double> bias = operands.size() > 2 && operands[2].valid()
                                           ? operands[2].span<double>()
                                           : std::span<const double>();
  const double* x = operands[0].span<double>().data();
  const double* w = operands[1].span<double>().data();
  auto* to = reinterpret_cast<double*>(y.mutable_data());
  for (std::int64_t row = 0; row < out.elements(0, out.rank() - 1); ++row) {
    const std::vector<LinePair> lines = lines_of(window, in, out, row);
    for (std::int64_t map = 0; map < ys[0] * ys[1]; ++map) {
      const std::int64_t m = map % ys[1];
      const std::int64_t channel = map / ys[1] * xs[1] + m / (ys[1] / op.group) * ws[1];
      double* line = to + map * out.elements() + row * out.back();
      std::fill_n(line, out.back(), bias.empty() ? 0 : bias[static_cast<std::size_t>(m)]);
      for (std::int64_t c = 0; c < ws[1]; ++c)
        for (const LinePair& l : lines)
          for (std::size_t k = 0; k < taps.size(); ++k)
            add_line(w[(m * ws[1] + c) * ws.elements(2) + l.w + static_cast<std::int64_t>(k)],
                     x + (channel + c) * in.elements() + l.x, stride, taps[k], line);
    }
  }
}

}  // namespace quern::tools
