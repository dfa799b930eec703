// SPDX-License-Identifier: Apache-2.0
// GraphBuilder: convolution and pooling.
#include "engine/builder/graph_builder_impl.h"
#include "engine/builder/window.h"
#include "graph/ops/conv.h"
#include "graph/ops/deform_conv.h"
#include "graph/ops/pool.h"

namespace quern {

Operand GraphBuilder::conv(Operand x, Operand w, Operand bias, const ConvOptions& o) {
  return impl_->emit(Conv{window_of(*impl_, "conv", o), o.group}, {x, w, bias});
}
Operand GraphBuilder::conv_transpose(Operand x, Operand w, Operand bias,
                                     const ConvTransposeOptions& o) {
  return impl_->emit(ConvTranspose{window_of(*impl_, "conv_transpose", o), o.group,
                                   o.output_padding, o.output_shape},
                     {x, w, bias});
}
Operand GraphBuilder::deform_conv(Operand x, Operand w, Operand offset, Operand bias, Operand mask,
                                  const DeformConvOptions& o) {
  return impl_->emit(DeformConv{window_of(*impl_, "deform_conv", o), o.group, o.offset_group},
                     {x, w, offset, bias, mask});
}
Operand GraphBuilder::col2im(Operand columns, Integers image_shape, Integers block_shape,
                             const ConvOptions& o) {
  return impl_->emit(Col2Im{o.strides, o.pads, o.dilations},
                     {columns, impl_->integers(image_shape), impl_->integers(block_shape)});
}

namespace {

Pool pool_of(GraphBuilder::Impl& g, PoolKind kind, IntList kernel, const PoolOptions& o) {
  return {.kind = kind,
          .window = window_of(g, "pool", o, std::move(kernel)),
          .ceil_mode = o.ceil_mode,
          .count_include_pad = o.count_include_pad};
}

}  // namespace

Operand GraphBuilder::max_pool(Operand x, IntList kernel, const PoolOptions& o) {
  return impl_->emit(pool_of(*impl_, PoolKind::max, std::move(kernel), o), {x});
}
Operands GraphBuilder::max_pool_indices(Operand x, IntList kernel, const PoolOptions& o) {
  return impl_->emit(pool_of(*impl_, PoolKind::max, std::move(kernel), o), {x}, 2);
}
Operand GraphBuilder::average_pool(Operand x, IntList kernel, const PoolOptions& o) {
  return impl_->emit(pool_of(*impl_, PoolKind::average, std::move(kernel), o), {x});
}
Operand GraphBuilder::lp_pool(Operand x, IntList kernel, std::int64_t p, const PoolOptions& o) {
  Pool op = pool_of(*impl_, PoolKind::lp, std::move(kernel), o);
  op.p = p;
  return impl_->emit(std::move(op), {x});
}
Operand GraphBuilder::global_max_pool(Operand x) {
  return impl_->emit(Pool{.kind = PoolKind::max, .global = true}, {x});
}
Operand GraphBuilder::global_average_pool(Operand x) {
  return impl_->emit(Pool{.kind = PoolKind::average, .global = true}, {x});
}
Operand GraphBuilder::max_unpool(Operand x, Operand indices, IntList kernel,
                                 const UnpoolOptions& o) {
  return impl_->emit(MaxUnpool{window_of(*impl_, "max_unpool", o, std::move(kernel))},
                     {x, indices, impl_->integers(o.output_shape)});
}
Operand GraphBuilder::roi_align(Operand x, Operand rois, Operand batch_indices,
                                const RoiAlignOptions& o) {
  return impl_->emit(RoiPool{.kind = o.max ? RoiKind::align_max : RoiKind::align_average,
                             .height = o.height,
                             .width = o.width,
                             .sampling_ratio = o.sampling_ratio,
                             .spatial_scale = o.spatial_scale,
                             .half_pixel = o.half_pixel},
                     {x, rois, batch_indices});
}
Operand GraphBuilder::max_roi_pool(Operand x, Operand rois, std::int64_t height, std::int64_t width,
                                   float spatial_scale) {
  return impl_->emit(
      RoiPool{
          .kind = RoiKind::max, .height = height, .width = width, .spatial_scale = spatial_scale},
      {x, rois});
}

}  // namespace quern
