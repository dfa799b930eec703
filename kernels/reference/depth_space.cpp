// SPDX-License-Identifier: Apache-2.0
// DepthSpace: blocks of b x b pixels to channels and back.
//   depth_to_space_dcr: y[n, c, h*b + i, w*b + j] = x[n, (i*b + j)*C + c, h, w], C channels of y
//   depth_to_space_crd: y[n, c, h*b + i, w*b + j] = x[n, (c*b + i)*b + j, h, w]
//   space_to_depth:     y[n, (i*b + j)*C + c, h, w] = x[n, c, h*b + i, w*b + j], C channels of x
//
// ONNX: DepthToSpace (opsets 1 to 13), SpaceToDepth (1, 13).
#include "graph/ops/rearrange.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"
#include "kernels/cpu/depth_space_copy.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

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

Status depth_space_reference(const ReferenceCall& call) {
  const TensorView& x = call.inputs[0];
  const MutableTensorView& y = call.outputs[0];
  const Walk walk = walk_of(call.as<DepthSpace>(), x.type.shape, y.type.shape);
  StopCheck check(call.stop);
  copy_strided(size_of(x.type.dtype), walk.shape, walk.strides, x.data, y.data, check);
  return {};
}

constexpr CpuImplementation depth_space_implementations[] = {{"copy", select_depth_space_copy}};

}  // namespace

const OpKernels& DepthSpace::kernels() {
  static constexpr OpKernels table{.reference = {depth_space_reference},
                                   .cpu = depth_space_implementations,
                                   .gpu = gpu::select_depth_space};
  return table;
}

}  // namespace quern
