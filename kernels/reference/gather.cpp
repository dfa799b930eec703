// SPDX-License-Identifier: Apache-2.0
// Gather: elements of `data` that `indices` choose.
//   axis:     y[a..., i..., b...] = data[a..., indices[i...], b...], the index in place of one axis
//   elements: y[i...] = data[i...] with the coordinate along the axis replaced by indices[i...]
//   nd:       y[b..., i..., :] = data[b..., indices[b..., i..., :], :], the last dimension of
//             indices holding coordinates
//
// ONNX: Gather (opsets 1 to 13), GatherElements (11, 13), GatherND (11 to 13). Negative indices
// count from the end; one out of range is an error of the run.
#include "graph/ops/gather.h"

#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"
#include "kernels/cpu/gather_copy.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

Status gather_axis(const ReferenceCall& call) {
  const TensorView& x = call.inputs[0];
  const TensorView& indices = call.inputs[1];
  const AxisSplit s =
      split_at(x.type.shape, positive_axis(call.as<Gather>().axis, x.type.shape.rank()));
  const std::size_t row = static_cast<std::size_t>(s.inner) * size_of(x.type.dtype);
  const std::int64_t n = indices.type.shape.elements();
  std::byte* dst = call.outputs[0].data;
  // Where nothing is copied, the indices are judged all the same.
  const std::int64_t outer = row == 0 || n == 0 ? std::min<std::int64_t>(s.outer, 1) : s.outer;
  StopCheck check(call.stop);
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < n && !check.spend(4); ++i) {
      const std::int64_t at = wrapped_index(index_at(indices, i), s.axis);
      if (at < 0) return index_error(index_at(indices, i), s.axis);
      copy_bytes(x.data + static_cast<std::size_t>(o * s.axis + at) * row, row, dst, check);
      dst += row;
    }
  return {};
}

Status gather_elements(const ReferenceCall& call) {
  const TensorView& x = call.inputs[0];
  const TensorView& indices = call.inputs[1];
  const std::size_t axis = positive_axis(call.as<Gather>().axis, x.type.shape.rank());
  const std::size_t size = size_of(x.type.dtype);
  Shape strides = row_major_strides(x.type.shape);
  const std::int64_t along = strides[axis];
  strides[axis] = 0;
  std::byte* dst = call.outputs[0].data;
  std::int64_t i = 0;
  Status status;
  StopCheck check(call.stop);
  for_each_offset(
      indices.type.shape, std::array<Shape, 1>{strides}, 8, check, [&](const auto& base) {
        if (!status.ok()) return;
        const std::int64_t at = wrapped_index(index_at(indices, i), x.type.shape[axis]);
        if (at < 0) {
          status = index_error(index_at(indices, i), x.type.shape[axis]);
          return;
        }
        std::memcpy(dst, x.data + static_cast<std::size_t>(base[0] + at * along) * size, size);
        dst += size;
        ++i;
      });
  return status;
}

Status gather_nd(const ReferenceCall& call) {
  const Shape& x = call.inputs[0].type.shape;
  const TensorView& indices = call.inputs[1];
  if (indices.type.shape.elements() == 0) return {};
  const auto batch = static_cast<std::size_t>(call.as<Gather>().batch_dims);
  const auto depth = static_cast<std::size_t>(indices.type.shape.back());
  const Shape strides = row_major_strides(x);
  const std::size_t size = size_of(call.inputs[0].type.dtype);
  const std::size_t run = static_cast<std::size_t>(x.elements(batch + depth)) * size;
  const std::int64_t batches = x.elements(0, batch);
  const std::int64_t rows = indices.type.shape.elements(batch, indices.type.shape.rank() - 1);
  std::byte* dst = call.outputs[0].data;
  std::int64_t i = 0;
  StopCheck check(call.stop);
  for (std::int64_t b = 0; b < batches; ++b)
    for (std::int64_t r = 0; r < rows && !check.spend(8); ++r) {
      std::int64_t offset = b * x.elements(batch);
      for (std::size_t d = 0; d < depth; ++d, ++i) {
        const std::int64_t at = wrapped_index(index_at(indices, i), x[batch + d]);
        if (at < 0) return index_error(index_at(indices, i), x[batch + d]);
        offset += at * strides[batch + d];
      }
      copy_bytes(call.inputs[0].data + static_cast<std::size_t>(offset) * size, run, dst, check);
      dst += run;
    }
  return {};
}

Status gather_reference(const ReferenceCall& call) {
  switch (call.as<Gather>().kind) {
    case GatherKind::axis: return gather_axis(call);
    case GatherKind::elements: return gather_elements(call);
    case GatherKind::nd: break;
  }
  return gather_nd(call);
}

constexpr CpuImplementation gather_implementations[] = {{"copy", select_gather_copy}};

}  // namespace

const OpKernels& Gather::kernels() {
  static constexpr OpKernels table{.reference = {gather_reference},
                                   .cpu = gather_implementations,
                                   .flops = chosen_elements,
                                   .gpu = gpu::select_gather};
  return table;
}

}  // namespace quern
