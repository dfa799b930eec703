// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/simd.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "kernels/contract/arm.h"
#include "kernels/simd/simd_calls.h"

namespace quern {

extern const Simd simd_baseline_table;

namespace {

bool is_always_here() noexcept {
  return true;
}

}  // namespace

#if defined(__x86_64__)
extern const Simd simd_avx512_table;
extern const Simd simd_avx2_table;

namespace {

bool has_avx512() noexcept {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
bool has_avx2() noexcept {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
constexpr std::string_view simd_levels[] = {"baseline", "avx2", "avx512", "amx"};
constexpr BuiltSet built_simd[] = {{"avx512", "avx512", has_avx512},
                                   {"avx2", "avx2", has_avx2},
                                   {"baseline", "baseline", is_always_here}};
const Simd* const simd_tables[] = {&simd_avx512_table, &simd_avx2_table, &simd_baseline_table};

}  // namespace
#elif defined(__aarch64__) || defined(__arm__)
extern const Simd simd_neon_table;

namespace {

bool has_neon() noexcept {
  return arm_features().neon;
}
constexpr std::string_view simd_levels[] = {"baseline", "neon", "dotprod", "i8mm"};
constexpr BuiltSet built_simd[] = {{"neon", "neon", has_neon},
                                   {"baseline", "baseline", is_always_here}};
const Simd* const simd_tables[] = {&simd_neon_table, &simd_baseline_table};

}  // namespace
#else
namespace {

constexpr std::string_view simd_levels[] = {"baseline"};
constexpr BuiltSet built_simd[] = {{"baseline", "baseline", is_always_here}};
const Simd* const simd_tables[] = {&simd_baseline_table};

}  // namespace
#endif

bool simd_allows(const char* level) noexcept {
  const char* most = std::getenv("QUERN_SIMD");
  if (!most) return true;
  const auto* end = std::end(simd_levels);
  const auto* highest = std::find(std::begin(simd_levels), end, most);
  return highest == end || std::find(std::begin(simd_levels), end, level) <= highest;
}

std::size_t best_of(std::span<const BuiltSet> built) noexcept {
  const auto best = std::find_if(built.begin(), built.end() - 1, [](const BuiltSet& b) {
    return b.is_here() && simd_allows(b.level);
  });
  return static_cast<std::size_t>(best - built.begin());
}

std::size_t simd_set_number() noexcept {
  static const std::size_t number = best_of(built_simd);
  return number;
}

const SimdSets<Simd>& simd_sets() noexcept {
  static const SimdSets<Simd> here(built_simd, simd_tables);
  return here;
}

#ifdef QUERN_ONLY
const SimdSet& simd() noexcept {
  static const SimdCalls calls{.name = built_simd[simd_set_number()].name};
  return calls;
}
#else
const SimdSet& simd() noexcept {
  return *simd_tables[simd_set_number()];
}
#endif

}  // namespace quern
