// SPDX-License-Identifier: Apache-2.0
// RoiPool: cuts each region of interest (x1, y1, x2, y2, times spatial_scale) of an image into
// height x width bins and reduces each bin of each channel to one element.
//
// ONNX RoiAlign (opsets 10 to 22): each bin is read at a grid of points between the elements, 0
// further than one element outside, then averaged, or the largest taken. As in ONNX's reference, a
// point's candidates for the largest are its four neighbours, each times its bilinear weight.
// ONNX MaxRoiPool (opsets 1 to 22): corners are rounded to elements, the far one belongs to the
// region, an empty bin is 0. Regions may be absurd: points outside of the image are counted, not
// visited. Coordinates in float (double for f64), sums in double.
#include <algorithm>
#include <cmath>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/ops/pool.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/scalar_math.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference of RoiAlign

// The points at which one dimension of a region is read: bin b, point i of `points` at
// start + (b + (i + 0.5) / points) * bin.
template <class C>
struct Sampling {
  C start, bin;
  double points;
  std::int64_t size;  // of the image
  bool bounded;       // few points by attribute: visit all

  C at(std::int64_t b, std::int64_t i) const {
    return start + static_cast<C>(b) * bin +
           (static_cast<C>(i) + C(0.5)) * bin / static_cast<C>(points);
  }
  // Points of bin b that may lie in the image; `bin` is then positive and points at most 1 apart.
  std::pair<std::int64_t, std::int64_t> visible(std::int64_t b) const {
    const auto all = convert<std::int64_t>(points);
    if (bounded) return {0, all};
    const double step = static_cast<double>(bin) / points;
    const double first =
        static_cast<double>(start) + static_cast<double>(b) * static_cast<double>(bin);
    const auto begin = convert<std::int64_t>(std::floor((-1 - first) / step - 2));
    const auto end =
        convert<std::int64_t>(std::ceil((static_cast<double>(size) - first) / step + 2));
    return {std::clamp<std::int64_t>(begin, 0, all), std::clamp<std::int64_t>(end, 0, all)};
  }
};

template <class C>
Sampling<C> sampling_of(const RoiPool& op, C low, C high, std::int64_t bins, std::int64_t size) {
  const C scale = static_cast<C>(op.spatial_scale);
  const C offset = op.half_pixel ? C(0.5) : C(0);
  const C start = low * scale - offset;
  C length = high * scale - offset - start;
  if (!op.half_pixel) length = nan_max(length, C(1));  // malformed regions are one element
  const C bin = length / static_cast<C>(bins);
  const double adaptive = bin > 0 ? std::ceil(static_cast<double>(bin)) : 0;
  const bool bounded = op.sampling_ratio > 0;
  return {start, bin, bounded ? static_cast<double>(op.sampling_ratio) : adaptive, size, bounded};
}

// The two neighbours of a point in one dimension and the weight of the second.
template <class C>
struct Neighbours {
  std::int64_t low, high;
  C weight;
};
template <class C>
Neighbours<C> neighbours(C at, std::int64_t size) {
  at = std::max(at, C(0));
  const auto low = static_cast<std::int64_t>(at);
  if (low >= size - 1) return {size - 1, size - 1, C(0)};
  return {low, low + 1, at - static_cast<C>(low)};
}

// The accumulated value of one bin.
struct Bin {
  double sum = 0;
  double largest = 0;
  double seen = 0;

  void add(double value, double candidate) {
    sum += value;
    largest = seen == 0 ? candidate : nan_max(largest, candidate);
    ++seen;
  }
  double result(const RoiPool& op, double points) {
    if (op.kind == RoiKind::align_average) return sum / (points > 1 ? points : 1);
    if (seen < points) add(0, 0);  // a point outside reads 0
    return largest;
  }
};

template <class T, class C>
void read_point(const T* image, std::int64_t width, const Neighbours<C>& y, const Neighbours<C>& x,
                Bin& bin) {
  const double corners[4] = {(1 - y.weight) * (1 - x.weight) * C(image[y.low * width + x.low]),
                             (1 - y.weight) * x.weight * C(image[y.low * width + x.high]),
                             y.weight * (1 - x.weight) * C(image[y.high * width + x.low]),
                             y.weight * x.weight * C(image[y.high * width + x.high])};
  bin.add(corners[0] + corners[1] + corners[2] + corners[3],
          nan_max(nan_max(corners[0], corners[1]), nan_max(corners[2], corners[3])));
}

template <class C>
bool is_visible(C at, std::int64_t size) {
  return at >= -1 && at <= static_cast<C>(size);  // and no NaN
}

template <class T, class C>
T align_bin(const RoiPool& op, const T* image, const Sampling<C>& ys, const Sampling<C>& xs,
            const std::array<std::int64_t, 2>& at, StopCheck& check) {
  Bin bin;
  const auto [y_begin, y_end] = ys.visible(at[0]);
  const auto [x_begin, x_end] = xs.visible(at[1]);
  for (std::int64_t i = y_begin; i < y_end; ++i)
    for (std::int64_t j = x_begin; j < x_end && !check.spend(16); ++j) {
      const C y = ys.at(at[0], i);
      const C x = xs.at(at[1], j);
      if (is_visible(y, ys.size) && is_visible(x, xs.size))
        read_point(image, xs.size, neighbours(y, ys.size), neighbours(x, xs.size), bin);
    }
  return T(bin.result(op, ys.points * xs.points));
}

// ---- reference of MaxRoiPool

// The elements of bin b of `bins` over the region [start, start + length).
struct Span {
  std::int64_t begin, end;
};
template <class C>
Span elements_of(C low, C high, std::int64_t b, std::int64_t bins, std::int64_t size) {
  // The bounds keep the sums below from overflowing; no image reaches them.
  const C bound = static_cast<C>(std::int64_t{1} << 40);
  const auto start = convert<std::int64_t>(std::clamp(std::round(low), -bound, bound));
  const auto last = convert<std::int64_t>(std::clamp(std::round(high), -bound, bound));
  const C bin = static_cast<C>(std::max<std::int64_t>(last - start + 1, 1)) / static_cast<C>(bins);
  const auto begin = convert<std::int64_t>(std::floor(static_cast<C>(b) * bin)) + start;
  const auto end = convert<std::int64_t>(std::ceil(static_cast<C>(b + 1) * bin)) + start;
  return {std::clamp<std::int64_t>(begin, 0, size), std::clamp<std::int64_t>(end, 0, size)};
}

template <class T>
T max_of_bin(const T* image, std::int64_t width, Span ys, Span xs, StopCheck& check) {
  using C = ComputeType<T>;
  if (ys.begin >= ys.end || xs.begin >= xs.end) return T(C(0));
  C largest = C(image[ys.begin * width + xs.begin]);
  for (std::int64_t i = ys.begin; i < ys.end; ++i)
    for_each_until(xs.end - xs.begin, 2, check, [&](std::int64_t j) {
      largest = nan_max(largest, C(image[i * width + xs.begin + j]));
    });
  return T(largest);
}

// ---- both

template <class T>
void pool_region(const RoiPool& op, const T* roi, const T* image, const Shape& xs, T* y,
                 StopCheck& check) {
  using C = ComputeType<T>;
  const auto rows = sampling_of<C>(op, C(roi[1]), C(roi[3]), op.height, xs[2]);
  const auto columns = sampling_of<C>(op, C(roi[0]), C(roi[2]), op.width, xs[3]);
  const C scale = static_cast<C>(op.spatial_scale);
  for (std::int64_t c = 0; c < xs[1] && !check.is_over(); ++c, image += xs.elements(2))
    for (std::int64_t i = 0; i < op.height && !check.is_over(); ++i)
      for (std::int64_t j = 0; j < op.width && !check.spend(32); ++j) {
        if (op.kind != RoiKind::max) {
          *y++ = xs.elements(2) ? align_bin(op, image, rows, columns, {i, j}, check) : T(C(0));
          continue;
        }
        *y++ = max_of_bin(
            image, xs[3], elements_of<C>(C(roi[1]) * scale, C(roi[3]) * scale, i, op.height, xs[2]),
            elements_of<C>(C(roi[0]) * scale, C(roi[2]) * scale, j, op.width, xs[3]), check);
      }
}

template <class T>
Status pool_regions(const ReferenceCall& call) {
  const auto& op = call.as<RoiPool>();
  const Shape& xs = call.inputs[0].type.shape;
  const Shape& rs = call.inputs[1].type.shape;
  StopCheck check(call.stop);
  for (std::int64_t r = 0; r < rs[0] && !check.is_over(); ++r) {
    const T* roi = call.inputs[1].as<T>() + r * rs[1];
    const std::int64_t batch = op.kind == RoiKind::max
                                   ? convert<std::int64_t>(ComputeType<T>(*roi++))
                                   : call.inputs[2].as<std::int64_t>()[r];
    if (batch < 0 || batch >= xs[0])
      return {Code::invalid_argument, cat("region ", r, " lies in image ", batch, " of ", xs[0])};
    pool_region(op, roi, call.inputs[0].as<T>() + batch * xs.elements(1), xs,
                call.outputs[0].as<T>() + r * call.outputs[0].type.shape.elements(1), check);
  }
  return {};
}

Status roi_pool_reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() == 0) return {};
  Status status;
  visit_float(call.inputs[0].type.dtype,
              [&]<class T>(TypeTag<T>) { status = pool_regions<T>(call); });
  return status;
}

}  // namespace

const OpKernels& RoiPool::kernels() {
  static constexpr OpKernels table{.reference = {roi_pool_reference}, .gpu = gpu::select_roi_pool};
  return table;
}

}  // namespace quern
