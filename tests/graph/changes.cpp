// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/changes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>

#include "engine/vocabulary/text_util.h"
#include "graph/passes/match.h"
#include "graph/text.h"
#include "graph/verify.h"

namespace quern::testing {
namespace {

class Rebuilt {
 public:
  Rebuilt(const Graph& from, const GraphChange& change)
      : from_(from), change_(change), to_(from.ops()), values_(from.value_count(), no_value) {}

  std::optional<Graph> graph() {
    for (ValueId v : from_.inputs()) {
      ValueType type = to_.adopt(from_.type(v), from_);
      if (change_.type) type = change_.type(type);
      if (change_.has_symbols && type.fully_known())
        for (Dim& d : *type.dims) d = to_.symbol(cat("d", d.value()));
      values_[index(v)] = to_.add_input(from_.value(v).name, type);
    }
    add_constants();
    std::size_t at = 0;
    for (NodeId id : from_.order())
      if (!add(from_.node(id), at++)) return std::nullopt;
    for (std::size_t i = 0; i < from_.outputs().size(); ++i) {
      const ValueId v = mapped(from_.outputs()[i]);
      if (v == no_value) return std::nullopt;
      to_.add_output(v, from_.output_names()[i]);
    }
    if (handed_out_ != no_value) to_.add_output(handed_out_, "one more");
    return std::move(to_);
  }

 private:
  void add_constants() {
    std::size_t at = 0;
    for (std::size_t i = 0; i < from_.value_count(); ++i) {
      const auto& v = from_.value(static_cast<ValueId>(i));
      if (!v.is_constant()) continue;
      values_[i] =
          to_.add_constant(change_.constant ? change_.constant(at, v.constant) : v.constant);
      ++at;
    }
  }

  bool add(const Node& n, std::size_t at) {
    Op op = n.op;
    std::vector<ValueId> inputs;
    std::vector<ValueId> operands;
    for (ValueId v : n.inputs) inputs.push_back(mapped(v));
    for (ValueId v : n.operands) operands.push_back(mapped(v));
    if (std::ranges::find(operands, no_value) != operands.end()) return false;
    if (change_.node && !change_.node(at, op, inputs, to_)) {
      if (inputs.empty() || inputs[0] == no_value || n.outputs[0] == no_value) return false;
      values_[index(n.outputs[0])] = inputs[0];
      return true;
    }
    std::vector<Graph> bodies;
    for (const Graph& body : n.bodies) bodies.push_back(body.clone());
    const auto made = to_.add_node(op, inputs, n.name, n.outputs.size(), std::move(bodies));
    if (!made) return false;
    if (!n.post_ops.empty() && !to_.replace(*made, op, inputs, n.post_ops, operands).ok())
      return false;
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
      if (n.outputs[i] != no_value) values_[index(n.outputs[i])] = to_.node(*made).outputs[i];
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
      if (n.outputs[i] == no_value) to_.drop_output(*made, i);
    if (at == change_.handed_out) handed_out_ = to_.node(*made).outputs[0];
    return true;
  }

  ValueId mapped(ValueId v) const { return v == no_value ? no_value : values_[index(v)]; }

  const Graph& from_;
  const GraphChange& change_;
  Graph to_;
  std::vector<ValueId> values_;
  ValueId handed_out_ = no_value;
};

// ---- changes

// A copy whose elements from `first` on are v, rounded to the type.
Tensor filled(const Tensor& t, std::size_t first, double v) {
  auto elements = passes::numbers(t);
  if (!elements) return t;
  std::fill(elements->begin() + static_cast<std::ptrdiff_t>(first), elements->end(), v);
  return passes::number_tensor(t.dtype(), t.shape(), *elements);
}

void add_constants(std::vector<GraphChange>& changes, const Graph& g) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::size_t at = 0;
  for (std::size_t i = 0; i < g.value_count(); ++i) {
    const auto& v = g.value(static_cast<ValueId>(i));
    if (!v.is_constant()) continue;
    const auto n = static_cast<std::size_t>(v.constant.shape().elements());
    const auto add = [&](std::string name, std::function<Tensor(const Tensor&)> make) {
      changes.push_back({.name = cat("constant ", at, ' ', name),
                         .constant = [at, make](std::size_t here, const Tensor& t) {
                           return here == at ? make(t) : t;
                         }});
    };
    if (v.constant.dtype() == DType::string) {
      ++at;
      continue;
    }
    for (const double to : {0.0, 1.0, -1.0, 2.0, 0.5, 3.0, infinity, -infinity, std::nan("")}) {
      const bool is_tame = std::isfinite(to) && to == std::floor(to);
      if (!is_tame && !is_float(v.constant.dtype())) continue;
      add(cat("all ", to), [to](const Tensor& t) { return filled(t, 0, to); });
      if (n > 1) add(cat("last ", to), [to, n](const Tensor& t) { return filled(t, n - 1, to); });
    }
    if (v.constant.shape().rank() < 4)
      add("of a higher rank", [](const Tensor& t) {
        Shape shape = {1};
        for (std::int64_t d : t.shape()) shape.push_back(d);
        return t.reshaped(shape);
      });
    if (n > 0)
      add("of one element", [n](const Tensor& t) {
        return Tensor::copy_of({t.dtype(), {1}}, {t.data(), t.bytes() / n}).value();
      });
    ++at;
  }
}

void add_types(std::vector<GraphChange>& changes, const Graph& g) {
  for (const DType to : {DType::f16, DType::f64, DType::i32}) {
    changes.push_back({.name = cat("in ", name_of(to)),
                       .type =
                           [to](ValueType t) {
                             if (t.dtype == DType::f32) t.dtype = to;
                             return t;
                           },
                       .constant =
                           [to](std::size_t, const Tensor& t) {
                             const auto elements = passes::numbers(t);
                             if (t.dtype() != DType::f32 || !elements) return t;
                             return passes::number_tensor(to, t.shape(), *elements);
                           }});
  }
  std::size_t most = 0;
  for (ValueId v : g.inputs())
    if (g.type(v).dims) most = std::max(most, g.type(v).dims->size());
  const auto set = [&](std::size_t axis, std::string_view name, std::optional<Dim> dim) {
    changes.push_back(
        {.name = cat("dimension ", axis, ' ', name), .type = [axis, dim](ValueType t) {
           if (t.dims && axis < t.dims->size()) (*t.dims)[axis] = *dim;
           return t;
         }});
  };
  for (std::size_t axis = 0; axis < most; ++axis) {
    set(axis, "of 1", Dim(1));
    set(axis, "of 2", Dim(2));
    set(axis, "unknown", Dim());
  }
  changes.push_back({.name = "of dimensions with names", .has_symbols = true});
  changes.push_back({.name = "of unknown rank", .type = [](ValueType t) {
                       t.dims.reset();
                       return t;
                     }});
}

using NodeChange = std::function<bool(Op&, std::vector<ValueId>&, const Graph& made)>;

// "kind=relu alpha=0.1" with each number and each word for another one.
std::vector<std::string> other_attributes(const Op& op) {
  std::vector<std::string> found;
  const std::string text = attributes_text(op);
  static const std::regex number("([=,\\[{])(-?[0-9][^,\\]} ]*)");
  for (std::sregex_iterator i(text.begin(), text.end(), number), end; i != end; ++i)
    for (const std::string_view to : {"0", "1", "-1", "2", "3"})
      if (to != i->str(2))
        found.push_back(
            cat(text.substr(0, static_cast<std::size_t>(i->position(2))), to, i->suffix().str()));
  static const std::regex old_kind("kind=[a-z_0-9]*");
  for (const std::string_view kind :
       {"add",   "sub", "mul",        "div", "pow",  "min",  "max",     "relu",
        "neg",   "abs", "exp",        "log", "sqrt", "clip", "sigmoid", "tanh",
        "floor", "erf", "reciprocal", "sum", "mean", "l1",   "l2"})
    if (text.find("kind=") != text.npos)
      found.push_back(std::regex_replace(text, old_kind, cat("kind=", kind)));
  for (const std::string_view flag : {"=true", "=false"})
    if (const auto at = text.find(flag); at != text.npos) {
      std::string other = text;
      found.push_back(other.replace(at, flag.size(), flag == "=true" ? "=false" : "=true"));
    }
  return found;
}

void add_nodes(std::vector<GraphChange>& changes, const Graph& g) {
  std::size_t at = 0;
  for (NodeId id : g.order()) {
    const Node& n = g.node(id);
    const auto add = [&](std::string name, NodeChange change) {
      changes.push_back({.name = cat("node ", at, ' ', name),
                         .node = [at, change](std::size_t here, Op& op,
                                              std::vector<ValueId>& inputs, const Graph& made) {
                           return here != at || change(op, inputs, made);
                         }});
    };
    changes.push_back({.name = cat("node ", at, " handed out"), .handed_out = at});
    add("left out", [](Op&, std::vector<ValueId>&, const Graph&) { return false; });
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      if (n.inputs[i] == no_value) continue;
      add(cat("operand ", i, " an input"),
          [i](Op&, std::vector<ValueId>& inputs, const Graph& made) {
            if (!made.inputs().empty()) inputs[i] = made.inputs()[0];
            return true;
          });
      add(cat("operand ", i, " left out"), [i](Op&, std::vector<ValueId>& inputs, const Graph&) {
        inputs[i] = no_value;
        return true;
      });
    }
    if (n.inputs.size() > 1)
      add("swapped", [](Op&, std::vector<ValueId>& inputs, const Graph&) {
        std::swap(inputs[0], inputs[1]);
        return true;
      });
    for (const std::string& text : other_attributes(n.op))
      add(cat("with ", text), [text](Op& op, std::vector<ValueId>&, const Graph&) {
        return parse_attributes(text, op).ok();
      });
    ++at;
  }
}

}  // namespace

std::vector<GraphChange> changes_of(const Graph& g) {
  std::vector<GraphChange> changes;
  add_constants(changes, g);
  add_types(changes, g);
  add_nodes(changes, g);
  return changes;
}

std::optional<Graph> with_change(const Graph& g, const GraphChange& change) {
  auto made = Rebuilt(g, change).graph();
  if (!made || !verify(*made).ok()) return std::nullopt;
  return made;
}

}  // namespace quern::testing
