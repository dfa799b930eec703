// SPDX-License-Identifier: Apache-2.0
// Expand: x broadcast with a shape, as numpy does. Tile: x repeated along each dimension.
//
// ONNX: Expand (opsets 8, 13), Tile (1 to 13; below 6 the operands import as repeats).
#include <algorithm>

#include "graph/ops/tile.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"
#include "kernels/cpu/tile_copy.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

Status expand_reference(const ReferenceCall& call) {
  const TensorView& x = call.inputs[0];
  const Shape& shape = call.outputs[0].type.shape;
  StopCheck check(call.stop);
  copy_strided(size_of(x.type.dtype), shape, broadcast_strides(x.type.shape, shape), x.data,
               call.outputs[0].data, check);
  return {};
}

// Writes y from dimension d on, its source at `src`; gives the end of what it wrote.
std::byte* write_tiles(const TensorView& x, const Shape& y, std::size_t d, const std::byte* src,
                       std::byte* dst, StopCheck& check) {
  const Shape& shape = x.type.shape;
  const std::size_t size = size_of(x.type.dtype);
  if (d == y.rank()) {
    std::memcpy(dst, src, size);
    return dst + size;
  }
  const std::size_t stride = static_cast<std::size_t>(shape.elements(d + 1)) * size;
  for (std::int64_t i = 0; i < y[d] && !check.spend(8); ++i)
    dst =
        write_tiles(x, y, d + 1, src + static_cast<std::size_t>(i % shape[d]) * stride, dst, check);
  return dst;
}

Status tile_reference(const ReferenceCall& call) {
  const MutableTensorView& y = call.outputs[0];
  StopCheck check(call.stop);
  if (y.type.shape.elements() > 0)
    write_tiles(call.inputs[0], y.type.shape, 0, call.inputs[0].data, y.data, check);
  return {};
}

constexpr CpuImplementation tile_implementations[] = {{"copy", select_tile_copy}};

}  // namespace

const OpKernels& Expand::kernels() {
  static constexpr OpKernels table{.reference = {expand_reference}};
  return table;
}

const OpKernels& Tile::kernels() {
  static constexpr OpKernels table{
      .reference = {tile_reference}, .cpu = tile_implementations, .gpu = gpu::select_tile};
  return table;
}

}  // namespace quern
