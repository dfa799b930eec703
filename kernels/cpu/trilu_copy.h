// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// Trilu of elements of any type.
Selection select_trilu_copy(const KernelRequest& request);

}  // namespace quern
