// SPDX-License-Identifier: Apache-2.0
// GridSample of images in f32: where a position reads, and with what weights, is computed once for
// all channels, some hundred positions at a time, and then each channel is a gather and a weighted
// sum.
//
// A tap that lies in the padding, or whose weight is 0, adds nothing, not even where its element is
// infinite. It reads the element of another tap instead, and takes half of that one's weight.
#include "kernels/cpu/grid_sample_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "engine/vocabulary/multiples.h"
#include "graph/ops/resampling.h"
#include "kernels/contract/rows.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

constexpr std::int64_t samples_at_once = 256;

// One coordinate: at most two elements along an axis, and their weights.
struct SampleAxis {
  std::array<std::int32_t, 2> index;
  std::array<float, 2> weight;
  int count = 0;

  void add(std::int32_t i, float w) {
    index[static_cast<std::size_t>(count)] = i;
    weight[static_cast<std::size_t>(count++)] = w;
  }
};

// Reflects v into [low, high], as often as necessary.
float reflected(float v, float low, float high) {
  const float range = high - low;
  if (!(range > 0)) return low;
  if (v >= low && v <= high) return v;
  const float beyond = v < low ? low - v : v - high;
  const float times = std::floor(beyond / range);
  const float rest = beyond - times * range;
  return (std::fmod(times, 2.0f) == 0) == (v < low) ? low + rest : high - rest;
}

// An axis of the image, of `size` elements.
class ImageAxis {
 public:
  ImageAxis(const GridSample& op, std::int64_t size)
      : op_(op),
        size_(static_cast<float>(size)),
        low_(op.align_corners ? 0.0f : -0.5f),
        high_(size_ - 1 - low_) {}

  SampleAxis taps(float coordinate) const {
    SampleAxis t;
    const float at = position(coordinate);
    if (op_.mode == ResizeMode::nearest) {
      add(t, at, 1);
      return t;
    }
    const float first = std::floor(at);
    const float behind = at - first;
    add(t, first, 1 - behind);
    add(t, first + 1, behind);
    return t;
  }

 private:
  float position(float coordinate) const {
    float v =
        op_.align_corners ? (coordinate + 1) / 2 * (size_ - 1) : ((coordinate + 1) * size_ - 1) / 2;
    if (op_.mode == ResizeMode::nearest) v = std::nearbyint(v);
    if (op_.padding == GridPadding::zeros) return v;
    if (op_.padding == GridPadding::reflection) v = reflected(v, low_, high_);
    return std::isnan(v) ? 0 : std::clamp(v, -3.0f, size_ + 2);
  }
  void add(SampleAxis& t, float i, float weight) const {
    if (weight == 0) return;
    if (!(i >= 0 && i <= size_ - 1)) {
      if (op_.padding == GridPadding::zeros) return;
      if (op_.padding == GridPadding::reflection) i = reflected(i, low_, high_);
      i = i >= 0 ? std::min(i, size_ - 1) : 0;
    }
    t.add(static_cast<std::int32_t>(i), weight);
  }

  const GridSample& op_;
  float size_, low_, high_;
};

// The elements that `n` positions read: tap t of position i is at t * n + i.
struct SampleTaps {
  std::array<std::int32_t, 4 * samples_at_once> index;
  std::array<float, 4 * samples_at_once> weight;
  std::array<std::int32_t, samples_at_once> outside;  // positions without a tap
  std::int64_t outside_count;
};

class GridSampleRows final : public CpuKernel {
 public:
  GridSampleRows(const GridSample& op, const Shape& x, const Shape& y)
      : op_(op),
        channels_(x[1]),
        height_(x[2]),
        width_(x[3]),
        images_(x[0]),
        positions_(y[2] * y[3]),
        taps_(op.mode == ResizeMode::nearest ? 1 : 4) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto* x = reinterpret_cast<const float*>(args.inputs[0]);
    const auto* grid = reinterpret_cast<const float*>(args.inputs[1]);
    auto* y = reinterpret_cast<float*>(args.outputs[0]);
    const std::int64_t parts = ceil_div(positions_, samples_at_once);
    const std::int64_t width = std::min(positions_, samples_at_once);
    parallel(images_ * parts, row_grain(width * (channels_ + 8)),
             [&](std::int64_t begin, std::int64_t end) {
               SampleTaps taps;
               StopCheck check(args.stop);
               for (std::int64_t p = begin; p < end && !check.is_over(); ++p) {
                 const std::int64_t image = p / parts;
                 const std::int64_t first = p % parts * samples_at_once;
                 const std::int64_t n = std::min(samples_at_once, positions_ - first);
                 collect(grid + (image * positions_ + first) * 2, n, taps);
                 sample(taps, x + image * channels_ * height_ * width_, n,
                        y + image * channels_ * positions_ + first, check);
               }
             });
    return {};
  }

 private:
  void collect(const float* grid, std::int64_t n, SampleTaps& taps) const {
    const ImageAxis rows(op_, height_);
    const ImageAxis columns(op_, width_);
    taps.outside_count = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const SampleAxis row = rows.taps(grid[2 * i + 1]);
      const SampleAxis column = columns.taps(grid[2 * i]);
      std::int64_t count = 0;
      for (std::size_t r = 0; r < static_cast<std::size_t>(row.count); ++r)
        for (std::size_t c = 0; c < static_cast<std::size_t>(column.count); ++c, ++count) {
          const auto at = static_cast<std::size_t>(count * n + i);
          taps.index[at] = row.index[r] * static_cast<std::int32_t>(width_) + column.index[c];
          taps.weight[at] = row.weight[r] * column.weight[c];
        }
      fill_up(taps, n, i, count);
    }
  }
  // Gives the taps that position i lacks the element of its first one.
  void fill_up(SampleTaps& taps, std::int64_t n, std::int64_t i, std::int64_t count) const {
    const auto first = static_cast<std::size_t>(i);
    if (count == 0) {
      taps.outside[static_cast<std::size_t>(taps.outside_count++)] = static_cast<std::int32_t>(i);
      taps.index[first] = 0;
      taps.weight[first] = 0;
      count = 1;
    }
    for (std::int64_t t = count; t < taps_; ++t) {
      const auto at = static_cast<std::size_t>(t * n + i);
      taps.index[at] = taps.index[first];
      taps.weight[at] = taps.weight[first] /= 2;
    }
  }
  void sample(const SampleTaps& taps, const float* x, std::int64_t n, float* y,
              StopCheck& check) const {
    for (std::int64_t c = 0; c < channels_ && !check.spend(taps_ * n);
         ++c, x += height_ * width_, y += positions_) {
      simd().weigh_gathered(x, taps.index.data(), taps.weight.data(), taps_, y, n);
      for (std::int64_t k = 0; k < taps.outside_count; ++k)
        y[taps.outside[static_cast<std::size_t>(k)]] = 0;
    }
  }

  GridSample op_;
  std::int64_t channels_, height_, width_, images_, positions_, taps_;
};

}  // namespace

Selection select_grid_sample_rows(const KernelRequest& r) {
  const auto& op = r.as<GridSample>();
  const Shape& x = r.shape(0);
  const Shape& y = r.outputs[0].shape;
  const bool is_image = x.rank() == 4 && r.dtype(0) == DType::f32 && r.dtype(1) == DType::f32;
  if (!is_image || op.mode == ResizeMode::cubic || y.elements() == 0 || x.elements() == 0 ||
      x.elements(2) > std::numeric_limits<std::int32_t>::max())
    return unsupported();
  KernelChoice choice;
  choice.implementation = std::string("rows ") + simd().name;
  choice.work = std::make_unique<GridSampleRows>(op, x, y);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
