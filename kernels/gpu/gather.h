// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/contract/gpu.h"

namespace quern::gpu {

// y[outer][count][inner] from x[outer][size][inner].
struct GatherRows {
  std::int64_t outer, count, size, inner;
  bool by_element = false;        // one index per element of y instead of one per row
  std::uint32_t index_words = 1;  // 2 for i64
};
// The buffers are x, the indices and y; elements have 4 or 8 bytes.
Dispatch gather_rows(GatherRows rows, std::size_t element_size, std::array<BufferUse, 3> buffers,
                     const GpuTarget& target);

}  // namespace quern::gpu
