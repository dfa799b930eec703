// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// SquaredDistance of f32 and f64: tiles of rows on all threads.
Selection select_distance_rows(const KernelRequest& request);

}  // namespace quern
