// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"

namespace quern {

// A kernel with one input and one output of the same shape and dtype that moves the elements from one
// layout to the other.
Result<KernelChoice> select_copy(const TensorDesc& from, const TensorDesc& to,
                                 const CpuTarget& target);

// The same at once, for constants.
void copy_elements(const TensorDesc& from, const std::byte* src, const TensorDesc& to,
                   std::byte* dst);

}  // namespace quern
