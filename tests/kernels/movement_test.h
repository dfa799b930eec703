// SPDX-License-Identifier: Apache-2.0
// The tests of the movement operators share these helpers: inference on types whose dimensions or
// elements are not known yet, and tensors of strings.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/kernels/op_test.h"

namespace quern::testing {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

inline constexpr std::int64_t int_min = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t int_max = std::numeric_limits<std::int64_t>::max();

// Two symbols and an unknown dimension.
inline const Dim N = Dim::symbol(0);
inline const Dim M = Dim::symbol(1);
inline const Dim any = Dim();

inline ValueType f32(Dims dims) {
  return {DType::f32, std::move(dims)};
}
inline ValueType i64(Dims dims) {
  return {DType::i64, std::move(dims)};
}
inline ValueType unranked(DType dtype = DType::f32) {
  return {dtype, std::nullopt};
}
inline ValueType sequence_of(DType dtype, std::optional<Dims> dims) {
  return {dtype, std::move(dims), ValueType::Kind::sequence};
}
inline ValueType optional_of(DType dtype, std::optional<Dims> dims) {
  return {dtype, std::move(dims), ValueType::Kind::optional_tensor};
}

// An input of inference: a type, a tensor whose elements are known, or nothing.
struct Arg {
  Arg() = default;
  Arg(ValueType t) : present(true), type(std::move(t)) {}                // NOLINT
  Arg(Tensor t) : present(true), type(t.type()), value(std::move(t)) {}  // NOLINT

  bool present = false;
  ValueType type;
  Tensor value;
};

using Bodies = std::vector<std::vector<ValueType>>;

// This returns the types that infer finds, "f32[$0,?]; i64[2]", symbols by number; or its error.
std::string infer_text(const Op& op, const std::vector<Arg>& args, std::size_t outputs = 1,
                       const Bodies& bodies = {});
// The same for the largest shapes that the data may lead to.
std::string bound_text(const Op& op, const std::vector<Arg>& args, std::size_t outputs = 1);

inline Tensor ints(std::initializer_list<std::int64_t> values) {
  return tensor<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}
inline Tensor ints32(std::initializer_list<std::int32_t> values) {
  return tensor<std::int32_t>({static_cast<std::int64_t>(values.size())}, values);
}
// 0, 1, 2, ... in a shape.
Tensor counting(Shape shape);
// The values must be string literals, because the tensor only refers to their bytes.
Tensor strings(Shape shape, std::initializer_list<std::string_view> values);
std::vector<std::string> string_values(const Tensor& t);
// All outputs; fails the test on an error.
std::vector<Tensor> run_all(const Op& op, const std::vector<Tensor>& inputs, std::size_t outputs);

}  // namespace quern::testing
