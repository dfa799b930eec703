// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/int8.h"

#include "kernels/contract/arm.h"

namespace quern {

extern const SimdInt8 int8_baseline_table;
#if defined(__x86_64__)
extern const SimdInt8 int8_avx512_vnni_table;
extern const SimdInt8 int8_avx2_table;
#elif defined(__aarch64__) || defined(__arm__)
extern const SimdInt8 int8_i8mm_table;
extern const SimdInt8 int8_dotprod_table;
extern const SimdInt8 int8_neon_table;
#endif

const SimdSets<SimdInt8>& int8_sets() noexcept {
  static const SimdSets<SimdInt8> here = [] {
    SimdSets<SimdInt8> sets;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni"))
      sets.add(int8_avx512_vnni_table);
    if (__builtin_cpu_supports("avx2")) sets.add(int8_avx2_table);
#elif defined(__aarch64__) || defined(__arm__)
    const ArmFeatures arm = arm_features();
#ifdef __aarch64__
    if (arm.i8mm) sets.add(int8_i8mm_table);
    if (arm.dotprod) sets.add(int8_dotprod_table);
#endif
    if (arm.neon) sets.add(int8_neon_table);
#endif
    sets.add(int8_baseline_table);
    return sets;
  }();
  return here;
}

#if !defined(__x86_64__)
const Int8Tiles* int8_amx() noexcept {
  return nullptr;
}
#endif

const SimdInt8& simd_int8() noexcept {
  static const SimdInt8& best = int8_sets().best_allowed(&SimdInt8::level);
  return best;
}

const Int8Tiles* simd_int8_tiles() noexcept {
  static const Int8Tiles* best = simd_allows("amx") ? int8_amx() : nullptr;
  return best;
}

}  // namespace quern
