// SPDX-License-Identifier: Apache-2.0
#define QUERN_SIMD_WIDTH 8
#define QUERN_SIMD_SET avx2
#define QUERN_SIMD_NAME "avx2"
#include "kernels/simd/simd_impl.inc"
#include "kernels/simd/simd_set.inc"
