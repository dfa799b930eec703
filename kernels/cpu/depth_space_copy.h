// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// DepthToSpace and SpaceToDepth of elements of any type.
Selection select_depth_space_copy(const KernelRequest& request);

}  // namespace quern
