// SPDX-License-Identifier: Apache-2.0
// ConstantOfShape, Range, EyeLike: tensors made from a few numbers.
//
// ONNX: ConstantOfShape (opsets 9 to 25), Range (11 to 27), EyeLike (9 to 22). Range has
// max(ceil((limit - start) / delta), 0) elements, counted exactly for integers and in double for
// floats; element i is start + i * delta, rounded once.
#include "graph/ops/fill.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/numeric.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

Status constant_reference(const ReferenceCall& call) {
  const auto& op = call.as<ConstantOfShape>();
  const MutableTensorView& y = call.outputs[0];
  // Elements are little-endian, as the machine is.
  const std::uint64_t bits = op.dtype == DType::boolean ? op.bits != 0 : op.bits;
  StopCheck check(call.stop);
  fill(size_of(op.dtype), reinterpret_cast<const std::byte*>(&bits), y.type.shape.elements(),
       y.data, check);
  return {};
}

Status range_reference(const ReferenceCall& call) {
  const std::int64_t n = call.outputs[0].type.shape.elements();
  StopCheck check(call.stop);
  visit_dtype(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    T* y = call.outputs[0].as<T>();
    if constexpr (is_integer_type<T>) {  // wraps in no element that is inside of the range
      const auto start = static_cast<std::uint64_t>(*call.inputs[0].as<T>());
      const auto delta = static_cast<std::uint64_t>(*call.inputs[2].as<T>());
      for_each_until(n, 2, check, [&](std::int64_t i) {
        y[i] = static_cast<T>(start + static_cast<std::uint64_t>(i) * delta);
      });
    } else if constexpr (is_float_type<T>) {
      const double start = static_cast<double>(*call.inputs[0].as<T>());
      const double delta = static_cast<double>(*call.inputs[2].as<T>());
      for_each_until(n, 2, check,
                     [&](std::int64_t i) { y[i] = T(start + static_cast<double>(i) * delta); });
    }
  });
  return {};
}

Status eye_reference(const ReferenceCall& call) {
  const MutableTensorView& y = call.outputs[0];
  const std::int64_t k = call.as<EyeLike>().k;
  const std::int64_t rows = y.type.shape[0];
  const std::int64_t columns = y.type.shape[1];
  StopCheck check(call.stop);
  zero_bytes(y.type.bytes(), y.data, check);
  if (k <= -rows || k >= columns) return {};
  visit_dtype(y.type.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (!std::is_same_v<T, StringRef>) {
      const std::int64_t first = std::max<std::int64_t>(0, -k);
      const std::int64_t last = std::min(rows, columns - k);
      for_each_until(last - first, 8, check, [&](std::int64_t i) {
        y.as<T>()[(first + i) * columns + first + i + k] = T(1.0f);
      });
    }
  });
  return {};
}

}  // namespace

const OpKernels& ConstantOfShape::kernels() {
  static constexpr OpKernels table{.reference = {constant_reference}};
  return table;
}

const OpKernels& Range::kernels() {
  static constexpr OpKernels table{.reference = {range_reference}};
  return table;
}

const OpKernels& EyeLike::kernels() {
  static constexpr OpKernels table{.reference = {eye_reference}, .gpu = gpu::select_eye_like};
  return table;
}

}  // namespace quern
