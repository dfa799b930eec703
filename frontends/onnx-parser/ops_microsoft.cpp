// SPDX-License-Identifier: Apache-2.0
// com.microsoft: operators that ONNX Runtime's optimiser writes to files, expanded to primitives.
// The quantised ones are in ops_microsoft_quant.cpp. Source: docs/ContribOperators.md of ONNX
// Runtime.
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/attention_parts.h"
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "frontends/onnx-parser/window.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/conv.h"
#include "graph/ops/cumulative.h"
#include "graph/ops/data_dependent.h"
#include "graph/ops/layer_norm.h"
#include "graph/ops/matmul.h"
#include "graph/ops/pad.h"
#include "graph/ops/pool.h"
#include "graph/ops/reduce.h"
#include "graph/ops/reshape.h"
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

// 0, with an error, for weights that have no dimensions of space.
std::int64_t rank_of_weights(NodeImport& n) {
  const std::int64_t rank = n.known_rank(n.in(1));
  if (n.ok() && rank < 3) n.fail(cat("its weights have rank ", rank, ", wants 3 or more"));
  return n.ok() ? rank : 0;
}

// Selects which dimension of x, of z and of the result has the channels.
enum class Channels : std::uint8_t { second, last };

// activation(conv(x, w, b) + z). The weights are [M, C / group, kernel...] in both.
template <Channels At>
void import_fused_conv(NodeImport& n) {
  const Conv op{.window = read_window(n), .group = n.integer("group", 1)};
  const Activation activation = read_activation(n);
  std::vector<float> parameters = n.numbers("activation_params");
  if (parameters.size() < parameters_of(activation))
    return n.fail("attribute 'activation_params' is too short for its activation");
  parameters.resize(2);
  const std::int64_t rank = At == Channels::last ? rank_of_weights(n) : 0;
  if (!n.ok()) return;
  std::vector<ValueId> inputs = {rank != 0 ? channels_first(n, n.in(0), rank) : n.in(0), n.in(1)};
  if (n.has(2)) inputs.push_back(n.in(2));
  ValueId y = n.add(op, std::move(inputs));
  if (rank != 0) y = channels_last(n, y, rank);
  if (n.has(3)) y = add(n, y, n.in(3));
  n.set(0, activated(n, activation, y, parameters[0], parameters[1]));
}

// x [N, spatial..., C], w [M, kernel..., C / group] as its optimiser writes it, which is not what
// the text of the operator says.
void import_nhwc_conv(NodeImport& n) {
  const Conv op{.window = read_window(n), .group = n.integer("group", 1)};
  const std::int64_t rank = rank_of_weights(n);
  if (!n.ok()) return;
  std::vector<ValueId> inputs = {channels_first(n, n.in(0), rank),
                                 channels_first(n, n.in(1), rank)};
  if (n.has(2)) inputs.push_back(n.in(2));
  n.set(0, channels_last(n, n.add(op, std::move(inputs)), rank));
}

// (x, w, pads i64?, bias?): pads that are no constant would make shapes that depend on data.
void import_conv_transpose_with_pads(NodeImport& n) {
  ConvTranspose op{.window = read_window(n),
                   .group = n.integer("group", 1),
                   .output_padding = n.ints("output_padding")};
  const auto pads = n.constant_ints(n.in(2));
  if (n.has(2) && !pads) return n.unsupported("its pads are no constant");
  if (pads) op.window.pads = *pads;
  std::vector<ValueId> inputs = {n.in(0), n.in(1)};
  if (n.has(3)) inputs.push_back(n.in(3));
  n.set(0, n.add(op, std::move(inputs)));
}

// The maximum of windows, channels last.
void import_nhwc_max_pool(NodeImport& n) {
  const Pool op{.kind = PoolKind::max,
                .window = read_window_with_kernel(n),
                .ceil_mode = n.flag("ceil_mode", Flag::off)};
  if (!n.ok()) return;
  const auto rank = static_cast<std::int64_t>(op.window.kernel.size()) + 2;
  n.set(0, channels_last(n, n.add(op, {channels_first(n, n.in(0), rank)}), rank));
}

// kernel_shape, strides and pads of MaxpoolWithMask.
std::optional<Window> masked_window(NodeImport& n) {
  constexpr std::int64_t most = 1 << 12;  // other windows would be copied, each as a whole
  const std::string auto_pad = n.text("auto_pad", "NOTSET");
  n.ignore("storage_order");
  Window w{.kernel = n.ints("kernel_shape"), .strides = n.ints("strides"), .pads = n.ints("pads")};
  const std::size_t spatial = w.kernel.size();
  if (w.strides.empty()) w.strides.assign(spatial, 1);
  if (w.pads.empty() || auto_pad == "VALID") w.pads.assign(2 * spatial, 0);
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    n.unsupported(cat("'auto_pad' = ", auto_pad, " is not supported"));
  } else if (!auto_pad.empty() && auto_pad != "NOTSET" && auto_pad != "VALID") {
    n.fail(cat("attribute 'auto_pad' is '", printable(auto_pad), "'"));
  } else if (spatial < 1 || spatial > 3 || w.strides.size() != spatial ||
             w.pads.size() != 2 * spatial) {
    n.fail(cat("windows of ", spatial, " dimensions with ", w.strides.size(), " strides and ",
               w.pads.size(), " pads; wants 1 to 3, as many and twice as many"));
  }
  for (std::size_t i = 0; n.ok() && i < spatial; ++i)
    if (w.kernel[i] < 1 || w.kernel[i] > most || w.strides[i] < 1 || w.pads[i] < 0 ||
        w.pads[i] >= w.kernel[i] || w.pads[i + spatial] < 0 || w.pads[i + spatial] >= w.kernel[i])
      n.fail(cat("windows of ", w.kernel[i], " at every ", w.strides[i], " with pads of ",
                 w.pads[i], " and ", w.pads[i + spatial], "; wants 1 to ", most,
                 ", positive steps and pads below the window"));
  return n.ok() ? std::optional(std::move(w)) : std::nullopt;
}

// The mask [.., .., spatial...], i32, for each channel of x, whose planes take its planes in turn:
// 1 where it is 0. Of planes of several dimensions the first element always counts, as in ONNX
// Runtime's CPU kernel.
ValueId stops_of(NodeImport& n, std::int64_t rank) {
  const ValueId x = n.in(0);
  const ValueId each = n.ints_constant({-1});
  const ValueId plane = dims_of(n, x, 2, rank);
  const ValueId masks = reshape(n, n.in(1), join_dims(n, {each, plane}));
  const ValueId count = scalar_dim(n, masks, 0);
  const ValueId pictures = scalar_dim(n, x, 0);
  const ValueId channel = counting(n, mul(n, pictures, scalar_dim(n, x, 1)));
  const ValueId own = binary(n, BinaryKind::mod, channel, count);
  const ValueId mask = reshape(n, gather(n, masks, own, 0), shape_of(n, x));
  ValueId is_stop = binary(n, BinaryKind::equal, mask, n.scalar_like(mask, 0));
  if (rank > 3) {
    const ValueId size = reduce(n, ReduceKind::prod, plane, {0});
    const ValueId place = reshape(n, counting(n, reshape(n, size, Ints{})), plane);
    const ValueId is_later = binary(n, BinaryKind::greater, place, n.scalar(DType::i64, 0));
    is_stop = binary(n, BinaryKind::logical_and, is_stop, is_later);
  }
  return cast(n, is_stop, DType::i32);
}

// (x, mask): the greatest of each window, of whose lines along the last dimension only what lies
// before the first masked element counts; the lowest number for none. NaN is passed over.
void import_masked_max_pool(NodeImport& n) {
  auto w = masked_window(n);
  if (!w) return;
  const auto rank = static_cast<std::int64_t>(w->kernel.size()) + 2;
  if (n.known_rank(n.in(0)) != rank || n.known_rank(n.in(1)) < 2)
    return n.fail(cat("windows of ", rank - 2, " dimensions want an input of rank ", rank));
  const std::int64_t last = rank - 1, before = w->pads[w->kernel.size() - 1],
                     behind = w->pads.back();
  const Dim length = n.dim(n.in(0), last);
  if (length.known() && length.value() < w->kernel.back() - before - behind)
    return n.fail(cat("windows of ", w->kernel.back(), " elements of a padded dimension of ",
                      length.value() + before + behind));
  constexpr double lowest = std::numeric_limits<float>::lowest();
  const ValueId least = n.scalar(DType::f32, lowest);
  const auto lines = [&](ValueId x, double filler) {
    const ValueId pads = n.ints_constant({before, behind});
    const ValueId axis = n.ints_constant({last});
    if (before + behind > 0) x = n.add(Pad{}, {x, pads, n.scalar_like(x, filler), axis});
    return windows_along(n, x, last, {.size = w->kernel.back(), .step = w->strides.back()});
  };
  const ValueId stops = lines(stops_of(n, rank), 0);
  const ValueId stopped = n.add(Cumulative{}, {stops, n.scalar(DType::i64, -1)});
  const ValueId values = lines(n.in(0), lowest);
  const ValueId is_out = binary(n, BinaryKind::greater, stopped, n.scalar(DType::i32, 0));
  const ValueId is_none =
      binary(n, BinaryKind::logical_or, is_out, unary(n, UnaryKind::is_nan, values));
  const ValueId counted = where(n, is_none, least, values);
  ValueId y = squeeze(n, reduce(n, ReduceKind::max, counted, {rank}), {rank});
  if (rank > 3) {
    w->kernel.back() = w->strides.back() = 1;
    w->pads[w->kernel.size() - 1] = w->pads.back() = 0;
    y = n.add(Pool{.kind = PoolKind::max, .window = *w}, {y});
  }
  n.set(0, binary(n, BinaryKind::max, y, least));
}

void import_sample(NodeImport& n) {
  n.emit(Identity{}, {n.in(0)});
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

ValueId fused_product(NodeImport& n) {
  const MatMul op = product_op(n);
  const ValueId a = n.flag("transBatchA", Flag::off) ? batch_first(n, n.in(0)) : n.in(0);
  const ValueId b = n.flag("transBatchB", Flag::off) ? batch_first(n, n.in(1)) : n.in(1);
  return n.add(op, {a, b});
}

void import_fused_matmul(NodeImport& n) {
  n.set(0, fused_product(n));
}

void import_fused_matmul_activation(NodeImport& n) {
  const Activation activation = read_activation(n);
  const float a = n.number("activation_alpha", 0);
  const float b = n.number("activation_beta", 0);
  n.ignore("activation_gamma");
  n.ignore("activation_axis");
  n.set(0, activated(n, activation, fused_product(n), a, b));
}

// Numbers of 16 bits, whose sum wraps in 32; without sign where neither operand has one.
void import_matmul_integer_16(NodeImport& n) {
  const DType a = n.dtype(n.in(0)), b = n.dtype(n.in(1));
  const auto is_short = [](DType t) { return t == DType::i16 || t == DType::u16; };
  if (!is_short(a) || !is_short(b))
    return n.fail(cat("a product of ", name_of(a), " and ", name_of(b), ", wants i16 or u16"));
  const DType wide = a == DType::u16 && b == DType::u16 ? DType::u32 : DType::i32;
  const ValueId left = cast(n, n.in(0), wide);
  n.set(0, n.add(MatMul{}, {left, cast(n, n.in(1), wide)}));
}

// ---- shapes

// (x, axis i32 []): a dimension of 1 there.
void import_expand_dims(NodeImport& n) {
  const DType type = n.dtype(n.in(1));
  if (type != DType::i32 && type != DType::i64)
    return n.fail(cat("its axis is ", name_of(type), ", wants i32"));
  const auto axis = n.constant_number(n.in(1));
  const ValueId axes = axis ? n.ints_constant({static_cast<std::int64_t>(*axis)})
                            : reshape(n, cast(n, n.in(1), DType::i64), Ints{1});
  n.set(0, n.add(Unsqueeze{}, {n.in(0), axes}));
}

// ---- elementwise

void import_microsoft_gelu(NodeImport& n) {
  n.emit(Unary{.kind = UnaryKind::gelu}, {n.in(0)});
}

void import_fast_gelu(NodeImport& n) {
  const ValueId x = n.has(1) ? add(n, n.in(0), n.in(1)) : n.in(0);
  n.set(0, unary(n, UnaryKind::gelu_tanh, x));
}

void import_gemm_fast_gelu(NodeImport& n) {
  ValueId x = n.add(MatMul{}, {n.in(0), n.in(1)});
  if (n.has(2)) x = add(n, x, n.in(2));
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

// ---- sequences of a batch without their padding

// The places of what is true in a list.
ValueId places_of(NodeImport& n, ValueId list) {
  return squeeze(n, n.add(NonZero{}, {list}), {0});
}

// (x [B, S, H], tokens of each sequence [B]) -> the tokens [T, H]; their places among the B * S,
// and behind them those of padding, i32 [B, S]; where each sequence begins, and T, i32 [B + 1]; the
// most tokens of one, i32 [1].
void import_remove_padding(NodeImport& n) {
  const ValueId x = n.in(0);
  const ValueId count = reshape(n, cast(n, n.in(1), DType::i64), Ints{-1});
  const ValueId at = counting(n, scalar_dim(n, x, 1));
  const ValueId is_token = binary(n, BinaryKind::less, at, unsqueeze(n, count, {1}));
  const ValueId flags = reshape(n, is_token, Ints{-1});
  const ValueId tokens = places_of(n, flags);
  const ValueId padding = places_of(n, unary(n, UnaryKind::logical_not, flags));
  const ValueId minus_one = n.ints_constant({-1});
  const ValueId rows = reshape(n, x, join_dims(n, {minus_one, dims_of(n, x, 2, 3)}));
  n.set(0, gather(n, rows, tokens, 0));
  const ValueId places = reshape(n, concat(n, {tokens, padding}, 0), dims_of(n, x, 0, 2));
  n.set(1, cast(n, places, DType::i32));
  const ValueId zero = n.ints_constant({0});
  const ValueId axis = n.constant(Tensor::scalar<std::int64_t>(DType::i64, 0));
  const ValueId ends = n.add(Cumulative{}, {count, axis});
  n.set(2, cast(n, concat(n, {zero, ends}, 0), DType::i32));
  n.set(3, cast(n, reduce(n, ReduceKind::max, count, {0}), DType::i32));
}

// (tokens [T, H], places [B, S]) -> [B, S, H], zeros where there is padding.
void import_restore_padding(NodeImport& n) {
  n.set(0, with_padding(n, n.in(0), n.in(1)));
}

constexpr OpRow microsoft_rows[] = {
    {"BiasGelu", 1, import_bias_gelu, two},
    {"ConvTransposeWithDynamicPads", 1, import_conv_transpose_with_pads, {2, 4}},
    {"ExpandDims", 1, import_expand_dims, two},
    {"FastGelu", 1, import_fast_gelu, {1, 2}},
    {"FusedConv", 1, import_fused_conv<Channels::second>, {2, 4}},
    {"FusedGemm", 1, import_fused_gemm, two_or_three},
    {"FusedMatMul", 1, import_fused_matmul, two},
    {"FusedMatMulActivation", 1, import_fused_matmul_activation, two},
    {"Gelu", 1, import_microsoft_gelu},
    {"GemmFastGelu", 1, import_gemm_fast_gelu, two_or_three},
    {"MatMulInteger16", 1, import_matmul_integer_16, two},
    {"MaxpoolWithMask", 1, import_masked_max_pool, two},
    {"NhwcConv", 1, import_nhwc_conv, two_or_three},
    {"NhwcFusedConv", 1, import_fused_conv<Channels::last>, {2, 4}},
    {"NhwcMaxPool", 1, import_nhwc_max_pool},
    {"QuickGelu", 1, import_quick_gelu},
    {"RemovePadding", 1, import_remove_padding, two, {1, 4}},
    {"RestorePadding", 1, import_restore_padding, two},
    {"SampleOp", 1, import_sample},
    {"SkipLayerNormalization", 1, import_skip_layer_norm, {3, 5}, {1, 4}},
    {"SkipSimplifiedLayerNormalization", 1, import_skip_simplified_layer_norm, {3, 4}, {1, 4}},
    {"TransposeMatMul", 1, import_fused_matmul, two},
};

}  // namespace

OpRows microsoft_ops() {
  return microsoft_rows;
}

}  // namespace quern::onnx
