// SPDX-License-Identifier: Apache-2.0
// Dresses that give values more readers: outputs, and a Concat whose result is an output.
#include "engine/vocabulary/text_util.h"
#include "graph/ops/concat.h"
#include "graph/ops/reshape.h"
#include "tools/dress/dress.h"

namespace quern::tools {
namespace {

// The outputs of nodes, in execution order.
std::vector<ValueId> computed_values(const Graph& graph) {
  std::vector<ValueId> values;
  for (NodeId id : graph.order())
    for (ValueId v : graph.node(id).outputs)
      if (v != no_value) values.push_back(v);
  return values;
}

void hand_out(Dressed& d, ValueId v, std::string name) {
  d.graph.add_output(v, std::move(name));
  d.outputs.emplace_back();
}

bool hand_out_all(Dressed& d, std::span<const ValueId> values) {
  bool any = false;
  for (ValueId v : values) {
    if (d.graph.is_output(v)) continue;
    hand_out(d, v, cat("handed out ", index(v)));
    any = true;
  }
  return any;
}

// True if types known before any run allow the two to be concatenated along `axis`.
bool can_join(const ValueType& a, const ValueType& b, std::size_t axis) {
  if (a.dtype != b.dtype || !a.is_tensor() || !b.is_tensor() || !a.dims || !b.dims) return false;
  if (a.dims->size() != b.dims->size()) return false;
  for (std::size_t d = 0; d < a.dims->size(); ++d)
    if (d != axis && !(*a.dims)[d].same((*b.dims)[d])) return false;
  return true;
}

class Joiner {
 public:
  Joiner(Dressed& d, std::span<const ValueId> values) : d_(d), values_(values) {
    for (ValueId v : d.graph.inputs()) others_.push_back(v);
  }

  Status run() {
    for (ValueId v : values_) {
      if (d_.graph.type(v).is_tensor()) QUERN_TRY(join(v));
      others_.push_back(v);
    }
    return {};
  }

 private:
  // The last one that fits, or `v` itself.
  ValueId partner(ValueId v, std::size_t axis) const {
    for (std::size_t i = others_.size(); i-- > 0;)
      if (can_join(d_.graph.type(v), d_.graph.type(others_[i]), axis)) return others_[i];
    return v;
  }

  Status join(ValueId v) {
    const auto& dims = d_.graph.type(v).dims;
    std::size_t axis = 0;
    ValueId first = v;
    ValueId second = v;
    if (dims && !dims->empty()) {
      axis = index(v) % dims->size();  // any: the axes take turns
      second = partner(v, axis);
    } else {
      // A scalar, or of no known rank: it is joined with itself as a row.
      const std::int64_t all = -1;
      const ValueId row =
          d_.graph.add_constant(Tensor::from_values<std::int64_t>(DType::i64, Shape{1}, {&all, 1}));
      QUERN_ASSIGN(first, d_.graph.add(Reshape{}, {v, row}));
      second = first;
    }
    if (index(v) % 2 == 1) std::swap(first, second);
    QUERN_ASSIGN(const ValueId joined, d_.graph.add(Concat{static_cast<std::int64_t>(axis)},
                                                    {first, second}, cat("join ", index(v))));
    hand_out(d_, joined, cat("joined ", index(v)));
    return {};
  }

  Dressed& d_;
  std::span<const ValueId> values_;
  std::vector<ValueId> others_;
};

Dressed undressed(const Plain& plain) {
  return {plain.graph.clone(), copied(plain.inputs), plain_outputs(plain.graph), {}};
}

}  // namespace

Result<std::optional<Dressed>> dress_handed_out(const Plain& plain) {
  Dressed d = undressed(plain);
  if (!hand_out_all(d, computed_values(plain.graph))) return std::optional<Dressed>();
  return std::optional(std::move(d));
}

Result<std::optional<Dressed>> dress_concat(const Plain& plain) {
  Dressed d = undressed(plain);
  const std::vector<ValueId> values = computed_values(plain.graph);
  QUERN_TRY(Joiner(d, values).run());
  return std::optional(std::move(d));
}

Result<std::optional<Dressed>> dress_concat_handed_out(const Plain& plain) {
  Dressed d = undressed(plain);
  const std::vector<ValueId> values = computed_values(plain.graph);
  // Without a value that is not handed out yet this is the dress before.
  if (!hand_out_all(d, values)) return std::optional<Dressed>();
  QUERN_TRY(Joiner(d, values).run());
  return std::optional(std::move(d));
}

Result<std::optional<Dressed>> dress_named_twice(const Plain& plain) {
  Dressed d = undressed(plain);
  for (std::size_t i = 0; i < plain.graph.outputs().size(); ++i) {
    d.graph.add_output(plain.graph.outputs()[i], cat("again ", i));
    d.outputs.push_back({i, {}});
  }
  for (std::size_t i = 0; i < plain.graph.inputs().size(); ++i)
    hand_out(d, plain.graph.inputs()[i], cat("input ", i));
  return std::optional(std::move(d));
}

}  // namespace quern::tools
