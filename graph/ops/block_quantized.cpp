// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/block_quantized.h"

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

Status check_bits(const InferContext& c, std::int64_t bits) {
  if (bits == 2 || bits == 4 || bits == 8) return {};
  return c.error(cat("bits is ", bits, ", wants 2, 4 or 8"));
}

Status check_block_size(const InferContext& c) {
  const auto& op = c.op<BlockQuantizedMatMul>();
  const std::int64_t most = op.quantize_x ? most_in_block_of_bytes : most_in_block;
  if (op.block_size < 1 || op.block_size > most || op.block_size * op.bits % 8 != 0)
    return c.error(cat("block_size is ", op.block_size, ", wants whole bytes of numbers of ",
                       op.bits, " bits, at most ", most));
  return {};
}

// Refuses input i, of a known rank, where it does not have these dimensions.
Status want_block_dims(const InferContext& c, std::size_t i, const Dims& wanted) {
  if (!c.dims(i) || meet(*c.dims(i), wanted)) return {};
  std::string text;
  for (Dim d : wanted)
    text += cat(text.empty() ? "" : ",", d.known() ? std::to_string(d.value()) : "?");
  return c.error(cat(c.describe(i), " wants to be [", text, "]"));
}

Status infer_block_quantized(InferContext& c) {
  const auto& op = c.op<BlockQuantizedMatMul>();
  QUERN_TRY(check_bits(c, op.bits));
  QUERN_TRY(check_block_size(c));
  QUERN_TRY(want_floats(c, 0));
  QUERN_TRY(c.want_dtype(1, DType::u8));
  QUERN_TRY(c.want_same_dtype(2, 0));
  QUERN_TRY(want_rank(c, 1, 3));
  if (c.dims(0) && c.dims(0)->empty()) return c.error(cat(c.describe(0), " is not a matrix"));
  const Dim depth = c.dims(0) ? c.dims(0)->back() : Dim();
  const Dim columns = c.dims(1) ? (*c.dims(1))[0] : Dim();
  const Dim blocks = ceil_div(depth, op.block_size);
  QUERN_TRY(want_block_dims(c, 1, {columns, blocks, op.block_size * op.bits / 8}));
  QUERN_TRY(want_block_dims(c, 2, {columns, blocks}));
  if (c.has(3) && c.dtype(3) == DType::u8) {
    QUERN_TRY(want_block_dims(c, 3, {columns, ceil_div(blocks, 8 / op.bits)}));
  } else if (c.has(3)) {
    QUERN_TRY(c.want_same_dtype(3, 0));
    QUERN_TRY(want_block_dims(c, 3, {columns, blocks}));
  }
  if (c.has(4)) {
    QUERN_TRY(c.want_same_dtype(4, 0));
    QUERN_TRY(want_block_dims(c, 4, {columns}));
  }
  if (!c.dims(0)) return c.set(0, c.dtype(0), std::nullopt), Status();
  Dims dims = *c.dims(0);
  dims.back() = columns;
  c.set(0, c.dtype(0), std::move(dims));
  return {};
}

Status infer_unpack_bits(InferContext& c) {
  const std::int64_t bits = c.op<UnpackBits>().bits;
  QUERN_TRY(check_bits(c, bits));
  QUERN_TRY(c.want_dtype(0, DType::u8));
  if (!c.dims(0)) return c.set(0, DType::u8, std::nullopt), Status();
  if (c.dims(0)->empty()) return c.error(cat(c.describe(0), " has no rows"));
  Dims dims = *c.dims(0);
  dims.back() = dims.back() * Dim(8 / bits);
  c.set(0, DType::u8, std::move(dims));
  return {};
}

}  // namespace

const OpDef& BlockQuantizedMatMul::def() {
  static constexpr OpDef def{.name = "BlockQuantizedMatMul",
                             .inputs = {3, 5},
                             .outputs = {1, 1},
                             .traits = OpTrait::post_ops | OpTrait::flushes_denormals,
                             .infer = infer_block_quantized,
                             .attributes = &op_struct<BlockQuantizedMatMul>};
  return def;
}

const OpDef& UnpackBits::def() {
  static constexpr OpDef def{.name = "UnpackBits",
                             .inputs = {1, 1},
                             .outputs = {1, 1},
                             .infer = infer_unpack_bits,
                             .attributes = &op_struct<UnpackBits>};
  return def;
}

}  // namespace quern
