// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

Selection select_conv_transpose_direct(const KernelRequest& request);

}  // namespace quern
