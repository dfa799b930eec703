// SPDX-License-Identifier: Apache-2.0
// MaxUnpool: puts the elements of (x, indices, output_shape?) back where a max pool took them from;
// everything else is 0.
//
// ONNX MaxUnpool, opsets 9 to 22. The indices count in the tensor that kernel, strides and pads say
// was pooled; a given output_shape is that tensor with rows and columns added or cut off at the
// end. Of elements with one index the last one wins.
#include "kernels/max_unpool.h"

#include <cstring>

#include "graph/numeric.h"
#include "graph/text_util.h"
#include "kernels/gpu/kernels.h"
#include "kernels/infer.h"
#include "kernels/kernel.h"

namespace quern {
namespace {

// What was pooled, from what came of it.
Dim unpooled_size(const ResolvedWindow& w, std::size_t d, Dim in) {
  const std::int64_t more = w.kernel[d] - w.strides[d] - w.pads_begin[d] - w.pads_end[d];
  return more < 0 ? sub_clamped(in * w.strides[d], -more) : in * w.strides[d] + more;
}
ResolvedWindow window_of(const MaxUnpool& op) {
  return explicit_window(op.window.kernel, op.window.strides, {}, op.window.pads);
}

}  // namespace

Shape unpooled_shape(const MaxUnpool& op, const Shape& x) {
  const ResolvedWindow w = window_of(op);
  Shape s = x;
  for (std::size_t d = 0; d < w.rank(); ++d) s[d + 2] = unpooled_size(w, d, x[d + 2]).value();
  return s;
}

namespace {

Status check_output_shape(const InferContext& c, const Dims& x, const Ints& shape) {
  if (shape.size() != x.size() || !meet({shape[0], shape[1]}, {x[0], x[1]}))
    return c.error(
        cat("output_shape does not have the rank, batch and channels of ", c.describe(0)));
  return check_list(c, "output_shape", shape, shape.size(), 0);
}

Status infer(InferContext& c) {
  const auto& op = c.op<MaxUnpool>();
  QUERN_TRY(c.want_dtype(1, DType::i64));
  QUERN_TRY(c.want_dtype(2, DType::i64));
  if (!is_number(c.dtype(0))) return c.error(cat(c.describe(0), " must be of numbers"));
  c.set(0, c.dtype(0), std::nullopt);
  const Dims* dims = c.dims(0) ? c.dims(0) : c.dims(1);
  if (!dims) return {};
  if (c.dims(0) && c.dims(1) && !meet(*c.dims(0), *c.dims(1)))
    return c.error(cat(c.describe(0), " and ", c.describe(1), " must have one shape"));
  if (dims->size() < 3 || op.window.kernel.size() != dims->size() - 2)
    return c.error(cat("kernel_shape has ", op.window.kernel.size(), " entries, input has rank ",
                       dims->size()));
  QUERN_TRY(check_window(c, op.window, dims->size() - 2));
  Dims y = *dims;
  if (const auto shape = c.ints(2)) {
    QUERN_TRY(check_output_shape(c, *dims, *shape));
    std::copy(shape->begin(), shape->end(), y.begin());
  } else {
    for (std::size_t d = 2; d < y.size(); ++d)
      y[d] = c.has(2) ? Dim() : unpooled_size(window_of(op), d - 2, y[d]);
  }
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

// ---- reference

// Where the element `index` of a tensor of shape `from` lies in one of shape `to`; -1: nowhere.
std::int64_t offset_in(const Shape& to, const Shape& from, std::int64_t index) {
  std::int64_t offset = 0;
  std::int64_t stride = 1;
  for (std::size_t d = to.rank(); d-- > 0; index /= from[d]) {
    const std::int64_t at = index % from[d];
    if (at >= to[d]) return -1;
    offset += at * stride;
    stride *= to[d];
  }
  return offset;
}

Status reference(const ReferenceCall& call) {
  const MutableTensorView& y = call.outputs[0];
  const TensorView& x = call.inputs[0];
  std::memset(y.data, 0, y.type.bytes());
  const Shape pooled = unpooled_shape(call.as<MaxUnpool>(), x.type.shape);
  const std::int64_t elements = pooled.checked_elements().value_or(0);
  const std::int64_t* indices = call.inputs[1].as<std::int64_t>();
  const std::size_t size = size_of(x.type.dtype);
  for (std::int64_t i = 0; i < x.type.shape.elements(); ++i) {
    const bool inside = indices[i] >= 0 && indices[i] < elements;
    const std::int64_t at = inside ? offset_in(y.type.shape, pooled, indices[i]) : -1;
    if (at < 0)
      return {Code::invalid_argument,
              cat("index ", indices[i], " lies outside of the output ", y.type.shape.text())};
    std::memcpy(y.data + static_cast<std::size_t>(at) * size,
                x.data + static_cast<std::size_t>(i) * size, size);
  }
  return {};
}

constexpr OpKernels kernels{.gpu = gpu::select_max_unpool};

}  // namespace

const OpDef& MaxUnpool::def() {
  static constexpr OpDef def{.name = "MaxUnpool",
                             .inputs = {2, 3},
                             .outputs = {1, 1},
                             .plan_operands = 0b100,
                             .infer = infer,
                             .reference = reference,
                             .kernels = &kernels};
  return def;
}

}  // namespace quern
