// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"

namespace quern {

// A kernel with one input and one output of the same shape and dtype that moves the elements from one
// layout to the other.
Result<KernelChoice> select_copy(const TensorDesc& from, const TensorDesc& to,
                                 const CpuTarget& target);

// The loops of a copy, outermost first; strides in elements.
struct CopyLoop {
  Shape dims, src, dst;
};

// Moves elements between two layouts of one shape, anywhere: also into or out of a part of a larger
// tensor, whose strides the part has. Blocks of channels must be whole.
class StridedCopy {
 public:
  StridedCopy(const TensorDesc& from, const TensorDesc& to);
  void run(const std::byte* src, std::byte* dst, const Parallel& parallel) const;

 private:
  CopyLoop loop_;
  std::size_t element_size_;
  std::int64_t elements_;
};

// The same at once, for constants.
void copy_elements(const TensorDesc& from, const std::byte* src, const TensorDesc& to,
                   std::byte* dst);

}  // namespace quern
