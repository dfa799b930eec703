// SPDX-License-Identifier: Apache-2.0
// ConvTranspose over one to three dimensions, channels last, on conv_transpose.comp.
#include <algorithm>
#include <array>
#include <cstring>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/conv.h"
#include "graph/ops/windows.h"
#include "kernels/contract/iterate.h"
#include "kernels/gpu/copy.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"
#include "kernels/gpu/steps.h"
#include "kernels/gpu/window.h"

namespace quern::gpu {
namespace {

// Packs the weights for the shader: from [channel][output of the group][tap] to
// [group][tap][channel of the group][output of the group, padded to four].
struct TransposedPacking {
  Shape dims, strides;
  std::int64_t elements = 0;
};

TransposedPacking transposed_packing_of(const Shape& w, std::int64_t groups) {
  const std::int64_t taps = w.elements(2);
  const std::int64_t channels = w[0] / groups;
  const std::int64_t padded = round_up(w[1], 4);
  return {{groups, channels, w[1], taps},
          {taps * channels * padded, padded, 1, channels * padded},
          w[0] * taps * padded};
}

GpuConstant pack(const ConstantSource& source, const TransposedPacking& p) {
  GpuConstant c;
  c.key = cat("gpu-deconv|", p.dims[0], "|", source.key());
  c.bytes = static_cast<std::size_t>(p.elements) * sizeof(float);
  c.fill = [&source, p](std::byte* to) -> Status {
    QUERN_ASSIGN(const Tensor t, source.get());
    const std::byte* from = t.data();
    for_each_offset(p.dims, std::array{p.strides}, [&](const auto& at) {
      std::memcpy(to + at[0] * 4, from, 4);
      from += 4;
    });
    return {};
  };
  return c;
}

}  // namespace

Selection select_conv_transpose(const KernelRequest& request) {
  const auto& op = request.as<ConvTranspose>();
  const GpuTarget& target = *request.gpu;
  const Shape& x = request.shape(0);
  const Shape& w = request.shape(1);
  const Shape& y = request.outputs[0].shape;
  if (request.dtype(0) != DType::f32 || x.elements() == 0 || y.elements() == 0)
    return unsupported();
  const auto g =
      geometry_of(x, y, resolve_transposed_window(op, x.dims().subspan(2), w.dims().subspan(2)));
  if (!g || !can_loop(g->iterations() * (w[0] / op.group + 2), target)) return unsupported();
  KernelChoice choice;
  choice.input_layouts.resize(request.inputs.size());
  choice.input_layouts[0] = Layout::channels_last(x);
  choice.output_layouts = {Layout::channels_last(y)};
  const TransposedPacking packing = transposed_packing_of(w, op.group);
  BufferUse weights = BufferUse::constant(0);
  if (request.inputs[1].constant) {
    choice.packed_inputs = {false, true};
    choice.on_gpu().constants.push_back(pack(*request.inputs[1].constant, packing));
  } else {
    choice.scratch_bytes = static_cast<std::size_t>(packing.elements) * sizeof(float);
    auto d = copy_dispatch(DType::f32, packing.dims, {row_major_strides(packing.dims)},
                           {packing.strides}, target);
    if (!d) return unsupported();
    d->buffers = {BufferUse::input(1),
                  BufferUse::scratch(0, choice.scratch_bytes, BufferAccess::write)};
    choice.on_gpu().dispatches.push_back(std::move(*d));
    weights = BufferUse::scratch(0, choice.scratch_bytes, BufferAccess::read);
  }

  Dispatch d;
  d.shader = g->deep ? "conv_transpose_3d" : "conv_transpose";
  push_window(d, *g);
  const std::int64_t vectors = ceil_div(w[1], 4);
  const std::int64_t work = y.elements() / y[1] * op.group * vectors;
  for (std::int64_t v : {x[1], x[1] / op.group, y[1], w[1], op.group, work})
    d.push.push_back(word(v));
  if (g->deep) push_depths(d, *g);
  const std::uint32_t local = lanes(target);
  d.constants = {local, w[1] % 4 == 0};
  d.buffers = {BufferUse::input(0), weights, BufferUse::output(0)};
  d.groups = linear_groups(static_cast<std::uint64_t>(work), local, target);
  Steps steps({y, choice.output_layouts[0], w[1] % 4 == 0}, StepSet::few);
  if (request.has(2)) (void)steps.add_bias(2, y[1]);
  choice.post_ops_taken = steps.add_post_ops(request);
  steps.ask_layouts(choice.input_layouts);
  steps.finish(d);
  choice.implementation = "gathered";
  choice.on_gpu().dispatches.push_back(std::move(d));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern::gpu
