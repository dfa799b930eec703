// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// Tile of elements of any type.
Selection select_tile_copy(const KernelRequest& request);

}  // namespace quern
