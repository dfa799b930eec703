// SPDX-License-Identifier: Apache-2.0
// The implementations that use oneDNN.
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

Selection select_conv_onednn(const KernelRequest& request);
Selection select_conv_transpose_onednn(const KernelRequest& request);
Selection select_matmul_onednn(const KernelRequest& request);
Selection select_pool_onednn(const KernelRequest& request);

}  // namespace quern
