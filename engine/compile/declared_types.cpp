// SPDX-License-Identifier: Apache-2.0
#include "engine/compile/declared_types.h"

#include <cstdint>
#include <map>
#include <string>

#include "engine/vocabulary/text_util.h"
#include "graph/text.h"

namespace quern {
namespace {

// The number that a symbol stands for, and the first input that determined it.
struct Binding {
  std::int64_t number = 0;
  ValueId input = no_value;
};

class ClaimChecker {
 public:
  explicit ClaimChecker(const Graph& g) : g_(g) {}

  Status check(ValueId input, const RuntimeValue& value) {
    for (const TensorView& t : value.tensors) QUERN_TRY(check(input, t.type));
    return {};
  }

 private:
  Status check(ValueId input, const TensorType& is) {
    const ValueType& declared = g_.type(input);
    if (declared.dtype != is.dtype) return differs(input, is);
    if (!declared.dims) return {};
    if (declared.dims->size() != is.shape.rank()) return differs(input, is);
    for (std::size_t i = 0; i < is.shape.rank(); ++i) {
      const Dim d = (*declared.dims)[i];
      if (d.known() && d.value() != is.shape[i]) return differs(input, is);
      if (d.is_symbol()) QUERN_TRY(bind(d.symbol_id(), is.shape[i], input, is));
    }
    return {};
  }

  Status bind(std::uint32_t symbol, std::int64_t number, ValueId input, const TensorType& is) {
    const auto [it, is_new] = bindings_.try_emplace(symbol, Binding{number, input});
    if (is_new || it->second.number == number) return {};
    return {Code::invalid_argument,
            cat(name(input), " is ", is.text(), ", the model wants ",
                type_text(g_.type(input), &g_), " where ", printable(g_.symbols()[symbol], 40),
                " is ", it->second.number, " as in ", name(it->second.input))};
  }

  Status differs(ValueId input, const TensorType& is) const {
    return {Code::invalid_argument, cat(name(input), " is ", is.text(), ", the model wants ",
                                        type_text(g_.type(input), &g_))};
  }

  std::string name(ValueId input) const {
    return cat("input '", printable(g_.value(input).name, 60), "'");
  }

  const Graph& g_;
  std::map<std::uint32_t, Binding> bindings_;
};

}  // namespace

Status check_declared_types(const Graph& graph, std::span<const RuntimeValue> inputs) {
  ClaimChecker checker(graph);
  for (std::size_t i = 0; i < inputs.size() && i < graph.inputs().size(); ++i)
    QUERN_TRY(checker.check(graph.inputs()[i], inputs[i]));
  return {};
}

}  // namespace quern
