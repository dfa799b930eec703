// SPDX-License-Identifier: Apache-2.0
// Expand: x broadcast with a shape, as numpy does. Tile: x repeated along each dimension.
//
// ONNX: Expand (opsets 8, 13), Tile (1 to 13; below 6 the operands import as repeats).
#include <algorithm>

#include "graph/text_util.h"
#include "kernels/gpu/kernels.h"
#include "kernels/kernel.h"
#include "kernels/movement.h"

namespace quern {
namespace {

// The entries of a list as dimensions; while they are unknown, as many unknown ones.
Result<std::optional<Dims>> counts_operand(const InferContext& c) {
  QUERN_ASSIGN(const ListOperand list, shape_operand(c, 1));
  if (!list.length) return std::optional<Dims>();
  if (!list.values) return std::optional<Dims>(Dims(static_cast<std::size_t>(*list.length)));
  Dims out;
  for (std::int64_t v : *list.values) {
    if (v < 0) return c.error(cat(list_text(*list.values), " has a negative entry"));
    out.push_back(v);
  }
  return std::optional<Dims>(std::move(out));
}

// ---- Expand

Status infer_expand(InferContext& c) {
  QUERN_ASSIGN(const std::optional<Dims> shape, counts_operand(c));
  std::optional<Dims> out;
  if (shape && c.dims(0)) {
    out = broadcast(*c.dims(0), *shape);
    if (!out) return c.error(cat(c.describe(0), " does not broadcast to ", list_text(*c.ints(1))));
  }
  c.set(0, c.dtype(0), std::move(out));
  return {};
}

Status expand_reference(const ReferenceCall& call) {
  const TensorView& x = call.inputs[0];
  const Shape& shape = call.outputs[0].type.shape;
  copy_strided(size_of(x.type.dtype), shape, broadcast_strides(x.type.shape, shape), x.data,
               call.outputs[0].data);
  return {};
}

// ---- Tile

Status infer_tile(InferContext& c) {
  QUERN_ASSIGN(const std::optional<Dims> repeats, counts_operand(c));
  if (!c.dims(0)) {
    c.set(0, c.dtype(0), repeats ? std::optional(Dims(repeats->size())) : std::nullopt);
    return {};
  }
  Dims dims = *c.dims(0);
  if (repeats && repeats->size() != dims.size())
    return c.error(cat(repeats->size(), " repeats for ", c.describe(0)));
  for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = repeats ? dims[i] * (*repeats)[i] : Dim();
  c.set(0, c.dtype(0), std::move(dims));
  return {};
}

// Writes y from dimension d on, its source at `src`; gives the end of what it wrote.
std::byte* write_tiles(const TensorView& x, const Shape& y, std::size_t d, const std::byte* src,
                       std::byte* dst) {
  const Shape& shape = x.type.shape;
  const std::size_t size = size_of(x.type.dtype);
  if (d == y.rank()) {
    std::memcpy(dst, src, size);
    return dst + size;
  }
  const std::size_t stride = static_cast<std::size_t>(shape.elements(d + 1)) * size;
  for (std::int64_t i = 0; i < y[d]; ++i)
    dst = write_tiles(x, y, d + 1, src + static_cast<std::size_t>(i % shape[d]) * stride, dst);
  return dst;
}

Status tile_reference(const ReferenceCall& call) {
  const MutableTensorView& y = call.outputs[0];
  if (y.type.shape.elements() > 0)
    write_tiles(call.inputs[0], y.type.shape, 0, call.inputs[0].data, y.data);
  return {};
}

constexpr OpKernels tile_kernels{.cpu = {}, .gpu = gpu::select_tile};

}  // namespace

const OpDef& Expand::def() {
  static constexpr OpDef def{.name = "Expand",
                             .inputs = {2, 2},
                             .plan_operands = 1u << 1,
                             .infer = infer_expand,
                             .reference = expand_reference};
  return def;
}

const OpDef& Tile::def() {
  static constexpr OpDef def{.name = "Tile",
                             .inputs = {2, 2},
                             .plan_operands = 1u << 1,
                             .infer = infer_tile,
                             .reference = tile_reference,
                             .kernels = &tile_kernels};
  return def;
}

}  // namespace quern
