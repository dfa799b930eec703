// SPDX-License-Identifier: Apache-2.0
#ifdef __arm__
// The architecture has no NEON: simd.cpp asks whether the CPU has. Its NEON takes denormal numbers
// for 0, for which compilers want to hear that this is no harm before they use it; sums stay in
// order.
#pragma GCC target("fpu=neon-vfpv4")
#pragma GCC optimize("unsafe-math-optimizations", "no-associative-math", "no-reciprocal-math", \
                     "signed-zeros")
#endif
#define QUERN_SIMD_WIDTH 4
#define QUERN_SIMD_NAME "neon"
#define QUERN_SIMD_NEON 1
#include "kernels/simd/simd_impl.inc"

namespace quern {

extern const Simd simd_neon_table;
const Simd simd_neon_table = table;

}  // namespace quern
