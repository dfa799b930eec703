// SPDX-License-Identifier: Apache-2.0
// What the tests of the movement operators share: inference on types whose dimensions or elements
// are not known yet, and tensors of strings.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "graph/text.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
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
inline ValueType unranked(DType dtype) {
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

inline std::string types_text(InferFn fn, const Op& op, const std::vector<Arg>& args,
                              std::size_t outputs, const Bodies& bodies) {
  std::vector<InferInput> in;
  for (const Arg& a : args) in.push_back({a.present, a.type, a.value.valid() ? &a.value : nullptr});
  InferContext context(op, op.def().name, "test", in, outputs, bodies);
  if (Status s = fn(context); !s.ok()) return std::string(s.message());
  std::string text;
  for (const ValueType& t : context.outputs()) text += (text.empty() ? "" : "; ") + type_text(t);
  return text;
}
// What infer says of the outputs: "f32[$0,?]; i64[2]", symbols by number; or the error's message.
inline std::string infer_text(const Op& op, const std::vector<Arg>& args, std::size_t outputs = 1,
                              const Bodies& bodies = {}) {
  return types_text(op.def().infer, op, args, outputs, bodies);
}
// The same for the largest shapes that the data may lead to.
inline std::string bound_text(const Op& op, const std::vector<Arg>& args, std::size_t outputs = 1) {
  return types_text(op.def().bound, op, args, outputs, {});
}

inline Tensor ints(std::initializer_list<std::int64_t> values) {
  return tensor<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}
inline Tensor ints32(std::initializer_list<std::int32_t> values) {
  return tensor<std::int32_t>({static_cast<std::int64_t>(values.size())}, values);
}
// 0, 1, 2, ... in a shape.
inline Tensor counting(Shape shape) {
  Tensor t = Tensor::zeros({DType::f32, shape}).value();
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    reinterpret_cast<float*>(t.mutable_data())[i] = static_cast<float>(i);
  return t;
}
// Of string literals, whose bytes live on.
inline Tensor strings(Shape shape, std::initializer_list<std::string_view> values) {
  std::vector<StringRef> refs;
  for (std::string_view v : values) refs.push_back({v.data(), v.size()});
  return Tensor::from_values<StringRef>(DType::string, shape, refs);
}
inline std::vector<std::string> string_values(const Tensor& t) {
  std::vector<std::string> out;
  for (const StringRef& s : t.span<StringRef>()) out.emplace_back(s.view());
  return out;
}
// All outputs; fails the test on an error.
inline std::vector<Tensor> run_all(const Op& op, const std::vector<Tensor>& inputs,
                                   std::size_t outputs) {
  auto r = run_reference(op, inputs, outputs);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  return r ? *std::move(r) : std::vector<Tensor>(outputs);
}

}  // namespace quern::testing
