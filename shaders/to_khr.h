// SPDX-License-Identifier: Apache-2.0
// SPIR-V of SPV_NV_cooperative_matrix as that of SPV_KHR_cooperative_matrix: for compilers of GLSL
// that know only the older extension, while drivers know only the newer one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quern::shaders {

struct Rewritten {
  std::vector<std::uint32_t> words;
  std::string error;  // "": it is done
};
// Matrices of floats alone. What a matrix is used as (a factor on the left or right, or a sum) is a
// part of its type in the new extension: it is taken from the products, so that each type must
// stand in one place of all of them.
Rewritten to_khr(const std::vector<std::uint32_t>& module);

}  // namespace quern::shaders
