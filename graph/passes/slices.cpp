// SPDX-License-Identifier: Apache-2.0
// Rows that nobody reads are not computed: a slice goes before what computes each of its elements
// from elements at the same place. So the logits of a prompt's last token do not wait for those of
// all the others.
#include <algorithm>

#include "graph/ops/binary.h"
#include "graph/ops/block_quantized.h"
#include "graph/ops/cast.h"
#include "graph/ops/layer_norm.h"
#include "graph/ops/matmul.h"
#include "graph/ops/reduce.h"
#include "graph/ops/slice.h"
#include "graph/ops/softmax.h"
#include "graph/ops/unary.h"
#include "graph/ops/where.h"
#include "graph/passes/match.h"
#include "graph/passes/rules.h"

namespace quern::passes {
namespace {

// What a slice keeps of one dimension. Dimensions count from the last one, 1, as they do where
// operands broadcast.
struct Cut {
  std::size_t from_last;
  std::int64_t start, end, step;
};
using Cuts = std::vector<Cut>;

// The cuts of a slice whose bounds are constants; nullopt if it is another.
std::optional<Cuts> cuts_of(const Graph& g, const Node& slice) {
  const auto starts = ints(g, slice.inputs[1]);
  const auto ends = ints(g, slice.inputs[2]);
  if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
  const auto axes = has_input(slice, 3) ? ints(g, slice.inputs[3]) : Ints();
  const auto steps = has_input(slice, 4) ? ints(g, slice.inputs[4]) : Ints(starts->size(), 1);
  if (!axes || !steps || steps->size() != starts->size()) return std::nullopt;
  const std::size_t rank = g.type(slice.inputs[0]).dims->size();
  Cuts cuts;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto axis = positive_axis(
        g, slice.inputs[0],
        has_input(slice, 3) && i < axes->size() ? (*axes)[i] : static_cast<std::int64_t>(i));
    if (!axis) return std::nullopt;
    cuts.push_back({rank - *axis, (*starts)[i], (*ends)[i], (*steps)[i]});
  }
  return cuts;
}

bool are_all(const Cuts& cuts, const auto& is_fit) {
  return std::ranges::all_of(cuts, [&](const Cut& c) { return is_fit(c.from_last); });
}

bool is_outside_of_norm(const Graph& g, const Node& n, const Cuts& cuts) {
  const auto axis = positive_axis(g, n.inputs[0], n.as<LayerNorm>()->axis);
  const std::size_t rank = g.type(n.inputs[0]).dims->size();
  return axis && are_all(cuts, [&](std::size_t d) { return d > rank - *axis; });
}

bool is_outside_of_softmax(const Graph& g, const Node& n, const Cuts& cuts) {
  const auto axis = positive_axis(g, n.inputs[0], n.as<Softmax>()->axis);
  const std::size_t rank = g.type(n.inputs[0]).dims->size();
  return axis && !n.as<Softmax>()->flatten &&
         are_all(cuts, [&](std::size_t d) { return d != rank - *axis; });
}

bool is_outside_of_reduction(const Graph& g, const Node& n, const Cuts& cuts) {
  const auto axes = has_input(n, 1) ? ints(g, n.inputs[1]) : std::nullopt;
  if (!n.as<Reduce>()->keepdims || !axes || axes->empty()) return false;
  const std::size_t rank = g.type(n.inputs[0]).dims->size();
  return std::ranges::all_of(*axes, [&](std::int64_t a) {
    const auto axis = positive_axis(g, n.inputs[0], a);
    return axis && are_all(cuts, [&](std::size_t d) { return d != rank - *axis; });
  });
}

// Rows of the product are rows of its first factor; those of a batch, too, if the second has none.
bool are_rows(const Graph& g, const Node& n, const Cuts& cuts) {
  const std::size_t rank = g.type(n.outputs[0]).dims->size();
  if (n.as<MatMul>()->transpose_a || g.type(n.inputs[0]).dims->size() < 2) return false;
  const bool has_batch =
      g.type(n.inputs[1]).dims->size() != 2 || g.type(n.inputs[0]).dims->size() != rank;
  return g.type(n.inputs[1]).dims->size() >= 2 &&
         are_all(cuts, [&](std::size_t d) { return d == 2 || (d > 2 && !has_batch); });
}

// The number of inputs of `n`, from the first one on, that are cut where its result is; 0 if an
// element of the result may hang on others than those at its own place.
std::size_t inputs_to_cut(const Graph& g, const Node& n, const Cuts& cuts) {
  if (n.as<Unary>() || n.as<Cast>() || n.as<Binary>() || n.as<Where>()) return n.inputs.size();
  const bool is_in_place =
      (n.as<LayerNorm>() && is_outside_of_norm(g, n, cuts)) ||
      (n.as<Softmax>() && is_outside_of_softmax(g, n, cuts)) ||
      (n.as<Reduce>() && is_outside_of_reduction(g, n, cuts)) ||
      (n.as<MatMul>() && are_rows(g, n, cuts)) ||
      (n.as<BlockQuantizedMatMul>() && are_all(cuts, [](std::size_t d) { return d >= 2; }));
  return is_in_place ? 1 : 0;
}

bool is_known_tensor(const Graph& g, ValueId v) {
  return v != no_value && g.type(v).fully_known() && g.type(v).dtype != DType::string;
}

// Less than half is left, and something is.
bool saves_much(const Graph& g, ValueId all, ValueId part) {
  if (!is_known_tensor(g, all) || !is_known_tensor(g, part)) return false;
  const std::int64_t left = g.type(part).shape()->elements();
  return left > 0 && left <= g.type(all).shape()->elements() / 2;
}

// `v` where these cuts leave it; dimensions of 1 are whole, since something is left of them.
Result<ValueId> cut_operand(Graph& g, ValueId v, const Cuts& cuts, const std::string& name) {
  const Shape shape = *g.type(v).shape();
  Ints starts, ends, axes, steps;
  for (const Cut& c : cuts) {
    if (c.from_last > shape.rank() || shape[shape.rank() - c.from_last] == 1) continue;
    starts.push_back(c.start);
    ends.push_back(c.end);
    axes.push_back(static_cast<std::int64_t>(shape.rank() - c.from_last));
    steps.push_back(c.step);
  }
  if (axes.empty()) return v;
  QUERN_ASSIGN(const ValueId part, g.add(Slice{},
                                         {v, add_ints(g, starts), add_ints(g, ends),
                                          add_ints(g, axes), add_ints(g, steps)},
                                         name));
  if (g.value(v).is_constant()) QUERN_TRY(fold_constants(g, g.value(part).producer).status());
  return part;
}

}  // namespace

// slice(f(x))  =>  f(slice(x)), if only the slice reads f(x) and less than half of it
Result<bool> slice_before(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const ValueId whole = n.inputs[0];
  const Node* f = producer(g, whole);
  if (!f || !f->post_ops.empty() || f->outputs.size() != 1 || !n.post_ops.empty()) return false;
  if (!g.used_once(whole) || !saves_much(g, whole, n.outputs[0])) return false;
  const auto cuts = cuts_of(g, n);
  if (!cuts || !std::ranges::all_of(
                   f->inputs, [&](ValueId v) { return v == no_value || is_known_tensor(g, v); }))
    return false;
  const std::size_t count = inputs_to_cut(g, *f, *cuts);
  if (count == 0) return false;
  std::vector<ValueId> inputs = f->inputs;
  const Op op = f->op;
  const std::string name = n.name;
  for (std::size_t i = 0; i < count; ++i)
    if (inputs[i] != no_value) {
      QUERN_ASSIGN(inputs[i], cut_operand(g, inputs[i], *cuts, name));
    }
  return replace_op(g, id, op, std::move(inputs));
}

}  // namespace quern::passes
