// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// Where of elements of 1, 2, 4 and 8 bytes.
Selection select_where_rows(const KernelRequest& request);

}  // namespace quern
