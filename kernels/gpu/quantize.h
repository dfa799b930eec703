// SPDX-License-Identifier: Apache-2.0
// Dispatches of quantize.comp.
#pragma once

#include <array>
#include <cstdint>

#include <quern/dtype.h>

#include "kernels/contract/gpu.h"

namespace quern::gpu {

enum class QuantizeMode : std::uint32_t { quantize, dequantize, requantize };
struct QuantizeWork {
  QuantizeMode mode;
  DType small;              // u8, i8, or i32 to dequantize
  std::int64_t elements;    // in memory order
  std::int64_t stride = 1;  // element i has scale i / stride % count
  std::int64_t count = 1;
  bool has_zero = false;    // zero points, or a bias to requantize
  std::int32_t y_zero = 0;  // to requantize
};
// The buffers are x, scale, zero and y, in this order.
Dispatch quantize_dispatch(const QuantizeWork& work, std::array<BufferUse, 4> buffers,
                           const GpuTarget& target);

}  // namespace quern::gpu
