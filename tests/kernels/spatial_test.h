// SPDX-License-Identifier: Apache-2.0
// Aids for the tests of operators over images, signals and sequences.
#pragma once

#include <limits>

#include "graph/ops/infer.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {

// 0, 1, 2, ...
template <class T>
Tensor counting(Shape shape) {
  Tensor t = Tensor::zeros({dtype_of<T>(), shape}).value();
  T* p = reinterpret_cast<T*>(t.mutable_data());
  for (std::int64_t i = 0; i < shape.elements(); ++i) p[i] = static_cast<T>(static_cast<float>(i));
  return t;
}
template <class T>
Tensor filled(Shape shape, T value) {
  Tensor t = Tensor::zeros({dtype_of<T>(), shape}).value();
  std::fill_n(reinterpret_cast<T*>(t.mutable_data()), shape.elements(), value);
  return t;
}

// What inference says of inputs whose elements nobody knows, and whose dimensions may be open.
inline Result<ValueType> infer_type(const Op& op, const std::vector<ValueType>& types,
                                    std::size_t output = 0) {
  const OpDef& def = op.def();
  std::vector<InferInput> in;
  for (const ValueType& t : types) in.push_back({true, t, nullptr});
  InferContext context(op, def.name, "test", in, output + 1);
  QUERN_TRY(def.infer(context));
  return context.outputs()[output];
}
inline Dims dims_of(const Op& op, const std::vector<ValueType>& types, std::size_t output = 0) {
  auto t = infer_type(op, types, output);
  EXPECT_TRUE(t) << (t ? "" : t.error().message());
  EXPECT_TRUE(t && t->dims);
  return t && t->dims ? *t->dims : Dims();
}
inline ValueType f32(Dims dims) {
  return {DType::f32, std::move(dims)};
}
inline ValueType unranked(DType dtype = DType::f32) {
  return {dtype, std::nullopt};
}
inline ValueType i64(Dims dims) {
  return {DType::i64, std::move(dims)};
}

inline constexpr float inf = std::numeric_limits<float>::infinity();
inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

inline Cost cost(const Op& op, const std::vector<TensorType>& inputs,
                 const std::vector<TensorType>& outputs) {
  return cost_of(op, inputs, outputs);
}

}  // namespace quern::testing
