// SPDX-License-Identifier: Apache-2.0
// Normalisations that need no rows: BatchNorm with parameters that are not constant, Lrn.
#include <algorithm>

#include "graph/ops/batch_norm.h"
#include "graph/ops/lp_norm.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"

namespace quern::gpu {
namespace {

bool suits_norm(const KernelRequest& request) {
  const std::int64_t n = request.shape(0).elements();
  return request.dtype(0) == DType::f32 && n > 0 && n < (std::int64_t{1} << 31);
}

// The layout of x, if a stride identifies the elements of a channel.
Layout layout_of(const KernelRequest& request) {
  const TensorDesc& x = request.inputs[0].desc;
  return is_dense(x) && !x.layout.block ? x.layout : Layout::row_major(x.shape);
}

Selection over_elements(const KernelRequest& request, const Layout& layout, Dispatch d) {
  const std::uint32_t local = lanes(*request.gpu);
  d.constants = {local};
  d.groups =
      linear_groups(static_cast<std::uint64_t>(request.shape(0).elements()), local, *request.gpu);
  KernelChoice choice;
  choice.implementation = d.shader;
  choice.input_layouts.resize(request.inputs.size());
  choice.input_layouts[0] = layout;
  choice.output_layouts = {layout};
  choice.on_gpu().dispatches.push_back(std::move(d));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace

Selection select_batch_norm(const KernelRequest& request) {
  const auto& op = request.as<BatchNorm>();
  const Shape& x = request.shape(0);
  if (!suits_norm(request) || op.training) return unsupported();
  for (std::size_t i = 1; i < 5; ++i)
    if (request.dtype(i) != DType::f32) return unsupported();
  const Layout layout = layout_of(request);
  const bool has_channels = x.rank() > 1;
  Dispatch d;
  d.shader = "batch_norm";
  d.push = {word(x.elements()), word(has_channels ? layout.strides[1] : 1),
            word(has_channels ? x[1] : 1), word(op.epsilon)};
  for (std::uint32_t i = 0; i < 5; ++i) d.buffers.push_back(BufferUse::input(i));
  d.buffers.push_back(BufferUse::output(0));
  return over_elements(request, layout, std::move(d));
}

Selection select_lrn(const KernelRequest& request) {
  const auto& op = request.as<Lrn>();
  const Shape& x = request.shape(0);
  if (!suits_norm(request) || op.size < 1) return unsupported();
  const std::int64_t before = std::min((op.size - 1) / 2, x[1]);
  const std::int64_t behind = std::min(op.size - 1 - (op.size - 1) / 2, x[1]);
  if (!can_loop(before + behind + 1, *request.gpu)) return unsupported();
  const Layout layout = layout_of(request);
  Dispatch d;
  d.shader = "lrn";
  for (std::int64_t v : {x.elements(), layout.strides[1], x[1], before, behind})
    d.push.push_back(word(v));
  for (float v : {op.alpha / static_cast<float>(op.size), op.beta, op.bias})
    d.push.push_back(word(v));
  d.buffers = {BufferUse::input(0), BufferUse::output(0)};
  return over_elements(request, layout, std::move(d));
}

}  // namespace quern::gpu
