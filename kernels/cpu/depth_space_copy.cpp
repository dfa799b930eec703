// SPDX-License-Identifier: Apache-2.0
// DepthSpace as a copy between two layouts of the same six dimensions: image, channel, row and
// column within a block, row and column of blocks. A channels-last layout is kept.
#include "kernels/cpu/depth_space_copy.h"

#include "graph/ops/rearrange.h"
#include "kernels/contract/copy.h"

namespace quern {
namespace {

// The six strides of the side whose channels hold the blocks; the other side has `channels`.
Layout deep_layout(const DepthSpace& op, std::int64_t channels, const Shape& s) {
  const std::int64_t b = op.block;
  if (op.kind == DepthSpaceKind::depth_to_space_crd)
    return {{s[0], b * b * s[1], b * s[1], s[1], s[2], s[3]}, 0};
  return {{s[0], s[1], b * channels * s[1], channels * s[1], s[2], s[3]}, 0};
}
// The same of the side whose rows and columns hold them.
Layout wide_layout(std::int64_t b, const Shape& s) {
  return {{s[0], s[1], s[2], s[3], b * s[2], b * s[3]}, 0};
}

}  // namespace

Selection select_depth_space_copy(const KernelRequest& r) {
  const auto& op = r.as<DepthSpace>();
  const Shape& x = r.shape(0);
  const Shape& y = r.outputs[0].shape;
  const std::int64_t b = op.block;
  if (x.elements() == 0) return unsupported();
  const TensorDesc& lies = r.inputs[0].desc;
  const bool is_last = lies.layout.block || is_channels_last(lies);
  const Layout in = lies.layout.block ? Layout::channels_last(x) : lies.layout;
  const Layout out = is_last ? Layout::channels_last(y) : Layout::row_major(y);
  const bool to_depth = op.kind == DepthSpaceKind::space_to_depth;
  const Shape& wide = to_depth ? x : y;
  const Shape dims = {wide[0], wide[1], b, b, wide[2] / b, wide[3] / b};
  const Layout from = to_depth ? wide_layout(b, in.strides) : deep_layout(op, y[1], in.strides);
  const Layout to = to_depth ? deep_layout(op, x[1], out.strides) : wide_layout(b, out.strides);
  QUERN_ASSIGN(KernelChoice choice,
               select_copy({r.dtype(0), dims, from}, {r.dtype(0), dims, to}, r.target));
  choice.input_layouts = {in};
  choice.output_layouts = {out};
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
