// SPDX-License-Identifier: Apache-2.0
// Builders of arithmetic on values of the graph, for operators that import as several nodes.
//
// C++ does not specify the order in which arguments of a call are evaluated: at most one argument
// may add a node, or the order of nodes would depend on the compiler.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontends/onnx-parser/node_import.h"

namespace quern {
enum class BinaryKind : std::uint8_t;
enum class ReduceKind : std::uint8_t;
enum class UnaryKind : std::uint8_t;
}  // namespace quern

namespace quern::onnx {

// ---- elementwise
ValueId unary(NodeImport& n, UnaryKind kind, ValueId x, double alpha = 0, double beta = 0);
ValueId binary(NodeImport& n, BinaryKind kind, ValueId a, ValueId b);
ValueId add(NodeImport& n, ValueId a, ValueId b);
ValueId sub(NodeImport& n, ValueId a, ValueId b);
ValueId mul(NodeImport& n, ValueId a, ValueId b);
ValueId div(NodeImport& n, ValueId a, ValueId b);
// The number gets the element type of `a`.
ValueId add(NodeImport& n, ValueId a, double b);
ValueId mul(NodeImport& n, ValueId a, double b);
ValueId where(NodeImport& n, ValueId condition, ValueId x, ValueId y);
ValueId cast(NodeImport& n, ValueId x, DType to);  // returns x if its type is `to` already
ValueId reduce(NodeImport& n, ReduceKind kind, ValueId x, const Ints& axes);

// ---- shapes
// Constants where the dimensions are known: i64 [rank], i64 [end - start], i64 [].
ValueId shape_of(NodeImport& n, ValueId x);
ValueId dims_of(NodeImport& n, ValueId x, std::int64_t start, std::int64_t end);
ValueId scalar_dim(NodeImport& n, ValueId x, std::int64_t axis);
// Concatenates lists of dimensions.
ValueId join_dims(NodeImport& n, std::vector<ValueId> parts);
ValueId reshape(NodeImport& n, ValueId x, ValueId shape);
ValueId reshape(NodeImport& n, ValueId x, const Ints& shape);
ValueId unsqueeze(NodeImport& n, ValueId x, const Ints& axes);
ValueId squeeze(NodeImport& n, ValueId x, const Ints& axes);
ValueId transpose(NodeImport& n, ValueId x, const Ints& perm);
// From channels last to channels first, and back. The rank is 2 or more.
ValueId channels_first(NodeImport& n, ValueId x, std::int64_t rank);
ValueId channels_last(NodeImport& n, ValueId x, std::int64_t rank);
ValueId concat(NodeImport& n, std::vector<ValueId> parts, std::int64_t axis);
ValueId slice(NodeImport& n, ValueId x, std::int64_t start, std::int64_t end, std::int64_t axis);
// The slices of `size` elements of x that begin at every `step` along `axis`, in a dimension behind
// it.
struct Slices {
  std::int64_t size = 1;
  std::int64_t step = 1;
};
ValueId windows_along(NodeImport& n, ValueId x, std::int64_t axis, Slices s);
ValueId expand_to(NodeImport& n, ValueId x, ValueId shape);
ValueId gather(NodeImport& n, ValueId x, ValueId indices, std::int64_t axis);
// A tensor of the shape that `shape` holds, each element `value`.
ValueId filled(NodeImport& n, ValueId shape, DType dtype, double value);
// x with dimensions of 1 appended up to `rank`.
ValueId with_trailing_ones(NodeImport& n, ValueId x, std::int64_t rank);

// ---- matrix products
// scale * (a - a_zero) (b - b_zero), the product in integers. `operands`: a, b and what is there of
// the zero points.
ValueId scaled_product(NodeImport& n, std::vector<ValueId> operands, ValueId scale);

// ---- numbers
// 0, 1, ..., limit - 1 for an i64 scalar.
ValueId counting(NodeImport& n, ValueId limit);
// The bits of one element, in the form that ConstantOfShape takes.
std::uint64_t element_bits(const Tensor& t);
// A scalar; not valid() if `dtype` is string.
Tensor number_tensor(DType dtype, double value);

// ---- lists
Tensor string_tensor(const Shape& shape, std::vector<std::string> texts);
// A tensor of rank 1; sizeof(T) is that of `dtype`.
template <class T>
Tensor list_tensor(DType dtype, const std::vector<T>& values) {
  return Tensor::from_values<T>(dtype, Shape{static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace quern::onnx
