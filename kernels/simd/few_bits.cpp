// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/few_bits.h"

#include "kernels/simd/int8.h"

namespace quern {

extern const SimdFewBits few_bits_baseline_table;

namespace {

bool runs_everywhere() noexcept {
  return true;
}

}  // namespace

#if defined(__x86_64__)
extern const SimdFewBits few_bits_avx512_vnni_table;
extern const SimdFewBits few_bits_avx2_table;

namespace {

bool has_avx2_and_fma() noexcept {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
constexpr BuiltSet built_few_bits[] = {{"avx512-vnni", "avx512", int8_has_vnni},
                                       {"avx2", "avx2", has_avx2_and_fma},
                                       {"baseline", "baseline", runs_everywhere}};
const SimdFewBits* const few_bits_tables[] = {&few_bits_avx512_vnni_table, &few_bits_avx2_table,
                                              &few_bits_baseline_table};

}  // namespace
#else
namespace {

constexpr BuiltSet built_few_bits[] = {{"baseline", "baseline", runs_everywhere}};
const SimdFewBits* const few_bits_tables[] = {&few_bits_baseline_table};

}  // namespace
#endif

const SimdSets<SimdFewBits>& few_bits_sets() noexcept {
  static const SimdSets<SimdFewBits> here(built_few_bits, few_bits_tables);
  return here;
}

const SimdFewBits& simd_few_bits() noexcept {
  static const std::size_t number = best_of(built_few_bits);
  return *few_bits_tables[number];
}

}  // namespace quern
