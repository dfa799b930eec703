// SPDX-License-Identifier: Apache-2.0
// Aids for the tests of operators over images, signals and sequences.
#pragma once

#include "tests/kernels/movement_test.h"

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

// Inference gets types here whose dimensions may be open, and it knows no elements of the inputs.
Result<ValueType> infer_type(const Op& op, const std::vector<ValueType>& types,
                             std::size_t output = 0);
Dims dims_of(const Op& op, const std::vector<ValueType>& types, std::size_t output = 0);
inline Cost cost(const Op& op, const std::vector<TensorType>& inputs,
                 const std::vector<TensorType>& outputs) {
  return cost_of(op, inputs, outputs);
}

}  // namespace quern::testing
