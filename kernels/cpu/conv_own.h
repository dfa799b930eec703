// SPDX-License-Identifier: Apache-2.0
// The convolutions that take the engine's own loops though oneDNN is there.
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// With AVX-512: depthwise ones with windows of 25 taps and more, or in front of a function made of
// exponentials. They take 0.84 to 1.09 of oneDNN's time, and need no code made for them.
Selection select_own_depthwise(const KernelRequest& request);

// With AVX-512: those without groups or with wide ones. They take 0.84 to 1.04 of oneDNN's time,
// 0.13 to 0.55 with few output channels, and need no code made for them, which takes a millisecond
// or two for each layer. With 9 to 16 output channels oneDNN is faster by a tenth
// (bench/results/2026-11-29-own-convolutions.md).
Selection select_own_conv(const KernelRequest& request);

}  // namespace quern
