// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/cast.h"

#include <cstddef>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"

namespace quern {
namespace {

constexpr EnumNames<2> bf16_factor_names = {"left", "right"};
constexpr EnumNames<3> power_rounding_names = {"up", "nearest", "down"};

Status infer_bit_cast(InferContext& c) {
  const DType from = c.dtype(0);
  const DType to = c.op<BitCast>().to;
  if (from == DType::string || to == DType::string) return c.error("strings have no bits to cast");
  if (bits_of(from) != bits_of(to))
    return c.error(
        cat(name_of(from), " has ", bits_of(from), " bits, ", name_of(to), " has ", bits_of(to)));
  c.set(0, to, c.type(0).dims);
  return {};
}

Status infer_cast(InferContext& c) {
  c.set(0, c.op<Cast>().to, c.type(0).dims);
  return {};
}

Status infer_bf16_parts(InferContext& c) {
  QUERN_TRY(c.want_dtype(0, DType::f32));
  if (!c.dims(0)) {
    c.set(0, DType::bf16, std::nullopt);
    return {};
  }
  Dims dims(*c.dims(0));
  QUERN_ASSIGN(const std::size_t axis, c.axis(c.op<Bf16Parts>().axis, dims.size()));
  const Dims thrice = {dims[axis], Dim(3)};
  dims[axis] = product(thrice);
  c.set(0, DType::bf16, std::move(dims));
  return {};
}

}  // namespace

std::span<const std::string_view> enum_names(PowerRounding) {
  return power_rounding_names;
}

std::span<const std::string_view> enum_names(Bf16Factor) {
  return bf16_factor_names;
}

const OpDef& Bf16Parts::def() {
  static constexpr OpDef def{.name = "Bf16Parts",
                             .inputs = {1, 1},
                             .outputs = {1, 1},
                             .infer = infer_bf16_parts,
                             .attributes = &op_struct<Bf16Parts>};
  return def;
}

const OpDef& BitCast::def() {
  static constexpr OpDef def{.name = "BitCast",
                             .inputs = {1, 1},
                             .outputs = {1, 1},
                             .traits = OpTrait::elementwise,
                             .infer = infer_bit_cast,
                             .attributes = &op_struct<BitCast>};
  return def;
}

const OpDef& Cast::def() {
  static constexpr OpDef def{.name = "Cast",
                             .inputs = {1, 1},
                             .outputs = {1, 1},
                             .traits = OpTrait::elementwise,
                             .infer = infer_cast,
                             .attributes = &op_struct<Cast>};
  return def;
}

}  // namespace quern
