// SPDX-License-Identifier: Apache-2.0
// One ONNX node during its import: the interface that the functions of ops_*.cpp use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>

#include "frontends/onnx-parser/proto.h"
#include "graph/graph.h"

namespace quern::onnx {

class Importer;
class Scope;

// The bytes that the memory budget is charged for a value of the graph, with its name and uses.
inline constexpr std::size_t value_cost = 450;

// The value of a 0/1 attribute, or its default.
enum class Flag : std::uint8_t { off, on };

// Errors are sticky: after the first one every attribute reads as its default and no op is added,
// so an importer needs no error checks. The driver checks for the error at the end, and refuses
// attributes that were not read.
class NodeImport {
 public:
  NodeImport(Importer& importer, Scope& scope, const NodeProto& proto, std::int64_t version);

  // ---- the node
  std::int64_t version() const { return version_; }  // of the operator set
  const NodeProto& proto() const { return proto_; }
  const std::string& name() const { return name_; }  // or its first output, if it has no name

  std::size_t input_count() const { return inputs_.size(); }
  ValueId in(std::size_t i) const { return i < inputs_.size() ? inputs_[i] : no_value; }
  bool has(std::size_t i) const { return in(i) != no_value; }
  std::span<const ValueId> inputs() const { return inputs_; }
  std::size_t output_count() const { return results_.size(); }
  bool wants(std::size_t i) const { return i < results_.size() && !proto_.outputs[i].empty(); }

  // ---- values of the graph
  const ValueType& type(ValueId v) const;
  DType dtype(ValueId v) const { return type(v).dtype; }
  std::optional<std::int64_t> rank(ValueId v) const;
  // Returns the rank; if it is unknown, fails with "needs to know the rank of ..." and returns 0.
  std::int64_t known_rank(ValueId v);
  Dim dim(ValueId v, std::int64_t axis) const;  // may be unknown
  const Tensor* constant(ValueId v) const;
  std::optional<Ints> constant_ints(ValueId v) const;
  std::optional<double> constant_number(ValueId v) const;  // of a constant with one element
  // Returns true if the type is known to have no elements.
  bool is_empty(ValueId v) const;

  // ---- attributes: optional with a default, required without
  bool has_attribute(std::string_view name) const;
  // The names of all attributes, and what one of them holds (undefined: there is no such one).
  std::vector<std::string_view> attribute_names() const;
  AttributeKind kind_of(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t fallback);
  std::int64_t integer(std::string_view name);
  bool flag(std::string_view name, Flag fallback);  // an integer that is 0 or 1
  float number(std::string_view name, float fallback);
  float number(std::string_view name);
  std::string text(std::string_view name, std::string_view fallback);
  std::string text(std::string_view name);
  Ints ints(std::string_view name);  // empty when absent
  std::vector<float> numbers(std::string_view name);
  std::vector<std::string> texts(std::string_view name);
  std::optional<Tensor> tensor(std::string_view name);
  std::optional<Tensor> sparse_tensor(std::string_view name);
  std::optional<ValueType> type_attribute(std::string_view name);
  const GraphProto* graph(std::string_view name);
  // An element type given by number.
  DType dtype_attribute(std::string_view name, DType fallback);
  // Marks an attribute as read that has no effect here.
  void ignore(std::string_view name);
  // Returns the attribute `seed`; without it, a number that differs between nodes but not between
  // imports.
  std::uint64_t seed();
  // The attribute `seed` as a seed of NumPy's RandomState, which ONNX's reference draws with: its
  // integer, if it is from 0 to 2^32 - 1. Does not mark it as read.
  std::optional<std::uint32_t> reference_seed() const;
  template <class E>
  E choice(std::string_view name, std::string_view fallback,
           std::initializer_list<std::pair<std::string_view, E>> choices) {
    const std::string chosen = text(name, fallback);
    std::string wanted;
    for (const auto& [word, value] : choices) {
      if (word == chosen) return value;
      wanted += wanted.empty() ? "'" : ", '";
      wanted.append(word).append("'");
    }
    bad_choice(name, chosen, wanted);
    return choices.begin()->second;
  }

  // ---- building
  ValueId add(Op op, std::vector<ValueId> inputs);
  std::vector<ValueId> add_many(Op op, std::vector<ValueId> inputs, std::size_t outputs,
                                std::vector<Graph> bodies = {});
  // Adds the op whose outputs are the node's outputs, one to one.
  void emit(Op op, std::vector<ValueId> inputs);
  // The same with bodies, which determine the number of outputs.
  void emit(Op op, std::vector<ValueId> inputs, std::vector<Graph> bodies, std::size_t outputs);
  void set(std::size_t output, ValueId value);
  // An output that is a map, or a map for each row: its values and keys. In a body, whose results
  // are no maps, it is the values alone, with a warning.
  void set_map(std::size_t output, ValueId values, ValueId keys);
  // The keys of input `i`, a map; fails where it is none.
  ValueId keys_of(std::size_t i);
  ValueId constant(Tensor tensor);
  ValueId ints_constant(const Ints& values);  // i64 [n]
  ValueId scalar(DType dtype, double value);  // []
  ValueId scalar_like(ValueId v, double value) { return scalar(dtype(v), value); }

  // ---- bodies
  // Imports the graph of an attribute. Values that it reads from the outer scope are appended to
  // `captures`, as values of this node's graph, and to the body's inputs; values already in
  // `captures` become inputs first. Returns nullopt after an error, which is already reported.
  std::optional<Graph> body(const GraphProto& proto, std::span<const ValueType> inputs,
                            std::vector<ValueId>& captures);
  // Makes a body that no message describes, with inputs of `types`.
  Graph new_body(std::span<const ValueType> types);
  // The same with nodes: `fill` gets an importer of this node that adds to the body, and returns
  // its outputs. What it reads from outside is appended to `captures`, as by body().
  std::optional<Graph> written_body(std::span<const ValueType> types,
                                    std::vector<ValueId>& captures,
                                    const std::function<std::vector<ValueId>(NodeImport&)>& fill);
  // There: the inputs of the body, and a value of the graph outside.
  ValueId body_input(std::size_t i) const;
  ValueId from_outside(ValueId outer);
  // Imports the graph of an attribute in place, as nodes of this node's graph. Returns its outputs;
  // nothing after an error.
  std::vector<ValueId> inlined(const GraphProto& proto, std::span<const ValueId> inputs);
  // The names of the inputs that the graph of an attribute wants.
  static std::vector<std::string_view> inputs_of(const GraphProto& proto);
  // The type that a body's message declares for its input `i`; nullopt without a declaration.
  std::optional<ValueType> declared_input(const GraphProto& proto, std::size_t i);
  // The type of a value of this node's graph, converted to the symbol numbers of `body`.
  ValueType type_in(Graph& body, ValueId v) const;
  // The inverse, for an output of `body`.
  ValueType output_type(const Graph& body, std::size_t output) const;

  // ---- errors
  bool decodes_pictures() const;  // ImportOptions
  // Charges memory to the budget of the import; false, with an error, where it is spent.
  bool charge(std::size_t bytes);
  bool ok() const { return status_.ok() && !poisoned_; }
  void fail(std::string_view what, Code code = Code::invalid_model);
  void unsupported(std::string_view what) { fail(what, Code::unsupported); }
  // Says something about the node that is no error (ImportOptions::warnings).
  void warn(std::string_view what);
  // Marks the node as failed with a problem that is already reported: its outputs count as absent.
  void poison() { poisoned_ = true; }

 private:
  friend class Importer;
  struct Attribute {
    std::string_view name;
    const AttributeProto* value;
    bool read = false;
  };

  const AttributeProto* find(std::string_view name, AttributeKind kind);
  const AttributeProto* require(std::string_view name, AttributeKind kind);
  void bad_choice(std::string_view name, std::string_view found, std::string_view wanted);
  void fail_as_node(Status status, std::string_view op_name);
  void fail_with(Status status);
  void restart();
  std::size_t node_bytes(std::size_t outputs, std::size_t inputs) const;
  Graph& target() const;

  Importer& importer_;
  Scope& scope_;
  const NodeProto& proto_;
  std::int64_t version_;
  std::string name_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> results_;  // one per listed output, trailing empty ones left out
  std::vector<Attribute> attributes_;
  Status status_;
  bool poisoned_ = false;
  bool wants_rank_ = false;  // failed because the rank of an input is unknown
};

}  // namespace quern::onnx
