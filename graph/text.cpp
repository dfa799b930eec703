// SPDX-License-Identifier: Apache-2.0
// Printing; text_parse.cpp reads.
#include "graph/text.h"

#include <bit>
#include <cctype>
#include <concepts>
#include <map>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/unary.h"

namespace quern {
namespace {

bool is_identifier(std::string_view s) {
  if (s.empty() || std::isdigit(static_cast<unsigned char>(s[0])) != 0) return false;
  for (char c : s)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  return true;
}

std::string dim_text(Dim d, const Graph* graph) {
  if (d.known()) return cat(d.value());
  if (!d.is_symbol()) return "?";
  if (!graph || d.symbol_id() >= graph->symbols().size()) return cat("$", d.symbol_id());
  const std::string& name = graph->symbols()[d.symbol_id()];
  return is_identifier(name) ? name : in_quotes(name);
}

// ---- attribute values

std::string field_text(std::same_as<bool> auto v) {
  return v ? "true" : "false";
}
std::string field_text(std::int64_t v) {
  return cat(v);
}
std::string field_text(std::uint64_t v) {
  return cat(v);
}
std::string field_text(float v) {
  return shortest(v);
}
std::string field_text(double v) {
  return shortest(v);
}
std::string field_text(const std::string& v) {
  return in_quotes(v);
}
std::string field_text(DType v) {
  return std::string(name_of(v));
}
std::string field_text(const Unary& v) {
  return unary_text(v);
}
template <class E>
requires std::is_enum_v<E> std::string field_text(E v) {
  return std::string(enum_name(v));
}
std::string field_text(const EnumField& e) {
  return std::string(e.name());
}
template <class T>
std::string field_text(const std::optional<T>& v) {
  return v ? field_text(*v) : "none";
}
template <class T>
std::string field_text(const std::vector<T>& v) {
  std::string s = "[";
  for (std::size_t i = 0; i < v.size(); ++i) s += (i ? "," : "") + field_text(v[i]);
  return s + "]";
}

// ---- constants

struct ElementText {
  const std::byte* data;

  template <class T>
  std::string operator()(TypeTag<T>) const {
    T v;
    __builtin_memcpy(&v, data, sizeof v);
    if constexpr (std::is_same_v<T, StringRef>) {
      return in_quotes(v.view());
    } else if constexpr (std::is_same_v<T, bool>) {
      return v ? "true" : "false";
    } else if constexpr (std::is_same_v<T, double>) {
      return shortest(v);
    } else if constexpr (std::is_integral_v<T>) {
      return std::to_string(v);
    } else {
      return shortest(static_cast<float>(v));
    }
  }
};

std::string constant_text(const Tensor& t, const TextOptions& options) {
  if (options.place_of)
    if (const auto place = options.place_of(t)) return cat("@", *place);
  const auto n = static_cast<std::size_t>(t.shape().elements());
  if (n > options.max_elements) return "...";
  std::string s = "{";
  for (std::size_t i = 0; i < n; ++i) {
    if (i) s += ", ";
    s += visit_dtype(t.dtype(), ElementText{t.data() + i * size_of(t.dtype())});
  }
  return s + "}";
}

// ---- graphs

class Printer {
 public:
  Printer(const Graph& g, const TextOptions& options, std::string indent)
      : g_(g), options_(options), indent_(std::move(indent)) {}

  std::string print() {
    out_ = cat(indent_, "graph ", in_quotes(g_.name), " {\n");
    for (ValueId v : g_.inputs()) line("input " + declaration(v));
    for (NodeId id : g_.order()) print_node(id);
    for (std::size_t i = 0; i < g_.outputs().size(); ++i)
      line(cat("output ", reference(g_.outputs()[i]), " ", in_quotes(g_.output_names()[i])));
    for (const MapParts& map : g_.input_maps()) line(parts_text("input_map", map));
    for (const MapParts& map : g_.output_maps()) line(parts_text("output_map", map));
    return out_ + indent_ + "}\n";
  }

 private:
  void line(const std::string& text) { out_ += cat(indent_, "  ", text, "\n"); }

  static std::string parts_text(std::string_view word, const MapParts& map) {
    return cat(word, " ", map.values, " ", map.keys);
  }

  std::string declaration(ValueId v) {
    const std::string name =
        options_.names && !g_.value(v).name.empty() ? " " + in_quotes(g_.value(v).name) : "";
    return cat(number(v), name, ": ", type_text(g_.type(v), &g_));
  }

  // Values are numbered as they appear, so that equal graphs print equally.
  std::string number(ValueId v) {
    return cat("%", numbers_.try_emplace(index(v), numbers_.size()).first->second);
  }

  // Declares a constant before its first reader.
  std::string reference(ValueId v) {
    if (v == no_value) return "_";
    if (g_.value(v).is_constant() && !numbers_.contains(index(v))) {
      const std::string text = declaration(v);
      line(cat("const ", text, " = ", constant_text(g_.value(v).constant, options_)));
    }
    return number(v);
  }

  std::string post_ops(const Node& n) {
    return post_ops_text(n.post_ops, [&](std::uint32_t i) { return reference(n.operands[i]); });
  }

  void print_node(NodeId id) {
    const Node& n = g_.node(id);
    std::string inputs;
    for (ValueId v : n.inputs) inputs += (inputs.empty() ? "" : ", ") + reference(v);
    const std::string steps = post_ops(n);
    std::string outputs;
    for (ValueId v : n.outputs)
      outputs += (outputs.empty() ? "" : ", ") + (v == no_value ? "_" : declaration(v));
    std::string attributes = attributes_text(n.op);
    if (!attributes.empty()) attributes.insert(0, " ");
    const std::string name = options_.names && !n.name.empty() ? " @" + in_quotes(n.name) : "";
    line(cat(outputs, outputs.empty() ? "= " : " = ", g_.def(id).name, "(", inputs, ")", attributes,
             steps, name, n.bodies.empty() ? "" : " {"));
    for (const Graph& body : n.bodies) out_ += Printer(body, options_, indent_ + "    ").print();
    if (!n.bodies.empty()) line("}");
  }

  const Graph& g_;
  const TextOptions& options_;
  std::string indent_;
  std::string out_;
  std::map<std::uint32_t, std::size_t> numbers_;
};

}  // namespace

std::string type_text(const ValueType& type, const Graph* graph) {
  std::string s(name_of(type.dtype));
  if (!type.dims) {
    s += "[*]";
  } else {
    s += '[';
    for (std::size_t i = 0; i < type.dims->size(); ++i)
      s += (i ? "," : "") + dim_text((*type.dims)[i], graph);
    s += ']';
  }
  if (type.is_sequence()) s = cat("seq(", s, ")");
  if (type.is_optional()) s = cat("opt(", s, ")");
  return s;
}

std::string unary_text(const Unary& unary) {
  std::string s(enum_name(unary.kind));
  if (unary.alpha != 0 || unary.beta != 0)
    s += cat("(", shortest(unary.alpha), ",", shortest(unary.beta), ")");
  return s;
}

std::string_view kind_text(BinaryKind kind) {
  return enum_name(kind);
}

std::string post_ops_text(const PostOps& post_ops,
                          const std::function<std::string(std::uint32_t)>& operand) {
  std::string s;
  for (const PostOp& p : post_ops) {
    if (const Unary* u = unary_of(p)) s += " | " + unary_text(*u);
    if (const auto* b = std::get_if<BinaryPostOp>(&p))
      s += cat(" | ", kind_text(b->kind), "(", operand(b->operand), ")",
               b->swapped ? " swapped" : "");
  }
  return s;
}

std::string attributes_text(const Op& op) {
  std::vector<std::string> defaults;
  const Op plain = default_op(op.def());
  for_each_field(plain,
                 [&](std::string_view, const auto& v) { defaults.push_back(field_text(v)); });
  std::string s;
  std::size_t i = 0;
  for_each_field(op, [&](std::string_view name, const auto& v) {
    // The kind of a family is its name: always shown.
    if (std::string text = field_text(v); name == "kind" || text != defaults[i])
      s += cat(s.empty() ? "" : " ", name, "=", text);
    ++i;
  });
  return s;
}

std::string to_text(const Graph& graph, const TextOptions& options) {
  return Printer(graph, options, "").print();
}

}  // namespace quern
