// SPDX-License-Identifier: Apache-2.0
#ifdef __arm__
// The architecture has no NEON: simd.cpp asks whether the CPU has. Its NEON takes denormal numbers
// for 0, for which gcc wants to hear that this is no harm before it uses it. Sums stay in order,
// and quotients are what they are (no-reciprocal-math, and for those by an invariant
// trapping-math).
#pragma GCC target("fpu=neon-vfpv4")
#pragma GCC optimize("unsafe-math-optimizations", "no-associative-math", "no-reciprocal-math", \
                     "signed-zeros", "trapping-math")
#endif
#define QUERN_SIMD_WIDTH 4
#define QUERN_SIMD_SET neon
#define QUERN_SIMD_NAME "neon"
#define QUERN_SIMD_NEON 1
#include "kernels/simd/simd_impl.inc"
#include "kernels/simd/simd_set.inc"
