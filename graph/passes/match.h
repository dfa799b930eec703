// SPDX-License-Identifier: Apache-2.0
// Helpers for rules: queries on the neighbourhood of a node, and changes to the graph.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>

#include "graph/graph.h"

namespace quern {
enum class UnaryKind : std::uint8_t;
}  // namespace quern

namespace quern::passes {

// ---- nodes -------------------------------------------------------------------------------------

// The node that produces `v`, or null; also null for a node that inference rejects, which must stay
// unchanged.
const Node* producer(const Graph& g, ValueId v);
// The node that produces `v` if it is a T without post-ops, else null.
template <class T>
const Node* bare(const Graph& g, ValueId v) {
  const Node* n = producer(g, v);
  return n && n->as<T>() && n->post_ops.empty() ? n : nullptr;
}
template <class T>
const T* bare(const Node& n) {
  return n.post_ops.empty() ? n.as<T>() : nullptr;
}
const Node* unary(const Graph& g, ValueId v, UnaryKind kind);
const Node* binary(const Graph& g, ValueId v, BinaryKind kind);
// True if a Reshape, Squeeze, Unsqueeze or Flatten without post-ops fits its input in every run. A
// node that only a run can check must not be dropped: the run would no longer report the error.
bool always_fits(const Graph& g, const Node& n);
bool is_unary(const Node& n, UnaryKind kind);
bool is_binary(const Node& n, BinaryKind kind);
// The two operands of a commutative node, the one that satisfies `is_first` in front; nullopt if
// neither does.
struct Operands {
  ValueId first, second;
};
template <class F>
std::optional<Operands> operands(const Node& n, F&& is_first) {
  if (is_first(n.inputs[0])) return Operands{n.inputs[0], n.inputs[1]};
  if (is_first(n.inputs[1])) return Operands{n.inputs[1], n.inputs[0]};
  return std::nullopt;
}
// True if input `i` is present and one of the node's own, not the operand of a post-op.
bool has_input(const Node& n, std::size_t i);
// True if an output of the node other than the first is used.
bool has_other_readers(const Graph& g, const Node& n);
// True if `v` is a constant or computed from constants only, and so worth keeping apart from values
// of a run. Gives up on deep expressions.
bool is_constant_expression(const Graph& g, ValueId v, int depth = 8);

// ---- types -------------------------------------------------------------------------------------

bool is_number_float(const Graph& g, ValueId v);
// True if an operator on values of `v`'s type may hold `x`, one of its attributes, as float: always
// except for f64, where `x` must be exactly a float.
bool fits_float(const Graph& g, ValueId v, double x);
// True if all dimensions and the element type are known to be equal.
bool known_same(const ValueType& a, const ValueType& b);
bool known_same(const Graph& g, ValueId a, ValueId b);
// True if `operand` is known to broadcast to `x` without changing its shape.
bool keeps_shape(const ValueType& x, const ValueType& operand);
bool keeps_shape(const Graph& g, ValueId x, ValueId operand);
// `axis` made non-negative; nullopt if the rank of `v` is unknown.
std::optional<std::size_t> positive_axis(const Graph& g, ValueId v, std::int64_t axis);

// ---- constants ---------------------------------------------------------------------------------

// The value of all elements of a constant, if they are equal.
std::optional<double> splat(const Graph& g, ValueId v);
bool is_splat(const Graph& g, ValueId v, double number);
// The value of all elements of a bool constant, if they are equal.
std::optional<bool> constant_bool(const Graph& g, ValueId v);
// True if the numbers are equal up to the precision of the element type, as for an exporter's
// 1/sqrt(2).
bool is_about(double number, double wanted, DType dtype);
// The elements of a constant of integers, or of any numbers; nullopt for large ones.
std::optional<Ints> ints(const Graph& g, ValueId v);
std::optional<std::vector<double>> numbers(const Tensor& t);
std::optional<std::vector<double>> numbers(const Graph& g, ValueId v);
// Rounds the values to `dtype`, a number type.
Tensor number_tensor(DType dtype, const Shape& shape, std::span<const double> values);
ValueId add_number(Graph& g, DType dtype, double value);  // a scalar
ValueId add_ints(Graph& g, const Ints& values);

// ---- steps -------------------------------------------------------------------------------------
// Each makes the single change of a rule: completely, or not at all and returns false.

// Turns the node into another op without post-ops; it keeps its outputs.
Result<bool> replace_op(Graph& g, NodeId id, Op op, std::vector<ValueId> inputs);
// The same, but the node keeps its post-ops and their operands.
Result<bool> replace_keeping_post_ops(Graph& g, NodeId id, Op op, std::vector<ValueId> inputs);
// Replaces all uses of the node's first output by `value`. The rule has made sure that both are
// equal. Returns false if the type of the output is more precise than that of `value`, because then
// the node checks that type.
Result<bool> replace_uses(Graph& g, NodeId id, ValueId value);
// The output becomes a constant.
Result<bool> replace_with_constant(Graph& g, ValueId output, Tensor tensor);

}  // namespace quern::passes
