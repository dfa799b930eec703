// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/pool.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"
#include "graph/ops/windows.h"

namespace quern {
namespace {

constexpr EnumNames<3> pool_names = {"max", "average", "lp"};

constexpr EnumNames<3> roi_names = {"align_average", "align_max", "max"};

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
