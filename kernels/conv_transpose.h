// SPDX-License-Identifier: Apache-2.0
// Geometry of a transposed convolution, for all of its implementations.
#pragma once

#include "kernels/infer.h"
#include "kernels/kernel.h"

namespace quern {

// The window as it slides over the *output*: at position i, an element of the input, its taps lie
// on the output elements that the input element contributes to. Nothing but concrete shapes that
// inference has accepted.
ResolvedWindow resolve_transposed_window(const ConvTranspose& op, std::span<const std::int64_t> in,
                                         std::span<const std::int64_t> kernel);

Selection select_conv_transpose_direct(const KernelRequest& request);

}  // namespace quern
