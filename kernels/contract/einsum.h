// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include <quern/shape.h>

namespace quern {

struct Einsum;

// An equation over concrete operands as a loop nest with one dimension per label.
struct EinsumLoops {
  struct Label {
    std::int64_t size = 1;
    std::vector<std::int64_t> strides;  // by operand, in elements; 0 if it has no such label
  };
  std::vector<Label> outer;   // the dimensions of the result, in order
  std::vector<Label> summed;  // the others
  // labels[k][d]: the label of dimension d of operand k, counted over outer, then summed.
  std::vector<std::vector<std::size_t>> labels;
};
// The shapes must have been accepted by inference.
EinsumLoops einsum_loops(const Einsum& op, std::span<const Shape> operands);

}  // namespace quern
