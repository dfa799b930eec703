// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/precision.h"

#include <algorithm>

#include "graph/ops/attention.h"
#include "graph/ops/cast.h"
#include "graph/ops/concat.h"
#include "graph/ops/conv.h"
#include "graph/ops/custom.h"
#include "graph/ops/einsum.h"
#include "graph/ops/fill.h"
#include "graph/ops/gather.h"
#include "graph/ops/matmul.h"
#include "graph/ops/pad.h"
#include "graph/ops/random.h"
#include "graph/ops/rearrange.h"
#include "graph/ops/recurrent.h"
#include "graph/ops/reshape.h"
#include "graph/ops/slice.h"
#include "graph/ops/split.h"
#include "graph/ops/tile.h"
#include "graph/ops/transpose.h"
#include "graph/passes/match.h"

namespace quern {
namespace {

bool is_16bit(const ValueType& t) {
  return t.is_tensor() && (t.dtype == DType::f16 || t.dtype == DType::bf16);
}

// True if the result depends on the type itself, not on the numbers.
bool keeps_types(const Op& op) {
  return op.is_any_of<BitCast, Random, Range, ConstantOfShape, Custom, CustomRandom>();
}

bool only_moves(const Op& op) {
  return op.is_any_of<Identity, Reshape, Squeeze, Unsqueeze, Flatten, Transpose, Concat, Split,
                      Slice, Pad, Expand, Tile, Gather, DepthSpace>();
}

// Builds the wide graph beside the old one.
class Widening {
 public:
  explicit Widening(const Graph& from) : from_(from), to_(from.ops()), forms_(from.value_count()) {
    to_.name = from.name;
    for (const std::string& s : from.symbols()) to_.symbol(s);  // in order: numbers stay
  }

  Result<Graph> run() {
    for (ValueId v : from_.inputs())
      forms_[index(v)].narrow = to_.add_input(from_.value(v).name, from_.type(v));
    for (NodeId id : from_.order()) QUERN_TRY(add(id));
    for (std::size_t i = 0; i < from_.outputs().size(); ++i) {
      QUERN_ASSIGN(const ValueId v, narrow(from_.outputs()[i]));
      to_.add_output(v, from_.output_names()[i]);
    }
    return std::move(to_);
  }

 private:
  // A value of the old graph in its own type and, of 16-bit floats, in f32; no_value: not made yet.
  struct Forms {
    ValueId narrow = no_value;
    ValueId wide = no_value;
  };

  Forms& forms(ValueId v) {
    Forms& f = forms_[index(v)];
    if (f.narrow == no_value && from_.value(v).is_constant())
      f.narrow = to_.add_constant(from_.value(v).constant, from_.value(v).name);
    return f;
  }
  Result<ValueId> narrow(ValueId v) {
    if (v == no_value) return no_value;
    Forms& f = forms(v);
    if (f.narrow == no_value) {
      QUERN_ASSIGN(f.narrow, to_.add(Cast{.to = from_.type(v).dtype}, {f.wide}));
    }
    return f.narrow;
  }
  Result<ValueId> wide(ValueId v) {
    if (v == no_value || !is_16bit(from_.type(v))) return narrow(v);
    Forms& f = forms(v);
    if (f.wide == no_value) {
      QUERN_ASSIGN(f.wide, to_.add(Cast{.to = DType::f32}, {f.narrow}));
    }
    return f.wide;
  }

  // True if the node should read its 16-bit operands unchanged.
  bool stays_narrow(const Node& n) {
    if (n.op.def().is(OpTrait::structural) || keeps_types(n.op)) return true;
    if (n.as<CacheAppend>()) return true;  // a cache is long, the new rows are not
    if (const auto* cast = n.as<Cast>()) return cast->to == DType::string;
    if (!only_moves(n.op)) return false;
    // Moves half the bytes as long as no input has been widened yet.
    const Reads reads = n.reads();
    return std::all_of(reads.begin(), reads.end(), [&](ValueId v) {
      return v == no_value || !is_16bit(from_.type(v)) || forms(v).wide == no_value;
    });
  }

  // From one 16-bit float to another: nothing, both are f32.
  bool casts_nothing(const Node& n) const {
    const auto* cast = n.as<Cast>();
    return cast && is_16bit(from_.type(n.inputs[0])) && is_16bit(from_.type(n.outputs[0]));
  }

  Status add(NodeId id) {
    const Node& n = from_.node(id);
    if (casts_nothing(n)) {
      QUERN_ASSIGN(forms_[index(n.outputs[0])].wide, wide(n.inputs[0]));
      return {};
    }
    const bool narrow_inputs = stays_narrow(n);
    std::vector<ValueId> inputs;
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const bool is_cache = n.as<CachedAttention>() && (i == 1 || i == 2);
      QUERN_ASSIGN(inputs.emplace_back(),
                   narrow_inputs || is_cache ? narrow(n.inputs[i]) : wide(n.inputs[i]));
    }
    for (ValueId v : n.operands) {
      QUERN_ASSIGN(operands.emplace_back(), narrow_inputs ? narrow(v) : wide(v));
    }
    std::vector<Graph> bodies;
    for (const Graph& body : n.bodies) {
      QUERN_ASSIGN(bodies.emplace_back(from_.ops()), Widening(body).run());
    }
    QUERN_ASSIGN(const NodeId made,
                 to_.add_node(n.op, inputs, n.name, n.outputs.size(), std::move(bodies)));
    if (!n.post_ops.empty())
      QUERN_TRY(to_.replace(made, n.op, std::move(inputs), n.post_ops, std::move(operands)));
    for (std::size_t i = 0; i < n.outputs.size(); ++i) take_output(n, made, i);
    return {};
  }

  void take_output(const Node& n, NodeId made, std::size_t i) {
    if (n.outputs[i] == no_value) return to_.drop_output(made, i);
    const ValueId v = to_.node(made).outputs[i];
    ValueType type = from_.type(n.outputs[i]);
    const bool is_wide = is_16bit(type) && to_.type(v).dtype == DType::f32;
    if (is_wide) type.dtype = DType::f32;
    (is_wide ? forms_[index(n.outputs[i])].wide : forms_[index(n.outputs[i])].narrow) = v;
    to_.set_type(v, std::move(type));
    to_.set_name(v, from_.value(n.outputs[i]).name);
  }

  const Graph& from_;
  Graph to_;
  std::vector<Forms> forms_;
};

// The types of floats that products of matrices, and what is made of them, read.
void find_products(const Graph& g, std::vector<DType>& types) {
  for (NodeId id : g.order()) {
    const Node& n = g.node(id);
    for (const Graph& body : n.bodies) find_products(body, types);
    if (!n.as<MatMul>() && !n.as<Conv>() && !n.as<Einsum>() && !n.as<Attention>() &&
        !n.as<CachedAttention>() && !n.as<Rnn>())
      continue;
    for (ValueId v : n.inputs)
      if (v != no_value && g.type(v).is_tensor() && is_float(g.type(v).dtype))
        types.push_back(g.type(v).dtype);
  }
}

bool has_16bit(const Graph& g) {
  for (std::uint32_t i = 0; i < g.value_count(); ++i)
    if (is_16bit(g.type(ValueId{i}))) return true;
  return std::ranges::any_of(
      g.order(), [&](NodeId id) { return std::ranges::any_of(g.node(id).bodies, has_16bit); });
}

}  // namespace

bool multiplies_f16(const Graph& graph) {
  std::vector<DType> types;
  find_products(graph, types);
  return !types.empty() && std::ranges::all_of(types, [](DType t) { return t == DType::f16; });
}

Status widen_f16(Graph& graph) {
  if (!has_16bit(graph)) return {};
  QUERN_ASSIGN(graph, Widening(graph).run());
  return {};
}

}  // namespace quern
