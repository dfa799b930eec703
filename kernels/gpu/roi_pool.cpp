// SPDX-License-Identifier: Apache-2.0
// RoiPool on roi_pool.comp.
#include "graph/ops/pool.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"

namespace quern::gpu {

Selection select_roi_pool(const KernelRequest& request) {
  const auto& op = request.as<RoiPool>();
  const Shape& x = request.shape(0);
  const Shape& y = request.outputs[0].shape;
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  if (request.dtype(0) != DType::f32 || x.elements() == 0 || y.elements() == 0 ||
      x.elements() >= limit || y.elements() >= limit || op.sampling_ratio >= 1 << 16)
    return unsupported();
  // Upper bound on the points of a bin: they are at least half an element apart unless their number
  // is given.
  const auto visits = [&](std::int64_t size) {
    return op.sampling_ratio > 0 ? op.sampling_ratio : 2 * size + 8;
  };
  if (!can_loop(visits(x[2]) * (visits(x[3]) + 1), *request.gpu)) return unsupported();
  Dispatch d;
  d.shader = "roi_pool";
  const std::uint32_t local = lanes(*request.gpu);
  d.constants = {local, static_cast<std::uint32_t>(op.kind), op.half_pixel};
  for (std::int64_t v : {y.elements(), x[0], x[1], x[2], x[3], op.height, op.width,
                         std::max<std::int64_t>(op.sampling_ratio, 0)})
    d.push.push_back(word(v));
  d.push.push_back(word(op.spatial_scale));
  // A point of a bin takes four elements. Where data says how many points there are, it is taken
  // that a region is the whole map.
  const std::int64_t points = op.sampling_ratio > 0
                                  ? op.sampling_ratio * op.sampling_ratio
                                  : ceil_div(4 * x[2] * x[3], op.height * op.width);
  d.operations = 32.0 * static_cast<double>(points) * static_cast<double>(y.elements());
  d.buffers = {BufferUse::input(0), BufferUse::input(1), BufferUse::input(request.has(2) ? 2 : 1),
               BufferUse::output(0)};
  d.groups = linear_groups(static_cast<std::uint64_t>(y.elements()), local, *request.gpu);
  KernelChoice choice;
  choice.implementation = "bins";
  choice.on_gpu().dispatches.push_back(std::move(d));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern::gpu
