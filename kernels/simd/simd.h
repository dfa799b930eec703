// SPDX-License-Identifier: Apache-2.0
// Vectorised loops over f32, compiled once per instruction set and chosen when the program starts.
#pragma once

#include <cstdint>

#include "graph/ops.h"

namespace quern {

// An operand of a loop: elements one behind the other, or one element for all.
struct SimdOperand {
  const float* data;
  bool is_scalar;
};

// C[m, n] = A[m, k] B[k, n], or + C. B lies in panels of `gemm_panel` columns, [k][gemm_panel] each,
// the last one filled up with zeros (pack_gemm).
inline constexpr std::int64_t gemm_panel = 32;
struct GemmBlock {
  std::int64_t m, n, k;
  std::int64_t a_stride;  // from row to row
  std::int64_t c_stride;
  bool accumulate;
};
// Floats that pack_gemm writes for a B of k rows and n columns.
inline std::int64_t gemm_packed_size(std::int64_t k, std::int64_t n) {
  return (n + gemm_panel - 1) / gemm_panel * gemm_panel * k;
}
// Element (i, j) of B at b[i * row + j * column].
void pack_gemm(const float* b, std::int64_t row, std::int64_t column, std::int64_t k,
               std::int64_t n, float* packed);

// Row-wise functions take rows of n contiguous elements. Any function may work in place. Relative
// errors are a few units in the last place; NaN comes out as NaN.
struct Simd {
  const char* name;  // "avx512", "avx2", "baseline"

  bool (*has_unary)(UnaryKind kind);
  void (*unary)(const Unary& op, const float* x, float* y, std::int64_t n);
  bool (*has_binary)(BinaryKind kind);
  void (*binary)(BinaryKind kind, SimdOperand a, SimdOperand b, float* y, std::int64_t n);

  // y[i] = (x[i] - mean) * factor * scale[i] + shift[i]; scale and shift may be null.
  void (*normalize)(const float* x, float mean, float factor, const float* scale,
                    const float* shift, float* y, std::int64_t n);
  float (*sum)(const float* x, std::int64_t n);
  float (*sum_square)(const float* x, float mean, std::int64_t n);  // of x - mean
  float (*sum_abs)(const float* x, std::int64_t n);
  float (*max)(const float* x, std::int64_t n);
  float (*min)(const float* x, std::int64_t n);
  float (*dot)(const float* x, const float* y, std::int64_t n);
  // y = exp(x - shift); returns the sum.
  float (*exp_sum)(const float* x, float shift, float* y, std::int64_t n);
  // y += a * x
  void (*axpy)(float a, const float* x, float* y, std::int64_t n);

  void (*gemm)(const GemmBlock& block, const float* a, const float* packed_b, float* c);

  void (*half_to_float)(const std::uint16_t* x, float* y, std::int64_t n);
  void (*float_to_half)(const float* x, std::uint16_t* y, std::int64_t n);
};

// The best for this CPU.
const Simd& simd() noexcept;

// All that this CPU can run, for tests.
const Simd* simd_avx512() noexcept;  // null: not here
const Simd* simd_avx2() noexcept;
const Simd& simd_baseline() noexcept;

}  // namespace quern
