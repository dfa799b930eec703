// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/normalisation.h"

#include <array>
#include <cmath>
#include <limits>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

// ---- names of enumerators

constexpr EnumNames<3> softmax_names = {"softmax", "log_softmax", "hardmax"};

// ---- batch_norm

Status check_parameters(const InferContext& c, Dim channels) {
  for (std::size_t i = 1; i < 5; ++i) {
    QUERN_TRY(want_floats(c, i));
    if (c.dims(i) && !meet(*c.dims(i), {channels}))
      return c.error(
          cat(c.describe(i), " must have one element for each channel of ", c.describe(0)));
  }
  return {};
}

Status infer_batch_norm(InferContext& c) {
  QUERN_TRY(want_floats(c, 0));
  const Dims* x = c.dims(0);
  if (x && x->empty()) return c.error(cat(c.describe(0), " must have at least one dimension"));
  const Dim channels = !x ? Dim() : x->size() == 1 ? Dim(1) : (*x)[1];
  QUERN_TRY(check_parameters(c, channels));
  if (c.output_count() > 1 && !c.op<BatchNorm>().training)
    return c.error("running mean and variance come out in training mode only");
  c.set(0, c.type(0));
  for (std::size_t i = 1; i < c.output_count(); ++i) c.set(i, c.dtype(i + 2), Dims{channels});
  return {};
}

// ---- group_norm

Status infer_group_norm(InferContext& c) {
  const std::int64_t groups = c.op<GroupNorm>().groups;
  QUERN_TRY(want_floats(c, 0));
  const Dims* x = c.dims(0);
  if (x && x->size() < 2) return c.error(cat(c.describe(0), " must have batch and channels"));
  const Dim channels = x ? (*x)[1] : Dim();
  if (groups < 0 || (groups > 0 && channels.known() && channels.value() % groups != 0))
    return c.error(cat(c.describe(0), " cannot be cut into ", groups, " groups of channels"));
  for (std::size_t i : {1, 2}) {
    QUERN_TRY(want_floats(c, i));
    if (c.dims(i) && !meet(*c.dims(i), {channels}))
      return c.error(
          cat(c.describe(i), " must have one element for each channel of ", c.describe(0)));
  }
  return infer_like_input(c);
}

// ---- layer_norm

// Checks that scale or bias broadcasts to x without changing its shape.
Status check_parameter(const InferContext& c, std::size_t i) {
  QUERN_TRY(want_floats(c, i));
  if (!c.dims(0) || !c.dims(i)) return {};
  const auto both = broadcast(*c.dims(0), *c.dims(i));
  if (both && meet(*both, *c.dims(0))) return {};
  return c.error(cat(c.describe(i), " does not broadcast to ", c.describe(0)));
}

Status infer_layer_norm(InferContext& c) {
  QUERN_TRY(want_floats(c, 0));
  QUERN_TRY(check_parameter(c, 1));
  QUERN_TRY(check_parameter(c, 2));
  c.set(0, c.type(0));
  std::optional<Dims> moments = c.type(0).dims;
  if (moments) {
    QUERN_ASSIGN(const std::size_t axis, c.axis(c.op<LayerNorm>().axis, moments->size()));
    std::fill(moments->begin() + static_cast<std::ptrdiff_t>(axis), moments->end(), Dim(1));
  }
  for (std::size_t i = 1; i < c.output_count(); ++i) c.set(i, DType::f32, moments);
  return {};
}

// ---- lp_norm

Status infer_lp_norm(InferContext& c) {
  QUERN_TRY(want_floats(c, 0));
  const auto& op = c.op<LpNorm>();
  if (op.p != 1 && op.p != 2) return c.error(cat("p is ", op.p, ", wants 1 or 2"));
  if (c.dims(0)) QUERN_TRY(c.axis(op.axis, c.dims(0)->size()).status());
  return infer_like_input(c);
}

// ---- lrn

Status infer_lrn(InferContext& c) {
  QUERN_TRY(want_floats(c, 0));
  const auto& op = c.op<Lrn>();
  if (op.size < 1) return c.error(cat("size is ", op.size, ", wants at least 1"));
  if (c.dims(0) && c.dims(0)->size() < 2)
    return c.error(cat(c.describe(0), " must have batch and channels"));
  return infer_like_input(c);
}

// ---- softmax

Status infer_softmax(InferContext& c) {
  QUERN_TRY(want_floats(c, 0));
  if (const Dims* dims = c.dims(0))
    QUERN_TRY(c.axis(c.op<Softmax>().axis, std::max<std::size_t>(dims->size(), 1)).status());
  return infer_like_input(c);
}

}  // namespace

std::span<const std::string_view> enum_names(SoftmaxKind) {
  return softmax_names;
}

const OpDef& BatchNorm::def() {
  static constexpr OpDef def{.name = "BatchNorm",
                             .inputs = {5, 5},
                             .outputs = {1, 3},
                             .infer = infer_batch_norm,
                             .attributes = &op_struct<BatchNorm>};
  return def;
}

const OpDef& GroupNorm::def() {
  static constexpr OpDef def{.name = "GroupNorm",
                             .inputs = {3, 3},
                             .outputs = {1, 1},
                             .infer = infer_group_norm,
                             .attributes = &op_struct<GroupNorm>};
  return def;
}

const OpDef& LayerNorm::def() {
  static constexpr OpDef def{.name = "LayerNorm",
                             .inputs = {1, 3},
                             .outputs = {1, 3},
                             .infer = infer_layer_norm,
                             .attributes = &op_struct<LayerNorm>};
  return def;
}

const OpDef& LpNorm::def() {
  static constexpr OpDef def{.name = "LpNorm",
                             .inputs = {1, 1},
                             .outputs = {1, 1},
                             .infer = infer_lp_norm,
                             .attributes = &op_struct<LpNorm>};
  return def;
}

const OpDef& Lrn::def() {
  static constexpr OpDef def{.name = "Lrn",
                             .inputs = {1, 1},
                             .outputs = {1, 1},
                             .infer = infer_lrn,
                             .attributes = &op_struct<Lrn>};
  return def;
}

const OpDef& Softmax::def() {
  static constexpr OpDef def{.name = "Softmax",
                             .inputs = {1, 1},
                             .outputs = {1, 1},
                             .infer = infer_softmax,
                             .attributes = &op_struct<Softmax>};
  return def;
}

}  // namespace quern
