// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/elementwise.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstring>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"
#include "graph/text.h"

namespace quern {
namespace {

// ---- names of enumerators

constexpr EnumNames<46> unary_names = {"abs",         "neg",
                                       "sign",        "ceil",
                                       "floor",       "round",
                                       "sqrt",        "reciprocal",
                                       "exp",         "log",
                                       "sin",         "cos",
                                       "tan",         "asin",
                                       "acos",        "atan",
                                       "sinh",        "cosh",
                                       "tanh",        "asinh",
                                       "acosh",       "atanh",
                                       "erf",         "sigmoid",
                                       "relu",        "leaky_relu",
                                       "elu",         "selu",
                                       "celu",        "hard_sigmoid",
                                       "hard_swish",  "softplus",
                                       "softsign",    "mish",
                                       "gelu",        "gelu_tanh",
                                       "swish",       "thresholded_relu",
                                       "shrink",      "clip",
                                       "affine",      "scaled_tanh",
                                       "is_nan",      "is_inf",
                                       "logical_not", "bitwise_not"};
static_assert(unary_names[static_cast<std::size_t>(UnaryKind::bitwise_not)] == "bitwise_not");
constexpr EnumNames<23> binary_names = {
    "add",         "sub",         "mul",        "div",         "pow",          "mod",
    "fmod",        "min",         "max",        "prelu",       "logical_and",  "logical_or",
    "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left",   "shift_right",
    "equal",       "less",        "less_equal", "greater",     "greater_equal"};
static_assert(binary_names[static_cast<std::size_t>(BinaryKind::greater_equal)] == "greater_equal");

// ---- binary

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

// ---- bit_cast

std::size_t bit_width(DType t) {
  return t == DType::i4 || t == DType::u4 ? 4 : 8 * size_of(t);
}

Status infer_bit_cast(InferContext& c) {
  const DType from = c.dtype(0);
  const DType to = c.op<BitCast>().to;
  if (from == DType::string || to == DType::string) return c.error("strings have no bits to cast");
  if (bit_width(from) != bit_width(to))
    return c.error(cat(name_of(from), " has ", bit_width(from), " bits, ", name_of(to), " has ",
                       bit_width(to)));
  c.set(0, to, c.type(0).dims);
  return {};
}

// ---- cast

Status infer_cast(InferContext& c) {
  c.set(0, c.op<Cast>().to, c.type(0).dims);
  return {};
}

// ---- unary

bool takes_integers(UnaryKind k) {
  switch (k) {
    case UnaryKind::abs:
    case UnaryKind::neg:
    case UnaryKind::sign:
    case UnaryKind::relu:
    case UnaryKind::clip:
    case UnaryKind::shrink:
    case UnaryKind::bitwise_not:
    case UnaryKind::reciprocal: return true;
    default: return false;
  }
}

bool takes_floats(UnaryKind k) {
  return k != UnaryKind::logical_not && k != UnaryKind::bitwise_not;
}

Status infer_unary(InferContext& c) {
  const auto& op = c.op<Unary>();
  const DType t = c.dtype(0);
  const bool ok = op.kind == UnaryKind::logical_not ? t == DType::boolean
                  : is_number_float(t)              ? takes_floats(op.kind)
                  : is_number_integer(t)            ? takes_integers(op.kind)
                                                    : false;
  if (!ok) return c.error(cat(unary_text(op), " does not take ", name_of(t)));
  const bool is_predicate = op.kind == UnaryKind::is_nan || op.kind == UnaryKind::is_inf;
  c.set(0, is_predicate ? DType::boolean : t, c.type(0).dims);
  return {};
}

// ---- where

Status infer_where(InferContext& c) {
  QUERN_TRY(c.want_dtype(0, DType::boolean));
  QUERN_TRY(c.want_same_dtype(1, 2));
  return infer_broadcast(c, c.dtype(1));
}

}  // namespace

std::span<const std::string_view> enum_names(UnaryKind) {
  return unary_names;
}
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

const OpDef& Unary::def() {
  static constexpr OpDef def{.name = "Unary",
                             .inputs = {1, 1},
                             .outputs = {1, 1},
                             .traits = OpTrait::elementwise | OpTrait::post_ops,
                             .infer = infer_unary,
                             .attributes = &op_struct<Unary>};
  return def;
}

const OpDef& Where::def() {
  static constexpr OpDef def{.name = "Where",
                             .inputs = {3, 3},
                             .outputs = {1, 1},
                             .traits = OpTrait::elementwise,
                             .infer = infer_where,
                             .attributes = &op_struct<Where>};
  return def;
}

}  // namespace quern
