// SPDX-License-Identifier: Apache-2.0
// GraphBuilder: shapes, movement, resampling.
#include "engine/builder/graph_builder_impl.h"
#include "engine/builder/options.h"
#include "graph/ops/concat.h"
#include "graph/ops/fill.h"
#include "graph/ops/gather.h"
#include "graph/ops/one_hot.h"
#include "graph/ops/pad.h"
#include "graph/ops/rearrange.h"
#include "graph/ops/resampling.h"
#include "graph/ops/reshape.h"
#include "graph/ops/scatter.h"
#include "graph/ops/shape_of.h"
#include "graph/ops/slice.h"
#include "graph/ops/split.h"
#include "graph/ops/tile.h"
#include "graph/ops/transpose.h"

namespace quern {

Operand GraphBuilder::identity(Operand x) {
  return impl_->emit(Identity{}, {x});
}
Operand GraphBuilder::reshape(Operand x, Integers shape, const ReshapeOptions& o) {
  shape.given = true;
  return impl_->emit(Reshape{o.allow_zero}, {x, impl_->integers(shape)});
}
Operand GraphBuilder::squeeze(Operand x, Integers axes) {
  return impl_->emit(Squeeze{}, {x, impl_->integers(axes)});
}
Operand GraphBuilder::unsqueeze(Operand x, Integers axes) {
  return impl_->emit(Unsqueeze{}, {x, impl_->integers(axes)});
}
Operand GraphBuilder::flatten(Operand x, std::int64_t axis) {
  return impl_->emit(Flatten{axis}, {x});
}
Operand GraphBuilder::shape_of(Operand x) {
  return impl_->emit(ShapeOf{}, {x});
}
Operand GraphBuilder::size_of(Operand x) {
  return impl_->emit(SizeOf{}, {x});
}
Operand GraphBuilder::fill(Integers shape, double value, DType dtype) {
  shape.given = true;
  if (dtype == DType::string) impl_->fail("fill", "a string is no number");
  return impl_->emit(ConstantOfShape{dtype, element_bits(value, dtype)}, {impl_->integers(shape)});
}
Operand GraphBuilder::range(Operand start, Operand limit, Operand delta) {
  return impl_->emit(Range{}, {start, limit, delta});
}
Operand GraphBuilder::transpose(Operand x, IntList perm) {
  return impl_->emit(Transpose{std::move(perm)}, {x});
}
Operand GraphBuilder::concat(Operands parts, std::int64_t axis) {
  return impl_->emit(Concat{axis}, parts);
}
Operands GraphBuilder::split(Operand x, IntList sizes, std::int64_t axis) {
  return impl_->emit(Split{axis}, {x, impl_->integers(sizes)}, sizes.size());
}
Operands GraphBuilder::split_equal(Operand x, std::size_t parts, std::int64_t axis) {
  return impl_->emit(Split{axis}, {x}, parts);
}
Operand GraphBuilder::slice(Operand x, Integers starts, Integers ends, const SliceOptions& o) {
  return impl_->emit(Slice{}, {x, impl_->integers(starts), impl_->integers(ends),
                               impl_->integers(o.axes), impl_->integers(o.steps)});
}
Operand GraphBuilder::pad(Operand x, Integers pads, const PadOptions& o) {
  return impl_->emit(Pad{enumerator<PadMode>(*impl_, "pad", o.mode)},
                     {x, impl_->integers(pads), o.value, impl_->integers(o.axes)});
}
Operand GraphBuilder::expand(Operand x, Integers shape) {
  return impl_->emit(Expand{}, {x, impl_->integers(shape)});
}
Operand GraphBuilder::tile(Operand x, Integers repeats) {
  return impl_->emit(Tile{}, {x, impl_->integers(repeats)});
}
Operand GraphBuilder::gather(Operand x, Operand indices, std::int64_t axis) {
  return impl_->emit(Gather{.kind = GatherKind::axis, .axis = axis}, {x, indices});
}
Operand GraphBuilder::gather_elements(Operand x, Operand indices, std::int64_t axis) {
  return impl_->emit(Gather{.kind = GatherKind::elements, .axis = axis}, {x, indices});
}
Operand GraphBuilder::gather_nd(Operand x, Operand indices, std::int64_t batch_dims) {
  return impl_->emit(Gather{.kind = GatherKind::nd, .batch_dims = batch_dims}, {x, indices});
}
Operand GraphBuilder::scatter_elements(Operand x, Operand indices, Operand updates,
                                       std::int64_t axis, std::string_view reduction) {
  const auto r = enumerator<ScatterReduction>(*impl_, "scatter_elements", reduction);
  return impl_->emit(Scatter{ScatterKind::elements, axis, r}, {x, indices, updates});
}
Operand GraphBuilder::scatter_nd(Operand x, Operand indices, Operand updates,
                                 std::string_view reduction) {
  const auto r = enumerator<ScatterReduction>(*impl_, "scatter_nd", reduction);
  return impl_->emit(Scatter{ScatterKind::nd, 0, r}, {x, indices, updates});
}
Operand GraphBuilder::depth_to_space(Operand x, std::int64_t block, const DepthToSpaceOptions& o) {
  return impl_->emit(DepthSpace{o.column_row_depth ? DepthSpaceKind::depth_to_space_crd
                                                   : DepthSpaceKind::depth_to_space_dcr,
                                block},
                     {x});
}
Operand GraphBuilder::space_to_depth(Operand x, std::int64_t block) {
  return impl_->emit(DepthSpace{DepthSpaceKind::space_to_depth, block}, {x});
}
Operand GraphBuilder::eye_like(Operand x, std::int64_t k) {
  return impl_->emit(EyeLike{.k = k}, {x});
}
Operand GraphBuilder::one_hot(Operand indices, Operand depth, Operand off_on, std::int64_t axis) {
  return impl_->emit(OneHot{axis}, {indices, depth, off_on});
}
Operand GraphBuilder::triu(Operand x, std::int64_t k) {
  return impl_->emit(Trilu{true}, {x, scalar(static_cast<double>(k), DType::i64)});
}
Operand GraphBuilder::tril(Operand x, std::int64_t k) {
  return impl_->emit(Trilu{false}, {x, scalar(static_cast<double>(k), DType::i64)});
}
Operand GraphBuilder::reverse_sequence(Operand x, Operand lengths, std::int64_t batch_axis,
                                       std::int64_t time_axis) {
  return impl_->emit(ReverseSequence{batch_axis, time_axis}, {x, lengths});
}

Operand GraphBuilder::resize(Operand x, const ResizeOptions& o) {
  if (o.scales.present() == o.sizes.given)
    impl_->fail("resize", "takes exactly one of scales and sizes");
  Impl& g = *impl_;
  return g.emit(Resize{.mode = enumerator<ResizeMode>(g, "resize", o.mode),
                       .coordinates = enumerator<CoordinateMode>(g, "resize", o.coordinates),
                       .nearest = enumerator<NearestMode>(g, "resize", o.nearest),
                       .aspect = enumerator<AspectPolicy>(g, "resize", o.aspect),
                       .cubic_coeff_a = o.cubic_coeff_a,
                       .extrapolation_value = o.extrapolation_value,
                       .exclude_outside = o.exclude_outside,
                       .antialias = o.antialias,
                       .axes = o.axes},
                {x, o.roi, o.scales, g.integers(o.sizes)});
}
Operand GraphBuilder::grid_sample(Operand x, Operand grid, const GridSampleOptions& o) {
  return impl_->emit(
      GridSample{enumerator<ResizeMode>(*impl_, "grid_sample", o.mode),
                 enumerator<GridPadding>(*impl_, "grid_sample", o.padding), o.align_corners},
      {x, grid});
}
Operand GraphBuilder::affine_grid(Operand theta, Integers size, const AffineGridOptions& o) {
  return impl_->emit(AffineGrid{o.align_corners}, {theta, impl_->integers(size)});
}

}  // namespace quern
