// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "kernels/contract/gpu.h"

namespace quern::gpu {

// Rows of neighbouring elements, one after the other.
struct Rows {
  std::int64_t count, length;
};
// A workgroup a row, of a power of two invocations, which is the first specialisation constant;
// count and length are the first push words.
Dispatch row_dispatch(std::string_view shader, const Rows& rows, const GpuTarget& target);

}  // namespace quern::gpu
