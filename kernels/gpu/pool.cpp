// SPDX-License-Identifier: Apache-2.0
// Pool over one or two dimensions, channels last, on pool.comp.
#include "kernels/pool.h"

#include <algorithm>
#include <array>

#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"

namespace quern::gpu {

Selection select_pool(const KernelRequest& request) {
  const auto& op = request.as<Pool>();
  const Shape& x = request.shape(0);
  const Shape& y = request.outputs[0].shape;
  const std::size_t spatial = x.rank() - 2;
  if (request.dtype(0) != DType::f32 || op.kind == PoolKind::lp || request.wants(1) ||
      spatial < 1 || spatial > 2 || y.elements() == 0 || x.elements() == 0 ||
      x.elements() >= (std::int64_t{1} << 31))
    return not_for_me();
  const ResolvedWindow w = resolve_pool_window(op, x.dims().subspan(2));
  if (!can_loop(w.kernel.elements() + w.kernel[0], *request.gpu)) return not_for_me();
  // Height and width, a height of one for one dimension.
  const auto pair = [&](const auto& value, std::int64_t missing) {
    std::array<std::int64_t, 2> hw = {missing, missing};
    for (std::size_t d = 0; d < spatial; ++d) hw[d + 2 - spatial] = value(d);
    return hw;
  };
  const std::array pairs = {pair([&](std::size_t d) { return x[d + 2]; }, 1),
                            pair([&](std::size_t d) { return y[d + 2]; }, 1),
                            pair([&](std::size_t d) { return w.kernel[d]; }, 1),
                            pair([&](std::size_t d) { return w.strides[d]; }, 1),
                            pair([&](std::size_t d) { return w.pads_begin[d]; }, 0),
                            pair([&](std::size_t d) { return w.pads_end[d]; }, 0),
                            pair([&](std::size_t d) { return w.dilations[d]; }, 1)};
  const std::int64_t vectors = (x[1] + 3) / 4;
  const std::int64_t work = y.elements() / y[1] * vectors;
  Dispatch d;
  d.shader = "pool";
  const std::uint32_t local = lanes(*request.gpu);
  d.constants = {local, op.kind == PoolKind::max ? 0U : 1U, x[1] % 4 == 0, op.count_include_pad};
  d.push = {word(work)};
  for (const auto& hw : pairs) {
    if (std::ranges::any_of(hw, [](std::int64_t v) { return v < 0 || v > 65535; }))
      return not_for_me();
    d.push.push_back(hw_word(hw));
  }
  d.push.push_back(word(x[1]));
  d.buffers = {BufferUse::input(0), BufferUse::output(0)};
  d.groups = linear_groups(static_cast<std::uint64_t>(work), local, *request.gpu);
  KernelChoice choice;
  choice.implementation = "pool";
  choice.input_layouts = {Layout::channels_last(x)};
  choice.output_layouts = {Layout::channels_last(y)};
  choice.output_layouts.resize(request.outputs.size());
  choice.gpu.dispatches.push_back(std::move(d));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern::gpu
