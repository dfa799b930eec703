// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/simd.h"

#include <cstdlib>
#include <string_view>

namespace quern {

#if defined(__x86_64__)
extern const Simd simd_avx512_table;
extern const Simd simd_avx2_table;

const Simd* simd_avx512() noexcept {
  const bool here = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return here ? &simd_avx512_table : nullptr;
}
const Simd* simd_avx2() noexcept {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &simd_avx2_table
                                                                         : nullptr;
}
#else
const Simd* simd_avx512() noexcept {
  return nullptr;
}
const Simd* simd_avx2() noexcept {
  return nullptr;
}
#endif

bool simd_allows(const char* level) noexcept {
  const char* wanted = std::getenv("QUERN_SIMD");
  if (!wanted) return true;
  const std::string_view most = wanted;
  const std::string_view asked = level;
  if (most == "baseline") return false;
  if (most == "avx2") return asked == "avx2";
  return most != "avx512" || asked != "amx";
}

const Simd& simd() noexcept {
  static const Simd& best = simd_avx512() && simd_allows("avx512") ? *simd_avx512()
                            : simd_avx2() && simd_allows("avx2")   ? *simd_avx2()
                                                                   : simd_baseline();
  return best;
}

}  // namespace quern
