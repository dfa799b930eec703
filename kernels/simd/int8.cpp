// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/int8.h"

#include "kernels/contract/arm.h"

namespace quern {

extern const SimdInt8 int8_baseline_table;

namespace {

bool is_on_every_cpu() noexcept {
  return true;
}

}  // namespace

#if defined(__x86_64__)
extern const SimdInt8 int8_avx512_vnni_table;
extern const SimdInt8 int8_avx2_table;

bool int8_has_vnni() noexcept {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
}

namespace {

bool int8_has_avx2() noexcept {
  return __builtin_cpu_supports("avx2");
}
constexpr BuiltSet built_int8[] = {{"avx512-vnni", "avx512", int8_has_vnni},
                                   {"avx2", "avx2", int8_has_avx2},
                                   {"baseline", "baseline", is_on_every_cpu}};
const SimdInt8* const int8_tables[] = {&int8_avx512_vnni_table, &int8_avx2_table,
                                       &int8_baseline_table};

}  // namespace
#elif defined(__aarch64__) || defined(__arm__)
extern const SimdInt8 int8_i8mm_table;
extern const SimdInt8 int8_dotprod_table;
extern const SimdInt8 int8_neon_table;

namespace {

bool int8_has_neon() noexcept {
  return arm_features().neon;
}
#ifdef __aarch64__
bool int8_has_i8mm() noexcept {
  return arm_features().i8mm;
}
bool int8_has_dotprod() noexcept {
  return arm_features().dotprod;
}
#endif
constexpr BuiltSet built_int8[] = {
#ifdef __aarch64__
    {"i8mm", "i8mm", int8_has_i8mm},
    {"dotprod", "dotprod", int8_has_dotprod},
#endif
    {"neon", "neon", int8_has_neon},
    {"baseline", "baseline", is_on_every_cpu}};
const SimdInt8* const int8_tables[] = {
#ifdef __aarch64__
    &int8_i8mm_table, &int8_dotprod_table,
#endif
    &int8_neon_table, &int8_baseline_table};

}  // namespace
#else
namespace {

constexpr BuiltSet built_int8[] = {{"baseline", "baseline", is_on_every_cpu}};
const SimdInt8* const int8_tables[] = {&int8_baseline_table};

}  // namespace
#endif

#if !defined(__x86_64__)
bool int8_has_amx() noexcept {
  return false;
}
const Int8Tiles* int8_amx() noexcept {
  return nullptr;
}
#endif

namespace {

std::size_t int8_set_number() noexcept {
  static const std::size_t number = best_of(built_int8);
  return number;
}

}  // namespace

const SimdSets<SimdInt8>& int8_sets() noexcept {
  static const SimdSets<SimdInt8> here(built_int8, int8_tables);
  return here;
}

const SimdInt8& simd_int8() noexcept {
  return *int8_tables[int8_set_number()];
}

const char* simd_int8_name() noexcept {
  return built_int8[int8_set_number()].name;
}

bool simd_has_int8_tiles() noexcept {
  static const bool here = simd_allows("amx") && int8_has_amx();
  return here;
}

const Int8Tiles* simd_int8_tiles() noexcept {
  return simd_has_int8_tiles() ? int8_amx() : nullptr;
}

}  // namespace quern
