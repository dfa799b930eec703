// SPDX-License-Identifier: Apache-2.0
#include "graph/stripes/rewrite.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "graph/ops/concat.h"
#include "graph/ops/pad.h"
#include "graph/ops/slice.h"

namespace quern::stripes {
namespace {

// Builds the new graph, node by node.
class Rewrite {
 public:
  explicit Rewrite(const RowGraph& rows)
      : rows_(rows),
        from_(rows.graph()),
        to_(from_.ops()),
        values_(from_.value_count(), no_value) {}

  Result<Graph> run(std::span<const Chain> chains) {
    to_.name = from_.name;
    for (ValueId v : from_.inputs()) values_[index(v)] = to_.add_input(name(v), from_.type(v));
    std::size_t chain = 0;
    for (std::size_t at = 0; at < rows_.size();) {
      if (chain < chains.size() && chains[chain].first == at) {
        QUERN_TRY(add_chain(chains[chain]));
        at = chains[chain++].last;
      } else {
        QUERN_TRY(add_whole(rows_.id(at++)));
      }
    }
    for (std::size_t i = 0; i < from_.outputs().size(); ++i) {
      QUERN_ASSIGN(const ValueId output, whole(from_.outputs()[i]));
      to_.add_output(output, from_.output_names()[i]);
    }
    return std::move(to_);
  }

 private:
  // A range of rows of a value, as a value of the new graph.
  struct Piece {
    ValueId value = no_value;
    Rows rows;
  };

  const std::string& name(ValueId v) const { return from_.value(v).name; }

  // The value in the new graph; constants, and what is computed of them, are added when they are
  // read first.
  Result<ValueId> whole(ValueId v) {
    if (v == no_value || values_[index(v)] != no_value || !rows_.is_constant(v))
      return v == no_value ? no_value : values_[index(v)];
    if (from_.value(v).is_constant())
      values_[index(v)] = to_.add_constant(from_.value(v).constant, name(v));
    else
      QUERN_TRY(add_constant_nodes(from_.value(v).producer));
    return values_[index(v)];
  }

  // Adds a node whose inputs are constants, after those that it needs. Expressions may be deep.
  Status add_constant_nodes(NodeId id) {
    std::vector<NodeId> wanted = {id};
    while (!wanted.empty()) {
      const NodeId next = wanted.back();
      const std::size_t before = wanted.size();
      for (ValueId v : from_.node(next).reads())
        if (v != no_value && values_[index(v)] == no_value && !from_.value(v).is_constant())
          wanted.push_back(from_.value(v).producer);
      if (wanted.size() > before) continue;
      wanted.pop_back();
      if (!is_added(next)) QUERN_TRY(add_whole(next));
    }
    return {};
  }

  bool is_added(NodeId id) const {
    return std::ranges::any_of(from_.node(id).outputs, [&](ValueId v) {
      return v != no_value && values_[index(v)] != no_value;
    });
  }

  Result<std::vector<ValueId>> whole(std::span<const ValueId> list) {
    std::vector<ValueId> made;
    for (ValueId v : list) {
      QUERN_ASSIGN(made.emplace_back(), whole(v));
    }
    return made;
  }

  Result<NodeId> add(const Node& n, Op op, std::vector<ValueId> inputs,
                     std::vector<ValueId> operands, std::vector<Graph> bodies = {}) {
    QUERN_ASSIGN(const NodeId id,
                 to_.add_node(op, inputs, n.name, n.outputs.size(), std::move(bodies)));
    if (!n.post_ops.empty())
      QUERN_TRY(to_.replace(id, std::move(op), std::move(inputs), n.post_ops, std::move(operands)));
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
      if (n.outputs[i] != no_value) to_.set_name(to_.node(id).outputs[i], name(n.outputs[i]));
    return id;
  }

  Status add_whole(NodeId id) {
    const Node& n = from_.node(id);
    QUERN_ASSIGN(std::vector<ValueId> inputs, whole(n.inputs));
    QUERN_ASSIGN(std::vector<ValueId> operands, whole(n.operands));
    std::vector<Graph> bodies;
    for (const Graph& body : n.bodies) bodies.push_back(body.clone());
    QUERN_ASSIGN(const NodeId made,
                 add(n, n.op, std::move(inputs), std::move(operands), std::move(bodies)));
    for (std::size_t i = n.outputs.size(); i-- > 0;) {
      const ValueId result = to_.node(made).outputs[i];
      if (n.outputs[i] == no_value) {
        to_.drop_output(made, i);
        continue;
      }
      to_.set_type(result, from_.type(n.outputs[i]));  // more is known where a size depends on data
      values_[index(n.outputs[i])] = result;
    }
    return {};
  }

  // ---- chains

  Status add_chain(const Chain& chain) {
    const auto model = ChainModel::make(rows_, chain.first, chain.last);
    if (!model) return {Code::internal, "nodes to compute in stripes are no chain"};
    for (const Action& a : model->actions(chain.steps)) {
      switch (a.kind) {
        case Action::Kind::compute: QUERN_TRY(compute(*model, a)); break;
        case Action::Kind::join: QUERN_TRY(join(*model, a)); break;
        case Action::Kind::trim: QUERN_TRY(trim(*model, a)); break;
        case Action::Kind::drop:
          std::erase_if(held_[index(a.value)],
                        [&](const Piece& p) { return p.rows.end <= a.rows.begin; });
          break;
      }
    }
    for (std::size_t at = chain.first; at < chain.last; ++at)
      for (ValueId v : rows_.node(at).outputs)
        if (model->is_whole(v)) {
          QUERN_ASSIGN(values_[index(v)], joined(v, all_[index(v)], model->axis(v)));
        }
    held_.clear();
    all_.clear();
    return {};
  }

  Status compute(const ChainModel& model, const Action& a) {
    const Node& n = rows_.node(a.node);
    const RowRule& rule = *rows_.rule(a.node);
    std::vector<ValueId> inputs;
    std::vector<ValueId> operands;
    Rows first;
    for (std::size_t i = 0; i < n.read_count(); ++i) {
      const ValueId v = n.read(i);
      auto& list = i < n.inputs.size() ? inputs : operands;
      if (v == no_value || !rule.reads[i]) {
        QUERN_ASSIGN(list.emplace_back(), whole(v));
        continue;
      }
      const RowRead& read = *rule.reads[i];
      const Rows rows = read.map.of(a.rows, (*from_.type(v).shape())[read.axis]);
      if (i == 0) first = rows;
      QUERN_ASSIGN(list.emplace_back(), part(model, v, rows, read.axis));
    }
    RowOp work = row_op(from_, n, rule, a.rows, first);
    for (auto& [i, tensor] : work.operands) {
      inputs.resize(std::max(inputs.size(), i + 1), no_value);
      inputs[i] = to_.add_constant(std::move(tensor));
    }
    QUERN_ASSIGN(const NodeId id,
                 add(n, std::move(work.op), std::move(inputs), std::move(operands)));
    for (std::size_t i = 0; i < n.outputs.size(); ++i) {
      const Piece made{to_.node(id).outputs[i], a.rows};
      held_[index(n.outputs[i])].push_back(made);
      if (model.is_whole(n.outputs[i])) all_[index(n.outputs[i])].push_back(made);
    }
    return {};
  }

  // Rows of an operand of a node in a chain.
  Result<ValueId> part(const ChainModel& model, ValueId v, const Rows& rows, std::size_t axis) {
    if (!model.is_inside(v)) {
      const std::int64_t height = (*from_.type(v).shape())[axis];
      QUERN_ASSIGN(const ValueId all, whole(v));
      return slice({all, {0, height}}, rows, axis);
    }
    for (const Piece& p : held_[index(v)])
      if (p.rows.contains(rows)) return slice(p, rows, axis);
    return Status(Code::internal, cat("rows of '", name(v), "' are not there"));
  }

  Result<ValueId> slice(const Piece& piece, const Rows& rows, std::size_t axis) {
    if (piece.rows == rows) return piece.value;
    const auto list = [&](std::int64_t v) {
      return to_.add_constant(Tensor::from_values<std::int64_t>(DType::i64, {1}, std::array{v}));
    };
    std::vector<ValueId> inputs = {piece.value, list(rows.begin - piece.rows.begin),
                                   list(rows.end - piece.rows.begin),
                                   list(static_cast<std::int64_t>(axis))};
    return to_.add(Slice{}, std::move(inputs));
  }

  Result<ValueId> joined(ValueId v, std::span<const Piece> pieces, std::size_t axis) {
    if (pieces.size() == 1) return pieces[0].value;
    std::vector<ValueId> inputs;
    for (const Piece& p : pieces) inputs.push_back(p.value);
    QUERN_ASSIGN(const ValueId made,
                 to_.add(Concat{static_cast<std::int64_t>(axis)}, std::move(inputs), name(v)));
    to_.set_name(made, name(v));
    return made;
  }

  Status join(const ChainModel& model, const Action& a) {
    std::vector<Piece>& pieces = held_[index(a.value)];
    QUERN_ASSIGN(const ValueId made, joined(a.value, pieces, model.axis(a.value)));
    pieces.assign(1, {made, a.rows});
    return {};
  }

  // A copy, by a Pad that takes rows away: a Slice would be a view and keep all rows alive.
  Status trim(const ChainModel& model, const Action& a) {
    const std::size_t axis = model.axis(a.value);
    Piece& piece = held_[index(a.value)].front();
    const std::size_t rank = from_.type(a.value).shape()->rank();
    Ints pads(2 * rank, 0);
    pads[axis] = piece.rows.begin - a.rows.begin;
    pads[rank + axis] = a.rows.end - piece.rows.end;
    const ValueId cut = to_.add_constant(Tensor::from_values<std::int64_t>(
        DType::i64, {static_cast<std::int64_t>(pads.size())}, pads));
    QUERN_ASSIGN(piece.value, to_.add(Pad{}, {piece.value, cut}, name(a.value)));
    piece.rows = a.rows;
    return {};
  }

  const RowGraph& rows_;
  const Graph& from_;
  Graph to_;
  std::vector<ValueId> values_;  // by value of the old graph, where all rows are there
  std::unordered_map<std::uint32_t, std::vector<Piece>> held_;  // by value of the chain
  std::unordered_map<std::uint32_t, std::vector<Piece>> all_;   // of those needed as a whole
};

}  // namespace

Result<Graph> in_stripes(const RowGraph& graph, std::span<const Chain> chains) {
  return Rewrite(graph).run(chains);
}

}  // namespace quern::stripes
