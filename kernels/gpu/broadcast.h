// SPDX-License-Identifier: Apache-2.0
// Dispatches of broadcast.comp.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <quern/dtype.h>

#include "kernels/contract/gpu.h"
#include "kernels/gpu/grid.h"

namespace quern::gpu {

struct Broadcast {
  std::string_view shader;
  std::uint32_t code;                     // of the function
  std::size_t operands;                   // at most three
  std::array<DType, 4> types;             // of the operands; the last of the result
  std::vector<std::uint32_t> parameters;  // the last push words: alpha and beta
};
// The strides of `loop` are those of three operands, and of the result. The operands are the first
// inputs of the node.
Dispatch broadcast_dispatch(const Broadcast& work, const Loop& loop, const GpuTarget& target);

}  // namespace quern::gpu
