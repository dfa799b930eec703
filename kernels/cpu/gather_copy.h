// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// Gather along an axis, of elements of any type.
Selection select_gather_copy(const KernelRequest& request);

}  // namespace quern
