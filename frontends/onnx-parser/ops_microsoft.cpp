// SPDX-License-Identifier: Apache-2.0
// com.microsoft: operators that ONNX Runtime's optimiser writes to files, expanded to primitives.
// The quantised ones are in ops_microsoft_quant.cpp. Source: docs/ContribOperators.md of ONNX
// Runtime.
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "frontends/onnx-parser/window.h"
#include "graph/ops/conv.h"
#include "graph/ops/layer_norm.h"
#include "graph/ops/matmul.h"
#include "graph/ops/unary.h"

namespace quern::onnx {
namespace {

// ---- activations that close a fused operator

enum class Activation : std::uint8_t {
  none,
  relu,
  tanh,
  sigmoid,
  leaky_relu,
  elu,
  clip,
  hard_sigmoid,
  softplus,
  hard_swish
};

Activation read_activation(NodeImport& n) {
  using A = Activation;
  return n.choice<A>("activation", "",
                     {{"", A::none},
                      {"Relu", A::relu},
                      {"Tanh", A::tanh},
                      {"Sigmoid", A::sigmoid},
                      {"LeakyRelu", A::leaky_relu},
                      {"Elu", A::elu},
                      {"Clip", A::clip},
                      {"HardSigmoid", A::hard_sigmoid},
                      {"Softplus", A::softplus},
                      {"HardSwish", A::hard_swish}});
}

ValueId activated(NodeImport& n, Activation activation, ValueId x, double alpha, double beta) {
  switch (activation) {
    case Activation::none: return x;
    case Activation::relu: return unary(n, UnaryKind::relu, x);
    case Activation::tanh: return unary(n, UnaryKind::tanh, x);
    case Activation::sigmoid: return unary(n, UnaryKind::sigmoid, x);
    case Activation::leaky_relu: return unary(n, UnaryKind::leaky_relu, x, alpha);
    case Activation::elu: return unary(n, UnaryKind::elu, x, alpha);
    case Activation::clip: return unary(n, UnaryKind::clip, x, alpha, beta);
    case Activation::hard_sigmoid: return unary(n, UnaryKind::hard_sigmoid, x, alpha, beta);
    case Activation::softplus: return unary(n, UnaryKind::softplus, x);
    case Activation::hard_swish: return unary(n, UnaryKind::hard_swish, x);
  }
  return x;
}

std::size_t parameters_of(Activation activation) {
  switch (activation) {
    case Activation::leaky_relu:
    case Activation::elu: return 1;
    case Activation::clip:
    case Activation::hard_sigmoid: return 2;
    default: return 0;
  }
}

// activation(conv(x, w, b) + z)
void import_fused_conv(NodeImport& n) {
  const Conv op{.window = read_window(n), .group = n.integer("group", 1)};
  const Activation activation = read_activation(n);
  std::vector<float> parameters = n.numbers("activation_params");
  if (parameters.size() < parameters_of(activation))
    return n.fail("attribute 'activation_params' is too short for its activation");
  parameters.resize(2);
  std::vector<ValueId> inputs = {n.in(0), n.in(1)};
  if (n.has(2)) inputs.push_back(n.in(2));
  ValueId y = n.add(op, std::move(inputs));
  if (n.has(3)) y = add(n, y, n.in(3));
  n.set(0, activated(n, activation, y, parameters[0], parameters[1]));
}

// ---- matrix products

MatMul product_op(NodeImport& n) {
  return {.transpose_a = n.flag("transA", Flag::off),
          .transpose_b = n.flag("transB", Flag::off),
          .alpha = n.number("alpha", 1)};
}

void import_fused_gemm(NodeImport& n) {
  const MatMul op = product_op(n);
  const float beta = n.number("beta", 1);
  const Activation activation = read_activation(n);
  const float a = n.number("activation_alpha", 0);
  const float b = n.number("activation_beta", 0);
  n.ignore("activation_gamma");
  ValueId y = n.add(op, {n.in(0), n.in(1)});
  if (n.has(2) && beta != 0) y = add(n, y, beta == 1 ? n.in(2) : mul(n, n.in(2), beta));
  n.set(0, activated(n, activation, y, a, b));
}

// The first dimension moved to the last but one: [M, batch..., K] -> [batch..., M, K].
ValueId batch_first(NodeImport& n, ValueId x) {
  const std::int64_t rank = n.known_rank(x);
  Ints perm;
  for (std::int64_t i = 1; i + 1 < rank; ++i) perm.push_back(i);
  perm.push_back(0);
  if (rank > 1) perm.push_back(rank - 1);
  return rank > 2 ? transpose(n, x, perm) : x;
}

void import_fused_matmul(NodeImport& n) {
  const MatMul op = product_op(n);
  const ValueId a = n.flag("transBatchA", Flag::off) ? batch_first(n, n.in(0)) : n.in(0);
  const ValueId b = n.flag("transBatchB", Flag::off) ? batch_first(n, n.in(1)) : n.in(1);
  n.emit(op, {a, b});
}

// ---- elementwise

void import_microsoft_gelu(NodeImport& n) {
  n.emit(Unary{.kind = UnaryKind::gelu}, {n.in(0)});
}

void import_fast_gelu(NodeImport& n) {
  const ValueId x = n.has(1) ? add(n, n.in(0), n.in(1)) : n.in(0);
  n.set(0, unary(n, UnaryKind::gelu_tanh, x));
}

void import_bias_gelu(NodeImport& n) {
  n.set(0, unary(n, UnaryKind::gelu, add(n, n.in(0), n.in(1))));
}

void import_quick_gelu(NodeImport& n) {
  n.emit(Unary{.kind = UnaryKind::swish, .alpha = n.number("alpha", 1.702f)}, {n.in(0)});
}

// ---- normalisation

// norm(input + skip + bias); also returns the mean, the inverse standard deviation and the sum.
void skip_norm(NodeImport& n, const LayerNorm& op, std::vector<ValueId> parameters, ValueId bias) {
  ValueId sum = add(n, n.in(0), n.in(1));
  if (bias != no_value) sum = add(n, sum, bias);
  parameters.insert(parameters.begin(), sum);
  const bool statistics = n.wants(1) || n.wants(2);
  const auto y = n.add_many(op, std::move(parameters), statistics ? 3 : 1);
  for (std::size_t i = 0; i < y.size(); ++i) n.set(i, y[i]);
  n.set(3, sum);
}

void import_skip_layer_norm(NodeImport& n) {
  std::vector<ValueId> parameters = {n.in(2)};
  if (n.has(3)) parameters.push_back(n.in(3));
  skip_norm(n, {.epsilon = n.number("epsilon", 1e-12f)}, std::move(parameters), n.in(4));
}

void import_skip_simplified_layer_norm(NodeImport& n) {
  skip_norm(n, {.epsilon = n.number("epsilon", 1e-12f), .center = false}, {n.in(2)}, n.in(3));
}

constexpr OpRow microsoft_rows[] = {
    {"BiasGelu", 1, import_bias_gelu, two},
    {"FastGelu", 1, import_fast_gelu, {1, 2}},
    {"FusedConv", 1, import_fused_conv, {2, 4}},
    {"FusedGemm", 1, import_fused_gemm, two_or_three},
    {"FusedMatMul", 1, import_fused_matmul, two},
    {"Gelu", 1, import_microsoft_gelu},
    {"QuickGelu", 1, import_quick_gelu},
    {"SkipLayerNormalization", 1, import_skip_layer_norm, {3, 5}, {1, 4}},
    {"SkipSimplifiedLayerNormalization", 1, import_skip_simplified_layer_norm, {3, 4}, {1, 4}},
    {"TransposeMatMul", 1, import_fused_matmul, two},
};

}  // namespace

OpRows microsoft_ops() {
  return microsoft_rows;
}

}  // namespace quern::onnx
