// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// GridSample of images in f32, by the nearest element or by linear interpolation.
Selection select_grid_sample_rows(const KernelRequest& request);

}  // namespace quern
