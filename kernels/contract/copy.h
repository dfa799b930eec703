// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/contract/kernel.h"

namespace quern {

// Copies all elements of a tensor to another layout; either side may be a part of a larger tensor.
// If both sides are blocked, one block size divides the other. Channels may fill the last block
// only in part; the rest of that block is not written.
class ElementCopy {
 public:
  ElementCopy(const TensorDesc& from, const TensorDesc& to);
  void operator()(const std::byte* src, std::byte* dst, const Parallel& parallel) const;

  // The physical dimensions, outermost first in the order of the destination, strides in elements.
  struct Loop {
    Shape dims;
    Shape src;
    Shape dst;
  };

 private:
  // A range of channels that lie in blocks in the same way, and the offset of the first of them, in
  // elements.
  struct Part {
    Loop loop;
    std::int64_t src, dst, elements;
  };
  void copy(const Part& part, const std::byte* src, std::byte* dst, const Parallel& parallel) const;

  std::vector<Part> parts_;
  std::size_t element_size_;
};

// A kernel with one input and one output of the same shape and dtype that moves the elements from
// one layout to the other.
Result<KernelChoice> select_copy(const TensorDesc& from, const TensorDesc& to,
                                 const CpuTarget& target);

// The same at once, for constants.
void copy_elements(const TensorDesc& from, const std::byte* src, const TensorDesc& to,
                   std::byte* dst);

}  // namespace quern
