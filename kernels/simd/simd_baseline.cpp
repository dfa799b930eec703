// SPDX-License-Identifier: Apache-2.0
#define QUERN_SIMD_WIDTH 4
#define QUERN_SIMD_SET baseline
#define QUERN_SIMD_NAME "baseline"
#include "kernels/simd/simd_impl.inc"
#include "kernels/simd/simd_set.inc"
