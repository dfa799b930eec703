// SPDX-License-Identifier: Apache-2.0
// com.microsoft: mixtures of experts. Source: docs/ContribOperators.md of ONNX Runtime; what its
// text leaves open is as its CPU kernels have it.
//
// rows R, experts E of which each row takes k, width H, inner width I. Matrices are products'
// right sides [N, K] of E experts; older models declare them as [E, K, N], but their numbers lie
// in the same order.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/block_quantized.h"
#include "graph/ops/control_flow.h"
#include "graph/ops/data_dependent.h"
#include "graph/ops/gather.h"
#include "graph/ops/matmul.h"
#include "graph/ops/reduce.h"
#include "graph/ops/scatter.h"
#include "graph/ops/slice.h"
#include "graph/ops/softmax.h"
#include "graph/ops/split.h"
#include "graph/ops/unary_kind.h"

namespace quern::onnx {
namespace {

// More experts would be more nodes than a graph should have for one operator.
constexpr std::int64_t most_experts = 1024;
// Of each dimension of the weights, so that the numbers of an expert can be counted.
constexpr std::int64_t most_size = std::int64_t{1} << 30;

enum class ExpertActivation : std::uint8_t { relu, gelu, silu, identity, swiglu };
// Where the gate of swiglu and its linear part lie.
enum class Fusion : std::int64_t { none, interleaved, halves };

struct Experts {
  std::int64_t experts = 0, width = 0, inner = 0, taken = 1;
  ExpertActivation activation = ExpertActivation::relu;
  Fusion fusion = Fusion::none;
  float alpha = 1, beta = 0, limit = std::numeric_limits<float>::infinity();
  std::int64_t bits = 0;        // of a weight; 0: they are floats
  std::int64_t block_size = 0;  // 0: the numbers of a row have one scale
  bool quantize_x = false;

  std::int64_t in_byte() const { return bits == 0 ? 1 : 8 / bits; }
  bool is_fused() const { return activation == ExpertActivation::swiglu && fusion != Fusion::none; }
};

// A matrix [N, K] for each expert.
struct Matrices {
  std::int64_t columns = 0, depth = 0;  // N and K
  ValueId numbers = no_value;           // [E, N, K]; in bits u8 [E, N, blocks, bytes]
  ValueId scales = no_value;            // [E, N, blocks]
  ValueId zeros = no_value;             // u8 [E, N, bytes]
  ValueId bias = no_value;              // [E, N]
};

// The inputs of a matrix; 0: the operator has none.
struct MatrixInputs {
  std::size_t numbers, bias, scales = 0, zeros = 0;
};

Experts read_experts(NodeImport& n) {
  Experts e{.taken = n.integer("k", 1)};
  e.activation = n.choice<ExpertActivation>("activation_type", "relu",
                                            {{"relu", ExpertActivation::relu},
                                             {"gelu", ExpertActivation::gelu},
                                             {"silu", ExpertActivation::silu},
                                             {"identity", ExpertActivation::identity},
                                             {"swiglu", ExpertActivation::swiglu}});
  const std::int64_t fusion = n.integer("swiglu_fusion", 0);
  e.alpha = n.number("activation_alpha", 1);
  e.beta = n.number("activation_beta", 0);
  e.limit = n.number("swiglu_limit", e.limit);
  if (n.integer("use_sparse_mixer", 0) != 0)
    n.unsupported("'use_sparse_mixer' is not supported: no text says what it computes");
  if (fusion < 0 || fusion > 2) n.fail(cat("'swiglu_fusion' is ", fusion, ", wants 0, 1 or 2"));
  e.fusion = static_cast<Fusion>(fusion);
  return e;
}

// The numbers of an expert in input i, [E, a, b]; nullopt, with an error, if a size is not known.
std::optional<std::int64_t> numbers_in(NodeImport& n, const Experts& e, std::size_t i) {
  std::array<std::int64_t, 3> sizes{};
  if (!n.has(i)) n.fail(cat("input ", i, " is left out, but it is not optional"));
  const bool is_table = n.ok() && n.known_rank(n.in(i)) == 3;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const Dim dim = is_table ? n.dim(n.in(i), static_cast<std::int64_t>(d)) : Dim();
    if (n.ok() && !dim.known()) n.unsupported(cat("needs to know the three sizes of input ", i));
    if (!n.ok()) return std::nullopt;
    sizes[d] = dim.value();
  }
  if (sizes[0] < 1 || sizes[0] > most_experts)
    n.unsupported(cat("has ", sizes[0], " experts in input ", i, ", wants 1 to ", most_experts));
  if (sizes[1] < 1 || sizes[1] > most_size || sizes[2] < 1 || sizes[2] > most_size)
    n.fail(cat("an expert of input ", i, " has ", sizes[1], " times ", sizes[2], " weights"));
  if (n.ok() && e.experts != 0 && sizes[0] != e.experts)
    n.fail(cat("input ", i, " is of ", sizes[0], " experts, others of ", e.experts));
  if (!n.ok()) return std::nullopt;
  return sizes[1] * sizes[2] * e.in_byte();
}

// From the second matrices, whose columns are as many as the input is wide.
void find_sizes(NodeImport& n, Experts& e, std::size_t second) {
  const auto numbers = numbers_in(n, e, second);
  if (!numbers) return;
  e.experts = n.dim(n.in(second), 0).value();
  const std::int64_t rank = n.rank(n.in(0)).value_or(0);
  Dim width = rank > 0 ? n.dim(n.in(0), rank - 1) : Dim();
  if (!width.known()) width = n.dim(n.in(second), 1);
  if (width.value() < 1 || *numbers % width.value() != 0)
    return n.fail(cat("experts of ", *numbers, " weights do not fit rows of ", width.value()));
  e.width = width.value();
  e.inner = *numbers / e.width;
}

// Zero points in bits of each block, or of each row: those of rows lie side by side.
ValueId zeros_of_experts(NodeImport& n, const Experts& e, const Matrices& m, ValueId given) {
  if (e.block_size > 0) return reshape(n, given, Ints{e.experts, m.columns, -1});
  ValueId zeros = reshape(n, given, Ints{e.experts, -1});
  if (e.bits < 8) zeros = slice(n, n.add(UnpackBits{e.bits}, {zeros}), 0, m.columns, 1);
  return reshape(n, zeros, Ints{e.experts, m.columns, 1});
}

Matrices read_matrices(NodeImport& n, const Experts& e, std::int64_t columns, std::int64_t depth,
                       const MatrixInputs& from) {
  Matrices m{.columns = columns, .depth = depth};
  const auto numbers = numbers_in(n, e, from.numbers);
  if (!numbers) return m;
  if (*numbers / depth != columns || *numbers % depth != 0) {
    n.fail(cat("experts of input ", from.numbers, " have ", *numbers, " weights, want ", columns,
               " times ", depth));
    return m;
  }
  if (n.has(from.bias)) m.bias = reshape(n, n.in(from.bias), Ints{e.experts, columns});
  if (e.bits == 0) {
    m.numbers = reshape(n, n.in(from.numbers), Ints{e.experts, columns, depth});
    return m;
  }
  const std::int64_t size = e.block_size > 0 ? e.block_size : depth;
  if (depth % size != 0 || size % e.in_byte() != 0) {
    n.fail(cat("rows of ", depth, " weights are no whole number of blocks of ", size, " or bytes"));
    return m;
  }
  if (!n.has(from.scales)) n.fail(cat("wants scales in input ", from.scales));
  m.numbers =
      reshape(n, n.in(from.numbers), Ints{e.experts, columns, depth / size, size / e.in_byte()});
  m.scales = reshape(n, n.in(from.scales), Ints{e.experts, columns, depth / size});
  m.scales = cast(n, m.scales, n.dtype(n.in(0)));
  if (n.has(from.zeros)) m.zeros = zeros_of_experts(n, e, m, n.in(from.zeros));
  return m;
}

// ---- routing

// The experts that each row takes, i64 [R, k], and what their results count.
struct Routes {
  ValueId experts = no_value, weights = no_value;
};

Routes routing(NodeImport& n, const Experts& e, Flag normalise, ValueId given) {
  const ValueId router = reshape(n, n.in(1), Ints{-1, e.experts});
  const ValueId count = n.ints_constant({e.taken});
  const auto top = n.add_many(TopK{.axis = 1}, {router, count}, 2);
  if (!n.ok()) return {};
  const auto at_top = [&](ValueId x) {
    return n.add(Gather{.kind = GatherKind::elements, .axis = 1}, {x, top[1]});
  };
  ValueId weights = no_value;
  if (given != no_value) {
    weights = at_top(reshape(n, given, Ints{-1, e.experts}));
    if (normalise == Flag::on) weights = div(n, weights, reduce(n, ReduceKind::sum, weights, {1}));
  } else if (normalise == Flag::on) {
    weights = n.add(Softmax{}, {top[0]});
  } else {
    weights = at_top(n.add(Softmax{}, {router}));
  }
  return {top[1], weights};
}

// ---- an expert

// The matrices of one expert: [N, K] in place of [E, N, K].
Matrices of_expert(NodeImport& n, Matrices m, std::int64_t i) {
  for (ValueId* v : {&m.numbers, &m.scales, &m.zeros, &m.bias})
    if (*v != no_value) *v = squeeze(n, slice(n, *v, i, i + 1, 0), {0});
  return m;
}

// [R, K] -> [R, N], by one expert's matrix.
ValueId product(NodeImport& n, const Experts& e, const Matrices& m, ValueId x) {
  if (e.bits == 0) {
    const ValueId y = n.add(MatMul{.transpose_b = true}, {x, m.numbers});
    return m.bias == no_value ? y : add(n, y, m.bias);
  }
  const std::int64_t size = e.block_size > 0 ? e.block_size : m.depth;
  const bool quantize_x = e.quantize_x && size <= most_in_block_of_bytes;
  return n.add(BlockQuantizedMatMul{e.bits, size, quantize_x},
               {x, m.numbers, m.scales, m.zeros, m.bias});
}

// [R, k or 1, 1, K] -> [R, k, 1, N], by the matrices of the experts that `taken` [R, k] names.
ValueId taken_product(NodeImport& n, const Matrices& m, ValueId taken, ValueId x) {
  const ValueId weights = gather(n, m.numbers, taken, 0);
  const ValueId y = n.add(MatMul{.transpose_b = true}, {x, weights});
  if (m.bias == no_value) return y;
  return add(n, y, unsqueeze(n, gather(n, m.bias, taken, 0), {2}));
}

ValueId gated(NodeImport& n, const Experts& e, ValueId gate, ValueId linear) {
  if (e.limit < std::numeric_limits<float>::infinity()) {
    gate =
        unary(n, UnaryKind::clip, gate, -std::numeric_limits<double>::infinity(), double{e.limit});
    linear = unary(n, UnaryKind::clip, linear, -double{e.limit}, double{e.limit});
  }
  gate = unary(n, UnaryKind::swish, gate, double{e.alpha});
  return mul(n, gate, e.beta == 0 ? linear : add(n, linear, double{e.beta}));
}

// The gate and the linear part, [..., I] each, of a product that has both.
std::array<ValueId, 2> halves_of(NodeImport& n, const Experts& e, ValueId x) {
  if (e.fusion == Fusion::halves) {
    const auto parts = n.add_many(Split{.axis = -1}, {x}, 2);
    return {parts[0], parts[1]};
  }
  constexpr std::int64_t to_end = std::numeric_limits<std::int64_t>::max();
  const auto every_second = [&](std::int64_t start) {
    return n.add(Slice{}, {x, n.ints_constant({start}), n.ints_constant({to_end}),
                           n.ints_constant({-1}), n.ints_constant({2})});
  };
  const ValueId gate = every_second(0);
  return {gate, every_second(1)};
}

// `third`: the third product, or no_value.
ValueId activated_expert(NodeImport& n, const Experts& e, ValueId x, ValueId third) {
  if (!n.ok()) return no_value;
  if (e.is_fused()) {
    const auto [gate, linear] = halves_of(n, e, x);
    return gated(n, e, gate, linear);
  }
  if (e.activation == ExpertActivation::swiglu) return gated(n, e, x, third);
  if (e.activation == ExpertActivation::relu) x = unary(n, UnaryKind::relu, x);
  if (e.activation == ExpertActivation::gelu) x = unary(n, UnaryKind::gelu_tanh, x);
  if (e.activation == ExpertActivation::silu) x = unary(n, UnaryKind::swish, x, 1);
  return third == no_value ? x : mul(n, x, third);
}

// ---- all of them

struct Layers {
  Matrices first, second;
  std::optional<Matrices> third;
};

// All values that the computation reads: the layers, then those of each expert.
struct ExpertOperands {
  ValueId x = no_value;
  Routes routes;
  Layers all;
  std::vector<Layers> each;

  template <class F>
  void for_each(F f) {
    f(x), f(routes.experts), f(routes.weights);
    const auto matrices = [&](Matrices& m) { f(m.numbers), f(m.scales), f(m.zeros), f(m.bias); };
    const auto layers = [&](Layers& l) {
      matrices(l.first), matrices(l.second);
      if (l.third) matrices(*l.third);
    };
    layers(all);
    for (Layers& l : each) layers(l);
  }
};

// One expert after the other computes all rows, and those that did not take it add 0: a row's share
// of the work is E / k times what it needs, but no more than one expert's results are held at a
// time, and no weights are copied.
ValueId one_by_one(NodeImport& n, const Experts& e, const ExpertOperands& o) {
  const ValueId each = n.ints_constant({e.experts});
  const ValueId shape = join_dims(n, {dims_of(n, o.x, 0, 1), each});
  const ValueId none = filled(n, shape, n.dtype(o.routes.weights), 0);
  const ValueId weights =
      n.add(Scatter{.axis = 1}, {none, o.routes.experts, o.routes.weights});  // [R, E]
  const ValueId zero = n.scalar_like(o.x, 0);
  ValueId sum = no_value;
  for (std::int64_t i = 0; i < e.experts && n.ok(); ++i) {
    const Layers& l = o.each[static_cast<std::size_t>(i)];
    const ValueId inner = product(n, e, l.first, o.x);
    const ValueId third = l.third ? product(n, e, *l.third, o.x) : no_value;
    const ValueId y = product(n, e, l.second, activated_expert(n, e, inner, third));
    const ValueId weight = slice(n, weights, i, i + 1, 1);
    const ValueId weighted = mul(n, y, weight);
    // What overflows in an expert that a row did not take is no part of it.
    const ValueId is_left = binary(n, BinaryKind::equal, weight, zero);
    const ValueId part = where(n, is_left, zero, weighted);
    sum = sum == no_value ? part : add(n, sum, part);
  }
  return sum;
}

// Each row gathers the weights of its experts: they are copied for it, but others are not read.
ValueId row_by_row(NodeImport& n, const Experts& e, const ExpertOperands& o) {
  const ValueId x = unsqueeze(n, o.x, {1, 2});
  const ValueId taken = o.routes.experts;
  const ValueId inner = taken_product(n, o.all.first, taken, x);
  const ValueId third = o.all.third ? taken_product(n, *o.all.third, taken, x) : no_value;
  const ValueId y = taken_product(n, o.all.second, taken, activated_expert(n, e, inner, third));
  const ValueId weights = unsqueeze(n, o.routes.weights, {1});
  return squeeze(n, n.add(MatMul{}, {weights, squeeze(n, y, {2})}), {1});
}

// Row by row where the copies are no more than a quarter of all weights: a copy takes as long as
// two or three experts that are packed. Weights in bits are fast only where they are packed.
std::int64_t most_rows(const Experts& e) {
  return e.bits == 0 ? e.experts / 4 / e.taken : 0;
}

// Which way it is the shapes alone decide, so that each plan has one of them.
ValueId mixed(NodeImport& n, const Experts& e, ExpertOperands o) {
  const Dim rows = n.dim(o.x, 0);
  const bool is_few = rows.known() && rows.value() <= most_rows(e);
  if (is_few) return row_by_row(n, e, o);
  for (std::int64_t i = 0; i < e.experts && n.ok(); ++i) {
    Layers l{.first = of_expert(n, o.all.first, i), .second = {}, .third = std::nullopt};
    l.second = of_expert(n, o.all.second, i);
    if (o.all.third) l.third = of_expert(n, *o.all.third, i);
    o.each.push_back(l);
  }
  if (rows.known() || most_rows(e) == 0) return one_by_one(n, e, o);
  std::vector<ValueId> captures;
  const auto body = [&](ValueId (*way)(NodeImport&, const Experts&, const ExpertOperands&)) {
    captures.clear();
    return n.written_body({}, captures, [&](NodeImport& b) -> std::vector<ValueId> {
      ExpertOperands inside = o;
      inside.for_each([&](ValueId& v) { v = b.from_outside(v); });
      return {way(b, e, inside)};
    });
  };
  auto few = body(row_by_row);
  auto many = body(one_by_one);
  if (!few || !many) return no_value;
  const ValueId most = n.scalar(DType::i64, static_cast<double>(most_rows(e)));
  std::vector<ValueId> inputs = {binary(n, BinaryKind::less_equal, scalar_dim(n, o.x, 0), most)};
  inputs.insert(inputs.end(), captures.begin(), captures.end());
  std::vector<Graph> bodies;
  bodies.push_back(*std::move(few));
  bodies.push_back(*std::move(many));
  const auto y = n.add_many(If{}, std::move(inputs), 1, std::move(bodies));
  return n.ok() ? y[0] : no_value;
}

void compute(NodeImport& n, const Experts& e, const Layers& l, const Routes& routes) {
  if (!n.ok()) return;
  const ValueId x = reshape(n, n.in(0), Ints{-1, e.width});
  const ValueId y = mixed(n, e, {.x = x, .routes = routes, .all = l, .each = {}});
  if (n.ok()) n.set(0, reshape(n, y, shape_of(n, n.in(0))));
}

struct LayerInputs {
  MatrixInputs first, second, third;
};

void import_experts(NodeImport& n, Experts e, const LayerInputs& from, std::size_t router_weights) {
  const Flag normalise = n.flag("normalize_routing_weights", Flag::off) ? Flag::on : Flag::off;
  const bool has_third = n.has(from.third.numbers);
  if (e.taken < 1) n.fail(cat("'k' is ", e.taken, ", wants a positive number"));
  if (n.ok() && e.is_fused() && has_third)
    n.fail("swiglu wants its linear part in the first matrices or in the third ones, not in both");
  if (n.ok() && e.activation == ExpertActivation::swiglu && !e.is_fused() && !has_third)
    n.fail("swiglu without fusion wants a third matrix for each expert");
  if (!n.ok()) return;
  find_sizes(n, e, from.second.numbers);
  if (!n.ok()) return;
  Layers l{.first = read_matrices(n, e, e.is_fused() ? 2 * e.inner : e.inner, e.width, from.first),
           .second = {},
           .third = std::nullopt};
  l.second = read_matrices(n, e, e.width, e.inner, from.second);
  if (has_third) l.third = read_matrices(n, e, e.inner, e.width, from.third);
  compute(n, e, l, routing(n, e, normalise, n.in(router_weights)));
}

constexpr std::size_t not_there = 100;  // no operator has so many inputs

// (x [R, H] or [B, S, H], router [R, E], first matrices, bias?, second ones, bias?, third ones?,
// bias?)
void import_moe(NodeImport& n) {
  const LayerInputs from{.first = {2, 3, not_there, not_there},
                         .second = {4, 5, not_there, not_there},
                         .third = {6, 7, not_there, not_there}};
  import_experts(n, read_experts(n), from, not_there);
}

// (x, router, then numbers, scales and bias of the first, second and third matrices, their zero
// points, router weights): the router chooses, and its weights say what the chosen count.
void import_qmoe(NodeImport& n) {
  Experts e = read_experts(n);
  e.bits = n.integer("expert_weight_bits", 4);
  e.block_size = std::max<std::int64_t>(n.integer("block_size", 0), 0);
  e.quantize_x = n.integer("accuracy_level", 0) == 4;
  if (n.text("quant_type", "int") != "int")
    return n.unsupported("weights that are no integers are not supported");
  if (n.integer("weights_prepacked", 0) > 0)
    return n.unsupported("weights in a device's own order are not supported");
  if (e.bits != 2 && e.bits != 4 && e.bits != 8)
    return n.fail(cat("'expert_weight_bits' is ", e.bits, ", wants 2, 4 or 8"));
  if (e.block_size > most_in_block)
    return n.fail(cat("'block_size' is ", e.block_size, ", wants at most ", most_in_block));
  for (std::size_t i = 15; i < n.input_count(); ++i)
    if (n.has(i)) return n.unsupported(cat("input ", i, " is not for weights of integers"));
  const LayerInputs from{.first = {2, 4, 3, 11}, .second = {5, 7, 6, 12}, .third = {8, 10, 9, 13}};
  import_experts(n, e, from, 14);
}

constexpr OpRow microsoft_expert_rows[] = {
    {"MoE", 1, import_moe, {3, 8}},
    {"QMoE", 1, import_qmoe, {3, 21}},
};

}  // namespace

OpRows microsoft_expert_ops() {
  return microsoft_expert_rows;
}

}  // namespace quern::onnx
