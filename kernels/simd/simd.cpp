// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/simd.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "kernels/contract/arm.h"

namespace quern {

extern const Simd simd_baseline_table;
#if defined(__x86_64__)
extern const Simd simd_avx512_table;
extern const Simd simd_avx2_table;
constexpr std::string_view simd_levels[] = {"baseline", "avx2", "avx512", "amx"};
#elif defined(__aarch64__) || defined(__arm__)
extern const Simd simd_neon_table;
constexpr std::string_view simd_levels[] = {"baseline", "neon", "dotprod", "i8mm"};
#else
constexpr std::string_view simd_levels[] = {"baseline"};
#endif

const SimdSets<Simd>& simd_sets() noexcept {
  static const SimdSets<Simd> here = [] {
    SimdSets<Simd> sets;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
      sets.add(simd_avx512_table);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) sets.add(simd_avx2_table);
#elif defined(__aarch64__) || defined(__arm__)
    if (arm_features().neon) sets.add(simd_neon_table);
#endif
    sets.add(simd_baseline_table);
    return sets;
  }();
  return here;
}

bool simd_allows(const char* level) noexcept {
  const char* most = std::getenv("QUERN_SIMD");
  if (!most) return true;
  const auto* end = std::end(simd_levels);
  const auto* highest = std::find(std::begin(simd_levels), end, most);
  return highest == end || std::find(std::begin(simd_levels), end, level) <= highest;
}

const Simd& simd() noexcept {
  static const Simd& best = simd_sets().best_allowed(&Simd::name);
  return best;
}

}  // namespace quern
