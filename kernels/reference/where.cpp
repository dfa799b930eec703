// SPDX-License-Identifier: Apache-2.0
// Where: y = condition ? a : b, element by element, all three broadcast.
//
// ONNX: Where, opsets 9 and 16, and every element type. The reference copies elements of 1, 2, 4, 8
// or 16 bytes without looking at them.
#include "graph/ops/where.h"

#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/cpu/where_rows.h"
#include "kernels/gpu/kernels.h"

namespace quern {
namespace {

// ---- reference

template <class T>
void select_elements(const ReferenceCall& call) {
  const Shape& shape = call.outputs[0].type.shape;
  const bool* condition = call.inputs[0].as<bool>();
  const T* a = call.inputs[1].as<T>();
  const T* b = call.inputs[2].as<T>();
  T* y = call.outputs[0].as<T>();
  const std::array<Shape, 3> strides = {broadcast_strides(call.inputs[0].type.shape, shape),
                                        broadcast_strides(call.inputs[1].type.shape, shape),
                                        broadcast_strides(call.inputs[2].type.shape, shape)};
  StopCheck check(call.stop);
  for_each_offset(shape, strides, 4, check,
                  [&](const auto& at) { *y++ = condition[at[0]] ? a[at[1]] : b[at[2]]; });
}

Status where_reference(const ReferenceCall& call) {
  switch (size_of(call.outputs[0].type.dtype)) {
    case 1: select_elements<std::uint8_t>(call); break;
    case 2: select_elements<std::uint16_t>(call); break;
    case 4: select_elements<std::uint32_t>(call); break;
    case 8: select_elements<std::uint64_t>(call); break;
    default: select_elements<StringRef>(call); break;
  }
  return {};
}

constexpr CpuImplementation where_implementations[] = {{"rows", select_where_rows}};

}  // namespace

const OpKernels& Where::kernels() {
  static constexpr OpKernels table{
      .reference = {where_reference}, .cpu = where_implementations, .gpu = gpu::select_where};
  return table;
}

}  // namespace quern
