// SPDX-License-Identifier: Apache-2.0
// Softmax and log_softmax in f32 over few elements: many rows at once, one in each lane, since a
// row of four classes fills no vector. What lies behind the axis is the lanes; where nothing does,
// rows are turned in the cache and turned back.
#include "kernels/cpu/softmax_lanes.h"

#include <algorithm>
#include <cmath>

#include "engine/vocabulary/multiples.h"
#include "graph/ops/softmax.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/rows.h"
#include "kernels/simd/simd_lines.h"

namespace quern {
namespace {

constexpr std::int64_t most_lanes = 512;
// Both halves stay in the first-level cache: what is read, and what is written.
constexpr std::int64_t most_elements = 4096;
constexpr std::int64_t fewest_lanes = 16;
// Longer rows fill vectors by themselves; turning them costs more than it gains.
constexpr std::int64_t longest_turned = 32;

template <class T>
struct Lines {
  T* first;
  std::int64_t stride;

  T* line(std::int64_t k) const { return first + k * stride; }
};

// Softmax over `n` lines of `lanes` elements.
class SoftmaxLines {
 public:
  SoftmaxLines(SoftmaxKind kind, std::int64_t n) : kind_(kind), n_(n) {}

  void operator()(Lines<const float> x, Lines<float> y, std::int64_t lanes) const {
    float largest[most_lanes];
    float sum[most_lanes];
    std::copy_n(x.first, lanes, largest);
    for (std::int64_t k = 1; k < n_; ++k)
      lines::larger({largest, false}, {x.line(k), false}, largest, lanes);
    std::fill_n(sum, lanes, 0.0f);
    float part[most_lanes];
    for (std::int64_t k = 0; k < n_; ++k) {
      float* exponentials = kind_ == SoftmaxKind::softmax ? y.line(k) : part;
      lines::subtract({x.line(k), false}, {largest, false}, exponentials, lanes);
      lines::exponential(exponentials, exponentials, lanes);
      lines::add({sum, false}, {exponentials, false}, sum, lanes);
    }
    finish(x, y, largest, sum, lanes);
  }

 private:
  void finish(Lines<const float> x, Lines<float> y, const float* largest, const float* sum,
              std::int64_t lanes) const {
    float factor[most_lanes];
    if (kind_ == SoftmaxKind::softmax) {
      const float one = 1;
      lines::divide({&one, true}, {sum, false}, factor, lanes);
      for (std::int64_t k = 0; k < n_; ++k)
        lines::multiply({y.line(k), false}, {factor, false}, y.line(k), lanes);
      return;
    }
    lines::logarithm(sum, factor, lanes);
    // One after the other: with a large x, the sum of both would lose the digits of the logarithm.
    for (std::int64_t k = 0; k < n_; ++k) {
      float* to = y.line(k);
      lines::subtract({x.line(k), false}, {largest, false}, to, lanes);
      lines::subtract({to, false}, {factor, false}, to, lanes);
    }
  }

  SoftmaxKind kind_;
  std::int64_t n_;
};

// x[outer][n][inner], over n.
class SoftmaxLanes final : public CpuKernel {
 public:
  SoftmaxLanes(SoftmaxKind kind, const AxisSplit& split)
      : lines_(kind, split.axis),
        s_(split),
        lanes_(std::min(most_lanes, most_elements / split.axis)) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto* x = reinterpret_cast<const float*>(args.inputs[0]);
    auto* y = reinterpret_cast<float*>(args.outputs[0]);
    if (s_.inner == 1)
      turned(x, y, parallel);
    else
      by_lines(x, y, parallel);
    return {};
  }

 private:
  void by_lines(const float* x, float* y, const Parallel& parallel) const {
    const std::int64_t parts = ceil_div(s_.inner, lanes_);
    parallel(s_.outer * parts, row_grain(8 * s_.axis * lanes_),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t p = begin; p < end; ++p) {
                 const std::int64_t first = p % parts * lanes_;
                 const std::int64_t at = p / parts * s_.axis * s_.inner + first;
                 lines_({x + at, s_.inner}, {y + at, s_.inner}, std::min(lanes_, s_.inner - first));
               }
             });
  }

  void turned(const float* x, float* y, const Parallel& parallel) const {
    const std::int64_t parts = ceil_div(s_.outer, lanes_);
    parallel(parts, row_grain(8 * s_.axis * lanes_), [&](std::int64_t begin, std::int64_t end) {
      float lines[most_elements];
      float result[most_elements];
      for (std::int64_t p = begin; p < end; ++p) {
        const std::int64_t rows = std::min(lanes_, s_.outer - p * lanes_);
        const std::int64_t at = p * lanes_ * s_.axis;
        simd().deinterleave(x + at, s_.axis, lines, rows);
        lines_({lines, rows}, {result, rows}, rows);
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t k = 0; k < s_.axis; ++k) y[at + r * s_.axis + k] = result[k * rows + r];
      }
    });
  }

  SoftmaxLines lines_;
  AxisSplit s_;
  std::int64_t lanes_;
};

AxisSplit split_of(const Softmax& op, const Shape& shape, std::size_t axis) {
  if (!op.flatten) return split_at(shape, axis);
  const std::int64_t row = shape.elements(axis);
  return {shape.elements() / row, row, 1};
}

bool has_lanes(const AxisSplit& s) {
  if (s.inner == 1) return s.axis <= longest_turned && s.outer >= fewest_lanes;
  return s.inner >= fewest_lanes && s.axis <= most_elements / fewest_lanes;
}

}  // namespace

Selection select_softmax_lanes(const KernelRequest& r) {
  const auto& op = r.as<Softmax>();
  const Shape& shape = r.shape(0);
  if (r.dtype(0) != DType::f32 || op.kind == SoftmaxKind::hardmax || shape.empty() ||
      shape.elements() == 0)
    return unsupported();
  const std::size_t axis = positive_axis(op.axis, shape.rank());
  const TensorDesc& x = r.inputs[0].desc;
  // Channels that lie last are rows already.
  const bool is_last = is_channels_last(x) && axis == 1 && !op.flatten;
  const Layout layout = is_last ? Layout::channels_last(shape) : Layout::row_major(shape);
  const AxisSplit split =
      is_last ? AxisSplit{shape.elements() / shape[1], shape[1], 1} : split_of(op, shape, axis);
  if (!has_lanes(split)) return unsupported();
  KernelChoice choice;
  choice.implementation = std::string("lanes ") + simd().name;
  choice.input_layouts = {layout};
  choice.output_layouts = {layout};
  choice.sharing = {{0, 0, Alias::may}};
  choice.work = std::make_unique<SoftmaxLanes>(op.kind, split);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
