// SPDX-License-Identifier: Apache-2.0
// Elements of small operands (axes, sizes, scales) as plain numbers, whatever their type. The bytes
// may be unaligned, as those of constants in a mapped file are.
#pragma once

#include <cstdint>
#include <cstring>

#include <quern/tensor.h>

#include "graph/numeric.h"

namespace quern {

// Element i of a tensor of numbers, converted; 0 for any other element type.
template <class To>
To element_as(const TensorView& t, std::int64_t i) {
  To result{};
  visit_number(t.type.dtype, [&]<class T>(TypeTag<T>) {
    T v{};
    std::memcpy(&v, t.data + i * static_cast<std::int64_t>(sizeof v), sizeof v);
    result = convert<To>(static_cast<ComputeType<T>>(v));
  });
  return result;
}
inline std::int64_t int_element(const TensorView& t, std::int64_t i) {
  return element_as<std::int64_t>(t, i);
}
inline double float_element(const TensorView& t, std::int64_t i) {
  return element_as<double>(t, i);
}

}  // namespace quern
