// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/ops/infer.h"
#include "kernels/kernel.h"

namespace quern {

Selection select_conv_onednn(const KernelRequest& request);
Selection select_conv_transpose_onednn(const KernelRequest& request);

}  // namespace quern
