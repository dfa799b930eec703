// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/contract/kernel.h"

namespace quern {

// Moves all elements of a tensor to other places; either side may be a part of something larger.
// Of two block sizes one divides the other. Channels may fill the last block in part; what lies in
// the rest of it is left alone.
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
  // Channels that blocks hold in the same way, and where the first of them is, in elements.
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
