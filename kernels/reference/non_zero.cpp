// SPDX-License-Identifier: Apache-2.0
// NonZero: the coordinates of the elements that are not zero, in row-major order, as i64 [rank, n].
//
// ONNX: NonZero (opsets 9, 13). Of a scalar it is [0, n]; a string is zero when it is empty.
#include "graph/numeric.h"
#include "graph/ops/data_dependent.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"

namespace quern {
namespace {

template <class T>
bool is_zero(const T& v) {
  if constexpr (std::is_same_v<T, StringRef>) {
    return v.size == 0;
  } else if constexpr (std::is_same_v<T, double> || std::is_integral_v<T>) {
    return v == 0;
  } else {
    return static_cast<float>(v) == 0;
  }
}

template <class T>
void write_coordinates(const Shape& shape, const T* x, std::int64_t n, std::int64_t* y,
                       StopCheck& check) {
  const Shape strides = row_major_strides(shape);
  std::int64_t found = 0;
  for_each_until(shape.elements(), 16, check, [&](std::int64_t i) {
    if (is_zero(x[i])) return;
    for (std::size_t d = 0; d < shape.rank(); ++d)
      y[static_cast<std::int64_t>(d) * n + found] = i / strides[d] % shape[d];
    ++found;
  });
}

Status non_zero_reference(const ReferenceCall& call) {
  const Shape& shape = call.inputs[0].type.shape;
  visit_dtype(stored_as(call.inputs[0].type.dtype), [&]<class T>(TypeTag<T>) {
    const T* x = call.inputs[0].as<T>();
    std::int64_t n = 0;
    StopCheck check(call.stop);
    for_each_until(shape.elements(), 2, check, [&](std::int64_t i) { n += !is_zero(x[i]); });
    write_coordinates(shape, x, n, call.outputs[0].as<std::int64_t>(), check);
    call.outputs[0].type.shape = {static_cast<std::int64_t>(shape.rank()), n};
  });
  return {};
}

}  // namespace

const OpKernels& NonZero::kernels() {
  static constexpr OpKernels table{.reference = {non_zero_reference}};
  return table;
}

}  // namespace quern
