// SPDX-License-Identifier: Apache-2.0
// Sequence, SplitToSequence, ConcatFromSequence, SequenceMap, Optional: types only. A sequence is a
// tuple of tensors, which the planner takes apart: at run time there is none.
//
// ONNX: SequenceConstruct, SequenceEmpty, SequenceAt, SequenceInsert, SequenceErase,
// SequenceLength, SplitToSequence, ConcatFromSequence (opset 11), SequenceMap (17), Optional,
// OptionalHasElement, OptionalGetElement (15, 18). The type of a sequence says what is true of all
// of its elements.
#include <algorithm>

#include "graph/ops/sequences.h"
#include "kernels/contract/kernel.h"

namespace quern {
namespace {}  // namespace

const OpKernels& Sequence::kernels() {
  static constexpr OpKernels table{};
  return table;
}

const OpKernels& SplitToSequence::kernels() {
  static constexpr OpKernels table{};
  return table;
}

const OpKernels& ConcatFromSequence::kernels() {
  static constexpr OpKernels table{};
  return table;
}

const OpKernels& SequenceMap::kernels() {
  static constexpr OpKernels table{};
  return table;
}

const OpKernels& Optional::kernels() {
  static constexpr OpKernels table{};
  return table;
}

}  // namespace quern
