// SPDX-License-Identifier: Apache-2.0
// Resize: output elements as weighted sums of input elements along each of the axes;
// resize_axis.cpp says which ones.
//
// ONNX Resize (opsets 10 to 19), Upsample (7 to 10); any rank. nearest moves elements of any type;
// linear and cubic take numbers, sum in double, and round integers half to even, saturating.
#include "kernels/resize.h"

#include <cmath>
#include <cstring>

#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/text_util.h"
#include "kernels/gpu/kernels.h"
#include "kernels/infer.h"
#include "kernels/iterate.h"
#include "kernels/kernel.h"
#include "kernels/resize_rows.h"
#include "kernels/window.h"

namespace quern {
namespace {

Status check_types(const InferContext& c, const Resize& op) {
  const bool any =
      op.mode == ResizeMode::nearest && op.coordinates != CoordinateMode::tf_crop_and_resize;
  if (!any && !is_number(c.dtype(0)))
    return c.error(cat(enum_name(op.mode), " does not take ", name_of(c.dtype(0))));
  for (std::size_t i : {1, 2})
    if (c.has(i) && !is_number_float(c.dtype(i)))
      return c.error(cat(c.describe(i), " must be of floats"));
  return c.want_dtype(3, DType::i64);
}

// Which axes are resized, from the attribute.
Result<std::vector<bool>> resized_axes(const InferContext& c, const Resize& op, std::size_t rank) {
  std::vector<bool> resized(rank, op.axes.empty());
  for (std::int64_t a : op.axes) {
    QUERN_ASSIGN(const std::size_t axis, c.axis(a, rank));
    if (resized[axis]) return c.error(cat("axis ", a, " is given twice"));
    resized[axis] = true;
  }
  return resized;
}

TensorView view_of(const InferContext& c, std::size_t i) {
  return c.value(i) ? c.value(i)->view() : TensorView{};
}
bool is_unknown(const InferContext& c, std::size_t i) {
  return c.has(i) && !c.value(i);
}

// Output sizes of an axis whose input size is not a number yet.
Dim size_by_sizes(const Resize& op, const ResizeAxis& as_if_one) {
  return op.aspect == AspectPolicy::stretch ? Dim(as_if_one.out) : Dim();
}
Dim size_by_scale(Dim in, const ResizeAxis& as_if_one) {
  return as_if_one.scale == 1 ? in : Dim();
}

Status infer(InferContext& c) {
  const auto& op = c.op<Resize>();
  QUERN_TRY(check_types(c, op));
  c.set(0, c.dtype(0), std::nullopt);
  if (!c.dims(0)) return {};
  Dims y = *c.dims(0);
  if (y.size() > Shape::max_rank) return c.unsupported(cat("rank ", y.size()));
  QUERN_ASSIGN(const std::vector<bool> resized, resized_axes(c, op, y.size()));
  Shape in;
  bool open = false;
  for (std::size_t d = 0; d < y.size(); ++d) {
    open |= resized[d] && !y[d].known();
    in.push_back(y[d].known() ? y[d].value() : 1);
  }
  ResizeAxes axes;
  const bool unknown = is_unknown(c, 2) || is_unknown(c, 3) ||
                       (is_unknown(c, 1) && op.coordinates == CoordinateMode::tf_crop_and_resize);
  const ResizeOperands operands{view_of(c, 1), view_of(c, 2), view_of(c, 3)};
  if (!unknown)
    if (Status s = resolve_resize(op, in, operands, axes); !s.ok()) return c.error(s.message());
  const bool by_sizes = operands.sizes.present() && operands.sizes.type.shape.elements() > 0;
  for (std::size_t d = 0; d < y.size(); ++d) {
    if (!resized[d]) continue;
    if (unknown || (open && by_sizes && op.aspect != AspectPolicy::stretch)) {
      y[d] = Dim();
    } else {
      y[d] = y[d].known() ? Dim(axes[d].out)
             : by_sizes   ? size_by_sizes(op, axes[d])
                          : size_by_scale(y[d], axes[d]);
    }
  }
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

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

AxisTaps list_taps(const Resize& op, const ResizeAxis& axis, Scratch& scratch) {
  const auto n = static_cast<std::size_t>(axis.out);
  const std::size_t room = max_resize_taps(op, axis.in, axis.out);
  auto* counts = scratch.take<std::int64_t>(n);
  auto* taps = scratch.take<ResizeTap>(n * room);
  for (std::size_t x = 0; x < n; ++x)
    counts[x] = static_cast<std::int64_t>(
        resize_taps(op, axis, static_cast<std::int64_t>(x), {taps + x * room, room}));
  return {counts, taps, room};
}

bool is_outside(const AllTaps& taps, const Shape& at) {
  for (std::size_t d = 0; d < at.rank(); ++d)
    if (taps[d].counts[at[d]] == 0) return true;
  return false;
}

template <class T>
double weighted_sum(const T* x, const Shape& in, const AllTaps& taps, const Shape& at,
                    std::size_t d = 0, std::int64_t offset = 0) {
  if (d == in.rank()) return static_cast<double>(x[offset]);
  double sum = 0;
  for (const ResizeTap& t : taps[d].at(at[d]))
    sum += t.weight * weighted_sum(x, in, taps, at, d + 1, offset * in[d] + t.index);
  return sum;
}

template <class T>
T rounded(double v) {
  if constexpr (is_float_type<T>) return T(v);
  return convert<T>(std::nearbyint(v));
}

template <class T>
void interpolate(const ReferenceCall& call, const AllTaps& taps) {
  const auto& op = call.as<Resize>();
  const T* x = call.inputs[0].as<T>();
  T* y = call.outputs[0].as<T>();
  for_each_index(call.outputs[0].type.shape, [&](const Shape& at) {
    *y++ = is_outside(taps, at) ? convert<T>(op.extrapolation_value)
                                : rounded<T>(weighted_sum(x, call.inputs[0].type.shape, taps, at));
  });
}

void pick_nearest(const ReferenceCall& call, const AllTaps& taps) {
  const Shape& in = call.inputs[0].type.shape;
  const std::size_t size = size_of(call.inputs[0].type.dtype);
  std::byte* y = call.outputs[0].data;
  for_each_index(call.outputs[0].type.shape, [&](const Shape& at) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < in.rank(); ++d)
      offset = offset * in[d] + taps[d].at(at[d]).front().index;
    std::memcpy(y, call.inputs[0].data + static_cast<std::size_t>(offset) * size, size);
    y += size;
  });
}

Status reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() == 0) return {};
  const auto& op = call.as<Resize>();
  const auto operand = [&](std::size_t i) { return call.has(i) ? call.inputs[i] : TensorView{}; };
  ResizeAxes axes;
  QUERN_TRY(
      resolve_resize(op, call.inputs[0].type.shape, {operand(1), operand(2), operand(3)}, axes));
  AllTaps taps;
  for (std::size_t d = 0; d < call.inputs[0].type.shape.rank(); ++d)
    taps[d] = list_taps(op, axes[d], call.scratch);
  if (op.mode == ResizeMode::nearest && op.coordinates != CoordinateMode::tf_crop_and_resize) {
    pick_nearest(call, taps);
  } else {
    visit_number(call.inputs[0].type.dtype,
                 [&]<class T>(TypeTag<T>) { interpolate<T>(call, taps); });
  }
  return {};
}

std::size_t scratch(const Op& op, std::span<const TensorType> inputs,
                    std::span<const TensorType> outputs) {
  std::size_t bytes = 0;
  if (outputs[0].shape.elements() == 0) return 0;
  for (std::size_t d = 0; d < outputs[0].shape.rank(); ++d) {
    const auto n = static_cast<std::size_t>(outputs[0].shape[d]);
    bytes += Scratch::bytes_for<std::int64_t>(n);
    bytes += Scratch::bytes_for<ResizeTap>(
        n * max_resize_taps(*std::get_if<Resize>(&op), inputs[0].shape[d], outputs[0].shape[d]));
  }
  return bytes;
}

constexpr CpuImplementation implementations[] = {{"rows", select_resize_rows}};
constexpr OpKernels kernels{.cpu = implementations, .gpu = gpu::select_resize};

}  // namespace

const OpDef& Resize::def() {
  static constexpr OpDef def{.name = "Resize",
                             .inputs = {1, 4},
                             .outputs = {1, 1},
                             .plan_operands = 0b1110,
                             .infer = infer,
                             .reference = reference,
                             .scratch = scratch,
                             .kernels = &kernels};
  return def;
}

}  // namespace quern
