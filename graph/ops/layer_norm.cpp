// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/layer_norm.h"

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

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

}  // namespace

const OpDef& GroupNorm::def() {
  static constexpr OpDef def{.name = "GroupNorm",
                             .inputs = {3, 3},
                             .outputs = {1, 1},
                             .traits = OpTrait::flushes_denormals,
                             .infer = infer_group_norm,
                             .attributes = &op_struct<GroupNorm>};
  return def;
}

const OpDef& LayerNorm::def() {
  static constexpr OpDef def{.name = "LayerNorm",
                             .inputs = {1, 3},
                             .outputs = {1, 3},
                             .traits = OpTrait::flushes_denormals,
                             .infer = infer_layer_norm,
                             .attributes = &op_struct<LayerNorm>};
  return def;
}

}  // namespace quern
