// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/convolution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"
#include "graph/ops/windows.h"

namespace quern {
namespace {

// ---- names of enumerators

constexpr EnumNames<3> pool_names = {"max", "average", "lp"};
constexpr EnumNames<3> roi_names = {"align_average", "align_max", "max"};

// ---- col2im

Window window_of_col2im(const Col2Im& op) {
  return {{}, op.strides, op.pads, op.dilations};
}

// The sizes in input i, where they are known.
Result<std::optional<Ints>> sizes_operand(const InferContext& c, std::size_t i) {
  const Dims* dims = c.dims(i);
  if ((c.dtype(i) != DType::i64 && c.dtype(i) != DType::i32) || (dims && dims->size() != 1))
    return c.error(cat(c.describe(i), " must be a list of i64 or i32"));
  std::optional<Ints> sizes = c.ints(i);
  if (sizes) QUERN_TRY(check_list(c, cat("input ", i), *sizes, sizes->size(), 0));
  return sizes;
}

Status check_columns(const InferContext& c, const Dims& columns, const Ints& image,
                     const Ints& block) {
  QUERN_ASSIGN(const Dims counts, infer_window(c, window_of_col2im(c.op<Col2Im>()),
                                               to_dims(Shape(image)), to_dims(Shape(block))));
  if (!meet({columns[2]}, {product(counts)}))
    return c.error(cat(c.describe(0), " does not have one column for each of ",
                       product(counts).value(), " blocks"));
  const std::int64_t taps = product(to_dims(Shape(block))).value();
  if (columns[1].known() && columns[1].value() % taps != 0)
    return c.error(cat(c.describe(0), " does not have a multiple of ", taps, " rows"));
  return {};
}

Status infer_col2im(InferContext& c) {
  if (!is_number(c.dtype(0))) return c.error(cat(c.describe(0), " must be of numbers"));
  QUERN_ASSIGN(const std::optional<Ints> image, sizes_operand(c, 1));
  QUERN_ASSIGN(const std::optional<Ints> block, sizes_operand(c, 2));
  const Dims columns = c.dims(0) ? *c.dims(0) : Dims(3);
  if (columns.size() != 3) return c.error(cat(c.describe(0), " must have rank 3"));
  c.set(0, c.dtype(0), std::nullopt);
  if (!image && (!c.dims(1) || !(*c.dims(1))[0].known())) return {};
  const auto rank = static_cast<std::size_t>(image ? static_cast<std::int64_t>(image->size())
                                                   : (*c.dims(1))[0].value());
  if (rank < 1 || rank > max_spatial_rank)
    return c.error(cat(rank, " spatial dimensions, wants 1 to ", max_spatial_rank));
  Dims y(rank + 2);
  y[0] = columns[0];
  if (image) std::copy(image->begin(), image->end(), y.begin() + 2);
  if (image && block) QUERN_TRY(check_columns(c, columns, *image, *block));
  if (block) y[1] = div_exact(columns[1], product(to_dims(Shape(*block))).value());
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

// ---- conv

// The dimensions of x and w; if one rank is unknown, the other gives it.
Status infer_dims_conv(const InferContext& c, Dims& x, Dims& w) {
  const std::size_t rank = c.dims(0) ? c.dims(0)->size() : c.dims(1)->size();
  x = c.dims(0) ? *c.dims(0) : Dims(rank);
  w = c.dims(1) ? *c.dims(1) : Dims(rank);
  if (rank < 3 || w.size() != rank)
    return c.error(cat(c.describe(0), " and ", c.describe(1),
                       " must have one rank: batch, channels and at least one spatial dimension"));
  return {};
}

Status check_channels_conv(const InferContext& c, const Dims& x, const Dims& w,
                           std::int64_t group) {
  if (group < 1) return c.error(cat("group is ", group, ", wants at least 1"));
  if (x[1].known() && w[1].known() && !x[1].is((w[1] * group).value()))
    return c.error(cat("weight has ", w[1].value(), " input channels for each of ", group,
                       " groups, input has ", x[1].value()));
  if (w[0].known() && w[0].value() % group != 0)
    return c.error(cat(w[0].value(), " output channels do not fall into ", group, " groups"));
  const Dims* bias = c.dims(2);
  if (bias && (bias->size() != 1 || !meet(*bias, {w[0]})))
    return c.error(cat(c.describe(2), " must have one element for each output channel"));
  return {};
}

Status infer_conv(InferContext& c) {
  const auto& op = c.op<Conv>();
  QUERN_TRY(want_floats(c, 0));
  QUERN_TRY(c.want_same_dtype(0, 1));
  QUERN_TRY(c.want_same_dtype(0, 2));
  if (!c.dims(0) && !c.dims(1)) {
    c.set(0, c.dtype(0), std::nullopt);
    return {};
  }
  Dims x;
  Dims w;
  QUERN_TRY(infer_dims_conv(c, x, w));
  QUERN_TRY(check_channels_conv(c, x, w, op.group));
  QUERN_ASSIGN(const Dims spatial,
               infer_window(c, op.window, std::span(x).subspan(2), std::span(w).subspan(2)));
  Dims y = {x[0], w[0]};
  y.insert(y.end(), spatial.begin(), spatial.end());
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

// ---- conv_transpose

Status check_channels_conv_transpose(const InferContext& c, const Dims& x, const Dims& w,
                                     std::int64_t group) {
  if (group < 1) return c.error(cat("group is ", group, ", wants at least 1"));
  if (x[1].known() && w[0].known() && !x[1].same(w[0]))
    return c.error(cat("weight has ", w[0].value(), " input channels, input has ", x[1].value()));
  if (w[0].known() && w[0].value() % group != 0)
    return c.error(cat(w[0].value(), " input channels do not fall into ", group, " groups"));
  const Dims* bias = c.dims(2);
  if (bias && (bias->size() != 1 || !meet(*bias, {w[1] * group})))
    return c.error(cat(c.describe(2), " must have one element for each output channel"));
  return {};
}

// The spatial output; what the kernel decides is unknown while the weights' shape is.
Result<Dims> infer_spatial(const InferContext& c, const ConvTranspose& op, std::span<const Dim> in,
                           std::span<const Dim> kernel) {
  QUERN_TRY(infer_window(c, op.window, in, kernel).status());
  QUERN_TRY(check_list(c, "output_padding", op.output_padding, in.size(), 0));
  QUERN_TRY(check_list(c, "output_shape", op.output_shape, in.size(), 0));
  Shape sizes;
  for (std::size_t d = 0; d < in.size(); ++d) {
    const std::int64_t attribute = op.window.kernel.empty() ? 0 : op.window.kernel[d];
    sizes.push_back(kernel[d].known() ? kernel[d].value() : attribute);
  }
  const ResolvedWindow w = resolve_window(op.window, Shape::filled(in.size(), 0), sizes);
  Dims out;
  for (std::size_t d = 0; d < in.size(); ++d) {
    const bool by_kernel = op.output_shape.empty() && !is_same(op.window.auto_pad);
    out.push_back(by_kernel && sizes[d] == 0 ? Dim() : transposed_size(op, w, d, in[d]));
  }
  return out;
}

Status infer_conv_transpose(InferContext& c) {
  const auto& op = c.op<ConvTranspose>();
  QUERN_TRY(want_floats(c, 0));
  QUERN_TRY(c.want_same_dtype(0, 1));
  QUERN_TRY(c.want_same_dtype(0, 2));
  c.set(0, c.dtype(0), std::nullopt);
  if (!c.dims(0) && !c.dims(1)) return {};
  const std::size_t rank = c.dims(0) ? c.dims(0)->size() : c.dims(1)->size();
  const Dims x = c.dims(0) ? *c.dims(0) : Dims(rank);
  const Dims w = c.dims(1) ? *c.dims(1) : Dims(rank);
  if (rank < 3 || w.size() != rank)
    return c.error(cat(c.describe(0), " and ", c.describe(1),
                       " must have one rank: batch, channels and at least one spatial dimension"));
  QUERN_TRY(check_channels_conv_transpose(c, x, w, op.group));
  QUERN_ASSIGN(const Dims spatial,
               infer_spatial(c, op, std::span(x).subspan(2), std::span(w).subspan(2)));
  Dims y = {x[0], w[1] * op.group};
  y.insert(y.end(), spatial.begin(), spatial.end());
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

// ---- deform_conv

Status want_shape(const InferContext& c, std::size_t i, const Dims& wanted) {
  if (!c.dims(i) || meet(*c.dims(i), wanted)) return {};
  return c.error(cat(c.describe(i), " does not fit the input and the weights"));
}

Status check_groups(const InferContext& c, const DeformConv& op, const Dims& x, const Dims& w) {
  if (op.group < 1 || op.offset_group < 1)
    return c.error(cat("group is ", op.group, " and offset_group ", op.offset_group,
                       ", both want at least 1"));
  if (x[1].known() && w[1].known() && !x[1].same(w[1] * op.group))
    return c.error(cat("weight has ", w[1].value(), " input channels for each of ", op.group,
                       " groups, input has ", x[1].value()));
  if (w[0].known() && w[0].value() % op.group != 0)
    return c.error(cat(w[0].value(), " output channels do not fall into ", op.group, " groups"));
  if (x[1].known() && x[1].value() % op.offset_group != 0)
    return c.error(
        cat(x[1].value(), " input channels do not fall into ", op.offset_group, " offset groups"));
  return {};
}

Dims join(Dim batch, Dim channels, const Dims& spatial) {
  Dims d = {batch, channels};
  d.insert(d.end(), spatial.begin(), spatial.end());
  return d;
}

Status infer_deform_conv(InferContext& c) {
  const auto& op = c.op<DeformConv>();
  QUERN_TRY(want_floats(c, 0));
  for (std::size_t i = 1; i < c.input_count(); ++i) QUERN_TRY(c.want_same_dtype(0, i));
  c.set(0, c.dtype(0), std::nullopt);
  if (!c.dims(0) || !c.dims(1)) return {};
  const Dims& x = *c.dims(0);
  const Dims& w = *c.dims(1);
  if (x.size() < 3 || w.size() != x.size())
    return c.error(cat(c.describe(0), " and ", c.describe(1),
                       " must have one rank: batch, channels and at least one spatial dimension"));
  QUERN_TRY(check_groups(c, op, x, w));
  QUERN_ASSIGN(const Dims out,
               infer_window(c, op.window, std::span(x).subspan(2), std::span(w).subspan(2)));
  const Dim taps = product(std::span(w).subspan(2)) * op.offset_group;
  QUERN_TRY(want_shape(c, 2, join(x[0], taps * static_cast<std::int64_t>(out.size()), out)));
  QUERN_TRY(want_shape(c, 3, {w[0]}));
  QUERN_TRY(want_shape(c, 4, join(x[0], taps, out)));
  c.set(0, c.dtype(0), join(x[0], w[0], out));
  return {};
}

// ---- max_unpool

Status check_output_shape(const InferContext& c, const Dims& x, const Ints& shape) {
  if (shape.size() != x.size() || !meet({shape[0], shape[1]}, {x[0], x[1]}))
    return c.error(
        cat("output_shape does not have the rank, batch and channels of ", c.describe(0)));
  return check_list(c, "output_shape", shape, shape.size(), 0);
}

Status infer_max_unpool(InferContext& c) {
  const auto& op = c.op<MaxUnpool>();
  QUERN_TRY(c.want_dtype(1, DType::i64));
  QUERN_TRY(c.want_dtype(2, DType::i64));
  if (!is_number(c.dtype(0))) return c.error(cat(c.describe(0), " must be of numbers"));
  c.set(0, c.dtype(0), std::nullopt);
  const Dims* dims = c.dims(0) ? c.dims(0) : c.dims(1);
  if (!dims) return {};
  if (c.dims(0) && c.dims(1) && !meet(*c.dims(0), *c.dims(1)))
    return c.error(cat(c.describe(0), " and ", c.describe(1), " must have one shape"));
  if (dims->size() < 3 || op.window.kernel.size() != dims->size() - 2)
    return c.error(cat("kernel_shape has ", op.window.kernel.size(), " entries, input has rank ",
                       dims->size()));
  QUERN_TRY(check_window(c, op.window, dims->size() - 2));
  Dims y = *dims;
  if (const auto shape = c.ints(2)) {
    QUERN_TRY(check_output_shape(c, *dims, *shape));
    std::copy(shape->begin(), shape->end(), y.begin());
  } else {
    for (std::size_t d = 2; d < y.size(); ++d)
      y[d] = c.has(2) ? Dim() : unpooled_size(window_of(op), d - 2, y[d]);
  }
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

// ---- pool

Result<std::optional<Dims>> infer_dims_pool(const InferContext& c, const Pool& op) {
  if (!c.dims(0)) {
    if (op.global || op.window.kernel.empty()) return std::optional<Dims>();
    return std::optional<Dims>(Dims(op.window.kernel.size() + 2));
  }
  Dims dims = *c.dims(0);
  if (dims.size() < (op.global ? 2 : 3) || dims.size() > Shape::max_rank)
    return c.error(cat(c.describe(0), " must have a batch, channels and 1 to ", max_spatial_rank,
                       " spatial dimensions"));
  const std::span<Dim> spatial = std::span(dims).subspan(2);
  if (op.global) {
    std::fill(spatial.begin(), spatial.end(), Dim(1));
  } else {
    const auto partial = op.ceil_mode ? PartialWindow::kept : PartialWindow::dropped;
    QUERN_ASSIGN(const Dims out,
                 infer_window(c, op.window, spatial, to_dims(Shape(op.window.kernel)), partial));
    std::copy(out.begin(), out.end(), spatial.begin());
  }
  return std::optional<Dims>(std::move(dims));
}

Status infer_pool(InferContext& c) {
  const auto& op = c.op<Pool>();
  const bool ok = op.kind == PoolKind::max ? is_number(c.dtype(0)) : is_number_float(c.dtype(0));
  if (!ok) return c.error(cat(enum_name(op.kind), " does not take ", name_of(c.dtype(0))));
  if (op.kind == PoolKind::lp && op.p < 1) return c.error(cat("p is ", op.p, ", wants at least 1"));
  if (op.kind != PoolKind::max && c.output_count() > 1)
    return c.error(cat(enum_name(op.kind), " has no indices to give"));
  QUERN_ASSIGN(const std::optional<Dims> dims, infer_dims_pool(c, op));
  c.set(0, c.dtype(0), dims);
  if (c.output_count() > 1) c.set(1, DType::i64, dims);
  return {};
}

// ---- roi_pool

constexpr std::int64_t max_sampling_ratio = 4096;

Status check_attributes(const InferContext& c, const RoiPool& op) {
  if (op.height < 1 || op.width < 1 || op.height > max_extent || op.width > max_extent)
    return c.error(cat("pooled size ", op.height, " x ", op.width, ", wants at least 1 x 1"));
  if (op.sampling_ratio < 0 || op.sampling_ratio > max_sampling_ratio)
    return c.error(
        cat("sampling_ratio is ", op.sampling_ratio, ", wants 0 to ", max_sampling_ratio));
  if ((op.kind == RoiKind::max) == c.has(2))
    return c.error(cat(enum_name(op.kind), c.has(2) ? " takes no" : " wants", " batch indices"));
  return {};
}

Status infer_roi_pool(InferContext& c) {
  const auto& op = c.op<RoiPool>();
  QUERN_TRY(want_floats(c, 0));
  QUERN_TRY(c.want_same_dtype(0, 1));
  QUERN_TRY(c.want_dtype(2, DType::i64));
  QUERN_TRY(check_attributes(c, op));
  const Dims x = c.dims(0) ? *c.dims(0) : Dims(4);
  const Dims rois = c.dims(1) ? *c.dims(1) : Dims(2);
  const std::int64_t columns = op.kind == RoiKind::max ? 5 : 4;
  if (x.size() != 4) return c.error(cat(c.describe(0), " must have rank 4"));
  if (rois.size() != 2 || !meet({rois[1]}, {columns}))
    return c.error(cat(c.describe(1), " must have rank 2 and ", columns, " columns"));
  if (c.dims(2) && !meet(*c.dims(2), {rois[0]}))
    return c.error(cat(c.describe(2), " must have one element for each region"));
  const Dim count = rois[0].known() || !c.dims(2) ? rois[0] : (*c.dims(2))[0];
  c.set(0, c.dtype(0), Dims{count, x[1], op.height, op.width});
  return {};
}

}  // namespace

std::span<const std::string_view> enum_names(PoolKind) {
  return pool_names;
}
std::span<const std::string_view> enum_names(RoiKind) {
  return roi_names;
}

const OpDef& Col2Im::def() {
  static constexpr OpDef def{.name = "Col2Im",
                             .inputs = {3, 3},
                             .outputs = {1, 1},
                             .plan_operands = 0b110,
                             .infer = infer_col2im,
                             .attributes = &op_struct<Col2Im>};
  return def;
}

const OpDef& Conv::def() {
  static constexpr OpDef def{.name = "Conv",
                             .inputs = {2, 3},
                             .outputs = {1, 1},
                             .traits = OpTrait::post_ops,
                             .infer = infer_conv,
                             .attributes = &op_struct<Conv>};
  return def;
}

const OpDef& ConvTranspose::def() {
  static constexpr OpDef def{.name = "ConvTranspose",
                             .inputs = {2, 3},
                             .outputs = {1, 1},
                             .traits = OpTrait::post_ops,
                             .infer = infer_conv_transpose,
                             .attributes = &op_struct<ConvTranspose>};
  return def;
}

const OpDef& DeformConv::def() {
  static constexpr OpDef def{.name = "DeformConv",
                             .inputs = {3, 5},
                             .outputs = {1, 1},
                             .infer = infer_deform_conv,
                             .attributes = &op_struct<DeformConv>};
  return def;
}

const OpDef& MaxUnpool::def() {
  static constexpr OpDef def{.name = "MaxUnpool",
                             .inputs = {2, 3},
                             .outputs = {1, 1},
                             .plan_operands = 0b100,
                             .infer = infer_max_unpool,
                             .attributes = &op_struct<MaxUnpool>};
  return def;
}

const OpDef& Pool::def() {
  static constexpr OpDef def{.name = "Pool",
                             .inputs = {1, 1},
                             .outputs = {1, 2},
                             .infer = infer_pool,
                             .attributes = &op_struct<Pool>};
  return def;
}

const OpDef& RoiPool::def() {
  static constexpr OpDef def{.name = "RoiPool",
                             .inputs = {2, 3},
                             .outputs = {1, 1},
                             .infer = infer_roi_pool,
                             .attributes = &op_struct<RoiPool>};
  return def;
}

}  // namespace quern
