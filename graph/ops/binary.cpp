// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/binary.h"

#include <cstddef>
#include <span>
#include <string_view>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"

namespace quern {
namespace {

constexpr EnumNames<23> binary_names = {
    "add",         "sub",         "mul",        "div",         "pow",          "mod",
    "fmod",        "min",         "max",        "prelu",       "logical_and",  "logical_or",
    "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left",   "shift_right",
    "equal",       "less",        "less_equal", "greater",     "greater_equal"};
static_assert(binary_names[static_cast<std::size_t>(BinaryKind::greater_equal)] == "greater_equal");

bool is_bitwise(BinaryKind k) {
  return k >= BinaryKind::bitwise_and && k <= BinaryKind::shift_right;
}

Status infer_binary(InferContext& c) {
  const BinaryKind kind = c.op<Binary>().kind;
  const DType t = c.dtype(0);
  if (kind != BinaryKind::pow) QUERN_TRY(c.want_same_dtype(0, 1));
  const bool equatable = is_number(t) || t == DType::boolean || t == DType::string;
  const bool ok = kind == BinaryKind::equal ? equatable
                  : is_logical(kind)        ? t == DType::boolean
                  : is_bitwise(kind)        ? is_number_integer(t)
                                            : is_number(t);
  if (!ok || (kind == BinaryKind::pow && !is_number(c.dtype(1))))
    return c.error(
        cat(enum_name(kind), " does not take ", name_of(t), " and ", name_of(c.dtype(1))));
  return infer_broadcast(c, is_comparison(kind) ? DType::boolean : t);
}

}  // namespace

std::span<const std::string_view> enum_names(BinaryKind) {
  return binary_names;
}

const OpDef& Binary::def() {
  static constexpr OpDef def{.name = "Binary",
                             .inputs = {2, 2},
                             .outputs = {1, 1},
                             .traits = OpTrait::elementwise | OpTrait::post_ops,
                             .infer = infer_binary,
                             .attributes = &op_struct<Binary>};
  return def;
}

}  // namespace quern
