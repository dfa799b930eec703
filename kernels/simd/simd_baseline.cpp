// SPDX-License-Identifier: Apache-2.0
#define QUERN_SIMD_WIDTH 4
#define QUERN_SIMD_NAME "baseline"
#include "kernels/simd/simd_impl.inc"

namespace quern {

const Simd& simd_baseline() noexcept {
  return table;
}

}  // namespace quern
