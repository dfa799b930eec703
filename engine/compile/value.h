// SPDX-License-Identifier: Apache-2.0
// Values at run time, as the engine hands them from segment to segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <quern/tensor.h>

namespace quern {

// The value of a graph input, a graph output or a slot between two segments: one tensor, the
// tensors of a sequence, or nothing (an empty optional). The views are valid until their owner runs
// again.
struct RuntimeValue {
  enum class Kind : std::uint8_t { tensor, sequence, none };

  Kind kind = Kind::tensor;
  std::vector<TensorView> tensors;

  const TensorView& tensor() const { return tensors.front(); }
};

}  // namespace quern
