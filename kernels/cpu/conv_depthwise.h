// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// True if select_conv_depthwise() has a kernel for the request.
bool suits_conv_depthwise(const KernelRequest& request);
Selection select_conv_depthwise(const KernelRequest& request);

}  // namespace quern
