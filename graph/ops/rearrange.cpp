// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/rearrange.h"

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

constexpr EnumNames<3> depth_space_names = {"depth_to_space_dcr", "depth_to_space_crd",
                                            "space_to_depth"};

Status infer_depth_space(InferContext& c) {
  const auto& op = c.op<DepthSpace>();
  constexpr std::int64_t largest_block = 1 << 20;  // its square is no overflow
  if (op.block < 1 || op.block > largest_block) return c.error(cat("blocksize is ", op.block));
  QUERN_TRY(want_rank(c, 0, 4));
  if (!c.dims(0)) {
    c.set(0, c.dtype(0), Dims(4));
    return {};
  }
  const Dims& x = *c.dims(0);
  const std::int64_t area = op.block * op.block;
  const auto divides = [](Dim d, std::int64_t by) { return !d.known() || d.value() % by == 0; };
  if (op.kind != DepthSpaceKind::space_to_depth) {
    if (!divides(x[1], area))
      return c.error(cat(c.describe(0), ": channels are no multiple of ", area));
    c.set(0, c.dtype(0), Dims{x[0], div_exact(x[1], area), x[2] * op.block, x[3] * op.block});
    return {};
  }
  if (!divides(x[2], op.block) || !divides(x[3], op.block))
    return c.error(cat(c.describe(0), ": height or width is no multiple of ", op.block));
  c.set(0, c.dtype(0),
        Dims{x[0], x[1] * area, div_exact(x[2], op.block), div_exact(x[3], op.block)});
  return {};
}

Status infer_reverse_sequence(InferContext& c) {
  const auto& op = c.op<ReverseSequence>();
  const bool batch_first = op.batch_axis == 0 && op.time_axis == 1;
  if (!batch_first && !(op.batch_axis == 1 && op.time_axis == 0))
    return c.error(cat("batch_axis ", op.batch_axis, " and time_axis ", op.time_axis,
                       ", wants 0 and 1 in either order"));
  QUERN_TRY(want_index_dtype(c, 1));
  QUERN_TRY(want_rank(c, 1, 1));
  if (c.dims(0) && c.dims(0)->size() < 2)
    return c.error(cat(c.describe(0), " must have rank 2 or more"));
  if (c.dims(0) && c.dims(1)) {
    const Dim batch = (*c.dims(0))[batch_first ? 0 : 1];
    if (!meet({batch}, *c.dims(1)))
      return c.error(
          cat(c.describe(1), " must hold a length for each of ", batch.value(), " sequences"));
  }
  return infer_like_input(c);
}

Status infer_trilu(InferContext& c) {
  if (c.dims(0) && c.dims(0)->size() < 2)
    return c.error(cat(c.describe(0), " must have rank 2 or more"));
  QUERN_TRY(want_index_dtype(c, 1));
  QUERN_TRY(want_single(c, 1));
  return infer_like_input(c);
}

}  // namespace

std::span<const std::string_view> enum_names(DepthSpaceKind) {
  return depth_space_names;
}

const OpDef& DepthSpace::def() {
  static constexpr OpDef def{
      .name = "DepthSpace", .infer = infer_depth_space, .attributes = &op_struct<DepthSpace>};
  return def;
}

const OpDef& ReverseSequence::def() {
  static constexpr OpDef def{.name = "ReverseSequence",
                             .inputs = {2, 2},
                             .infer = infer_reverse_sequence,
                             .attributes = &op_struct<ReverseSequence>};
  return def;
}

const OpDef& Trilu::def() {
  static constexpr OpDef def{.name = "Trilu",
                             .inputs = {1, 2},
                             .infer = infer_trilu,
                             .attributes = &op_struct<Trilu>,
                             .onnx = {"Trilu", 14}};
  return def;
}

}  // namespace quern
