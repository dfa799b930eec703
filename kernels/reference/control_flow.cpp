// SPDX-License-Identifier: Apache-2.0
// If, Loop, Scan: the types of what they hand out. The planner runs their bodies.
//
// ONNX: the operators of these names, If and Loop in opsets 1 to 25, Scan in 9 to 25.
#include "graph/ops/control_flow.h"

#include "kernels/contract/kernel.h"

namespace quern {
namespace {}  // namespace

const OpKernels& If::kernels() {
  static constexpr OpKernels table{};
  return table;
}

const OpKernels& Loop::kernels() {
  static constexpr OpKernels table{};
  return table;
}

const OpKernels& Scan::kernels() {
  static constexpr OpKernels table{};
  return table;
}

}  // namespace quern
