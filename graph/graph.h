// SPDX-License-Identifier: Apache-2.0
// A model as a graph in SSA form: values, and the nodes that compute them with operators.
//
// A Graph knows no file, no device and no kernel. Constants are values without a producer that hold
// a Tensor. Nodes stand in execution order. Every change goes through a method that keeps uses and
// types right; verify.h checks the invariants.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>

#include "graph/op_def.h"
#include "graph/post_ops.h"
#include "graph/reference.h"
#include "graph/type.h"

namespace quern {

enum class ValueId : std::uint32_t {};
enum class NodeId : std::uint32_t {};
inline constexpr ValueId no_value{std::numeric_limits<std::uint32_t>::max()};
inline constexpr NodeId no_node{std::numeric_limits<std::uint32_t>::max()};
constexpr std::uint32_t index(ValueId id) {
  return static_cast<std::uint32_t>(id);
}
constexpr std::uint32_t index(NodeId id) {
  return static_cast<std::uint32_t>(id);
}

class Graph;

// A map among the inputs or outputs of a graph is two tensors, by their places there: values [n] or
// [rows, n], and keys [n].
struct MapParts {
  std::size_t values, keys;

  bool operator==(const MapParts&) const = default;
};

struct Use {
  NodeId node;
  std::uint32_t read;  // see Node::read

  bool operator==(const Use&) const = default;
};

struct Value {
  std::string name;           // as in the model; may be empty, need not be unique
  ValueType type;             // certain: inferred, or given for an input
  std::optional<Dims> claim;  // declared by the model but not proven: nothing may rest on it
  NodeId producer = no_node;  // no_node: an input or a constant
  std::uint32_t producer_output = 0;
  Tensor constant;               // valid() for constants only
  std::vector<Use> uses;         // in no particular order
  std::uint32_t handed_out = 0;  // number of graph outputs that are this value

  bool is_constant() const { return constant.valid(); }
};

struct Node;

// The values that a node reads, for loops.
class Reads {
 public:
  class Iterator {
   public:
    using value_type = ValueId;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    Iterator(const Node& node, std::size_t at) : node_(&node), at_(at) {}
    ValueId operator*() const;
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++at_;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const Node* node_ = nullptr;
    std::size_t at_ = 0;
  };

  explicit Reads(const Node& node) : node_(node) {}
  Iterator begin() const { return {node_, 0}; }
  Iterator end() const;

 private:
  const Node& node_;
};

struct Node {
  Op op;
  std::string name;
  std::vector<ValueId> inputs;    // of the operator; no_value: an optional one that is left out
  std::vector<ValueId> outputs;   // no_value: an output that is not wanted
  PostOps post_ops;               // on outputs[0]
  std::vector<ValueId> operands;  // of the post-ops, by BinaryPostOp::operand
  std::vector<Graph> bodies;      // control flow only
  bool alive = true;
  // Kept by Graph.
  std::vector<std::uint32_t> use_slots;  // index of each read in Value::uses
  bool stale_types = false;              // an input's known type has changed: see refine_types
  bool is_refused = false;               // inference rejects the current types: a run reports why

  template <class T>
  const T* as() const {
    return op.as<T>();
  }
  // The values that the node reads: its inputs, then the operands of its post-ops.
  std::size_t read_count() const { return inputs.size() + operands.size(); }
  ValueId read(std::size_t i) const {
    return i < inputs.size() ? inputs[i] : operands[i - inputs.size()];
  }
  Reads reads() const;
};

inline Reads Node::reads() const {
  return Reads(*this);
}
inline ValueId Reads::Iterator::operator*() const {
  return node_->read(at_);
}
inline Reads::Iterator Reads::end() const {
  return {node_, node_.read_count()};
}

class Graph {
 public:
  explicit Graph(OpSet ops) : ops_(std::move(ops)) {}
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  // A deep copy; constants are shared.
  Graph clone() const;

  std::string name;

  // ---- building
  ValueId add_input(std::string name, ValueType type);
  ValueId add_constant(Tensor tensor, std::string name = {});
  // Appends a node and infers its outputs. On error the graph is unchanged.
  Result<NodeId> add_node(Op op, std::vector<ValueId> inputs, std::string name = {},
                          std::size_t outputs = 1, std::vector<Graph> bodies = {});
  // The same for an op with one output; returns its value.
  Result<ValueId> add(Op op, std::vector<ValueId> inputs, std::string name = {});
  void add_output(ValueId value, std::string name);
  // Says that two inputs, or two outputs, are the parts of a map. Not for bodies.
  void add_input_map(MapParts parts) { input_maps_.push_back(parts); }
  void add_output_map(MapParts parts) { output_maps_.push_back(parts); }
  Dim symbol(std::string_view name);  // the existing symbol of this name, or a new one
  // Translates a type of another graph to this one: symbols of the same name become the same
  // symbol.
  ValueType adopt(ValueType type, const Graph& from);

  // ---- reading
  const OpSet& ops() const { return ops_; }
  const OpDef& def(const Op& op) const { return op.def(); }
  const OpDef& def(NodeId id) const { return node(id).op.def(); }
  std::span<const ValueId> inputs() const { return inputs_; }
  std::span<const ValueId> outputs() const { return outputs_; }
  std::span<const std::string> output_names() const { return output_names_; }
  std::span<const MapParts> input_maps() const { return input_maps_; }
  std::span<const MapParts> output_maps() const { return output_maps_; }
  std::size_t value_count() const { return values_.size(); }
  std::size_t node_count() const;  // alive
  const Value& value(ValueId id) const { return values_[index(id)]; }
  const Node& node(NodeId id) const { return nodes_[index(id)]; }
  const ValueType& type(ValueId id) const { return value(id).type; }
  bool alive(NodeId id) const { return node(id).alive; }
  // The alive nodes in execution order: each after the producers of its inputs. Valid until the
  // next change; a pass that changes the graph while it walks copies the list and skips dead nodes.
  std::span<const NodeId> order() const;
  // The position of the node when the order was last computed; nodes added since come after all
  // others.
  std::uint32_t position(NodeId id) const {
    return index(id) < positions_.size() ? positions_[index(id)] : index(id);
  }
  std::span<const std::string> symbols() const { return symbols_; }
  bool is_output(ValueId id) const { return value(id).handed_out > 0; }
  // The node that produces `id` if its op is a T, else null.
  template <class T>
  const Node* producer_as(ValueId id) const {
    if (id == no_value || value(id).producer == no_node) return nullptr;
    const Node& n = node(value(id).producer);
    return n.as<T>() ? &n : nullptr;
  }
  // True if exactly one node input reads the value and it is not a graph output.
  bool used_once(ValueId id) const { return value(id).uses.size() == 1 && !is_output(id); }

  // ---- changing
  // Gives the node another op, inputs and post-ops with their operands. Outputs keep their ids;
  // their types are inferred again and may become more precise, never different. On error nothing
  // has changed.
  Status replace(NodeId id, Op op, std::vector<ValueId> inputs, PostOps post_ops = {},
                 std::vector<ValueId> operands = {});
  // Infers the outputs again if that may tell more than is known; returns true if it does.
  bool refine_types(NodeId id);
  // Every use of `from`, graph outputs included, becomes a use of `to`.
  void replace_uses(ValueId from, ValueId to);
  // `from` becomes a constant; its producer keeps its other outputs.
  void make_constant(ValueId id, Tensor tensor);
  void erase(NodeId id);  // its outputs must be unused
  // Removes the nodes that no output needs; returns their number.
  std::size_t erase_dead();
  // Forgets what erased nodes leave behind, their entries and those of values that nothing defines
  // or reads any more, in bodies too. Ids change, what comes before what does not. Not while
  // changes are watched. Afterwards several threads may read the graph: order() is known.
  void compact();
  // Replaces an output of the node by no_value.
  void drop_output(NodeId id, std::size_t output);
  void set_type(ValueId id, ValueType type);
  // Sets the dimensions that a model declares and inference does not confirm. They are shown to
  // users and read where an importer needs them; an Identity of that rank checks whatever relies on
  // them.
  void set_claim(ValueId id, Dims dims) { values_[index(id)].claim = std::move(dims); }
  void set_name(ValueId id, std::string name) { values_[index(id)].name = std::move(name); }
  void set_node_name(NodeId id, std::string name) { nodes_[index(id)].name = std::move(name); }
  void set_output(std::size_t i, ValueId value);
  // Both are for bodies, whose node must lose the operand or the result too. The input must have no
  // uses.
  void erase_input(std::size_t i);
  void erase_output(std::size_t i);
  // A body that the caller may change: the next refine_types infers the node's outputs again.
  Graph& body(NodeId id, std::size_t i);
  // False if nodes depend on each other in a cycle, which only an imported model can cause.
  bool acyclic() const;
  // Appends every node that a change touches to `touched` (the changed node and its neighbours,
  // whose patterns may match now) until called with null.
  void watch(std::vector<NodeId>* touched) { touched_ = touched; }

  // Runs infer for an op on values of this graph without adding anything.
  Result<std::vector<ValueType>> infer(const Op& op, std::span<const ValueId> inputs,
                                       std::size_t outputs, std::string_view name) const;

 private:
  Status check_arity(const OpDef& def, std::span<const ValueId> inputs, std::size_t outputs,
                     std::string_view name) const;
  Result<std::vector<ValueType>> infer_node(NodeId id);
  Status take_types(NodeId id, std::vector<ValueType> types);
  void touch(NodeId id);
  void touch_readers(ValueId id);
  void link(NodeId id);
  void unlink(NodeId id);
  void add_use(ValueId value, NodeId node, std::uint32_t read);
  void remove_use(ValueId value, std::uint32_t slot);
  void sort() const;
  void number_positions() const;

  OpSet ops_;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  mutable std::vector<NodeId> order_;
  mutable std::vector<std::uint32_t> positions_;  // by node
  mutable bool order_is_stale_ = false;  // a change may have broken order_; order() mends it
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<std::string> output_names_;
  std::vector<MapParts> input_maps_, output_maps_;
  std::vector<std::string> symbols_;
  std::unordered_map<std::string, std::uint32_t> symbol_ids_;
  std::vector<NodeId>* touched_ = nullptr;
};

}  // namespace quern
