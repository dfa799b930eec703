// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <quern/tensor.h>

namespace quern {

// Where a slice begins along each dimension and how it steps, for operands that inference has
// accepted (inputs as the node has them: x, starts, ends, axes?, steps?).
struct SliceStep {
  std::int64_t start = 0;
  std::int64_t step = 1;
};
std::array<SliceStep, Shape::max_rank> slice_steps(const Shape& x,
                                                   std::span<const TensorView> inputs);

}  // namespace quern
