// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// Lrn of f32 whose base is a positive number.
Selection select_lrn_rows(const KernelRequest& request);

}  // namespace quern
