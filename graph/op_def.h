// SPDX-License-Identifier: Apache-2.0
// What the graph needs to know about an operator: its contract with kernels/, which defines one
// OpDef per struct of ops.h. A definition is constant data; leaving one out is a link error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>

#include "graph/ops.h"
#include "graph/type.h"

namespace quern {

struct OpKernels;  // kernels/kernel.h: the implementations, which the graph never looks at

// What inference may know of one input: its type, and its elements where they are constant.
struct InferInput {
  bool present = false;
  ValueType type;
  const Tensor* value = nullptr;
};

// One call of an op's `infer`. Runs on symbolic types when a graph is built and on concrete ones
// when a plan is made; an implementation writes what it can say and leaves the rest unknown.
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
    return *std::get_if<T>(&op_);
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
  // The elements of input i, or null: absent, or not known yet.
  const Tensor* value(std::size_t i) const { return has(i) ? inputs_[i].value : nullptr; }
  // Control flow: the types that each body of the node hands out.
  std::span<const std::vector<ValueType>> body_outputs() const { return body_outputs_; }
  // The elements of an i64 or i32 input; nothing when unknown.
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

// Working memory of a reference: asked for in advance, handed out in pieces aligned to 64 bytes.
class Scratch {
 public:
  Scratch(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  // Uninitialised room for n elements. The caller's OpDef::scratch has counted it.
  template <class T>
  T* take(std::size_t n) {
    std::byte* p = data_ + used_;
    used_ += bytes_for<T>(n);
    return used_ <= size_ ? reinterpret_cast<T*>(p) : nullptr;
  }
  template <class T>
  static constexpr std::size_t bytes_for(std::size_t n) {
    return (n * sizeof(T) + 63) / 64 * 64;
  }

 private:
  std::byte* data_;
  std::size_t size_;
  std::size_t used_ = 0;
};

// Bytes of the strings that a run makes; what it hands out stays until clear().
class StringPool {
 public:
  StringRef add(std::string_view text) {
    const std::string& s = strings_.emplace_back(text);
    return {s.data(), s.size()};
  }
  void clear() { strings_.clear(); }

 private:
  std::deque<std::string> strings_;
};

// Dense row-major views; an absent input has no data. Output types come from infer; an op whose
// output shape depends on data gets the largest shape and writes the real one into outputs[i].type.
struct ReferenceCall {
  const Op& op;
  std::span<const TensorView> inputs;
  std::span<MutableTensorView> outputs;  // no data: not asked for
  Scratch& scratch;
  StringPool& strings;

  template <class T>
  const T& as() const {
    return *std::get_if<T>(&op);
  }
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].present(); }
  bool wants(std::size_t i) const { return i < outputs.size() && outputs[i].present(); }
};

// The plainest correct loop: the oracle of the tests, the evaluator of constant folding and the end
// of every list of implementations. Allocates nothing unless it fails or makes strings.
using ReferenceFn = Status (*)(const ReferenceCall&);
using InferFn = Status (*)(InferContext&);
using ScratchFn = std::size_t (*)(const Op&, std::span<const TensorType> inputs,
                                  std::span<const TensorType> outputs);

struct Arity {
  std::uint16_t min = 1;
  std::uint16_t max = 1;
};
inline constexpr std::uint16_t any_number = 0xffff;

enum class OpTrait : std::uint32_t {
  none = 0,
  // The output is the input's bytes under another shape.
  view = 1,
  // Element i of the output depends on element i of each (broadcast) input alone.
  elementwise = 2,
  // The output shape depends on the elements of inputs that are not plan-time operands.
  data_dependent = 4,
  // Two calls with equal inputs may differ: never folded or merged.
  random = 8,
  // Handled by the planner itself: control flow, sequences, optionals.
  structural = 16,
  // May carry post-ops.
  post_ops = 32,
  // Input 0 is copied byte by byte, from wherever it lies: a constant needs no aligned copy.
  any_address = 64,
};
constexpr OpTrait operator|(OpTrait a, OpTrait b) {
  return static_cast<OpTrait>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}

struct OpDef {
  std::string_view name;
  Arity inputs;
  Arity outputs;
  OpTrait traits = OpTrait::none;
  // Bit i: the elements of input i must be known to plan the node (shapes, axes, conditions).
  std::uint32_t plan_operands = 0;
  // Instead of them, for a family whose operands differ from kind to kind.
  std::uint32_t (*plan_operands_of)(const Op&) = nullptr;
  InferFn infer = nullptr;
  // Of a data_dependent op: like infer, with the largest shapes that the data may lead to.
  InferFn bound = nullptr;
  ReferenceFn reference = nullptr;
  ScratchFn scratch = nullptr;
  const OpKernels* kernels = nullptr;

  bool is(OpTrait t) const {
    return (static_cast<std::uint32_t>(traits) & static_cast<std::uint32_t>(t)) != 0;
  }
  bool needs_value(const Op& op, std::size_t input) const {
    const std::uint32_t operands = plan_operands_of ? plan_operands_of(op) : plan_operands;
    return input < 32 && (operands >> input & 1) != 0;
  }
};

// The integers of an i64 or i32 tensor, at whatever alignment; nothing for another type.
std::optional<Ints> int_elements(const Tensor& t);

// Rows in the order of the variant. Kept by every Graph, so that graph/ links without kernels/.
using OpSet = std::span<const OpDef* const>;
// Every operator. Defined by kernels/, which whoever calls it links.
OpSet builtin_ops();

// Position of struct T in the variant Op.
template <class T, std::size_t I = 0>
constexpr std::size_t op_index() {
  if constexpr (std::is_same_v<std::variant_alternative_t<I, OpVariant>, T>) {
    return I;
  } else {
    return op_index<T, I + 1>();
  }
}

}  // namespace quern
