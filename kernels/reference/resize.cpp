// SPDX-License-Identifier: Apache-2.0
// Resize: output elements as weighted sums of input elements along each of the axes;
// resize_axis.cpp says which ones.
//
// ONNX Resize (opsets 10 to 19), Upsample (7 to 10); any rank. nearest moves elements of any type;
// linear and cubic take numbers, sum in double, and round integers half to even, saturating.
#include <cmath>
#include <cstring>

#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/resampling.h"
#include "graph/ops/resize_axes.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/window.h"
#include "kernels/cpu/resize_rows.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

// The taps of every element along one axis.
struct AxisTaps {
  const std::int64_t* counts;
  const ResizeTap* taps;
  std::size_t room;  // for one element

  std::span<const ResizeTap> at(std::int64_t x) const {
    return {taps + static_cast<std::size_t>(x) * room, static_cast<std::size_t>(counts[x])};
  }
};
using AllTaps = std::array<AxisTaps, Shape::max_rank>;

AxisTaps list_taps(const Resize& op, const ResizeAxis& axis, Scratch& resize_scratch,
                   StopCheck& check) {
  const auto n = static_cast<std::size_t>(axis.out);
  const std::size_t room = max_resize_taps(op, axis.in, axis.out);
  auto* counts = resize_scratch.take<std::int64_t>(n);
  auto* taps = resize_scratch.take<ResizeTap>(n * room);
  for_each_until(axis.out, 32, check, [&](std::int64_t x) {
    const std::span<ResizeTap> of_x(taps + static_cast<std::size_t>(x) * room, room);
    counts[x] = static_cast<std::int64_t>(resize_taps(op, axis, x, check, of_x));
  });
  return {counts, taps, room};
}

bool is_outside(const AllTaps& taps, const Shape& at) {
  for (std::size_t d = 0; d < at.rank(); ++d)
    if (taps[d].counts[at[d]] == 0) return true;
  return false;
}

template <class T>
struct WeightedSum {
  const T* x;
  const Shape& in;
  const AllTaps& taps;
  StopCheck& check;

  // Over the taps of the position `at`, those of dimension d on.
  double operator()(const Shape& at, std::size_t d = 0, std::int64_t offset = 0) const {
    if (d == in.rank()) return static_cast<double>(x[offset]);
    double sum = 0;
    const std::span<const ResizeTap> all = taps[d].at(at[d]);
    for_each_until(static_cast<std::int64_t>(all.size()), 4, check, [&](std::int64_t i) {
      const ResizeTap& t = all[static_cast<std::size_t>(i)];
      sum += t.weight * (*this)(at, d + 1, offset * in[d] + t.index);
    });
    return sum;
  }
};

template <class T>
T rounded(double v) {
  if constexpr (is_float_type<T>) return T(v);
  return convert<T>(std::nearbyint(v));
}

template <class T>
void interpolate(const ReferenceCall& call, const AllTaps& taps, StopCheck& check) {
  const auto& op = call.as<Resize>();
  const WeightedSum<T> weighted_sum{call.inputs[0].as<T>(), call.inputs[0].type.shape, taps, check};
  T* y = call.outputs[0].as<T>();
  for_each_index(call.outputs[0].type.shape, 16, check, [&](const Shape& at) {
    *y++ = is_outside(taps, at) ? convert<T>(op.extrapolation_value) : rounded<T>(weighted_sum(at));
  });
}

void pick_nearest(const ReferenceCall& call, const AllTaps& taps, StopCheck& check) {
  const Shape& in = call.inputs[0].type.shape;
  const std::size_t size = size_of(call.inputs[0].type.dtype);
  std::byte* y = call.outputs[0].data;
  for_each_index(call.outputs[0].type.shape, 16, check, [&](const Shape& at) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < in.rank(); ++d)
      offset = offset * in[d] + taps[d].at(at[d]).front().index;
    std::memcpy(y, call.inputs[0].data + static_cast<std::size_t>(offset) * size, size);
    y += size;
  });
}

Status resize_reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() == 0) return {};
  const auto& op = call.as<Resize>();
  const auto operand = [&](std::size_t i) { return call.has(i) ? call.inputs[i] : TensorView{}; };
  ResizeAxes axes;
  QUERN_TRY(
      resolve_resize(op, call.inputs[0].type.shape, {operand(1), operand(2), operand(3)}, axes));
  StopCheck check(call.stop);
  AllTaps taps;
  for (std::size_t d = 0; d < call.inputs[0].type.shape.rank(); ++d)
    taps[d] = list_taps(op, axes[d], call.scratch, check);
  if (check.is_over()) return {};
  if (op.mode == ResizeMode::nearest && op.coordinates != CoordinateMode::tf_crop_and_resize) {
    pick_nearest(call, taps, check);
  } else {
    visit_number(call.inputs[0].type.dtype,
                 [&]<class T>(TypeTag<T>) { interpolate<T>(call, taps, check); });
  }
  return {};
}

std::size_t resize_scratch(const Op& op, std::span<const TensorType> inputs,
                           std::span<const TensorType> outputs) {
  std::size_t bytes = 0;
  if (outputs[0].shape.elements() == 0) return 0;
  for (std::size_t d = 0; d < outputs[0].shape.rank(); ++d) {
    const auto n = static_cast<std::size_t>(outputs[0].shape[d]);
    bytes += Scratch::bytes_for<std::int64_t>(n);
    bytes += Scratch::bytes_for<ResizeTap>(
        n * max_resize_taps(*op.as<Resize>(), inputs[0].shape[d], outputs[0].shape[d]));
  }
  return bytes;
}

constexpr CpuImplementation resize_implementations[] = {{"rows", select_resize_rows}};

}  // namespace

const OpKernels& Resize::kernels() {
  static constexpr OpKernels table{.reference = {resize_reference, resize_scratch},
                                   .cpu = resize_implementations,
                                   .gpu = gpu::select_resize};
  return table;
}

}  // namespace quern
