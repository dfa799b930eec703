// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// Conv in f32 with constant weights of 3x3, no groups, strides or dilations.
bool suits_conv_winograd(const KernelRequest& request);
Selection select_conv_winograd(const KernelRequest& request);
// The same where it is faster: 12 channels to 16 and more, maps of 13x13 and more. With
// AVX-512 it takes 0.4 to 0.7 of the time of the direct form there, and 0.67 to 0.99 of that of
// oneDNN's Winograd (bench/results/2026-11-29-own-convolutions.md). Its weights are four times as
// large, so that those of more than 256 channels by 256 stay as they are.
Selection select_conv_by_winograd(const KernelRequest& request);

}  // namespace quern
