// SPDX-License-Identifier: Apache-2.0
// softmax(scale q k^T + mask) v as one operator.
//
// Attention gives zeros for a row that its mask hides entirely, where softmax alone gives NaN: the
// one difference besides rounding.
#include "graph/ops/attention.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "graph/ops/binary_kind.h"
#include "graph/ops/cast.h"
#include "graph/ops/matmul.h"
#include "graph/ops/softmax.h"
#include "graph/ops/unary.h"
#include "graph/ops/where.h"
#include "graph/passes/match.h"
#include "graph/passes/rules.h"

namespace quern::passes {
namespace {

constexpr double hidden = -std::numeric_limits<double>::infinity();

struct Mask {
  ValueId value = no_value;
  bool hides = false;  // a bool that is true where a key is hidden
};

struct Scores {
  ValueId q = no_value;
  ValueId k = no_value;
  Mask mask;
  double scale = 1;
  bool k_transposed = false;
};

// v = c x or x / c: takes the number off.
bool take_number(const Graph& g, ValueId& v, double& scale) {
  const Node* n = producer(g, v);
  const bool divides = n && is_binary(*n, BinaryKind::div);
  if (!n || !(divides || is_binary(*n, BinaryKind::mul))) return false;
  const auto c = splat(g, n->inputs[1]);
  if (!c || !keeps_shape(g, n->inputs[0], n->inputs[1])) return false;
  scale = divides ? scale / *c : scale * *c;
  v = n->inputs[0];
  return true;
}

bool leads_to_product(const Graph& g, ValueId v) {
  const Node* n = producer(g, v);
  return n &&
         (bare<MatMul>(*n) || is_binary(*n, BinaryKind::mul) || is_binary(*n, BinaryKind::div));
}

// v = scores + mask, or scores where a condition holds and -inf elsewhere: takes the mask off.
void take_mask(const Graph& g, ValueId& v, Mask& mask) {
  if (const Node* add = binary(g, v, BinaryKind::add)) {
    for (std::size_t i : {0, 1}) {
      const ValueId scores = add->inputs[i];
      if (!leads_to_product(g, scores) || !keeps_shape(g, scores, add->inputs[1 - i])) continue;
      mask.value = add->inputs[1 - i];
      v = scores;
      return;
    }
    return;
  }
  const Node* where = bare<Where>(g, v);
  if (!where) return;
  for (std::size_t i : {1, 2}) {
    const ValueId scores = where->inputs[i];
    if (!is_splat(g, where->inputs[3 - i], hidden) || !known_same(g, scores, v)) continue;
    if (!keeps_shape(g, scores, where->inputs[0])) continue;
    mask = {where->inputs[0], i == 2};
    v = scores;
    return;
  }
}

// v = scale q k^T + mask
std::optional<Scores> scores_of(const Graph& g, ValueId v) {
  Scores s;
  if (!g.used_once(v)) return std::nullopt;
  take_mask(g, v, s.mask);
  do {
    if (!g.used_once(v)) return std::nullopt;
  } while (take_number(g, v, s.scale));
  const Node* product = bare<MatMul>(g, v);
  if (!product) return std::nullopt;
  const MatMul& op = *product->as<MatMul>();
  if (op.transpose_a) return std::nullopt;
  s.q = product->inputs[0];
  s.k = product->inputs[1];
  s.k_transposed = !op.transpose_b;
  s.scale *= static_cast<double>(op.alpha);
  take_number(g, s.q, s.scale);
  take_number(g, s.k, s.scale);
  return s;
}

// One rank of at least 3, and heads that go with each other: as matmul pairs them, Attention does.
bool fit(const Graph& g, ValueId q, ValueId k, ValueId v) {
  if (!g.type(q).dims || !g.type(k).dims || !g.type(v).dims) return false;
  const Dims& a = *g.type(q).dims;
  const Dims& b = *g.type(k).dims;
  const Dims& c = *g.type(v).dims;
  const std::size_t rank = a.size();
  if (rank < 3 || b.size() != rank || c.size() != rank) return false;
  return b[rank - 3].same(c[rank - 3]) && (a[rank - 3].same(b[rank - 3]) || b[rank - 3].is(1));
}

// Softmax over the last axis: its input.
std::optional<ValueId> softmax_input(const Graph& g, ValueId v) {
  const Node* n = bare<Softmax>(g, v);
  if (!n || n->as<Softmax>()->kind != SoftmaxKind::softmax || !g.used_once(v)) return std::nullopt;
  const auto axis = positive_axis(g, v, n->as<Softmax>()->axis);
  if (!axis || *axis + 1 != g.type(v).dims->size()) return std::nullopt;
  return n->inputs[0];
}

}  // namespace

// matmul(softmax(scale matmul(q, k^T) + mask), v)  =>  attention(q, k, v, mask)
Result<bool> recognise_attention(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const MatMul* outer = bare<MatMul>(n);
  if (!outer || outer->transpose_a || outer->transpose_b || outer->alpha != 1) return false;
  if (!is_number_float(g, n.outputs[0])) return false;
  const auto input = softmax_input(g, n.inputs[0]);
  const auto scores = input ? scores_of(g, *input) : std::nullopt;
  const ValueId v = n.inputs[1];
  if (!scores || !fit(g, scores->q, scores->k, v)) return false;
  if (!fits_float(g, n.outputs[0], scores->scale)) return false;
  const Attention op{.scale = static_cast<float>(scores->scale),
                     .k_transposed = scores->k_transposed};
  std::vector<ValueId> inputs = {scores->q, scores->k, v};
  Mask mask = scores->mask;
  if (mask.value == no_value) return replace_op(g, id, op, std::move(inputs));
  if (mask.hides) {
    QUERN_ASSIGN(mask.value, g.add(Unary{UnaryKind::logical_not}, {mask.value}));
  }
  inputs.push_back(mask.value);
  return replace_op(g, id, op, std::move(inputs));
}

namespace {

// The causal cache that `v` is, or what it was before a cast from 16 bits.
ValueId causal_cache(const Graph& g, ValueId v) {
  const Node* cast = bare<Cast>(g, v);
  const auto is_narrow = [&](DType t) { return t == DType::f16 || t == DType::bf16; };
  if (cast && is_narrow(g.type(cast->inputs[0]).dtype)) v = cast->inputs[0];
  const Node* n = bare<CacheAppend>(g, v);
  return n && n->as<CacheAppend>()->causal ? v : no_value;
}

}  // namespace

// attention(q, append(..), append(..), mask)  =>  attention to the rows that count, where nothing
// looks behind them
Result<bool> attend_to_cache(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const Attention* op = bare<Attention>(n);
  if (!op || op->k_transposed || g.type(n.outputs[0]).dtype != DType::f32) return false;
  const ValueId keys = causal_cache(g, n.inputs[1]);
  const ValueId values = causal_cache(g, n.inputs[2]);
  if (keys == no_value || values == no_value || g.type(keys).dtype != g.type(values).dtype)
    return false;
  const ValueId before = producer(g, keys)->inputs[2];
  if (before != producer(g, values)->inputs[2]) return false;
  const auto& q = g.type(n.inputs[0]).dims;
  const auto& k = g.type(n.inputs[1]).dims;
  if (!q || q->size() != 4 || !k || !(*q)[0].same((*k)[0])) return false;
  std::vector<ValueId> inputs = {n.inputs[0], keys, values, before};
  if (has_input(n, 3)) {
    ValueId mask = n.inputs[3];
    if (g.type(mask).dtype == DType::boolean) {
      const ValueId seen = add_number(g, DType::f32, 0);
      const ValueId unseen = add_number(g, DType::f32, hidden);
      QUERN_ASSIGN(mask, g.add(Where{}, {mask, seen, unseen}));
    }
    inputs.push_back(mask);
  }
  return replace_op(g, id, CachedAttention{.scale = op->scale}, std::move(inputs));
}

}  // namespace quern::passes
