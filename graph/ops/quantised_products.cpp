// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/quantised_products.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"
#include "graph/ops/products.h"
#include "graph/ops/windows.h"

namespace quern {
namespace {

Status check_channels(const InferContext& c, const Dims& x, const Dims& w, std::int64_t group) {
  if (group < 1) return c.error(cat("group is ", group, ", wants at least 1"));
  const Dim wanted = w[1] * group;
  if (x[1].known() && wanted.known() && x[1] != wanted)
    return c.error(cat("weight has ", w[1].value(), " input channels for each of ", group,
                       " groups, input has ", x[1].value()));
  if (w[0].known() && w[0].value() % group != 0)
    return c.error(cat(w[0].value(), " output channels do not fall into ", group, " groups"));
  return {};
}

// The output's shape; nothing while the rank is unknown.
Result<std::optional<Dims>> infer_dims(const InferContext& c, const Window& window,
                                       std::int64_t group, const ConvRoles& r) {
  for (std::size_t i : {std::size_t{0}, r.w}) QUERN_TRY(want_8bit(c, i));
  QUERN_TRY(c.want_same_dtype(0, r.x_zero));
  QUERN_TRY(c.want_same_dtype(r.w, r.w_zero));
  QUERN_TRY(want_parameter(c, r.x_zero));
  if (!c.dims(0) && !c.dims(r.w)) return std::optional<Dims>();
  const std::size_t rank = (c.dims(0) ? c.dims(0) : c.dims(r.w))->size();
  const Dims x = c.dims(0) ? *c.dims(0) : Dims(rank);
  const Dims w = c.dims(r.w) ? *c.dims(r.w) : Dims(rank);
  if (rank < 3 || w.size() != rank)
    return c.error(cat(c.describe(0), " and ", c.describe(r.w),
                       " must have one rank: batch, channels and at least one spatial dimension"));
  QUERN_TRY(check_channels(c, x, w, group));
  QUERN_TRY(want_parameter(c, r.w_zero, &w[0]));
  QUERN_ASSIGN(const Dims spatial,
               infer_window(c, window, std::span(x).subspan(2), std::span(w).subspan(2)));
  Dims y = {x[0], w[0]};
  y.insert(y.end(), spatial.begin(), spatial.end());
  return std::optional(std::move(y));
}

Status infer_integer_quantized_conv(InferContext& c) {
  const auto& op = c.op<ConvInteger>();
  QUERN_ASSIGN(auto dims, infer_dims(c, op.window, op.group, conv_integer_roles));
  c.set(0, DType::i32, std::move(dims));
  return {};
}

Status infer_qlinear_quantized_conv(InferContext& c) {
  const auto& op = c.op<QLinearConv>();
  for (std::size_t i : {1, 4, 6}) QUERN_TRY(c.want_dtype(i, DType::f32));
  QUERN_TRY(want_8bit(c, 7));
  QUERN_TRY(c.want_dtype(8, DType::i32));
  for (std::size_t i : {1, 6, 7}) QUERN_TRY(want_parameter(c, i));
  QUERN_ASSIGN(auto dims, infer_dims(c, op.window, op.group, conv_qlinear_roles));
  const Dim channels = dims ? (*dims)[1] : Dim();
  QUERN_TRY(want_parameter(c, 4, &channels));
  if (c.dims(8) && !meet(*c.dims(8), {channels}))
    return c.error(cat(c.describe(8), " must have one element for each output channel"));
  c.set(0, c.dtype(7), std::move(dims));
  return {};
}

Status infer_conv_integer_to_float(InferContext& c) {
  const auto& op = c.op<ConvIntegerToFloat>();
  for (std::size_t i : {1, 4, 6}) QUERN_TRY(c.want_dtype(i, DType::f32));
  QUERN_TRY(want_parameter(c, 1));
  QUERN_ASSIGN(auto dims, infer_dims(c, op.window, op.group, conv_qlinear_roles));
  const Dim channels = dims ? (*dims)[1] : Dim();
  QUERN_TRY(want_parameter(c, 4, &channels));
  if (c.dims(6) && !meet(*c.dims(6), {channels}))
    return c.error(cat(c.describe(6), " must have one element for each output channel"));
  c.set(0, DType::f32, std::move(dims));
  return {};
}

// Checks scale or zero point i of operand `matrix`: per row on the left side, per column on the
// right.
Status check_parameter(const InferContext& c, std::size_t i, std::size_t matrix, Factor factor) {
  const bool is_left = factor == Factor::left;
  if (!c.dims(i) || !c.dims(matrix) || may_be_one_element(*c.dims(i))) return {};
  const Dims& x = *c.dims(matrix);
  const Dims& p = *c.dims(i);
  if (x.size() > 1 && p.size() == 1 && meet(p, {x[x.size() - (is_left ? 2 : 1)]})) return {};
  if (x.size() > 1 && p.size() == x.size()) {
    Dims wanted = x;
    wanted[x.size() - (is_left ? 1 : 2)] = 1;
    const auto both = broadcast(p, wanted);
    if (both && meet(*both, wanted)) return {};
  }
  return c.error(cat(c.describe(i), " must be a scalar or have one element for each ",
                     is_left ? "row of " : "column of ", c.describe(matrix)));
}

Status infer_integer_quantized_matmul(InferContext& c) {
  for (std::size_t i : {0, 1}) {
    QUERN_TRY(want_8bit(c, i));
    QUERN_TRY(c.want_same_dtype(i, i + 2));
    QUERN_TRY(check_parameter(c, i + 2, i, i == 0 ? Factor::left : Factor::right));
  }
  QUERN_ASSIGN(auto dims, infer_product(c, 0, 1));
  c.set(0, DType::i32, std::move(dims));
  return {};
}

Status infer_qlinear_quantized_matmul(InferContext& c) {
  for (std::size_t i : {0, 3, 7}) {
    if (!is_8bit(c.dtype(i)) && is_float(c.dtype(i)) && size_of(c.dtype(i)) == 1)
      return c.unsupported("products of 8-bit floats are not supported");
    QUERN_TRY(want_8bit(c, i));
  }
  for (std::size_t i : {1, 4, 6}) QUERN_TRY(want_floats(c, i));
  for (std::size_t i : {0, 3}) {
    QUERN_TRY(c.want_same_dtype(i, i + 2));
    QUERN_TRY(check_parameter(c, i + 1, i, i == 0 ? Factor::left : Factor::right));
    QUERN_TRY(check_parameter(c, i + 2, i, i == 0 ? Factor::left : Factor::right));
  }
  for (std::size_t i : {6, 7}) QUERN_TRY(want_parameter(c, i));
  QUERN_ASSIGN(auto dims, infer_product(c, 0, 3));
  c.set(0, c.dtype(7), std::move(dims));
  return {};
}

}  // namespace

const OpDef& ConvInteger::def() {
  static constexpr OpDef def{.name = "ConvInteger",
                             .inputs = {2, 4},
                             .outputs = {1, 1},
                             .infer = infer_integer_quantized_conv,
                             .attributes = &op_struct<ConvInteger>};
  return def;
}

const OpDef& QLinearConv::def() {
  static constexpr OpDef def{.name = "QLinearConv",
                             .inputs = {8, 9},
                             .outputs = {1, 1},
                             .infer = infer_qlinear_quantized_conv,
                             .attributes = &op_struct<QLinearConv>};
  return def;
}

const OpDef& ConvIntegerToFloat::def() {
  static constexpr OpDef def{.name = "ConvIntegerToFloat",
                             .inputs = {6, 7},
                             .outputs = {1, 1},
                             .traits = OpTrait::post_ops,
                             .infer = infer_conv_integer_to_float,
                             .attributes = &op_struct<ConvIntegerToFloat>};
  return def;
}

const OpDef& MatMulInteger::def() {
  static constexpr OpDef def{.name = "MatMulInteger",
                             .inputs = {2, 4},
                             .outputs = {1, 1},
                             .infer = infer_integer_quantized_matmul,
                             .attributes = &op_struct<MatMulInteger>};
  return def;
}

const OpDef& QLinearMatMul::def() {
  static constexpr OpDef def{.name = "QLinearMatMul",
                             .inputs = {8, 8},
                             .outputs = {1, 1},
                             .infer = infer_qlinear_quantized_matmul,
                             .attributes = &op_struct<QLinearMatMul>};
  return def;
}

}  // namespace quern
