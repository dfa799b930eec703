// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/quantize.h"

#include <cstddef>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"
#include "graph/ops/products.h"

namespace quern {
namespace {

Status infer_dynamic_quantize(InferContext& c) {
  QUERN_TRY(c.want_dtype(0, DType::f32));
  c.set(0, DType::u8, c.type(0).dims);
  if (c.output_count() > 1) c.set(1, DType::f32, Dims());
  if (c.output_count() > 2) c.set(2, DType::u8, Dims());
  return {};
}

bool is_small_type(DType t) {
  return is_8bit(t) || t == DType::i16 || t == DType::u16 || (t >= DType::i4 && t != DType::f8e8m0);
}

Status check_blocks(const InferContext& c, const Granularity& g) {
  const Dims& x = *c.dims(0);
  const Dims& scale = *c.dims(1);
  QUERN_ASSIGN(const std::size_t axis, c.axis(g.axis, x.size()));
  Dims wanted = x;
  wanted[axis] = ceil_div(wanted[axis], g.block_size);
  if (meet(wanted, scale)) return {};
  return c.error(cat(c.describe(1), " does not fit blocks of ", g.block_size, " along axis ", axis,
                     " of ", c.describe(0)));
}

Status check_scale(const InferContext& c, const Granularity& g) {
  if (g.block_size < 0) return c.error(cat("block_size is ", g.block_size, ", wants at least 0"));
  const Dims* scale = c.dims(1);
  if (c.has(2) && scale && c.dims(2) && !meet(*scale, *c.dims(2)) &&
      !(may_be_one_element(*scale) && may_be_one_element(*c.dims(2))))
    return c.error(cat(c.describe(1), " and ", c.describe(2), " must have one shape"));
  if (!scale || !c.dims(0) || scale->empty()) return {};
  if (g.block_size > 0) return check_blocks(c, g);
  if (scale->size() == 1 && may_be_one_element(*scale)) return {};
  QUERN_ASSIGN(const std::size_t axis, c.axis(g.axis, c.dims(0)->size()));
  return want_parameter(c, 1, &(*c.dims(0))[axis]);
}

Status infer_quantize(InferContext& c) {
  const auto& op = c.op<Quantize>();
  const auto takes = [&](std::size_t i) {
    return is_number_float(c.dtype(i)) || c.dtype(i) == DType::i32;
  };
  for (std::size_t i : {0, 1})
    if (!takes(i)) return c.error(cat(c.describe(i), " must be of floats or i32"));
  const DType to = c.has(2) ? c.dtype(2) : op.to;
  if (!is_small_type(to)) return c.error(cat("cannot quantize to ", name_of(to)));
  QUERN_TRY(check_scale(c, {op.axis, op.block_size}));
  c.set(0, to, c.type(0).dims);
  return {};
}

Status infer_dequantize(InferContext& c) {
  const auto& op = c.op<Dequantize>();
  if (!is_small_type(c.dtype(0)) && c.dtype(0) != DType::i32)
    return c.error(cat(c.describe(0), " is not quantized"));
  QUERN_TRY(want_floats(c, 1));
  QUERN_TRY(c.want_same_dtype(0, 2));
  QUERN_TRY(check_scale(c, {op.axis, op.block_size}));
  c.set(0, c.dtype(1), c.type(0).dims);
  return {};
}

}  // namespace

const OpDef& DynamicQuantize::def() {
  static constexpr OpDef def{.name = "DynamicQuantize",
                             .inputs = {1, 1},
                             .outputs = {1, 3},
                             .infer = infer_dynamic_quantize,
                             .attributes = &op_struct<DynamicQuantize>};
  return def;
}

const OpDef& Quantize::def() {
  static constexpr OpDef def{.name = "Quantize",
                             .inputs = {2, 3},
                             .outputs = {1, 1},
                             .infer = infer_quantize,
                             .attributes = &op_struct<Quantize>};
  return def;
}

const OpDef& Dequantize::def() {
  static constexpr OpDef def{.name = "Dequantize",
                             .inputs = {2, 3},
                             .outputs = {1, 1},
                             .infer = infer_dequantize,
                             .attributes = &op_struct<Dequantize>};
  return def;
}

}  // namespace quern
