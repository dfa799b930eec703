// SPDX-License-Identifier: Apache-2.0
// Operators that move elements, where they move none.
#include <algorithm>

#include "graph/ops/concat.h"
#include "graph/ops/gather.h"
#include "graph/ops/matmul.h"
#include "graph/ops/pad.h"
#include "graph/ops/rearrange.h"
#include "graph/ops/reduce.h"
#include "graph/ops/resampling.h"
#include "graph/ops/reshape.h"
#include "graph/ops/shape_of.h"
#include "graph/ops/slice.h"
#include "graph/ops/split.h"
#include "graph/ops/tile.h"
#include "graph/passes/match.h"
#include "graph/passes/reshape_target.h"
#include "graph/passes/rules.h"

namespace quern::passes {
namespace {

bool all_are(const std::optional<Ints>& list, std::int64_t value) {
  return list && std::ranges::all_of(*list, [&](std::int64_t v) { return v == value; });
}

bool keeps_all(const Graph& g, const Node& n) {
  return known_same(g, n.outputs[0], n.inputs[0]);
}

// Same shape and steps of 1: every bound is at its end.
bool is_whole_slice(const Graph& g, const Node& n) {
  return keeps_all(g, n) && (!has_input(n, 4) || all_are(ints(g, n.inputs[4]), 1));
}

// True if input and output sizes are equal, given as sizes or as scales of exactly 1: every
// coordinate maps to itself.
bool is_plain_resize(const Graph& g, const Node& n) {
  if (n.as<Resize>()->coordinates == CoordinateMode::tf_crop_and_resize) return false;
  if (!keeps_all(g, n) || !g.type(n.inputs[0]).fully_known()) return false;
  return has_input(n, 3) || (has_input(n, 2) && is_splat(g, n.inputs[2], 1));
}

// A shape or repeats that only a run knows may not fit the input at all, which is then an error.
bool has_constant_target(const Graph& g, const Node& n) {
  return g.value(n.inputs[1]).is_constant();
}

// All elements of the input are in its one dimension, whatever it is asked to be.
bool is_vector(const Graph& g, const Node& reshape) {
  const auto& dims = g.type(reshape.outputs[0]).dims;
  return dims && dims->size() == 1;
}

bool moves_nothing(const Graph& g, const Node& n) {
  if (n.as<Identity>()) return true;
  if (n.as<Reshape>()) return (has_constant_target(g, n) || !is_vector(g, n)) && keeps_all(g, n);
  if (n.as<Squeeze>() || n.as<Unsqueeze>() || n.as<Flatten>())
    return keeps_all(g, n) && always_fits(g, n);
  if (n.as<Split>()) return keeps_all(g, n);
  if (n.as<Expand>()) return has_constant_target(g, n) && keeps_all(g, n);
  if (n.as<Tile>())
    return has_constant_target(g, n) && (keeps_all(g, n) || all_are(ints(g, n.inputs[1]), 1));
  if (n.as<Pad>()) return all_are(ints(g, n.inputs[1]), 0);
  if (n.as<Slice>()) return is_whole_slice(g, n);
  if (n.as<Resize>()) return is_plain_resize(g, n);
  if (n.as<Concat>()) return n.inputs.size() == 1 && g.type(n.inputs[0]).dims;
  if (const auto* d = n.as<DepthSpace>()) return d->block == 1;
  return false;
}

// The last two dimensions of what an Expand gives are those of what it takes.
bool keeps_matrices(const Graph& g, const Node& expand) {
  const auto& from = g.type(expand.inputs[0]).dims;
  const auto& to = g.type(expand.outputs[0]).dims;
  return from && to && from->size() >= 2 && to->size() >= 2 &&
         std::equal(from->end() - 2, from->end(), to->end() - 2,
                    [](Dim a, Dim b) { return a.same(b); });
}

// Reducing one element gives that element.
bool passes_one_element(ReduceKind k) {
  return k == ReduceKind::sum || k == ReduceKind::mean || k == ReduceKind::max ||
         k == ReduceKind::min || k == ReduceKind::prod;
}

// The indices that a slice gives.
struct Cut {
  std::int64_t first, last, step;
};
// Nothing if these do not count up in equal steps, or if one of them may be out of range.
std::optional<Cut> cut_of(const Ints& indices, Dim extent) {
  if (!extent.known() || indices.empty()) return std::nullopt;
  Ints all;
  for (const std::int64_t i : indices) {
    if (i < -extent.value() || i >= extent.value()) return std::nullopt;
    all.push_back(i < 0 ? i + extent.value() : i);
  }
  const std::int64_t step = all.size() > 1 ? all[1] - all[0] : 1;
  if (step < 1) return std::nullopt;
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i] - all[i - 1] != step) return std::nullopt;
  return Cut{all.front(), all.back(), step};
}

}  // namespace

// Identity, Reshape to the same shape, Pad by nothing, ...  =>  x
Result<bool> drop_movement(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (n.outputs.size() != 1 || !moves_nothing(g, n)) return false;
  return replace_uses(g, id, n.inputs[0]);
}

namespace {

// All dimensions but that of `axis` are known to be the same: Concat takes both in every run.
bool fit_beside(const std::optional<Dims>& a, const std::optional<Dims>& b, std::size_t axis) {
  if (!a || !b || a->size() != b->size()) return false;
  for (std::size_t d = 0; d < a->size(); ++d)
    if (d != axis && !(*a)[d].same((*b)[d])) return false;
  return true;
}

}  // namespace

// concat(.., empty, ..)  =>  concat without it
Result<bool> drop_empty_parts(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const auto axis = positive_axis(g, n.outputs[0], n.as<Concat>()->axis);
  if (!axis) return false;
  const auto is_empty = [&](ValueId v) { return g.type(v).dims && (*g.type(v).dims)[*axis].is(0); };
  const auto kept = std::ranges::find_if_not(n.inputs, is_empty);
  if (kept == n.inputs.end()) return false;
  std::vector<ValueId> parts;
  for (ValueId v : n.inputs)
    if (!is_empty(v) || !fit_beside(g.type(v).dims, g.type(*kept).dims, *axis)) parts.push_back(v);
  if (parts.size() == n.inputs.size()) return false;
  return replace_op(g, id, Concat(*n.as<Concat>()), std::move(parts));
}

// concat(.., concat(a, b), ..)  =>  concat(.., a, b, ..) along one axis
Result<bool> merge_concats(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const auto axis = positive_axis(g, n.outputs[0], n.as<Concat>()->axis);
  if (!axis) return false;
  std::vector<ValueId> parts;
  for (ValueId v : n.inputs) {
    const Node* inner = bare<Concat>(g, v);
    if (inner && g.used_once(v) && positive_axis(g, v, inner->as<Concat>()->axis) == axis) {
      parts.insert(parts.end(), inner->inputs.begin(), inner->inputs.end());
    } else {
      parts.push_back(v);
    }
  }
  if (parts.size() == n.inputs.size()) return false;
  return replace_op(g, id, Concat{static_cast<std::int64_t>(*axis)}, std::move(parts));
}

// f(.., expand(x), ..)  =>  f(.., x, ..), where f broadcasts and the others give the shape; a
// product broadcasts all dimensions but the last two
Result<bool> drop_expand(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    const Node* expand = bare<Expand>(g, n.inputs[i]);
    if (!expand || (n.as<MatMul>() && !keeps_matrices(g, *expand))) continue;
    std::vector<ValueId> inputs = n.inputs;
    inputs[i] = expand->inputs[0];
    const auto types = g.infer(n.op, inputs, 1, n.name);
    if (!types || !known_same((*types)[0], g.type(n.outputs[0]))) continue;
    return replace_keeping_post_ops(g, id, Op(n.op), std::move(inputs));
  }
  return false;
}

// sum, mean, max, min, product over dimensions of 1  =>  reshape
Result<bool> drop_reduce(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const Dims* x = g.type(n.inputs[0]).dims ? &*g.type(n.inputs[0]).dims : nullptr;
  if (!x || !passes_one_element(n.as<Reduce>()->kind)) return false;
  if (has_input(n, 1)) {
    const auto axes = ints(g, n.inputs[1]);
    if (!axes || axes->empty()) return false;
    for (std::int64_t a : *axes) {
      const auto axis = positive_axis(g, n.inputs[0], a);
      if (!axis || !(*x)[*axis].is(1)) return false;
    }
  } else if (n.as<Reduce>()->noop_with_empty_axes ||
             !std::ranges::all_of(*x, [](Dim d) { return d.is(1); })) {
    return false;
  }
  if (keeps_all(g, n)) return replace_uses(g, id, n.inputs[0]);
  const auto target = reshape_target(*g.type(n.outputs[0]).dims);
  if (!target) return false;
  const ValueId in = n.inputs[0];
  return replace_op(g, id, target->op, {in, add_ints(g, target->shape)});
}

// where(true, x, y)  =>  x, where(false, x, y)  =>  y, of the result's shape
Result<bool> drop_where(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const auto condition = constant_bool(g, n.inputs[0]);
  if (!condition) return false;
  const ValueId chosen = n.inputs[*condition ? 1 : 2];
  return known_same(g, n.outputs[0], chosen) ? replace_uses(g, id, chosen) : Result<bool>(false);
}

// gather(x, i)  =>  slice(x), squeezed where i is a scalar, if i counts up in equal steps: what is
// left to move a view can say
Result<bool> gather_to_slice(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const auto* op = bare<Gather>(n);
  if (!op || op->kind != GatherKind::axis) return false;
  const ValueId x = n.inputs[0];
  const auto axis = positive_axis(g, x, op->axis);
  const auto indices = ints(g, n.inputs[1]);
  if (!axis || !indices || bare<ShapeOf>(g, x)) return false;  // shapes have rules of their own
  const auto cut = cut_of(*indices, (*g.type(x).dims)[*axis]);
  const std::size_t rank = g.value(n.inputs[1]).constant.shape().rank();
  if (!cut || rank > 1) return false;
  const auto at = static_cast<std::int64_t>(*axis);
  std::vector<ValueId> inputs = {x, add_ints(g, {cut->first}), add_ints(g, {cut->last + 1}),
                                 add_ints(g, {at}), add_ints(g, {cut->step})};
  if (rank == 1) return replace_op(g, id, Slice{}, std::move(inputs));
  QUERN_ASSIGN(const ValueId part, g.add(Slice{}, std::move(inputs), n.name));
  return replace_op(g, id, Squeeze{}, {part, add_ints(g, {at})});
}

}  // namespace quern::passes
