// SPDX-License-Identifier: Apache-2.0
// What rules ask about the neighbourhood of a node, and the steps that they take.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>

#include "graph/graph.h"
#include "graph/ops/shape.h"

namespace quern::passes {

// ---- nodes -------------------------------------------------------------------------------------

// The node that makes `v`, or null; also null for one that inference refuses, which stays as it is.
const Node* producer(const Graph& g, ValueId v);
// The node that makes `v` when it is a T and nothing more: a node with post-ops is more.
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
// Whether a Reshape, Squeeze, Unsqueeze or Flatten without post-ops fits what it takes in every
// run. Of one that only a run can check nothing may be dropped: the run would no longer refuse.
bool always_fits(const Graph& g, const Node& n);
bool is_unary(const Node& n, UnaryKind kind);
bool is_binary(const Node& n, BinaryKind kind);
// (f(x), g) of a commutative node over (a, b): the operands with the one that `is_first` likes in
// front; nothing when it likes neither.
struct Operands {
  ValueId first, second;
};
template <class F>
std::optional<Operands> operands(const Node& n, F&& is_first) {
  if (is_first(n.inputs[0])) return Operands{n.inputs[0], n.inputs[1]};
  if (is_first(n.inputs[1])) return Operands{n.inputs[1], n.inputs[0]};
  return std::nullopt;
}
// Of the node's own inputs.
bool has_input(const Node& n, std::size_t i);
// Somebody reads an output of the node other than the first.
bool has_other_readers(const Graph& g, const Node& n);
// A constant, or computed from nothing else: worth keeping apart from what a run computes. Gives up
// on deep expressions.
bool is_constant_expression(const Graph& g, ValueId v, int depth = 8);

// ---- types -------------------------------------------------------------------------------------

bool is_number_float(const Graph& g, ValueId v);
// Whether an operator on values of `v`'s type may hold `x`, one of its numbers, as float: always
// but in f64, where the digits that a float leaves out count.
bool fits_float(const Graph& g, ValueId v, double x);
// All dimensions and the element type are known to be equal.
bool known_same(const ValueType& a, const ValueType& b);
bool known_same(const Graph& g, ValueId a, ValueId b);
// `operand` broadcasts to `x` and leaves its shape as it is, for certain.
bool keeps_shape(const ValueType& x, const ValueType& operand);
bool keeps_shape(const Graph& g, ValueId x, ValueId operand);
// `axis` made non-negative where the rank of `v` is known.
std::optional<std::size_t> positive_axis(const Graph& g, ValueId v, std::int64_t axis);

// ---- constants ---------------------------------------------------------------------------------

// The number that all elements of a constant are.
std::optional<double> splat(const Graph& g, ValueId v);
bool is_splat(const Graph& g, ValueId v, double number);
// What all elements of a bool constant are.
std::optional<bool> constant_bool(const Graph& g, ValueId v);
// The same up to the precision of the element type: how exporters write 1/sqrt(2).
bool is_about(double number, double wanted, DType dtype);
// Elements of a constant of integers, or of any numbers; not of large ones.
std::optional<Ints> ints(const Graph& g, ValueId v);
std::optional<std::vector<double>> numbers(const Tensor& t);
std::optional<std::vector<double>> numbers(const Graph& g, ValueId v);
// Rounds to `dtype`, a number.
Tensor number_tensor(DType dtype, const Shape& shape, std::span<const double> values);
ValueId add_number(Graph& g, DType dtype, double value);  // a scalar
ValueId add_ints(Graph& g, const Ints& values);
// An operand for Reshape that gives these dimensions; nothing when more than one is open.
struct ReshapeTarget {
  Reshape op;
  Ints shape;
};
std::optional<ReshapeTarget> reshape_target(const Dims& dims);

// ---- steps -------------------------------------------------------------------------------------
// Each is the one change of a rule: it happens whole, or not at all and gives false.

// The node becomes another op; its outputs stay.
Result<bool> replace_op(Graph& g, NodeId id, Op op, std::vector<ValueId> inputs,
                        PostOps post_ops = {});
// Whoever reads the node's first output reads `value` from now on. The rule has made sure that both
// are equal. Not done where the type of the output says more than that of `value`: it is the node
// that checks what is said.
Result<bool> replace_uses(Graph& g, NodeId id, ValueId value);
// The output becomes a constant.
Result<bool> replace_with_constant(Graph& g, ValueId output, Tensor tensor);

}  // namespace quern::passes
