// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/bf16.h"

#include <algorithm>
#include <variant>

#include "graph/ops/binary_kind.h"
#include "graph/ops/conv.h"
#include "graph/ops/unary.h"
#include "graph/passes/match.h"
#include "graph/post_ops.h"

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

// A kernel of bf16 computes the post-op itself. As a step of its own it would be slow in bf16.
bool is_fused(const PostOp& post_op) {
  if (const auto* binary = std::get_if<BinaryPostOp>(&post_op))
    return binary->kind == BinaryKind::add || binary->kind == BinaryKind::mul;
  const Unary* unary = unary_of(post_op);
  if (!unary) return false;
  switch (unary->kind) {
    case UnaryKind::relu:
    case UnaryKind::leaky_relu:
    case UnaryKind::clip:
    case UnaryKind::sigmoid:
    case UnaryKind::tanh:
    case UnaryKind::swish:
    case UnaryKind::gelu:
    case UnaryKind::gelu_tanh:
    case UnaryKind::hard_swish: return true;
    default: return false;
  }
}

bool fills_tiles(const Graph& g, const Node& n) {
  const auto b = g.type(n.inputs[1]).shape();
  const auto y = g.type(n.outputs[0]).shape();
  constexpr std::int64_t few = 32;
  if (!b || !y || b->rank() != 2 || (*b)[0] < few || (*b)[1] < few) return false;
  return b->elements() >= least_weights ||
         static_cast<double>(y->elements()) * static_cast<double>((*b)[0]) >= least_work;
}

}  // namespace

Narrow faster_in_bf16(const Graph& graph, const Node& node) {
  if (!passes::is_constant_expression(graph, node.inputs[1])) return Narrow::nothing;
  for (const ValueId v : node.reads())
    if (!is_f32(graph, v)) return Narrow::nothing;
  const auto* conv = node.as<Conv>();
  if (conv ? !fills_tiles(graph, *conv, node) : !fills_tiles(graph, node)) return Narrow::nothing;
  return std::ranges::all_of(node.post_ops, is_fused) ? Narrow::result_too : Narrow::factors;
}

}  // namespace quern
