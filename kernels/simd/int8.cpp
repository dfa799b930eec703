// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/int8.h"

#include "kernels/simd/simd.h"

namespace quern {

#if defined(__x86_64__)
extern const SimdInt8 int8_avx512_vnni_table;
extern const SimdInt8 int8_avx2_table;

const SimdInt8* int8_avx512_vnni() noexcept {
  const bool here = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
  return here ? &int8_avx512_vnni_table : nullptr;
}
const SimdInt8* int8_avx2() noexcept {
  return __builtin_cpu_supports("avx2") ? &int8_avx2_table : nullptr;
}
#else
const SimdInt8* int8_avx512_vnni() noexcept {
  return nullptr;
}
const SimdInt8* int8_avx2() noexcept {
  return nullptr;
}
const Int8Tiles* int8_amx() noexcept {
  return nullptr;
}
#endif

const SimdInt8& simd_int8() noexcept {
  static const SimdInt8& best = int8_avx512_vnni() && simd_allows("avx512") ? *int8_avx512_vnni()
                                : int8_avx2() && simd_allows("avx2")        ? *int8_avx2()
                                                                            : int8_baseline();
  return best;
}

const Int8Tiles* simd_int8_tiles() noexcept {
  static const Int8Tiles* best = simd_allows("amx") ? int8_amx() : nullptr;
  return best;
}

}  // namespace quern
