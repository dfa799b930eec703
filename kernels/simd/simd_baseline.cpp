// SPDX-License-Identifier: Apache-2.0
#define QUERN_SIMD_WIDTH 4
#define QUERN_SIMD_NAME "baseline"
#include "kernels/simd/simd_impl.inc"

namespace quern {

extern const Simd simd_baseline_table;
const Simd simd_baseline_table = table;

}  // namespace quern
