// SPDX-License-Identifier: Apache-2.0
// What the engine's own convolutions add to their sums and do behind them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "kernels/contract/kernel.h"
#include "kernels/simd/simd.h"

namespace quern {

struct ConvTail {
  bool has_bias = false;                  // argument 2
  std::optional<std::uint32_t> residual;  // the argument that is added to each element
  FloatRange range;                       // of the sum
  PostOps functions;                      // of one number each, behind that
};

// What they all choose: x and the result lie channels last, and the kernel holds the weights.
// `name` of the form: "rows".
KernelChoice own_conv_choice(const KernelRequest& request, std::string_view name);

// The bias and the first post-ops of a convolution whose result lies channels last. Says so in
// `choice`: which are taken, and how the residual lies, whose memory may be that of the result.
ConvTail take_tail(const KernelRequest& request, KernelChoice& choice);
// The same without an operand.
ConvTail take_functions(const KernelRequest& request, KernelChoice& choice);

}  // namespace quern
