// SPDX-License-Identifier: Apache-2.0
// Scatter: a copy of `data` with `updates` written, or reduced, into the places that `indices`
// name.
//   elements: the place of updates[i...] is i... with the coordinate along the axis replaced
//   nd:       the last dimension of indices holds coordinates, of an element or of a slice
//
// ONNX: ScatterElements (opsets 11 to 18) and Scatter (9, 11), ScatterND (11 to 18). Updates apply
// in order: without reduction the last one to a place stays. 16-bit floats are reduced in float and
// rounded once; bool adds and takes the maximum by "or", multiplies and takes the minimum by "and".
#include "graph/ops/scatter.h"

#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/binary_kind.h"
#include "kernels/contract/binary_math.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"
#include "kernels/cpu/scatter_copy.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

// Calls f(place, update) with element offsets in data and updates, in order.
template <class F>
Status for_each_element(const ReferenceCall& call, F&& f) {
  const Shape& data = call.inputs[0].type.shape;
  const TensorView& indices = call.inputs[1];
  const std::size_t axis = positive_axis(call.as<Scatter>().axis, data.rank());
  Shape strides = row_major_strides(data);
  const std::int64_t along = strides[axis];
  strides[axis] = 0;
  std::int64_t i = 0;
  Status status;
  StopCheck check(call.stop);
  for_each_offset(indices.type.shape, std::array<Shape, 1>{strides}, 8, check,
                  [&](const auto& base) {
                    if (!status.ok()) return;
                    const std::int64_t at = wrapped_index(index_at(indices, i), data[axis]);
                    if (at < 0) {
                      status = index_error(index_at(indices, i), data[axis]);
                      return;
                    }
                    f(base[0] + at * along, i++);
                  });
  return status;
}

template <class F>
Status for_each_nd(const ReferenceCall& call, F&& f) {
  const Shape& data = call.inputs[0].type.shape;
  const TensorView& indices = call.inputs[1];
  const auto depth = static_cast<std::size_t>(indices.type.shape.back());
  const Shape strides = row_major_strides(data);
  const std::int64_t run = data.elements(depth);
  const std::int64_t rows = indices.type.shape.elements(0, indices.type.shape.rank() - 1);
  StopCheck check(call.stop);
  for (std::int64_t r = 0; r < rows && !check.spend(8); ++r) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < depth; ++d) {
      const std::int64_t index =
          index_at(indices, r * static_cast<std::int64_t>(depth) + static_cast<std::int64_t>(d));
      const std::int64_t at = wrapped_index(index, data[d]);
      if (at < 0) return index_error(index, data[d]);
      offset += at * strides[d];
    }
    for_each_until(run, 2, check, [&](std::int64_t k) { f(offset + k, r * run + k); });
  }
  return {};
}

template <class F>
Status for_each_update(const ReferenceCall& call, F&& f) {
  return call.as<Scatter>().kind == ScatterKind::elements ? for_each_element(call, f)
                                                          : for_each_nd(call, f);
}

Status assign(const ReferenceCall& call) {
  const std::size_t size = size_of(call.inputs[0].type.dtype);
  const std::byte* updates = call.inputs[2].data;
  std::byte* y = call.outputs[0].data;
  return for_each_update(call, [&](std::int64_t place, std::int64_t i) {
    std::memcpy(y + static_cast<std::size_t>(place) * size,
                updates + static_cast<std::size_t>(i) * size, size);
  });
}

BinaryKind operation_of(ScatterReduction r, DType dtype) {
  const bool is_bool =
      dtype == DType::boolean;  // of 0 and 1 the maximum is "or", the minimum "and"
  switch (r) {
    case ScatterReduction::mul: return is_bool ? BinaryKind::min : BinaryKind::mul;
    case ScatterReduction::max: return BinaryKind::max;
    case ScatterReduction::min: return BinaryKind::min;
    default: return is_bool ? BinaryKind::max : BinaryKind::add;
  }
}

template <class C>
C reduced(BinaryKind kind, C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    return apply_float(kind, a, b);
  } else {
    return apply_integer(kind, a, b);
  }
}

// 16-bit floats gather their sums in scratch; the other types where the result belongs.
template <class T>
Status reduce_into(const ReferenceCall& call) {
  using C = ComputeType<T>;
  const DType dtype = call.inputs[0].type.dtype;
  const BinaryKind kind = operation_of(call.as<Scatter>().reduction, dtype);
  const std::int64_t n = call.inputs[0].type.shape.elements();
  const T* updates = call.inputs[2].as<T>();
  T* y = call.outputs[0].as<T>();
  if constexpr (std::is_same_v<C, T>) {
    return for_each_update(call, [&](std::int64_t place, std::int64_t i) {
      y[place] = reduced<C>(kind, y[place], updates[i]);
    });
  } else {
    C* sums = call.scratch.take<C>(static_cast<std::size_t>(n));
    StopCheck check(call.stop);
    for_each_until(n, 1, check, [&](std::int64_t i) { sums[i] = y[i]; });
    QUERN_TRY(for_each_update(call, [&](std::int64_t place, std::int64_t i) {
      sums[place] = reduced<C>(kind, sums[place], updates[i]);
    }));
    for_each_until(n, 1, check, [&](std::int64_t i) { y[i] = T(sums[i]); });
    return {};
  }
}

Status scatter_reference(const ReferenceCall& call) {
  QUERN_TRY(copy_reference(call));
  if (call.as<Scatter>().reduction == ScatterReduction::none) return assign(call);
  const DType dtype = call.inputs[0].type.dtype;
  return visit_dtype(stored_as(dtype), [&]<class T>(TypeTag<T>) -> Status {
    if constexpr (is_number_type<T>) return reduce_into<T>(call);
    return {};
  });
}

std::size_t scatter_scratch(const Op& op, std::span<const TensorType> inputs,
                            std::span<const TensorType>) {
  const bool is_16_bit = inputs[0].dtype == DType::f16 || inputs[0].dtype == DType::bf16;
  if (!is_16_bit || op.as<Scatter>()->reduction == ScatterReduction::none) return 0;
  return Scratch::bytes_for<float>(static_cast<std::size_t>(inputs[0].shape.elements()));
}

constexpr CpuImplementation scatter_implementations[] = {{"copy", select_scatter_copy}};

}  // namespace

const OpKernels& Scatter::kernels() {
  static constexpr OpKernels table{.reference = {scatter_reference, scatter_scratch},
                                   .cpu = scatter_implementations,
                                   .gpu = gpu::select_scatter};
  return table;
}

}  // namespace quern
