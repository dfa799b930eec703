// SPDX-License-Identifier: Apache-2.0
// Running one operator by its definition alone: inference, then the reference. What is the same for
// every test is built once, in op_test.cpp.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <quern/tensor.h>

#include "graph/numeric.h"
#include "graph/op_def.h"
#include "graph/text.h"
#include "kernels/contract/kernel.h"

namespace quern::testing {

inline constexpr float inf = std::numeric_limits<float>::infinity();
inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, double>) return DType::f64;
  if constexpr (std::is_same_v<T, Half>) return DType::f16;
  if constexpr (std::is_same_v<T, BFloat16>) return DType::bf16;
  if constexpr (std::is_same_v<T, std::int8_t>) return DType::i8;
  if constexpr (std::is_same_v<T, std::int16_t>) return DType::i16;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::i32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::i64;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::u8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return DType::u16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return DType::u32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return DType::u64;
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  if constexpr (std::is_same_v<T, StringRef>) return DType::string;
  if constexpr (std::is_same_v<T, Int4>) return DType::i4;
  if constexpr (std::is_same_v<T, UInt4>) return DType::u4;
  if constexpr (std::is_same_v<T, Int2>) return DType::i2;
  if constexpr (std::is_same_v<T, UInt2>) return DType::u2;
  if constexpr (std::is_same_v<T, SmallFloatOf<SmallFloat::e2m1>>) return DType::f4e2m1;
  if constexpr (std::is_same_v<T, E8M0>) return DType::f8e8m0;
  if constexpr (std::is_same_v<T, SmallFloatOf<SmallFloat::e4m3fn>>) return DType::f8e4m3fn;
  if constexpr (std::is_same_v<T, SmallFloatOf<SmallFloat::e4m3fnuz>>) return DType::f8e4m3fnuz;
  if constexpr (std::is_same_v<T, SmallFloatOf<SmallFloat::e5m2>>) return DType::f8e5m2;
  if constexpr (std::is_same_v<T, SmallFloatOf<SmallFloat::e5m2fnuz>>) return DType::f8e5m2fnuz;
}

// Elements as they lie in memory, or fewer: zeros follow.
Tensor tensor_of_bytes(const TensorType& type, std::span<const std::byte> bytes);

// tensor<float>({2, 2}, {1, 2, 3, 4})
template <class T>
Tensor tensor(Shape shape, std::initializer_list<std::type_identity_t<T>> values) {
  return tensor_of_bytes({dtype_of<T>(), shape},
                         std::as_bytes(std::span(values.begin(), values.size())));
}
template <class T>
std::vector<T> values(const Tensor& t) {
  const auto s = t.span<T>();
  return {s.begin(), s.end()};
}
extern template std::vector<float> values(const Tensor& t);
extern template std::vector<std::int64_t> values(const Tensor& t);
inline Tensor absent() {
  return {};
}

// The types that inference gives for these inputs, with `elements_known` telling whether it may see
// their elements.
Result<std::vector<ValueType>> infer(const Op& op, const std::vector<Tensor>& inputs,
                                     std::size_t outputs = 1, bool elements_known = true);

// Inference that knows less must succeed as well and say nothing that the full truth contradicts:
// without the ranks, without the dimensions, without the elements.
void expect_symbolic_inference(const Op& op, const std::vector<Tensor>& inputs,
                               const std::vector<ValueType>& truth);

// Inference, then the reference. An input made by absent() is left out.
Result<std::vector<Tensor>> run_reference(const Op& op, const std::vector<Tensor>& inputs,
                                          std::size_t outputs = 1);

// The only output; fails the test on an error.
Tensor run(const Op& op, const std::vector<Tensor>& inputs);

// The error message; fails the test when there is none.
std::string error_of(const Op& op, const std::vector<Tensor>& inputs, std::size_t outputs = 1);

}  // namespace quern::testing
