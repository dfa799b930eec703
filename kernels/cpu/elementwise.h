// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// Unary and Binary in f32 with any chain of post-ops, in one pass over memory.
Selection select_elementwise(const KernelRequest& request);

}  // namespace quern
