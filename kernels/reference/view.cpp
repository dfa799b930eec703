// SPDX-License-Identifier: Apache-2.0
// Identity, Reshape, Squeeze, Unsqueeze, Flatten: the same elements under another shape.
//
// ONNX: the operators of these names, opsets 1 to 25 (shape and axes that were attributes import as
// inputs). Identity also takes sequences and optionals, which the planner resolves.
#include <algorithm>

#include "graph/ops/reshape.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"

namespace quern {
namespace {}  // namespace

const OpKernels& Identity::kernels() {
  static constexpr OpKernels table{.reference = {copy_reference}};
  return table;
}

const OpKernels& Reshape::kernels() {
  static constexpr OpKernels table{.reference = {copy_reference}};
  return table;
}

const OpKernels& Squeeze::kernels() {
  static constexpr OpKernels table{.reference = {copy_reference}};
  return table;
}

const OpKernels& Unsqueeze::kernels() {
  static constexpr OpKernels table{.reference = {copy_reference}};
  return table;
}

const OpKernels& Flatten::kernels() {
  static constexpr OpKernels table{.reference = {copy_reference}};
  return table;
}

}  // namespace quern
