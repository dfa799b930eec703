// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// True if select_conv_rows() takes it: f32 in one or two dimensions with constant weights.
bool suits_conv_rows(const KernelRequest& request);
Selection select_conv_rows(const KernelRequest& request);
// True if it computes output channels as sums along the depth, since they fill a part of a vector.
bool has_few_outputs(const KernelRequest& request);

}  // namespace quern
