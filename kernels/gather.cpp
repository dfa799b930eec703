// SPDX-License-Identifier: Apache-2.0
// Gather: elements of `data` that `indices` choose.
//   axis:     y[a..., i..., b...] = data[a..., indices[i...], b...], the index in place of one axis
//   elements: y[i...] = data[i...] with the coordinate along the axis replaced by indices[i...]
//   nd:       y[b..., i..., :] = data[b..., indices[b..., i..., :], :], the last dimension of
//             indices holding coordinates
//
// ONNX: Gather (opsets 1 to 13), GatherElements (11, 13), GatherND (11 to 13). Negative indices
// count from the end; one out of range is an error of the run.
#include "graph/text_util.h"
#include "kernels/gpu/kernels.h"
#include "kernels/kernel.h"
#include "kernels/movement.h"

namespace quern {
namespace {

// ---- axis

Status infer_axis(InferContext& c) {
  const Dims* data = c.dims(0);
  const Dims* indices = c.dims(1);
  std::optional<Dims> out;
  if (data) {
    QUERN_ASSIGN(const std::size_t axis, c.axis(c.op<Gather>().axis, data->size()));
    if (indices) {
      const auto at = data->begin() + static_cast<std::ptrdiff_t>(axis);
      out.emplace(data->begin(), at);
      out->insert(out->end(), indices->begin(), indices->end());
      out->insert(out->end(), at + 1, data->end());
    }
  }
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

Status gather_axis(const ReferenceCall& call) {
  const TensorView& x = call.inputs[0];
  const TensorView& indices = call.inputs[1];
  const AxisSplit s =
      split_at(x.type.shape, positive_axis(call.as<Gather>().axis, x.type.shape.rank()));
  const std::size_t row = static_cast<std::size_t>(s.inner) * size_of(x.type.dtype);
  const std::int64_t n = indices.type.shape.elements();
  std::byte* dst = call.outputs[0].data;
  for (std::int64_t o = 0; o < s.outer; ++o)
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = wrapped_index(index_at(indices, i), s.axis);
      if (at < 0) return index_error(index_at(indices, i), s.axis);
      std::memcpy(dst, x.data + static_cast<std::size_t>(o * s.axis + at) * row, row);
      dst += row;
    }
  return {};
}

// ---- elements

Status infer_elements(InferContext& c) {
  const Dims* data = c.dims(0);
  const Dims* indices = c.dims(1);
  if (!indices) {
    c.set(0, c.dtype(0), data ? std::optional(Dims(data->size())) : std::nullopt);
    return {};
  }
  if (data) {
    QUERN_ASSIGN(const std::size_t axis, c.axis(c.op<Gather>().axis, data->size()));
    QUERN_TRY(want_rank(c, 1, data->size()));
    for (std::size_t i = 0; i < data->size(); ++i) {
      const Dim have = (*data)[i];
      const Dim want = (*indices)[i];
      if (i != axis && have.known() && want.known() && want.value() > have.value())
        return c.error(cat(c.describe(1), " reaches beyond ", c.describe(0), " in dimension ", i));
    }
  }
  c.set(0, c.dtype(0), *indices);
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
  for_each_offset(indices.type.shape, std::array<Shape, 1>{strides}, [&](const auto& base) {
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

// ---- nd

Status check_batch(const InferContext& c, std::int64_t batch) {
  for (std::size_t i : {std::size_t{0}, std::size_t{1}})
    if (c.dims(i) && batch >= static_cast<std::int64_t>(c.dims(i)->size()))
      return c.error(cat("batch_dims ", batch, " does not leave a dimension of ", c.describe(i)));
  if (!c.dims(0) || !c.dims(1)) return {};
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch); ++i) {
    const Dim a = (*c.dims(0))[i];
    const Dim b = (*c.dims(1))[i];
    if (a.known() && b.known() && a != b)
      return c.error(cat(c.describe(0), " and ", c.describe(1), " differ in batch dimension ", i));
  }
  return {};
}

Status infer_nd(InferContext& c) {
  const std::int64_t batch = c.op<Gather>().batch_dims;
  if (batch < 0) return c.error(cat("batch_dims is ", batch));
  QUERN_TRY(check_batch(c, batch));
  const Dims* data = c.dims(0);
  const Dims* indices = c.dims(1);
  std::optional<Dims> out;
  if (data && indices && indices->back().known()) {
    const std::int64_t depth = indices->back().value();
    if (depth < 1 || depth > static_cast<std::int64_t>(data->size()) - batch)
      return c.error(cat("coordinates of ", depth, " numbers for ", c.describe(0), " behind ",
                         batch, " batch dimensions"));
    out.emplace(indices->begin(), indices->end() - 1);
    out->insert(out->end(), data->begin() + batch + depth, data->end());
  }
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

Status gather_nd(const ReferenceCall& call) {
  const Shape& x = call.inputs[0].type.shape;
  const TensorView& indices = call.inputs[1];
  const auto batch = static_cast<std::size_t>(call.as<Gather>().batch_dims);
  const auto depth = static_cast<std::size_t>(indices.type.shape.back());
  const Shape strides = row_major_strides(x);
  const std::size_t size = size_of(call.inputs[0].type.dtype);
  const std::size_t run = static_cast<std::size_t>(x.elements(batch + depth)) * size;
  const std::int64_t batches = x.elements(0, batch);
  const std::int64_t rows = indices.type.shape.elements(batch, indices.type.shape.rank() - 1);
  std::byte* dst = call.outputs[0].data;
  std::int64_t i = 0;
  for (std::int64_t b = 0; b < batches; ++b)
    for (std::int64_t r = 0; r < rows; ++r) {
      std::int64_t offset = b * x.elements(batch);
      for (std::size_t d = 0; d < depth; ++d, ++i) {
        const std::int64_t at = wrapped_index(index_at(indices, i), x[batch + d]);
        if (at < 0) return index_error(index_at(indices, i), x[batch + d]);
        offset += at * strides[batch + d];
      }
      std::memcpy(dst, call.inputs[0].data + static_cast<std::size_t>(offset) * size, run);
      dst += run;
    }
  return {};
}

// ---- all

Status infer(InferContext& c) {
  QUERN_TRY(want_index_dtype(c, 1));
  switch (c.op<Gather>().kind) {
    case GatherKind::axis: return infer_axis(c);
    case GatherKind::elements: return infer_elements(c);
    case GatherKind::nd: break;
  }
  return infer_nd(c);
}

Status reference(const ReferenceCall& call) {
  switch (call.as<Gather>().kind) {
    case GatherKind::axis: return gather_axis(call);
    case GatherKind::elements: return gather_elements(call);
    case GatherKind::nd: break;
  }
  return gather_nd(call);
}

constexpr OpKernels kernels{.cpu = {}, .gpu = gpu::select_gather};

}  // namespace

const OpDef& Gather::def() {
  static constexpr OpDef def{.name = "Gather",
                             .inputs = {2, 2},
                             .traits = OpTrait::any_address,
                             .infer = infer,
                             .reference = reference,
                             .kernels = &kernels};
  return def;
}

}  // namespace quern
