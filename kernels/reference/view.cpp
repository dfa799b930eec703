// SPDX-License-Identifier: Apache-2.0
// Identity, Reshape, Squeeze, Unsqueeze, Flatten: the same elements under another shape. InRange:
// the same ones, or an error if one of them is below `least` or above `most`.
//
// ONNX: the operators of these names, opsets 1 to 25 (shape and axes that were attributes import as
// inputs). Identity also takes sequences and optionals, which the planner resolves. Operators that
// generate text import with InRange: their lengths and numbers of beams are data.
#include <algorithm>
#include <cstdint>

#include "engine/vocabulary/text_util.h"
#include "graph/ops/in_range.h"
#include "graph/ops/reshape.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/movement.h"

namespace quern {
namespace {

Status in_range_reference(const ReferenceCall& call) {
  const auto* x = call.inputs[0].as<std::int64_t>();
  const std::int64_t least = *call.inputs[1].as<std::int64_t>();
  const std::int64_t most = *call.inputs[2].as<std::int64_t>();
  auto* y = call.outputs[0].as<std::int64_t>();
  StopCheck check(call.stop);
  for (std::int64_t i = 0; i < call.outputs[0].type.shape.elements() && !check.spend(1); ++i) {
    if (x[i] < least || x[i] > most)
      return {Code::invalid_argument, cat(printable(call.as<InRange>().what), " is ", x[i],
                                          ", wants ", least, " to ", most)};
    y[i] = x[i];
  }
  return {};
}

}  // namespace

const OpKernels& Identity::kernels() {
  static constexpr OpKernels table{.reference = {copy_reference}};
  return table;
}

const OpKernels& InRange::kernels() {
  static constexpr OpKernels table{.reference = {in_range_reference}};
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
