// SPDX-License-Identifier: Apache-2.0
// Reads what text.cpp prints: a scanner over lines and a recursive descent over graphs.
#include <charconv>
#include <cstring>
#include <map>
#include <memory>

#include "engine/vocabulary/text_util.h"
#include "graph/built_for.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/custom.h"
#include "graph/ops/unary.h"
#include "graph/text.h"

namespace quern {
namespace {

constexpr int max_depth = 64;  // of nested bodies

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  Status error(std::string_view what) const {
    return {Code::invalid_argument, cat("text graph, line ", line_, ": ", what)};
  }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
      line_ += text_[at_] == '\n';
      ++at_;
    }
  }
  bool done() {
    skip_space();
    return at_ == text_.size();
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  // A word that is not the beginning of a longer one.
  bool accept_word(std::string_view token) {
    skip_space();
    const std::size_t end = at_ + token.size();
    if (text_.substr(at_, token.size()) != token) return false;
    if (end < text_.size() && is_word(text_[end])) return false;
    at_ = end;
    return true;
  }
  Status expect(std::string_view token) {
    if (accept(token)) return {};
    return error(cat("wanted '", token, "', found '", printable(text_.substr(at_, 20)), "'"));
  }
  Result<std::string> word() {
    skip_space();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (begin == at_)
      return error(cat("wanted a word, found '", printable(text_.substr(at_, 20)), "'"));
    return std::string(text_.substr(begin, at_ - begin));
  }
  Result<std::string> string() {
    QUERN_TRY(expect("\""));
    std::string s;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] != '\\') {
        s += text_[at_++];
      } else if (text_.substr(at_, 2) == "\\x" && at_ + 4 <= text_.size()) {
        unsigned byte = 0;
        std::from_chars(text_.data() + at_ + 2, text_.data() + at_ + 4, byte, 16);
        s += static_cast<char>(byte);
        at_ += 4;
      } else {
        s += text_.substr(at_ + 1, 1);
        at_ += 2;
      }
    }
    if (at_ >= text_.size()) return error("string without an end");
    ++at_;
    return s;
  }
  template <class T>
  Result<T> number() {
    skip_space();
    T v{};
    const char* end = text_.data() + text_.size();
    const auto r = std::from_chars(text_.data() + at_, end, v);
    if (r.ec != std::errc())
      return error(cat("wanted a number, found '", printable(text_.substr(at_, 20)), "'"));
    at_ = static_cast<std::size_t>(r.ptr - text_.data());
    return v;
  }

 private:
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

// ---- attribute values

Status read(Scanner& s, bool& v) {
  v = s.accept_word("true");
  return v || s.accept_word("false") ? Status() : s.error("wanted true or false");
}
template <class T>
requires std::is_arithmetic_v<T> Status read(Scanner& s, T& v) {
  QUERN_ASSIGN(v, s.number<T>());
  return {};
}
Status read(Scanner& s, std::string& v) {
  QUERN_ASSIGN(v, s.string());
  return {};
}
Status read(Scanner& s, DType& v) {
  QUERN_ASSIGN(const std::string name, s.word());
  const auto dtype = dtype_from_name(name);
  if (!dtype) return s.error(cat("unknown element type '", name, "'"));
  v = *dtype;
  return {};
}
Status read(Scanner& s, EnumField& e) {
  QUERN_ASSIGN(const std::string name, s.word());
  const auto found = std::ranges::find(e.names, name);
  if (found == e.names.end()) return s.error(cat("unknown name '", name, "'"));
  *e.value = static_cast<std::uint8_t>(found - e.names.begin());
  return {};
}
template <class E>
requires std::is_enum_v<E> Status read(Scanner& s, E& v) {
  QUERN_ASSIGN(const std::string name, s.word());
  const auto names = enum_names(v);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != name) continue;
    v = static_cast<E>(i);
    return {};
  }
  return s.error(cat("unknown name '", name, "'"));
}
Status read(Scanner& s, Unary& v) {
  QUERN_TRY(read(s, v.kind));
  if (!s.accept("(")) return {};
  QUERN_TRY(read(s, v.alpha));
  QUERN_TRY(s.expect(","));
  QUERN_TRY(read(s, v.beta));
  return s.expect(")");
}
template <class T>
Status read(Scanner& s, std::optional<T>& v) {
  v.reset();
  return s.accept_word("none") ? Status() : read(s, v.emplace());
}
template <class T>
Status read(Scanner& s, std::vector<T>& v) {
  QUERN_TRY(s.expect("["));
  v.clear();
  if (s.accept("]")) return {};
  do {
    QUERN_TRY(read(s, v.emplace_back()));
  } while (s.accept(","));
  return s.expect("]");
}

Status read_attribute(Scanner& s, Op& op, std::string_view key) {
  Status status = s.error(cat("the operator has no attribute '", key, "'"));
  edit_fields(op, [&](std::string_view name, auto& field) {
    if (name == key) status = read(s, field);
  });
  return status;
}

// ---- constants

struct ElementReader {
  Scanner& s;
  std::byte* to;
  StringPool& strings;

  template <class T>
  Status operator()(TypeTag<T>) const {
    T v{};
    if constexpr (std::is_same_v<T, StringRef>) {
      QUERN_ASSIGN(const std::string text, s.string());
      v = strings.add(text);
    } else if constexpr (std::is_same_v<T, bool>) {
      QUERN_TRY(read(s, v));
    } else if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) {
      QUERN_ASSIGN(v, s.number<T>());
    } else {
      QUERN_ASSIGN(const float f, s.number<float>());
      v = T(f);
    }
    std::memcpy(to, &v, sizeof v);
    return {};
  }
};

// Owner of the memory to which the elements of a string constant point.
struct StringStorage {
  std::shared_ptr<const void> refs;
  StringPool strings;
};

// What the constants of a text have taken so far.
struct ConstantBytes {
  std::size_t taken = 0;
};

Result<Tensor> read_constant(Scanner& s, const ValueType& type, const ReadTextOptions& options,
                             ConstantBytes& bytes) {
  const auto shape = type.shape();
  if (!shape || !type.is_tensor() || !shape->checked_elements(size_of(type.dtype)))
    return s.error("a constant wants a type with numbers as dimensions");
  if (s.accept("@")) {
    QUERN_ASSIGN(const auto number, s.number<std::uint64_t>());
    if (!options.constant_at)
      return s.error("a constant has a number, and none are kept elsewhere");
    auto constant = options.constant_at(number, {type.dtype, *shape});
    if (!constant) return s.error(constant.error().message());
    return constant;
  }
  const std::size_t wanted = TensorType{type.dtype, *shape}.bytes();
  if (wanted > options.max_constant_bytes - bytes.taken)
    return s.error(cat("constants of more than ", options.max_constant_bytes, " bytes"));
  bytes.taken += wanted;
  QUERN_ASSIGN(Tensor t, Tensor::zeros({type.dtype, *shape}));
  if (s.accept("...")) return t;
  QUERN_TRY(s.expect("{"));
  const auto storage = std::make_shared<StringStorage>();
  const auto n = static_cast<std::size_t>(shape->elements());
  for (std::size_t i = 0; i < n; ++i) {
    if (i) QUERN_TRY(s.expect(","));
    std::byte* to = t.mutable_data() + i * size_of(type.dtype);
    QUERN_TRY(visit_dtype(type.dtype, ElementReader{s, to, storage->strings}));
  }
  QUERN_TRY(s.expect("}"));
  if (type.dtype != DType::string) return t;
  storage->refs = t.owner();
  return Tensor(t.type(), storage, t.data());
}

// ---- graphs

class GraphReader {
 public:
  GraphReader(Scanner& s, const OpSet& ops, const ReadTextOptions& options, ConstantBytes& bytes,
              int depth)
      : s_(s), ops_(ops), options_(options), bytes_(bytes), depth_(depth), g_(ops) {}

  Result<Graph> read_graph() {
    if (depth_ > max_depth) return s_.error("bodies nested too deep");
    QUERN_TRY(s_.expect("graph"));
    QUERN_ASSIGN(g_.name, s_.string());
    QUERN_TRY(s_.expect("{"));
    while (!s_.accept("}")) {
      if (s_.done()) return s_.error("graph without an end");
      QUERN_TRY(statement());
    }
    return std::move(g_);
  }

 private:
  struct Declaration {
    std::size_t number = 0;
    std::string name;
    ValueType type;
  };

  Status statement() {
    if (s_.accept_word("input")) {
      QUERN_ASSIGN(Declaration d, declaration());
      return define(d.number, g_.add_input(d.name, d.type));
    }
    if (s_.accept_word("const")) {
      QUERN_ASSIGN(Declaration d, declaration());
      QUERN_TRY(s_.expect("="));
      QUERN_ASSIGN(Tensor t, read_constant(s_, d.type, options_, bytes_));
      return define(d.number, g_.add_constant(std::move(t), d.name));
    }
    if (s_.accept_word("output")) {
      QUERN_ASSIGN(const ValueId v, reference());
      QUERN_ASSIGN(std::string name, s_.string());
      if (v == no_value) return s_.error("an output must be a value");
      g_.add_output(v, std::move(name));
      return {};
    }
    if (s_.accept_word("input_map")) {
      QUERN_ASSIGN(const MapParts map, map_parts(g_.inputs()));
      g_.add_input_map(map);
      return {};
    }
    if (s_.accept_word("output_map")) {
      QUERN_ASSIGN(const MapParts map, map_parts(g_.outputs()));
      g_.add_output_map(map);
      return {};
    }
    return node();
  }

  // The places of values and keys among the inputs or outputs so far.
  Result<MapParts> map_parts(std::span<const ValueId> among) {
    if (depth_ > 0) return s_.error("a body has no maps");
    MapParts map{};
    QUERN_ASSIGN(map.values, s_.number<std::size_t>());
    QUERN_ASSIGN(map.keys, s_.number<std::size_t>());
    if (map.values >= among.size() || map.keys >= among.size() || map.values == map.keys)
      return s_.error(
          cat("a map of the parts ", map.values, " and ", map.keys, " of ", among.size()));
    return map;
  }

  Status node() {
    std::vector<std::optional<Declaration>> outputs;
    while (!s_.accept("=")) {
      if (!outputs.empty()) QUERN_TRY(s_.expect(","));
      if (s_.accept_word("_")) {
        outputs.emplace_back();
      } else {
        QUERN_ASSIGN(outputs.emplace_back(), declaration());
      }
    }
    QUERN_ASSIGN(const std::string op_name, s_.word());
    const OpDef* def = find_op_def(op_name);
    if (!def) return s_.error(cat("unknown operator '", op_name, "'", built_for()));
    Op op = default_op(*def);
    QUERN_ASSIGN(std::vector<ValueId> inputs, references());
    while (std::isalpha(static_cast<unsigned char>(s_.peek())) != 0 && !at_statement()) {
      QUERN_ASSIGN(const std::string key, s_.word());
      QUERN_TRY(s_.expect("="));
      QUERN_TRY(read_attribute(s_, op, key));
    }
    QUERN_TRY(bind_custom(op, ops_.custom.get()));
    QUERN_ASSIGN(PostOpList post_ops, post_op_list());
    std::string name;
    if (s_.accept("@")) {
      QUERN_ASSIGN(name, s_.string());
    }
    std::vector<Graph> bodies;
    if (s_.accept("{")) {
      while (!s_.accept("}")) {
        GraphReader body(s_, ops_, options_, bytes_, depth_ + 1);
        QUERN_ASSIGN(bodies.emplace_back(ops_), body.read_graph());
      }
    }
    return add(std::move(op), std::move(inputs), std::move(post_ops), std::move(name),
               std::move(outputs), std::move(bodies));
  }

  struct PostOpList {
    PostOps post_ops;
    std::vector<ValueId> operands;
  };

  Status add(Op op, std::vector<ValueId> inputs, PostOpList list, std::string name,
             std::vector<std::optional<Declaration>> outputs, std::vector<Graph> bodies) {
    auto added = g_.add_node(op, inputs, std::move(name), outputs.size(), std::move(bodies));
    if (!added) return s_.error(added.error().message());
    if (!list.post_ops.empty()) {
      Status s = g_.replace(*added, std::move(op), std::move(inputs), std::move(list.post_ops),
                            std::move(list.operands));
      if (!s.ok()) return s_.error(s.message());
    }
    const std::vector<ValueId> made = g_.node(*added).outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i]) {
        g_.drop_output(*added, i);
        continue;
      }
      QUERN_TRY(define(outputs[i]->number, made[i]));
      g_.set_name(made[i], outputs[i]->name);
      if (!options_.infers)
        g_.set_type(made[i], outputs[i]->type);
      else if (!says_no_more(outputs[i]->type, g_.type(made[i])))
        return s_.error(cat("a result is ", type_text(g_.type(made[i]), &g_), ", the text says ",
                            type_text(outputs[i]->type, &g_)));
    }
    return {};
  }

  // True if all that `type` says of a value is in `inferred`. Symbols may have other names.
  static bool says_no_more(const ValueType& type, const ValueType& inferred) {
    if (type.kind != inferred.kind || type.dtype != inferred.dtype) return false;
    if (!type.dims) return true;
    if (!inferred.dims || inferred.dims->size() != type.dims->size()) return false;
    for (std::size_t i = 0; i < type.dims->size(); ++i)
      if ((*type.dims)[i].known() && (*type.dims)[i] != (*inferred.dims)[i]) return false;
    return true;
  }

  // The next word begins a statement, not an attribute.
  bool at_statement() {
    Scanner ahead = s_;
    return !(ahead.word() && ahead.peek() == '=');
  }

  Result<PostOpList> post_op_list() {
    PostOpList list;
    while (s_.accept("|")) {
      Scanner ahead = s_;
      QUERN_TRY(ahead.word().status());
      if (!ahead.accept("(") || ahead.peek() != '%') {
        Unary unary;
        QUERN_TRY(read(s_, unary));
        list.post_ops.emplace_back(unary);
        continue;
      }
      BinaryPostOp binary;
      QUERN_TRY(read(s_, binary.kind));
      binary.operand = static_cast<std::uint32_t>(list.operands.size());
      QUERN_TRY(s_.expect("("));
      QUERN_ASSIGN(list.operands.emplace_back(), reference());
      QUERN_TRY(s_.expect(")"));
      binary.swapped = s_.accept_word("swapped");
      list.post_ops.emplace_back(binary);
    }
    return list;
  }

  Result<std::vector<ValueId>> references() {
    std::vector<ValueId> list;
    QUERN_TRY(s_.expect("("));
    if (s_.accept(")")) return list;
    do {
      QUERN_ASSIGN(list.emplace_back(), reference());
    } while (s_.accept(","));
    QUERN_TRY(s_.expect(")"));
    return list;
  }

  Result<ValueId> reference() {
    if (s_.accept_word("_")) return no_value;
    QUERN_TRY(s_.expect("%"));
    QUERN_ASSIGN(const auto number, s_.number<std::size_t>());
    const auto it = values_.find(number);
    if (it == values_.end()) return s_.error(cat("%", number, " is not defined"));
    return it->second;
  }

  Status define(std::size_t number, ValueId id) {
    if (!values_.emplace(number, id).second) return s_.error(cat("%", number, " is defined twice"));
    return {};
  }

  Result<Declaration> declaration() {
    Declaration d;
    QUERN_TRY(s_.expect("%"));
    QUERN_ASSIGN(d.number, s_.number<std::size_t>());
    if (s_.peek() == '"') {
      QUERN_ASSIGN(d.name, s_.string());
    }
    QUERN_TRY(s_.expect(":"));
    QUERN_ASSIGN(d.type, type());
    return d;
  }

  Result<ValueType> type() {
    ValueType t;
    const bool optional = s_.accept("opt(");
    const bool sequence = s_.accept("seq(");
    QUERN_TRY(read(s_, t.dtype));
    QUERN_TRY(s_.expect("["));
    if (!s_.accept("*]")) QUERN_TRY(dims(t.dims.emplace()));
    if (sequence) QUERN_TRY(s_.expect(")"));
    if (optional) QUERN_TRY(s_.expect(")"));
    using Kind = ValueType::Kind;
    t.kind = optional ? (sequence ? Kind::optional_sequence : Kind::optional_tensor)
                      : (sequence ? Kind::sequence : Kind::tensor);
    return t;
  }

  Status dims(Dims& dims) {
    if (s_.accept("]")) return {};
    do {
      if (s_.accept("?")) {
        dims.emplace_back();
      } else if (s_.peek() == '"') {
        QUERN_ASSIGN(const std::string name, s_.string());
        dims.push_back(g_.symbol(name));
      } else if (std::isdigit(static_cast<unsigned char>(s_.peek())) != 0) {
        QUERN_ASSIGN(const auto n, s_.number<std::int64_t>());
        dims.emplace_back(n);
      } else {
        QUERN_ASSIGN(const std::string name, s_.word());
        dims.push_back(g_.symbol(name));
      }
    } while (s_.accept(","));
    return s_.expect("]");
  }

  Scanner& s_;
  OpSet ops_;
  const ReadTextOptions& options_;
  ConstantBytes& bytes_;
  int depth_;
  Graph g_;
  std::map<std::size_t, ValueId> values_;
};

}  // namespace

Status parse_attributes(std::string_view text, Op& op) {
  Scanner scanner(text);
  while (!scanner.done()) {
    QUERN_ASSIGN(const std::string key, scanner.word());
    QUERN_TRY(scanner.expect("="));
    QUERN_TRY(read_attribute(scanner, op, key));
  }
  return {};
}

Result<Op> make_op(std::string_view name, std::string_view attributes) {
  const OpDef* def = find_op_def(name);
  if (!def) return Status(Code::invalid_argument, "there is no operator of this name");
  Op op = default_op(*def);
  QUERN_TRY(parse_attributes(attributes, op));
  return op;
}

Result<Graph> parse_text(std::string_view text, const OpSet& ops, const ReadTextOptions& options) {
  Scanner scanner(text);
  ConstantBytes bytes;
  QUERN_ASSIGN(Graph g, GraphReader(scanner, ops, options, bytes, 0).read_graph());
  if (!scanner.done()) return scanner.error("text after the end of the graph");
  return g;
}

}  // namespace quern
