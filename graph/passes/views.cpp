// SPDX-License-Identifier: Apache-2.0
// Reshapes and transposes: merged, cancelled, turned into each other, absorbed by their readers.
#include <algorithm>
#include <numeric>

#include "graph/ops/cast.h"
#include "graph/ops/matmul.h"
#include "graph/ops/reduce.h"
#include "graph/ops/reshape.h"
#include "graph/ops/transpose.h"
#include "graph/passes/match.h"
#include "graph/passes/reshape_target.h"
#include "graph/passes/rules.h"

namespace quern::passes {
namespace {

constexpr int max_pull = 8;  // elementwise nodes between two transposes

bool is_reshape(const Node& n) {
  return n.post_ops.empty() &&
         (n.as<Reshape>() || n.as<Squeeze>() || n.as<Unsqueeze>() || n.as<Flatten>());
}

// The permutation with its default filled in; nothing while the rank is unknown.
std::optional<Ints> permutation(const Graph& g, const Node& n) {
  Ints perm = n.as<Transpose>()->perm;
  if (!perm.empty()) return perm;
  const auto& dims = g.type(n.inputs[0]).dims;
  if (!dims) return std::nullopt;
  perm.resize(dims->size());
  std::iota(perm.rbegin(), perm.rend(), 0);
  return perm;
}

std::optional<Ints> permutation_of(const Graph& g, ValueId v) {
  const Node* n = bare<Transpose>(g, v);
  return n ? permutation(g, *n) : std::nullopt;
}

bool is_identity(const Ints& perm) {
  return std::ranges::is_sorted(perm);
}

std::int64_t at(const Ints& perm, std::int64_t i) {
  return perm[static_cast<std::size_t>(i)];
}

// First p, then q.
Ints compose(const Ints& p, const Ints& q) {
  Ints both;
  for (std::int64_t i : q) both.push_back(at(p, i));
  return both;
}

bool swaps_last_two(const Ints& perm) {
  const auto r = static_cast<std::int64_t>(perm.size());
  if (r < 2 || perm[perm.size() - 1] != r - 2 || perm[perm.size() - 2] != r - 1) return false;
  return std::is_sorted(perm.begin(), perm.end() - 2);
}

// The dimensions that are not 1 keep their order.
bool moves_only_ones(const Dims& dims, const Ints& perm) {
  std::int64_t last = -1;
  for (std::int64_t i : perm) {
    if (dims[static_cast<std::size_t>(i)].is(1)) continue;
    if (i < last) return false;
    last = i;
  }
  return true;
}

// Works on one element after the other, whatever the order of the dimensions: its only tensor
// operand, as an index into the inputs.
std::optional<std::size_t> permutable_input(const Graph& g, const Node& n) {
  const bool is_elementwise = n.op.def().is(OpTrait::elementwise) && !n.as<BitCast>();
  if (!is_elementwise || !n.post_ops.empty() || n.inputs.size() > 2) return std::nullopt;
  if (n.inputs.size() == 1) return 0;
  for (std::size_t i : {0, 1}) {
    const auto& other = g.type(n.inputs[1 - i]).dims;
    if (other && other->empty() && g.type(n.inputs[i]).dims) return i;
  }
  return std::nullopt;
}

// A transpose stands above `v`, with nothing but elementwise nodes of one reader in between.
bool has_transpose_above(const Graph& g, ValueId v) {
  for (int i = 0; i < max_pull; ++i) {
    if (bare<Transpose>(g, v)) return true;
    const Node* n = producer(g, v);
    if (!n || !g.used_once(v)) return false;
    const auto input = permutable_input(g, *n);
    if (!input) return false;
    v = n->inputs[*input];
  }
  return false;
}

}  // namespace

// ---- reshapes ----------------------------------------------------------------------------------

// reshape(squeeze(x)), flatten(reshape(x)), ...  =>  reshape(x)
Result<bool> merge_reshapes(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const Node* inner = producer(g, n.inputs[0]);
  if (!is_reshape(n) || !inner || !is_reshape(*inner) || !g.type(n.outputs[0]).dims) return false;
  // The outer one may be left to the run, which refuses the same shape of both.
  const bool is_left = n.as<Reshape>() && g.value(n.inputs[1]).is_constant();
  if (!always_fits(g, *inner) || !(is_left || always_fits(g, n))) return false;
  const auto target = reshape_target(*g.type(n.outputs[0]).dims);
  if (!target) return false;
  const ValueId x = inner->inputs[0];
  return replace_op(g, id, target->op, {x, add_ints(g, target->shape)});
}

// squeeze(x), unsqueeze(x), flatten(x)  =>  reshape(x), of known shape
Result<bool> to_reshape(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!n.post_ops.empty() || !g.type(n.outputs[0]).fully_known() || !always_fits(g, n))
    return false;
  const auto target = reshape_target(*g.type(n.outputs[0]).dims);
  const ValueId x = n.inputs[0];
  return replace_op(g, id, target->op, {x, add_ints(g, target->shape)});
}

// ---- transposes --------------------------------------------------------------------------------

// transpose(x) by nothing  =>  x;  of dimensions of 1  =>  reshape(x)
Result<bool> drop_transpose(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const auto perm = permutation(g, n);
  if (!perm) return false;
  if (is_identity(*perm)) return replace_uses(g, id, n.inputs[0]);
  const ValueId x = n.inputs[0];
  if (!g.type(x).dims || !moves_only_ones(*g.type(x).dims, *perm)) return false;
  const auto target = reshape_target(*g.type(n.outputs[0]).dims);
  return target ? replace_op(g, id, target->op, {x, add_ints(g, target->shape)})
                : Result<bool>(false);
}

// transpose(transpose(x, p), q)  =>  transpose(x, p then q)
Result<bool> merge_transposes(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const auto inner = permutation_of(g, n.inputs[0]);
  const auto outer = permutation(g, n);
  if (!inner || !outer) return false;
  return replace_op(g, id, Transpose{compose(*inner, *outer)},
                    {producer(g, n.inputs[0])->inputs[0]});
}

// transpose(f(x))  =>  f(transpose(x)), f elementwise, where it is going to meet another transpose
Result<bool> pull_transpose(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const Node* f = producer(g, n.inputs[0]);
  if (!f || f->as<Transpose>() || !has_transpose_above(g, n.inputs[0])) return false;
  const std::size_t at = *permutable_input(g, *f);
  std::vector<ValueId> inputs = f->inputs;
  const Op op = f->op;
  QUERN_ASSIGN(inputs[at], g.add(Transpose(*n.as<Transpose>()), {inputs[at]}, n.name));
  return replace_op(g, id, op, std::move(inputs));
}

// f(transpose(a, p), transpose(b, p))  =>  transpose(f(a, b), p), f elementwise
Result<bool> sink_transposes(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!n.post_ops.empty() || n.inputs[0] == n.inputs[1]) return false;
  const auto p = permutation_of(g, n.inputs[0]);
  const auto q = permutation_of(g, n.inputs[1]);
  if (!p || p != q || !g.used_once(n.inputs[0]) || !g.used_once(n.inputs[1])) return false;
  if (g.type(n.inputs[0]).dims->size() != g.type(n.inputs[1]).dims->size()) return false;
  const Op op = n.op;
  const std::string name = n.name;
  QUERN_ASSIGN(
      const ValueId y,
      g.add(op, {producer(g, n.inputs[0])->inputs[0], producer(g, n.inputs[1])->inputs[0]}, name));
  return replace_op(g, id, Transpose{*p}, {y});
}

// reduce(transpose(x, p), axes)  =>  reduce(x, axes through p), transposed if dimensions are kept
Result<bool> reduce_before_transpose(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const auto perm = permutation_of(g, n.inputs[0]);
  if (!perm || !n.post_ops.empty() || !has_input(n, 1)) return false;
  const auto axes = ints(g, n.inputs[1]);
  if (!axes || axes->empty()) return false;
  std::vector<bool> reduced(perm->size(), false);
  Ints through;
  for (std::int64_t a : *axes) {
    const auto axis = positive_axis(g, n.inputs[0], a);
    if (!axis) return false;
    through.push_back((*perm)[*axis]);
    reduced[static_cast<std::size_t>(through.back())] = true;
  }
  const Reduce op = *n.as<Reduce>();
  const ValueId x = producer(g, n.inputs[0])->inputs[0];
  if (op.keepdims) {
    const std::string name = n.name;
    QUERN_ASSIGN(const ValueId y, g.add(op, {x, add_ints(g, through)}, name));
    return replace_op(g, id, Transpose{*perm}, {y});
  }
  Ints kept = *perm;
  std::erase_if(kept, [&](std::int64_t d) { return reduced[static_cast<std::size_t>(d)]; });
  if (!is_identity(kept)) return false;
  return replace_op(g, id, op, {x, add_ints(g, through)});
}

// matmul(transpose(a), b)  =>  matmul(a, b) that transposes a itself; the same for b
Result<bool> transpose_in_matmul(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  for (std::size_t i : {0, 1}) {
    const auto perm = permutation_of(g, n.inputs[i]);
    if (!perm || !swaps_last_two(*perm)) continue;
    MatMul op = *n.as<MatMul>();
    bool& flag = i == 0 ? op.transpose_a : op.transpose_b;
    flag = !flag;
    std::vector<ValueId> inputs = n.inputs;
    inputs[i] = producer(g, inputs[i])->inputs[0];
    return replace_keeping_post_ops(g, id, op, std::move(inputs));
  }
  return false;
}

}  // namespace quern::passes
