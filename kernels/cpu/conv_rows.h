// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// True if select_conv_rows() takes it: f32 in one or two dimensions with constant weights.
bool suits_conv_rows(const KernelRequest& request);
Selection select_conv_rows(const KernelRequest& request);
// One pixel of one image and less than 256 channels, as in squeeze-and-excite, for which it takes
// 0.2 to 0.9 of oneDNN's time (AVX-512, 40 such layers).
Selection select_conv_of_one_pixel(const KernelRequest& request);

}  // namespace quern
