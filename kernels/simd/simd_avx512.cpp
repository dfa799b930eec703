// SPDX-License-Identifier: Apache-2.0
#define QUERN_SIMD_WIDTH 16
#define QUERN_SIMD_SET avx512
#define QUERN_SIMD_NAME "avx512"
#include "kernels/simd/simd_impl.inc"
#include "kernels/simd/simd_set.inc"
