// SPDX-License-Identifier: Apache-2.0
// The graph's description of an operator: its number of operands and its output types. Constant
// data, one OpDef for each struct of graph/ops/, defined in the file of its family there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>

#include "graph/op.h"
#include "graph/type.h"

namespace quern {

struct OpStruct;  // graph/op_fields.h: access to attributes of an unknown struct

// The information on one input that inference gets: its type, and its elements if they are
// constant.
struct InferInput {
  bool present = false;
  ValueType type;
  const Tensor* value = nullptr;
};

// One call of an op's `infer`. Runs on symbolic types when a graph is built and on concrete ones
// when a plan is made; an implementation sets what it can infer and leaves the rest unknown.
class InferContext {
 public:
  InferContext(const Op& op, std::string_view op_name, std::string_view node_name,
               std::span<const InferInput> inputs, std::size_t outputs,
               std::span<const std::vector<ValueType>> body_outputs = {})
      : op_(op),
        op_name_(op_name),
        node_name_(node_name),
        inputs_(inputs),
        body_outputs_(body_outputs),
        outputs_(outputs) {}

  template <class T>
  const T& op() const {
    return *op_.as<T>();
  }
  std::size_t input_count() const { return inputs_.size(); }
  std::size_t output_count() const { return outputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i].present; }
  const ValueType& type(std::size_t i) const { return inputs_[i].type; }
  DType dtype(std::size_t i) const { return inputs_[i].type.dtype; }
  // Null while the rank is unknown.
  const Dims* dims(std::size_t i) const {
    return has(i) && inputs_[i].type.dims ? &*inputs_[i].type.dims : nullptr;
  }
  // The elements of input i; null if it is absent or its elements are not known yet.
  const Tensor* value(std::size_t i) const { return has(i) ? inputs_[i].value : nullptr; }
  // Control flow: the output types of each body of the node.
  std::span<const std::vector<ValueType>> body_outputs() const { return body_outputs_; }
  // The elements of an i64 or i32 input; nullopt if unknown.
  std::optional<Ints> ints(std::size_t i) const;

  void set(std::size_t output, ValueType type) { outputs_[output] = std::move(type); }
  void set(std::size_t output, DType dtype, std::optional<Dims> dims) {
    outputs_[output] = ValueType(dtype, std::move(dims));
  }
  std::span<ValueType> outputs() { return outputs_; }

  // invalid_model, with the node's name and operator before `message`.
  Status error(std::string_view message) const;
  Status unsupported(std::string_view message) const;
  // "input 1 (i64[3])"
  std::string describe(std::size_t i) const;
  // `axis` made non-negative, or an error that names the rank.
  Result<std::size_t> axis(std::int64_t axis, std::size_t rank) const;
  // Refuses an input whose dtype is known not to be `wanted`.
  Status want_dtype(std::size_t i, DType wanted) const;
  Status want_same_dtype(std::size_t i, std::size_t j) const;

 private:
  const Op& op_;
  std::string_view op_name_;
  std::string_view node_name_;
  std::span<const InferInput> inputs_;
  std::span<const std::vector<ValueType>> body_outputs_;
  std::vector<ValueType> outputs_;
};

using InferFn = Status (*)(InferContext&);

struct Arity {
  std::uint32_t min = 1;
  std::uint32_t max = 1;
};
inline constexpr std::uint32_t any_number = 0xffffffff;

enum class OpTrait : std::uint32_t {
  none = 0,
  // The output is the input's bytes under another shape.
  view = 1,
  // Element i of the output depends on element i of each (broadcast) input alone.
  elementwise = 2,
  // The output shape depends on the elements of inputs that are not plan-time operands.
  data_dependent = 4,
  // Two calls with equal inputs may give different results: never folded or merged.
  random = 8,
  // Handled by the planner itself: control flow, sequences, optionals.
  structural = 16,
  // May carry post-ops.
  post_ops = 32,
  // Input 0 is copied byte by byte from any address: a constant needs no aligned copy.
  any_address = 64,
  // The strings that it makes are as long as its data say: it runs only where a run bounds them.
  makes_text = 128,
  // Multiplies and adds: denormal operands and results may count as 0 (CompileOptions::denormals).
  flushes_denormals = 256,
};
constexpr OpTrait operator|(OpTrait a, OpTrait b) {
  return static_cast<OpTrait>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}

// An ONNX operator that is the same one: its attributes have the names of the fields and their
// defaults, its operands are those here. The parser has no code for it.
struct OnnxName {
  std::string_view name;
  std::int64_t since = 1;  // opset
  std::string_view domain = {};
};

struct OpDef {
  std::string_view name;
  Arity inputs;
  Arity outputs;
  OpTrait traits = OpTrait::none;
  // Bit i: the elements of input i must be known to plan the node (shapes, axes, conditions).
  std::uint32_t plan_operands = 0;
  // Replaces plan_operands for a family whose operands differ from kind to kind.
  std::uint32_t (*plan_operands_of)(const Op&) = nullptr;
  InferFn infer = nullptr;
  // For data_dependent ops: like infer, but gives the largest shapes that the data can lead to.
  InferFn bound = nullptr;
  const OpStruct* attributes = nullptr;
  OnnxName onnx = {};  // without a name: the parser has functions for what becomes this

  bool is(OpTrait t) const {
    return (static_cast<std::uint32_t>(traits) & static_cast<std::uint32_t>(t)) != 0;
  }
  bool needs_value(const Op& op, std::size_t input) const {
    const std::uint32_t operands = plan_operands_of ? plan_operands_of(op) : plan_operands;
    return input < 32 && (operands >> input & 1) != 0;
  }
};

// The elements of an i64 or i32 tensor, of any alignment; nullopt for another type.
std::optional<Ints> int_elements(const Tensor& t);

// Every operator, in the order of AllOps.
std::span<const OpDef* const> all_ops();
const OpDef* find_op_def(std::string_view name);  // null if there is none

}  // namespace quern
