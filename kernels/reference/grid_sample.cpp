// SPDX-License-Identifier: Apache-2.0
// GridSample: y[n, c, o] = x[n, c] read at the position grid[n, o, :], whose coordinates run from
// -1 to 1 over the input, the innermost dimension first: at the nearest element (halves to even),
// or between elements by linear or cubic (a = -0.75) interpolation.
//
// ONNX GridSample, opsets 16 to 22, one to six spatial dimensions. Outside of the input: 0, the
// border, or the input reflected there (at the elements' centres with align_corners, else at their
// edges). A coordinate that is NaN reads 0 or, with the other paddings, the first element.
// Coordinates in the grid's type (16-bit ones in float), sums in double; integers truncate.
#include <algorithm>
#include <cmath>

#include "graph/numeric.h"
#include "graph/ops/resampling.h"
#include "graph/ops/windows.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/window.h"
#include "kernels/cpu/grid_sample_rows.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

// The taps of one dimension for a position: at most four elements.
struct Taps {
  std::array<std::int64_t, 4> index{};
  std::array<double, 4> weight{};
  std::size_t count = 0;
};

// Reflects x into [low, high], as often as necessary.
template <class C>
C reflect(C x, C low, C high) {
  const C range = high - low;
  if (!(range > 0)) return low;
  if (x >= low && x <= high) return x;
  const C beyond = x < low ? low - x : x - high;
  const C times = std::floor(beyond / range);
  const C rest = beyond - times * range;
  return (std::fmod(times, C(2)) == 0) == (x < low) ? low + rest : high - rest;
}

// One dimension of the input, of `size` elements.
template <class C>
struct Axis {
  const GridSample& op;
  std::int64_t size;

  C low() const { return op.align_corners ? C(0) : C(-0.5); }
  C high() const { return static_cast<C>(size - 1) - low(); }

  C position(C coordinate) const {
    const C n = static_cast<C>(size);
    C x = op.align_corners ? (coordinate + 1) / 2 * (n - 1) : ((coordinate + 1) * n - 1) / 2;
    if (op.mode == ResizeMode::nearest) x = std::nearbyint(x);
    if (op.padding == GridPadding::zeros) return x;
    if (op.padding == GridPadding::reflection) x = reflect(x, low(), high());
    // No tap reaches further into the input; the clamped value is finite.
    return std::isnan(x) ? C(0) : std::clamp(x, C(-3), n + 2);
  }

  // The element for index i, which may lie outside; false if there is none.
  bool find(double i, std::int64_t& index) const {
    const auto last = static_cast<double>(size - 1);
    if (!(i >= 0 && i <= last)) {
      if (op.padding == GridPadding::zeros) return false;
      if (op.padding == GridPadding::reflection)
        i = reflect(i, static_cast<double>(low()), static_cast<double>(high()));
      i = i >= 0 ? std::min(i, last) : 0;
    }
    index = static_cast<std::int64_t>(i);
    return true;
  }

  Taps taps(C coordinate) const {
    const auto x = static_cast<double>(position(coordinate));
    const double first = std::floor(x) - (op.mode == ResizeMode::cubic ? 1 : 0);
    const int count = op.mode == ResizeMode::nearest ? 1 : op.mode == ResizeMode::linear ? 2 : 4;
    Taps t;
    for (int i = 0; i < count; ++i) {
      const double weight = weight_at(first + i - x);
      if (weight != 0 && find(first + i, t.index[t.count])) t.weight[t.count++] = weight;
    }
    return t;
  }

  // The cubic weight of an element at distance t.
  double weight_at(double t) const {
    constexpr double a = -0.75;
    t = std::fabs(t);
    if (op.mode == ResizeMode::nearest) return 1;
    if (op.mode == ResizeMode::linear) return 1 - t;
    if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
    return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
  }
};

using GridTaps = std::array<Taps, max_spatial_rank>;

template <class T>
double weighted_sum(const T* x, const Shape& in, const GridTaps& taps, std::size_t d = 0,
                    std::int64_t offset = 0) {
  if (d >= std::min(in.rank(), taps.size())) return static_cast<double>(x[offset]);
  double sum = 0;
  for (std::size_t i = 0; i < taps[d].count; ++i)
    sum += taps[d].weight[i] * weighted_sum(x, in, taps, d + 1, offset * in[d] + taps[d].index[i]);
  return sum;
}

// The taps of the i-th position of the grid, counted over all images.
GridTaps taps_at(const ReferenceCall& call, const Shape& in, std::int64_t i) {
  GridTaps taps;
  visit_float(call.inputs[1].type.dtype, [&]<class G>(TypeTag<G>) {
    const G* position = call.inputs[1].as<G>() + i * static_cast<std::int64_t>(in.rank());
    for (std::size_t d = 0; d < in.rank(); ++d)
      taps[d] =
          Axis<ComputeType<G>>{call.as<GridSample>(), in[d]}.taps(position[in.rank() - 1 - d]);
  });
  return taps;
}

template <class T>
void sample(const ReferenceCall& call) {
  const Shape& xs = call.inputs[0].type.shape;
  const Shape in = spatial_of(xs);
  const std::int64_t positions = call.outputs[0].type.shape.elements(2);
  StopCheck check(call.stop);
  for (std::int64_t n = 0; n < xs[0]; ++n)
    for (std::int64_t o = 0; o < positions && !check.spend(32); ++o) {
      const GridTaps taps = taps_at(call, in, n * positions + o);
      const T* x = call.inputs[0].as<T>() + n * xs.elements(1);
      T* y = call.outputs[0].as<T>() + n * xs[1] * positions + o;
      for_each_until(xs[1], 32, check, [&](std::int64_t c) {
        y[c * positions] = convert<T>(weighted_sum(x + c * in.elements(), in, taps));
      });
    }
}

Status grid_sample_reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() == 0) return {};
  visit_number(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) { sample<T>(call); });
  return {};
}

constexpr CpuImplementation grid_sample_implementations[] = {{"rows", select_grid_sample_rows}};

}  // namespace

const OpKernels& GridSample::kernels() {
  static constexpr OpKernels table{.reference = {grid_sample_reference},
                                   .cpu = grid_sample_implementations,
                                   .gpu = gpu::select_grid_sample};
  return table;
}

}  // namespace quern
