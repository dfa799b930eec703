// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

Selection select_block_quantized_matmul(const KernelRequest& request);

}  // namespace quern
