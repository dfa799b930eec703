// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/resampling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"
#include "graph/ops/resize_axes.h"
#include "graph/ops/windows.h"

namespace quern {
namespace {

// ---- names of enumerators

constexpr EnumNames<3> resize_names = {"nearest", "linear", "cubic"};
constexpr EnumNames<7> coordinates_names = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",  "align_corners",
    "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn"};
constexpr EnumNames<4> nearest_names = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
constexpr EnumNames<3> aspect_names = {"stretch", "not_larger", "not_smaller"};
constexpr EnumNames<3> grid_padding_names = {"zeros", "border", "reflection"};

// ---- affine_grid

Result<std::optional<std::int64_t>> spatial_rank(const InferContext& c) {
  std::optional<std::int64_t> rank;
  if (const Dims* theta = c.dims(0)) {
    if (theta->size() != 3) return c.error(cat(c.describe(0), " must have rank 3"));
    if ((*theta)[1].known()) rank = (*theta)[1].value();
  }
  if (const Dims* size = c.dims(1)) {
    if (size->size() != 1) return c.error(cat(c.describe(1), " must have rank 1"));
    if (!rank && (*size)[0].known()) rank = (*size)[0].value() - 2;
  }
  if (rank && *rank != 2 && *rank != 3)
    return c.error(cat(*rank, " spatial dimensions, wants 2 or 3"));
  return rank;
}

Status infer_affine_grid(InferContext& c) {
  QUERN_TRY(want_floats(c, 0));
  QUERN_TRY(c.want_dtype(1, DType::i64));
  QUERN_ASSIGN(const std::optional<std::int64_t> rank, spatial_rank(c));
  c.set(0, c.dtype(0), std::nullopt);
  if (!rank) return {};
  const auto r = static_cast<std::size_t>(*rank);
  const Dims theta = c.dims(0) ? *c.dims(0) : Dims(3);
  if (!meet({theta[1], theta[2]}, {*rank, *rank + 1}) ||
      (c.dims(1) && !meet(*c.dims(1), {*rank + 2})))
    return c.error(cat(c.describe(0), " must be of ", r, " x ", r + 1, " matrices and ",
                       c.describe(1), " of ", r + 2, " sizes"));
  Dims y(r + 2);
  y[0] = theta[0];
  y[r + 1] = *rank;
  if (const auto size = c.ints(1)) {
    QUERN_TRY(check_list(c, "size", *size, r + 2, 0));
    if (size->empty() || !meet({theta[0]}, {size->front()}))
      return c.error(cat("size is for another number of images than ", c.describe(0)));
    y[0] = size->front();
    std::copy(size->begin() + 2, size->end(), y.begin() + 1);
  }
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

// ---- grid_sample

Status infer_grid_sample(InferContext& c) {
  if (!is_number(c.dtype(0))) return c.error(cat(c.describe(0), " must be of numbers"));
  QUERN_TRY(want_floats(c, 1));
  c.set(0, c.dtype(0), std::nullopt);
  if (!c.dims(0) && !c.dims(1)) return {};
  const std::size_t rank = c.dims(0) ? c.dims(0)->size() : c.dims(1)->size();
  const Dims x = c.dims(0) ? *c.dims(0) : Dims(rank);
  const Dims grid = c.dims(1) ? *c.dims(1) : Dims(rank);
  if (rank < 3 || rank > Shape::max_rank || grid.size() != rank)
    return c.error(cat(c.describe(0), " and ", c.describe(1), " must have one rank of 3 to ",
                       Shape::max_rank));
  const auto spatial = static_cast<std::int64_t>(rank - 2);
  if (!meet({grid[0], grid.back()}, {x[0], spatial}))
    return c.error(cat(c.describe(1), " must hold positions of ", spatial,
                       " coordinates for each image of ", c.describe(0)));
  if (std::any_of(x.begin() + 2, x.end(), [](Dim d) { return d.is(0); }))
    return c.error(cat(c.describe(0), " has nothing to sample"));
  Dims y = {x[0].known() ? x[0] : grid[0], x[1]};
  y.insert(y.end(), grid.begin() + 1, grid.end() - 1);
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

// ---- resize

Status check_types(const InferContext& c, const Resize& op) {
  const bool any =
      op.mode == ResizeMode::nearest && op.coordinates != CoordinateMode::tf_crop_and_resize;
  if (!any && !is_number(c.dtype(0)))
    return c.error(cat(enum_name(op.mode), " does not take ", name_of(c.dtype(0))));
  for (std::size_t i : {1, 2})
    if (c.has(i) && !is_number_float(c.dtype(i)))
      return c.error(cat(c.describe(i), " must be of floats"));
  return c.want_dtype(3, DType::i64);
}

// Which axes are resized, from the attribute.
Result<std::vector<bool>> resized_axes(const InferContext& c, const Resize& op, std::size_t rank) {
  std::vector<bool> resized(rank, op.axes.empty());
  for (std::int64_t a : op.axes) {
    QUERN_ASSIGN(const std::size_t axis, c.axis(a, rank));
    if (resized[axis]) return c.error(cat("axis ", a, " is given twice"));
    resized[axis] = true;
  }
  return resized;
}

TensorView view_of(const InferContext& c, std::size_t i) {
  return c.value(i) ? c.value(i)->view() : TensorView{};
}

bool is_unknown(const InferContext& c, std::size_t i) {
  return c.has(i) && !c.value(i);
}

// Output sizes of an axis whose input size is not a number yet.
Dim size_by_sizes(const Resize& op, const ResizeAxis& as_if_one) {
  return op.aspect == AspectPolicy::stretch ? Dim(as_if_one.out) : Dim();
}

Dim size_by_scale(Dim in, const ResizeAxis& as_if_one) {
  return as_if_one.scale == 1 ? in : Dim();
}

// Parts are made along one resized axis.
Status check_part(const InferContext& c, const Resize& op, const std::vector<bool>& resized) {
  if (op.part.empty()) return {};
  if (op.part.size() != 5 || op.part[0] < 0 || op.part[0] >= std::ssize(resized) ||
      !resized[static_cast<std::size_t>(op.part[0])])
    return c.error(cat("part ", list_text(op.part), " is none along a resized axis"));
  return {};
}

Status infer_resize(InferContext& c) {
  const auto& op = c.op<Resize>();
  QUERN_TRY(check_types(c, op));
  c.set(0, c.dtype(0), std::nullopt);
  if (!c.dims(0)) return {};
  Dims y = *c.dims(0);
  if (y.size() > Shape::max_rank) return c.unsupported(cat("rank ", y.size()));
  QUERN_ASSIGN(const std::vector<bool> resized, resized_axes(c, op, y.size()));
  QUERN_TRY(check_part(c, op, resized));
  Shape in;
  bool open = false;
  for (std::size_t d = 0; d < y.size(); ++d) {
    open |= resized[d] && !y[d].known();
    in.push_back(y[d].known() ? y[d].value() : 1);
  }
  ResizeAxes axes;
  const bool unknown = is_unknown(c, 2) || is_unknown(c, 3) ||
                       (is_unknown(c, 1) && op.coordinates == CoordinateMode::tf_crop_and_resize);
  const ResizeOperands operands{view_of(c, 1), view_of(c, 2), view_of(c, 3)};
  if (!unknown)
    if (Status s = resolve_resize(op, in, operands, axes); !s.ok()) return c.error(s.message());
  const bool by_sizes = operands.sizes.present() && operands.sizes.type.shape.elements() > 0;
  for (std::size_t d = 0; d < y.size(); ++d) {
    if (!resized[d]) continue;
    const bool is_open_part = !op.part.empty() && open;
    if (unknown || is_open_part || (open && by_sizes && op.aspect != AspectPolicy::stretch)) {
      y[d] = Dim();
    } else {
      y[d] = y[d].known() ? Dim(axes[d].out)
             : by_sizes   ? size_by_sizes(op, axes[d])
                          : size_by_scale(y[d], axes[d]);
    }
  }
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

}  // namespace

std::span<const std::string_view> enum_names(ResizeMode) {
  return resize_names;
}
std::span<const std::string_view> enum_names(CoordinateMode) {
  return coordinates_names;
}
std::span<const std::string_view> enum_names(NearestMode) {
  return nearest_names;
}
std::span<const std::string_view> enum_names(AspectPolicy) {
  return aspect_names;
}
std::span<const std::string_view> enum_names(GridPadding) {
  return grid_padding_names;
}

const OpDef& AffineGrid::def() {
  static constexpr OpDef def{.name = "AffineGrid",
                             .inputs = {2, 2},
                             .outputs = {1, 1},
                             .plan_operands = 0b10,
                             .infer = infer_affine_grid,
                             .attributes = &op_struct<AffineGrid>};
  return def;
}

const OpDef& GridSample::def() {
  static constexpr OpDef def{.name = "GridSample",
                             .inputs = {2, 2},
                             .outputs = {1, 1},
                             .infer = infer_grid_sample,
                             .attributes = &op_struct<GridSample>};
  return def;
}

const OpDef& Resize::def() {
  static constexpr OpDef def{.name = "Resize",
                             .inputs = {1, 4},
                             .outputs = {1, 1},
                             .plan_operands = 0b1110,
                             .infer = infer_resize,
                             .attributes = &op_struct<Resize>};
  return def;
}

}  // namespace quern
