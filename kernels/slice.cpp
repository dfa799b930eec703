// SPDX-License-Identifier: Apache-2.0
// Slice: every step-th element from start up to, not including, end, along some axes.
//
// ONNX: Slice, opsets 1 to 13 (starts, ends and axes that were attributes import as inputs). Bounds
// count from the end when negative and are clamped: to [0, d] when going up, and when going down
// start to [0, d - 1] and end to [-1, d - 1]. (numpy differs in one point: going down from before
// the first element it gives nothing, here it gives the first one, as the specification has it.)
#include "kernels/slice.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "graph/text_util.h"
#include "kernels/gpu/kernels.h"
#include "kernels/infer.h"
#include "kernels/kernel.h"
#include "kernels/movement.h"

namespace quern {
namespace {

struct Cut {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t step = 1;
};

// Beyond every dimension that a tensor can have.
constexpr std::int64_t to_the_end = std::int64_t{1} << 62;

// The bounds for a dimension of d elements: start is a position unless the slice is empty.
Cut clamped(Cut cut, std::int64_t d) {
  if (cut.start < 0) cut.start += d;
  if (cut.end < 0) cut.end += d;
  if (cut.step > 0) {
    cut.start = std::clamp<std::int64_t>(cut.start, 0, d);
    cut.end = std::clamp<std::int64_t>(cut.end, 0, d);
  } else {
    cut.start = std::min(std::max<std::int64_t>(cut.start, 0), d - 1);
    cut.end = std::min(std::max<std::int64_t>(cut.end, -1), d - 1);
  }
  return cut;
}

std::int64_t count_of(const Cut& cut) {
  const std::int64_t way = cut.step > 0 ? cut.end - cut.start : cut.start - cut.end;
  if (way <= 0) return 0;
  if (cut.step == std::numeric_limits<std::int64_t>::min()) return 1;
  const std::int64_t stride = cut.step > 0 ? cut.step : -cut.step;
  return (way - 1) / stride + 1;
}

Dim sliced(Dim d, const Cut& cut) {
  if (d.known()) return count_of(clamped(cut, d.value()));
  const bool all = cut.step == 1 && cut.start == 0 && cut.end >= to_the_end;
  const bool reversed = cut.step == -1 && cut.start == -1 && cut.end <= -to_the_end;
  return all || reversed ? d : Dim();
}

// ---- inference

struct Operands {
  ListOperand starts, ends, axes, steps;
};
Result<Operands> operands_of(const InferContext& c) {
  Operands o;
  QUERN_ASSIGN(o.starts, list_operand(c, 1));
  QUERN_ASSIGN(o.ends, list_operand(c, 2));
  QUERN_ASSIGN(o.axes, list_operand(c, 3));
  QUERN_ASSIGN(o.steps, list_operand(c, 4));
  const ListOperand* all[] = {&o.starts, &o.ends, &o.axes, &o.steps};
  std::optional<std::int64_t> length;
  for (const ListOperand* list : all) {
    if (!list->length) continue;
    if (length && *length != *list->length)
      return c.error(cat("starts, ends, axes and steps have different lengths: ", *length, " and ",
                         *list->length));
    length = list->length;
  }
  if (o.steps.values &&
      std::find(o.steps.values->begin(), o.steps.values->end(), 0) != o.steps.values->end())
    return c.error("a step is 0");
  return o;
}

// The axes that the operands speak of; nothing while unknown.
Result<std::optional<std::vector<std::size_t>>> axes_of(const InferContext& c, const Operands& o,
                                                        std::size_t rank) {
  using Axes = std::optional<std::vector<std::size_t>>;
  if (c.has(3)) return axes_operand(c, 3, rank);
  const auto length = o.starts.length ? o.starts.length : o.ends.length;
  if (!length) return Axes();
  if (*length > static_cast<std::int64_t>(rank))
    return c.error(cat(*length, " starts for ", c.describe(0)));
  std::vector<std::size_t> axes(static_cast<std::size_t>(*length));
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  return Axes(std::move(axes));
}

Status infer(InferContext& c) {
  QUERN_ASSIGN(const Operands o, operands_of(c));
  if (!c.dims(0)) {
    c.set(0, c.dtype(0), std::nullopt);
    return {};
  }
  Dims dims = *c.dims(0);
  QUERN_ASSIGN(const auto axes, axes_of(c, o, dims.size()));
  if (!axes) {
    c.set(0, c.dtype(0), Dims(dims.size()));
    return {};
  }
  const bool known = o.starts.values && o.ends.values && (o.steps.values || !c.has(4));
  for (std::size_t i = 0; i < axes->size(); ++i) {
    Dim& d = dims[(*axes)[i]];
    d = !known ? Dim()
               : sliced(d, {(*o.starts.values)[i], (*o.ends.values)[i],
                            o.steps.values ? (*o.steps.values)[i] : 1});
  }
  c.set(0, c.dtype(0), std::move(dims));
  return {};
}

// ---- reference

Status reference(const ReferenceCall& call) {
  const TensorView& x = call.inputs[0];
  const Shape& shape = call.outputs[0].type.shape;
  if (shape.elements() == 0) return {};
  const auto steps = slice_steps(x.type.shape, call.inputs);
  Shape strides = row_major_strides(x.type.shape);
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    offset += steps[d].start * strides[d];
    // With one element the step leads nowhere, and may be too large to multiply.
    strides[d] = shape[d] == 1 ? 0 : steps[d].step * strides[d];
  }
  const std::size_t size = size_of(x.type.dtype);
  copy_strided(size, shape, strides, x.data + static_cast<std::size_t>(offset) * size,
               call.outputs[0].data);
  return {};
}

constexpr OpKernels kernels{.gpu = gpu::select_slice};

}  // namespace

std::array<SliceStep, Shape::max_rank> slice_steps(const Shape& x,
                                                   std::span<const TensorView> inputs) {
  std::array<SliceStep, Shape::max_rank> steps;
  const auto has = [&](std::size_t i) { return i < inputs.size() && inputs[i].present(); };
  const std::int64_t n = inputs[1].type.shape.elements();
  for (std::int64_t i = 0; i < n; ++i) {
    const std::size_t axis =
        has(3) ? positive_axis(index_at(inputs[3], i), x.rank()) : static_cast<std::size_t>(i);
    const Cut cut = clamped(
        {index_at(inputs[1], i), index_at(inputs[2], i), has(4) ? index_at(inputs[4], i) : 1},
        x[axis]);
    steps[axis] = {cut.start, cut.step};
  }
  return steps;
}

const OpDef& Slice::def() {
  static constexpr OpDef def{.name = "Slice",
                             .inputs = {3, 5},
                             .plan_operands = 0b11110,
                             .infer = infer,
                             .reference = reference,
                             .kernels = &kernels};
  return def;
}

}  // namespace quern
