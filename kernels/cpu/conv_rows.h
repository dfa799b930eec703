// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// True if select_conv_rows() takes it: f32 in one or two dimensions with constant weights.
bool suits_conv_rows(const KernelRequest& request);
Selection select_conv_rows(const KernelRequest& request);

}  // namespace quern
