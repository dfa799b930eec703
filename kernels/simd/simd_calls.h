// SPDX-License-Identifier: Apache-2.0
// The loops of Simd one by one, in the place of its table, in a build for some models
// (graph/built.h): the linker leaves out those that none of their kernels calls, for each
// instruction set.
#pragma once

#include <cstddef>
#include <type_traits>

#include "kernels/simd/simd.h"

namespace quern {

// Every function of Simd, in its order.
// clang-format off
#define QUERN_SIMD_LOOPS(X) \
  X(has_unary) X(unary) X(has_binary) X(binary) X(normalize) X(sum) X(sum_square) X(sum_abs) \
  X(max) X(min) X(range) X(dot) X(exp_sum) X(axpy) X(weigh_rows) X(weigh_gathered) X(multiply) \
  X(is_few) X(multiply_few) \
  X(max_windows) X(sum_windows) X(depthwise) X(winograd_input) X(winograd_output) X(deinterleave) X(sum_products) X(lstm_cell) \
  X(gru_cell) \
  X(half_to_float) X(float_to_half) X(bfloat_to_float) X(float_to_bfloat) X(bfloat_parts) \
  X(quantize) X(dequantize) X(quantize_words) X(dequantize_words) X(requantize) X(scale_sums) \
  X(int_to_float)
// clang-format on

// The number of the chosen set among all that are built for this architecture, best first.
std::size_t simd_set_number() noexcept;

// Called, or read as a pointer, as a member of Simd is. `sets`: the loop in each set.
template <class Loop, const Loop*... sets>
struct SimdCall {
  operator Loop() const {  // NOLINT(google-explicit-constructor)
    constexpr const Loop* all[] = {sets...};
    return *all[simd_set_number()];
  }
  template <class... A>
  auto operator()(A... a) const {
    return Loop(*this)(a...);
  }
};

#define QUERN_SIMD_DECLARE(loop)                        \
  extern const decltype(Simd::loop) simd_avx512_##loop; \
  extern const decltype(Simd::loop) simd_avx2_##loop;   \
  extern const decltype(Simd::loop) simd_neon_##loop;   \
  extern const decltype(Simd::loop) simd_baseline_##loop;
QUERN_SIMD_LOOPS(QUERN_SIMD_DECLARE)
#undef QUERN_SIMD_DECLARE

struct SimdCalls {
  const char* name;
#if defined(__x86_64__)
#define QUERN_SIMD_MEMBER(loop)                                                                 \
  SimdCall<decltype(Simd::loop), &simd_avx512_##loop, &simd_avx2_##loop, &simd_baseline_##loop> \
      loop;
#elif defined(__aarch64__) || defined(__arm__)
#define QUERN_SIMD_MEMBER(loop) \
  SimdCall<decltype(Simd::loop), &simd_neon_##loop, &simd_baseline_##loop> loop;
#else
#define QUERN_SIMD_MEMBER(loop) SimdCall<decltype(Simd::loop), &simd_baseline_##loop> loop;
#endif
  QUERN_SIMD_LOOPS(QUERN_SIMD_MEMBER)
#undef QUERN_SIMD_MEMBER
};

}  // namespace quern
