// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "kernels/contract/gpu.h"

namespace quern::gpu {

// Contiguous rows of contiguous elements.
struct Rows {
  std::int64_t count, length;
};
// One workgroup per row. Its number of invocations, a power of two, is the first specialisation
// constant; count and length are the first push words.
Dispatch row_dispatch(std::string_view shader, const Rows& rows, const GpuTarget& target);

}  // namespace quern::gpu
