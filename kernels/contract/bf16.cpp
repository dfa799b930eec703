// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/bf16.h"

#include <algorithm>

#include "graph/ops/conv.h"
#include "graph/ops/matmul.h"
#include "graph/passes/match.h"
#include "kernels/contract/post_ops_in_bf16.h"

namespace quern {

#ifdef QUERN_ONEDNN
namespace onednn {
bool has_bf16_units() noexcept;  // kernels/onednn/onednn.h
}
bool has_bf16_units() noexcept {
  return onednn::has_bf16_units();
}
#else
bool has_bf16_units() noexcept {
  return false;
}
#endif

namespace {

bool is_f32(const Graph& g, ValueId v) {
  return v == no_value || (g.type(v).is_tensor() && g.type(v).dtype == DType::f32);
}

// Multiplications below which a kernel's own call and the casts around it weigh more than they
// gain: four microseconds in f32. Weights that are read once are worth as much.
constexpr double least_work = 500e3;
constexpr std::int64_t least_weights = 65'536;

// A tile has 16 rows of 32 numbers: fewer channels in a group leave most of it empty.
bool fills_tiles(const Graph& g, const Conv& op, const Node& n) {
  const auto w = g.type(n.inputs[1]).shape();
  const auto y = g.type(n.outputs[0]).shape();
  if (!w || !y || w->rank() < 3 || w->rank() > 4) return false;
  constexpr std::int64_t few = 16;
  return (*w)[0] / op.group >= few && w->elements(1) >= few &&
         (op.group == 1 ? (*w)[1] >= 3 : (*w)[1] >= few) &&
         static_cast<double>(y->elements()) * static_cast<double>(w->elements(1)) >= least_work;
}

bool fills_tiles(const Graph& g, const Node& n) {
  const auto b = g.type(n.inputs[1]).shape();
  const auto y = g.type(n.outputs[0]).shape();
  constexpr std::int64_t few = 32;
  if (!b || !y || b->rank() != 2 || (*b)[0] < few || (*b)[1] < few) return false;
  return b->elements() >= least_weights ||
         static_cast<double>(y->elements()) * static_cast<double>((*b)[0]) >= least_work;
}

// f32, by constant weights, and large enough for tiles.
bool is_large_product(const Graph& g, const Node& n) {
  if (!passes::is_constant_expression(g, n.inputs[1])) return false;
  for (const ValueId v : n.reads())
    if (!is_f32(g, v)) return false;
  const auto* conv = n.as<Conv>();
  return conv ? fills_tiles(g, *conv, n) : fills_tiles(g, n);
}

}  // namespace

Narrow faster_in_bf16(const Graph& graph, const Node& node) {
  if (!is_large_product(graph, node)) return Narrow::nothing;
  return std::ranges::all_of(node.post_ops, is_fused_in_bf16) ? Narrow::result_too
                                                              : Narrow::factors;
}

// A product of f32 takes some 10 ps a multiplication, the three of bf16 take 5 where they fill
// their tiles, and to make the parts of a number takes 400. Weights that few rows read are memory's
// to bring, and half as many bytes again. (Measured on 337 layers of six models, Sapphire Rapids.)
Narrow faster_in_bf16x3(const Graph& graph, const Node& node) {
  constexpr std::int64_t few_channels = 64;
  constexpr double least_uses = 96;  // of each number of x
  const auto* conv = node.as<Conv>();
  const std::int64_t few_rows = conv ? 128 : 64;
  if (!is_large_product(graph, node) || (conv && conv->group > 1)) return Narrow::nothing;
  const auto x = graph.type(node.inputs[0]).shape();
  const auto w = graph.type(node.inputs[1]).shape();
  const auto y = graph.type(node.outputs[0]).shape();
  if (!x || !w || !y || x->elements() == 0 || y->elements() == 0) return Narrow::nothing;
  const bool is_transposed = !conv && node.as<MatMul>()->transpose_b;
  const std::int64_t channels = conv || is_transposed ? (*w)[1] : (*w)[0];
  const std::int64_t results = w->elements() / (conv ? w->elements(1) : channels);
  const std::int64_t rows = y->elements() / results;
  const double multiplications = static_cast<double>(rows) * static_cast<double>(w->elements());
  const double uses = multiplications / static_cast<double>(x->elements());
  return channels >= few_channels && rows >= few_rows && uses >= least_uses ? Narrow::parts
                                                                            : Narrow::nothing;
}

}  // namespace quern
