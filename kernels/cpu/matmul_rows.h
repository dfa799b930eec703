// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

Selection select_matmul_rows(const KernelRequest& request);
// One row by constant weights, for which it takes 0.2 to 1.0 of oneDNN's time (AVX-512; 1 to 32,000
// columns, depths of 64 to 4,096).
Selection select_matmul_of_one_row(const KernelRequest& request);

}  // namespace quern
