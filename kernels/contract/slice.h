// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <quern/tensor.h>

namespace quern {

// Start and step of a slice along each dimension, for operands that inference has accepted (inputs
// as in the node: x, starts, ends, axes?, steps?).
struct SliceStep {
  std::int64_t start = 0;
  std::int64_t step = 1;
};
std::array<SliceStep, Shape::max_rank> slice_steps(const Shape& x,
                                                   std::span<const TensorView> inputs);

}  // namespace quern
