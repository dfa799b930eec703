// SPDX-License-Identifier: Apache-2.0
// Elementwise operators with one input.
#include <cmath>
#include <limits>

#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/reshape.h"
#include "graph/ops/unary.h"

namespace quern::onnx {
namespace {

template <UnaryKind Kind>
void plain(NodeImport& n) {
  n.emit(Unary{.kind = Kind}, {n.in(0)});
}

void emit(NodeImport& n, UnaryKind kind, double alpha, double beta = 0) {
  n.emit(Unary{.kind = kind, .alpha = alpha, .beta = beta}, {n.in(0)});
}

void import_leaky_relu(NodeImport& n) {
  emit(n, UnaryKind::leaky_relu, n.number("alpha", 0.01f));
}
void import_elu(NodeImport& n) {
  emit(n, UnaryKind::elu, n.number("alpha", 1));
}
void import_celu(NodeImport& n) {
  emit(n, UnaryKind::celu, n.number("alpha", 1));
}
void import_swish(NodeImport& n) {
  emit(n, UnaryKind::swish, n.number("alpha", 1));
}
void import_thresholded_relu(NodeImport& n) {
  emit(n, UnaryKind::thresholded_relu, n.number("alpha", 1));
}
void import_shrink(NodeImport& n) {
  emit(n, UnaryKind::shrink, n.number("lambd", 0.5f), n.number("bias", 0));
}
void import_hard_sigmoid(NodeImport& n) {
  emit(n, UnaryKind::hard_sigmoid, n.number("alpha", 0.2f), n.number("beta", 0.5f));
}
void import_is_inf(NodeImport& n) {
  emit(n, UnaryKind::is_inf, n.flag("detect_negative", Flag::on),
       n.flag("detect_positive", Flag::on));
}

void import_selu(NodeImport& n) {
  const bool old = n.version() < 6;
  emit(n, UnaryKind::selu, n.number("alpha", old ? 1.6732f : 1.67326319217681884765625f),
       n.number("gamma", old ? 1.0507f : 1.05070102214813232421875f));
}

void import_gelu(NodeImport& n) {
  n.emit(Unary{.kind = n.choice<UnaryKind>(
                   "approximate", "none",
                   {{"none", UnaryKind::gelu}, {"tanh", UnaryKind::gelu_tanh}})},
         {n.in(0)});
}

// Bounds were attributes up to opset 10.
void import_clip_6(NodeImport& n) {
  emit(n, UnaryKind::clip, n.number("min", std::numeric_limits<float>::lowest()),
       n.number("max", std::numeric_limits<float>::max()));
}

// A bound as an exact double; `absent` if it is left out.
std::optional<double> exact_bound(const NodeImport& n, ValueId bound, double absent) {
  if (bound == no_value) return absent;
  constexpr double largest_exact = 9007199254740992.0;  // 2^53
  const auto v = n.constant_number(bound);
  const bool wide = n.dtype(bound) == DType::i64 || n.dtype(bound) == DType::u64;
  if (!v || (wide && std::fabs(*v) >= largest_exact)) return std::nullopt;
  return v;
}

void import_clip(NodeImport& n) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (!n.has(1) && !n.has(2)) return n.emit(Identity{}, {n.in(0)});
  const auto low = exact_bound(n, n.in(1), -inf);
  const auto high = exact_bound(n, n.in(2), inf);
  if (low && high) return emit(n, UnaryKind::clip, *low, *high);
  ValueId x = n.in(0);
  if (n.has(1)) x = binary(n, BinaryKind::max, x, n.in(1));
  if (n.has(2)) x = binary(n, BinaryKind::min, x, n.in(2));
  n.set(0, x);
}

constexpr OpRow unary_rows[] = {
    {"Abs", 1, plain<UnaryKind::abs>},
    {"Acos", 7, plain<UnaryKind::acos>},
    {"Acosh", 9, plain<UnaryKind::acosh>},
    {"Asin", 7, plain<UnaryKind::asin>},
    {"Asinh", 9, plain<UnaryKind::asinh>},
    {"Atan", 7, plain<UnaryKind::atan>},
    {"Atanh", 9, plain<UnaryKind::atanh>},
    {"BitwiseNot", 18, plain<UnaryKind::bitwise_not>},
    {"Ceil", 1, plain<UnaryKind::ceil>},
    {"Celu", 12, import_celu},
    {"Clip", 1, import_clip_6},
    {"Clip", 11, import_clip, {1, 3}},
    {"Cos", 7, plain<UnaryKind::cos>},
    {"Cosh", 9, plain<UnaryKind::cosh>},
    {"Elu", 1, import_elu},
    {"Erf", 9, plain<UnaryKind::erf>},
    {"Exp", 1, plain<UnaryKind::exp>},
    {"Floor", 1, plain<UnaryKind::floor>},
    {"Gelu", 20, import_gelu},
    {"HardSigmoid", 1, import_hard_sigmoid},
    {"HardSwish", 14, plain<UnaryKind::hard_swish>},
    {"IsInf", 10, import_is_inf},
    {"IsNaN", 9, plain<UnaryKind::is_nan>},
    {"LeakyRelu", 1, import_leaky_relu},
    {"Log", 1, plain<UnaryKind::log>},
    {"Mish", 18, plain<UnaryKind::mish>},
    {"Neg", 1, plain<UnaryKind::neg>},
    {"Not", 1, plain<UnaryKind::logical_not>},
    {"Reciprocal", 1, plain<UnaryKind::reciprocal>},
    {"Relu", 1, plain<UnaryKind::relu>},
    {"Round", 11, plain<UnaryKind::round>},
    {"Selu", 1, import_selu},
    {"Shrink", 9, import_shrink},
    {"Sigmoid", 1, plain<UnaryKind::sigmoid>},
    {"Sign", 9, plain<UnaryKind::sign>},
    {"Sin", 7, plain<UnaryKind::sin>},
    {"Sinh", 9, plain<UnaryKind::sinh>},
    {"Softplus", 1, plain<UnaryKind::softplus>},
    {"Softsign", 1, plain<UnaryKind::softsign>},
    {"Sqrt", 1, plain<UnaryKind::sqrt>},
    {"Swish", 24, import_swish},
    {"Tan", 7, plain<UnaryKind::tan>},
    {"Tanh", 1, plain<UnaryKind::tanh>},
    {"ThresholdedRelu", 1, import_thresholded_relu},
};

}  // namespace

OpRows unary_ops() {
  return unary_rows;
}

}  // namespace quern::onnx
