// SPDX-License-Identifier: Apache-2.0
// GridSample over one to three dimensions on grid_sample.comp.
#include "graph/ops/resampling.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"

namespace quern::gpu {

Selection select_grid_sample(const KernelRequest& request) {
  const auto& op = request.as<GridSample>();
  const Shape& x = request.shape(0);
  const Shape& y = request.outputs[0].shape;
  const std::size_t dimensions = x.rank() - 2;
  if (request.dtype(0) != DType::f32 || request.dtype(1) != DType::f32 || dimensions > 3 ||
      x.elements() == 0 || y.elements() == 0 || x.elements() >= (std::int64_t{1} << 31) ||
      y.elements() >= (std::int64_t{1} << 31))
    return unsupported();
  Dispatch d;
  d.shader = "grid_sample";
  const std::uint32_t local = lanes(*request.gpu);
  d.constants = {local, static_cast<std::uint32_t>(op.mode), static_cast<std::uint32_t>(op.padding),
                 op.align_corners, static_cast<std::uint32_t>(dimensions)};
  d.push = {word(y.elements()), word(x[1]), word(y.elements(2))};
  for (std::size_t i = 0; i < 3; ++i)
    d.push.push_back(i < dimensions ? word(x[x.rank() - 1 - i]) : 1);
  d.buffers = {BufferUse::input(0), BufferUse::input(1), BufferUse::output(0)};
  d.groups = linear_groups(static_cast<std::uint64_t>(y.elements()), local, *request.gpu);
  KernelChoice choice;
  choice.implementation = "taps";
  choice.on_gpu().dispatches.push_back(std::move(d));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern::gpu
