// SPDX-License-Identifier: Apache-2.0
#define QUERN_SIMD_WIDTH 16
#define QUERN_SIMD_NAME "avx512"
#include "kernels/simd/simd_impl.inc"

namespace quern {

extern const Simd simd_avx512_table;
const Simd simd_avx512_table = table;

}  // namespace quern
