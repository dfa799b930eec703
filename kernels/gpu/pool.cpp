// SPDX-License-Identifier: Apache-2.0
// Pool over one to three dimensions, channels last, on pool.comp.
#include "kernels/contract/pool.h"

#include <algorithm>

#include "engine/vocabulary/multiples.h"
#include "graph/ops/pool.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"
#include "kernels/gpu/window.h"

namespace quern::gpu {

Selection select_pool(const KernelRequest& request) {
  const auto& op = request.as<Pool>();
  const Shape& x = request.shape(0);
  const Shape& y = request.outputs[0].shape;
  if (request.dtype(0) != DType::f32 || y.elements() == 0 || x.elements() == 0 || x.rank() < 3)
    return unsupported();
  const auto g = geometry_of(x, y, resolve_pool_window(op, x.dims().subspan(2)));
  const auto small = [](std::int64_t v) { return v >= 0 && v < 65536; };
  if (!g || !std::ranges::all_of(g->end_pads, small) || !can_loop(g->iterations(), *request.gpu) ||
      op.p >= 1 << 20)
    return unsupported();
  const std::int64_t vectors = ceil_div(x[1], 4);
  const std::int64_t work = y.elements() / y[1] * vectors;
  Dispatch d;
  d.shader = "pool";
  const std::uint32_t local = lanes(*request.gpu);
  const auto kind = static_cast<std::uint32_t>(op.kind);
  d.constants = {
      local, kind, x[1] % 4 == 0, op.count_include_pad, request.wants(1), op.column_major_indices};
  d.push = {word(work)};
  for (const auto* t :
       {&g->in, &g->out, &g->kernel, &g->strides, &g->pads, &g->end_pads, &g->dilations})
    for (std::int64_t v : *t) d.push.push_back(word(v));
  d.push.push_back(word(x[1]));
  d.push.push_back(word(static_cast<float>(op.p)));
  KernelChoice choice;
  BufferUse values = BufferUse::output(0);
  if (!request.wants(0)) {
    choice.scratch_bytes = static_cast<std::size_t>(y.elements()) * sizeof(float);
    values = BufferUse::scratch(0, choice.scratch_bytes, BufferAccess::write);
  }
  // A power for each tap.
  if (op.kind == PoolKind::lp)
    d.operations = 16.0 * static_cast<double>(y.elements()) * static_cast<double>(g->iterations());
  d.buffers = {BufferUse::input(0), values, request.wants(1) ? BufferUse::output(1) : values};
  d.groups = linear_groups(static_cast<std::uint64_t>(work), local, *request.gpu);
  choice.implementation = "pool";
  choice.input_layouts = {Layout::channels_last(x)};
  choice.output_layouts.resize(request.outputs.size(), Layout::channels_last(y));
  choice.on_gpu().dispatches.push_back(std::move(d));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern::gpu
