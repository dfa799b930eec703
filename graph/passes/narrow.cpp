// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/narrow.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/ops/cast.h"
#include "graph/ops/conv.h"
#include "graph/ops/matmul.h"
#include "graph/ops/products.h"

namespace quern {
namespace {

class Narrowing {
 public:
  Narrowing(Graph& graph, const std::function<Narrow(const Graph&, const Node&)>& may)
      : g_(graph), order_(graph.order().begin(), graph.order().end()), nodes_(node_slots()) {
    for (const NodeId id : order_) {
      const Node& n = g_.node(id);
      if (n.as<Conv>() || n.as<MatMul>()) nodes_[index(id)].may = may(g_, n);
    }
    // Readers first: what they want of a result is known then.
    for (std::size_t i = order_.size(); i-- > 0;) {
      Choice& choice = nodes_[index(order_[i])];
      choice.narrow_result =
          choice.may == Narrow::result_too && has_narrow_readers(g_.node(order_[i]).outputs[0]);
    }
  }

  Status run() {
    for (const NodeId id : order_)
      if (nodes_[index(id)].may != Narrow::nothing) QUERN_TRY(replace(id));
    return {};
  }

 private:
  struct Choice {
    Narrow may = Narrow::nothing;
    bool narrow_result = false;
  };

  std::size_t node_slots() const {
    std::size_t slots = 0;
    for (const NodeId id : order_) slots = std::max<std::size_t>(slots, index(id) + 1);
    return slots;
  }

  // All readers take the value as a factor of a product, or in the post-ops of one with a narrow
  // result.
  bool has_narrow_readers(ValueId v) const {
    const auto& uses = g_.value(v).uses;
    return !uses.empty() && !g_.is_output(v) && std::ranges::all_of(uses, [&](const Use& use) {
      const Choice& reader = nodes_[index(use.node)];
      return use.read < factors ? is_rounded(reader.may) : reader.narrow_result;
    });
  }

  static bool is_rounded(Narrow may) { return may == Narrow::factors || may == Narrow::result_too; }

  // The factors with three terms in the place of each; the result has the shape that it had.
  Status triple(const Op& op, std::vector<ValueId>& inputs) {
    const auto* product = op.as<MatMul>();  // else a Conv, of channels
    const std::int64_t left = !product ? 1 : product->transpose_a ? -2 : -1;
    const std::int64_t right = !product ? 1 : product->transpose_b ? -1 : -2;
    QUERN_ASSIGN(inputs[0], parts(inputs[0], {left, Bf16Factor::left}));
    QUERN_ASSIGN(inputs[1], parts(inputs[1], {right, Bf16Factor::right}));
    return {};
  }
  Result<ValueId> parts(ValueId v, const Bf16Parts& op) {
    const auto [at, is_new] =
        parts_.try_emplace({index(v), op.axis, op.factor == Bf16Factor::left}, no_value);
    if (is_new) {
      QUERN_ASSIGN(at->second, g_.add(op, {v}));
    }
    return at->second;
  }

  // The node in bf16 takes the place of the one in f32.
  Status replace(NodeId id) {
    const Node& n = g_.node(id);
    const bool narrow_result = nodes_[index(id)].narrow_result;
    const Op op = narrow_result ? n.op : with_result(n.op, ProductType::f32);
    const std::string name = n.name;
    const PostOps post_ops = n.post_ops;
    const ValueId old = n.outputs[0];
    std::vector<ValueId> inputs = n.inputs;
    std::vector<ValueId> operands = n.operands;
    const bool in_parts = nodes_[index(id)].may == Narrow::parts;
    if (in_parts) QUERN_TRY(triple(op, inputs));
    for (std::size_t i = 0; i < inputs.size() && !in_parts; ++i)
      if (i < factors || narrow_result) {
        QUERN_ASSIGN(inputs[i], narrow(inputs[i]));
      }
    if (narrow_result)
      for (ValueId& v : operands) {
        QUERN_ASSIGN(v, narrow(v));
      }
    QUERN_ASSIGN(const NodeId made, g_.add_node(op, inputs, name));
    if (!post_ops.empty())
      QUERN_TRY(g_.replace(made, op, std::move(inputs), post_ops, std::move(operands)));
    const ValueId y = g_.node(made).outputs[0];
    g_.set_name(y, g_.value(old).name);
    if (!narrow_result) {
      g_.set_type(y, g_.type(old));
      g_.replace_uses(old, y);
      return {};
    }
    remember(old, y);
    return {};
  }

  Result<ValueId> narrow(ValueId v) {
    if (v == no_value) return v;
    if (index(v) < known_.size() && known_[index(v)] != no_value) return known_[index(v)];
    QUERN_ASSIGN(const ValueId made, g_.add(Cast{.to = DType::bf16}, {v}));
    remember(v, made);
    return made;
  }
  void remember(ValueId wide, ValueId narrow) {
    if (index(wide) >= known_.size()) known_.resize(index(wide) + 1, no_value);
    known_[index(wide)] = narrow;
  }

  static constexpr std::size_t factors = 2;  // inputs in front of the bias
  Graph& g_;
  std::vector<NodeId> order_;
  std::vector<Choice> nodes_;   // by NodeId
  std::vector<ValueId> known_;  // the bf16 form of a value; no_value: not made yet
  // By value, axis, and whether it is the left factor.
  std::map<std::tuple<std::size_t, std::int64_t, bool>, ValueId> parts_;
};

}  // namespace

Status narrow_products(Graph& graph, const std::function<Narrow(const Graph&, const Node&)>& may) {
  QUERN_TRY(Narrowing(graph, may).run());
  graph.erase_dead();
  return {};
}

}  // namespace quern
