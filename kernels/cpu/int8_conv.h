// SPDX-License-Identifier: Apache-2.0
// Convolutions and products of 8-bit integers on the kernels of simd/int8.h, in channels-last
// order. A matrix product is a 1x1 convolution over its rows.
#pragma once

#include "graph/ops/windows.h"
#include "kernels/contract/constant_operands.h"
#include "kernels/contract/kernel.h"

namespace quern {

// Computes y[images][positions out][groups * columns] from x[images][positions in][groups * depth]
// and weights[groups][columns][depth][taps] with any strides.
struct Int8Conv {
  Int8Operands operands;
  std::int64_t images = 1;
  std::int64_t groups = 1;
  std::int64_t columns = 1;
  std::int64_t depth = 1;
  Shape in, out;          // spatial
  ResolvedWindow window;  // rank 0: 1x1, position by position
  std::int64_t column_stride = 1;
  std::int64_t depth_stride = 1;
  std::int64_t tap_stride = 1;
  bool scratch = true;  // as CpuTarget

  std::int64_t taps() const { return window.kernel.elements(); }
  std::int64_t channels() const { return groups * columns; }
};

// The caller fills in the layouts of x and y.
Result<KernelChoice> make_int8_conv(const KernelRequest& request, const Int8Conv& conv);

}  // namespace quern
