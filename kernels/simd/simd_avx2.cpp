// SPDX-License-Identifier: Apache-2.0
#define QUERN_SIMD_WIDTH 8
#define QUERN_SIMD_NAME "avx2"
#include "kernels/simd/simd_impl.inc"

namespace quern {

extern const Simd simd_avx2_table;
const Simd simd_avx2_table = table;

}  // namespace quern
