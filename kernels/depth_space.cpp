// SPDX-License-Identifier: Apache-2.0
// DepthSpace: blocks of b x b pixels to channels and back.
//   depth_to_space_dcr: y[n, c, h*b + i, w*b + j] = x[n, (i*b + j)*C + c, h, w], C channels of y
//   depth_to_space_crd: y[n, c, h*b + i, w*b + j] = x[n, (c*b + i)*b + j, h, w]
//   space_to_depth:     y[n, (i*b + j)*C + c, h, w] = x[n, c, h*b + i, w*b + j], C channels of x
//
// ONNX: DepthToSpace (opsets 1 to 13), SpaceToDepth (1, 13).
#include "graph/text_util.h"
#include "kernels/gpu/kernels.h"
#include "kernels/kernel.h"
#include "kernels/movement.h"

namespace quern {
namespace {

Status infer(InferContext& c) {
  const auto& op = c.op<DepthSpace>();
  constexpr std::int64_t largest_block = 1 << 20;  // its square is no overflow
  if (op.block < 1 || op.block > largest_block) return c.error(cat("blocksize is ", op.block));
  QUERN_TRY(want_rank(c, 0, 4));
  if (!c.dims(0)) {
    c.set(0, c.dtype(0), Dims(4));
    return {};
  }
  const Dims& x = *c.dims(0);
  const std::int64_t area = op.block * op.block;
  const auto divides = [](Dim d, std::int64_t by) { return !d.known() || d.value() % by == 0; };
  if (op.kind != DepthSpaceKind::space_to_depth) {
    if (!divides(x[1], area))
      return c.error(cat(c.describe(0), ": channels are no multiple of ", area));
    c.set(0, c.dtype(0), Dims{x[0], div_exact(x[1], area), x[2] * op.block, x[3] * op.block});
    return {};
  }
  if (!divides(x[2], op.block) || !divides(x[3], op.block))
    return c.error(cat(c.describe(0), ": height or width is no multiple of ", op.block));
  c.set(0, c.dtype(0),
        Dims{x[0], x[1] * area, div_exact(x[2], op.block), div_exact(x[3], op.block)});
  return {};
}

// The dimensions of y and the strides in x for a walk over y's elements in order.
struct Walk {
  Shape shape, strides;
};
Walk walk_of(const DepthSpace& op, const Shape& x, const Shape& y) {
  const std::int64_t b = op.block;
  const std::int64_t plane = x[2] * x[3];
  const std::int64_t image = x[1] * plane;
  if (op.kind == DepthSpaceKind::space_to_depth)  // n, i, j, c, h, w
    return {{y[0], b, b, x[1], y[2], y[3]}, {image, x[3], 1, plane, x[3] * b, b}};
  const Shape shape{y[0], y[1], x[2], b, x[3], b};  // n, c, h, i, w, j
  if (op.kind == DepthSpaceKind::depth_to_space_dcr)
    return {shape, {image, plane, x[3], b * y[1] * plane, 1, y[1] * plane}};
  return {shape, {image, b * b * plane, x[3], b * plane, 1, plane}};
}

Status reference(const ReferenceCall& call) {
  const TensorView& x = call.inputs[0];
  const MutableTensorView& y = call.outputs[0];
  const Walk walk = walk_of(call.as<DepthSpace>(), x.type.shape, y.type.shape);
  copy_strided(size_of(x.type.dtype), walk.shape, walk.strides, x.data, y.data);
  return {};
}

constexpr OpKernels kernels{.cpu = {}, .gpu = gpu::select_depth_space};

}  // namespace

const OpDef& DepthSpace::def() {
  static constexpr OpDef def{
      .name = "DepthSpace", .infer = infer, .reference = reference, .kernels = &kernels};
  return def;
}

}  // namespace quern
