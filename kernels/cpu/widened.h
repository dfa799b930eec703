// SPDX-License-Identifier: Apache-2.0
// A product of 16-bit floats by the kernel that f32 would have: what it reads is cast into scratch
// memory first, and so is a result that is not f32 after it. For what no kernel takes in 16 bits.
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// Of a Conv or a MatMul, by the best implementation of the same in f32.
Selection select_widened(const KernelRequest& request);

}  // namespace quern
