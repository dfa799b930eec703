// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/unary.h"

#include <cstddef>
#include <span>
#include <string_view>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/text.h"

namespace quern {
namespace {

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

}  // namespace

std::span<const std::string_view> enum_names(UnaryKind) {
  return unary_names;
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

}  // namespace quern
