// SPDX-License-Identifier: Apache-2.0
// Numbers are shifted to the top of a lane and back, which extends their sign, and converted. Bytes
// of two and four bits are multiplied in pairs without reaching the limits of 16 bits; those of
// eight are widened first.
#include <immintrin.h>

#include "kernels/simd/few_bits.h"

namespace quern {
namespace {

constexpr int most_rows = 4;
constexpr int halves = 2;  // of a panel, eight columns each
constexpr std::int64_t ahead = 4096;

inline __m256i load(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
inline void bring(const std::uint8_t* p) {
  _mm_prefetch(reinterpret_cast<const char*>(p) + ahead, _MM_HINT_T0);
}

// Half a group, its numbers less 2^(Bits - 1) as numbers with a sign.
template <int Bits>
inline __m256i prepared(const std::uint8_t* p) {
  constexpr int flip = Bits == 2 ? 0xaa : Bits == 4 ? 0x88 : 0x80;
  return _mm256_xor_si256(load(p), _mm256_set1_epi8(static_cast<char>(flip)));
}
// Number k of each column of it.
template <int Bits, int K>
inline __m256 number(__m256i v) {
  constexpr int left = 32 - Bits - (K % 4 * 8 + K / 4 * Bits);
  return _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(v, left), 32 - Bits));
}
// f(number k, k) for k from K on.
template <int Bits, int K = 0, class F>
inline void each(__m256i v, const F& f) {
  f(number<Bits, K>(v), K);
  if constexpr (K + 1 < 32 / Bits) each<Bits, K + 1>(v, f);
}

inline bool has_zeros(const FewBitsPanel& p) {
  return p.zeros || p.float_zeros;
}
inline __m256 zeros_at(const FewBitsPanel& p, std::int64_t at) {
  if (!p.zeros) return _mm256_loadu_ps(p.float_zeros + at);
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p.zeros + at));
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
}

template <int Bits, int Rows>
inline void floats_of_half(const FewBitsPanel& p, const FewBitsFloats& f, int half) {
  constexpr int chains = Rows == 1 ? 4 : Rows == 2 ? 2 : 1;
  constexpr int in_group = 32 / Bits;
  const __m256 middle = _mm256_set1_ps(1 << (Bits - 1));
  const bool shifts = has_zeros(p);
  __m256 out[Rows];
  for (int r = 0; r < Rows; ++r) out[r] = _mm256_setzero_ps();
  const std::uint8_t* numbers = p.numbers + std::ptrdiff_t{32} * half;
  for (std::int64_t b = 0; b < p.blocks; ++b) {
    __m256 sums[Rows][chains];
    for (int r = 0; r < Rows; ++r)
      for (int c = 0; c < chains; ++c) sums[r][c] = _mm256_setzero_ps();
    const float* x = f.x + b * p.size;
    for (std::int64_t k = 0; k < p.size; k += in_group, numbers += 64) {
      bring(numbers);
      each<Bits>(prepared<Bits>(numbers), [&](__m256 w, int i) {
        for (int r = 0; r < Rows; ++r)
          sums[r][i % chains] =
              _mm256_fmadd_ps(_mm256_set1_ps(x[r * f.x_stride + k + i]), w, sums[r][i % chains]);
      });
    }
    const std::int64_t at = b * few_bits_columns + std::ptrdiff_t{8} * half;
    const __m256 scale = _mm256_loadu_ps(p.scales + at);
    const __m256 zero = shifts ? _mm256_sub_ps(zeros_at(p, at), middle) : _mm256_setzero_ps();
    for (int r = 0; r < Rows; ++r) {
      __m256 sum = sums[r][0];
      for (int c = 1; c < chains; ++c) sum = _mm256_add_ps(sum, sums[r][c]);
      if (shifts) sum = _mm256_fnmadd_ps(zero, _mm256_set1_ps(f.sums[r * p.blocks + b]), sum);
      out[r] = _mm256_fmadd_ps(sum, scale, out[r]);
    }
  }
  for (int r = 0; r < Rows; ++r)
    _mm256_storeu_ps(f.y + std::ptrdiff_t{r} * few_bits_columns + std::ptrdiff_t{8} * half, out[r]);
}

template <int Bits, int Rows>
inline void floats(const FewBitsPanel& p, const FewBitsFloats& f) {
  for (int half = 0; half < halves; ++half) floats_of_half<Bits, Rows>(p, f, half);
}

// Sums of four products of bytes in each lane.
template <int Bits>
inline __m256i four_products(__m256i w, __m256i x) {
  if constexpr (Bits < 8)
    return _mm256_madd_epi16(_mm256_maddubs_epi16(w, x), _mm256_set1_epi16(1));
  const __m256i even = _mm256_madd_epi16(_mm256_and_si256(w, _mm256_set1_epi16(0xff)),
                                         _mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8));
  const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(w, 8), _mm256_srai_epi16(x, 8));
  return _mm256_add_epi32(even, odd);
}
inline __m256i four_bytes(const std::int8_t* p) {
  int v;
  __builtin_memcpy(&v, p, 4);
  return _mm256_set1_epi32(v);
}
template <int Bits>
inline __m256i bytes_of(__m256i group, int i) {
  if constexpr (Bits == 8) return group;
  const __m256i v = i == 0 ? group : _mm256_srli_epi16(group, Bits * i);
  return _mm256_and_si256(v, _mm256_set1_epi8((1 << Bits) - 1));
}

template <int Bits, int Rows>
inline void bytes_of_half(const FewBitsPanel& p, const FewBitsBytes& f, int half) {
  constexpr int in_byte = 8 / Bits;
  constexpr int middle = 1 << (Bits - 1);
  const bool shifts = has_zeros(p);
  __m256 out[Rows];
  for (int r = 0; r < Rows; ++r) out[r] = _mm256_setzero_ps();
  const std::uint8_t* numbers = p.numbers + std::ptrdiff_t{32} * half;
  for (std::int64_t b = 0; b < p.blocks; ++b) {
    __m256i sums[Rows];
    for (int r = 0; r < Rows; ++r)
      sums[r] = _mm256_set1_epi32(shifts ? 0 : -middle * f.sums[r * p.blocks + b]);
    const std::int8_t* x = f.x + b * p.size;
    for (std::int64_t k = 0; k < p.size; k += std::int64_t{4} * in_byte, numbers += 64) {
      bring(numbers);
      const __m256i group = load(numbers);
      for (int i = 0; i < in_byte; ++i) {
        const __m256i w = bytes_of<Bits>(group, i);
        for (int r = 0; r < Rows; ++r)
          sums[r] = _mm256_add_epi32(
              sums[r],
              four_products<Bits>(w, four_bytes(x + r * f.x_stride + k + std::ptrdiff_t{4} * i)));
      }
    }
    const std::int64_t at = b * few_bits_columns + std::ptrdiff_t{8} * half;
    const __m256 scale = _mm256_loadu_ps(p.scales + at);
    const __m256 zero = shifts ? zeros_at(p, at) : _mm256_setzero_ps();
    for (int r = 0; r < Rows; ++r) {
      const std::int64_t row = r * p.blocks + b;
      __m256 sum = _mm256_cvtepi32_ps(sums[r]);
      if (shifts)
        sum = _mm256_fnmadd_ps(zero, _mm256_set1_ps(static_cast<float>(f.sums[row])), sum);
      out[r] = _mm256_fmadd_ps(sum, _mm256_mul_ps(scale, _mm256_set1_ps(f.scales[row])), out[r]);
    }
  }
  for (int r = 0; r < Rows; ++r)
    _mm256_storeu_ps(f.y + std::ptrdiff_t{r} * few_bits_columns + std::ptrdiff_t{8} * half, out[r]);
}

template <int Bits, int Rows>
inline void bytes(const FewBitsPanel& p, const FewBitsBytes& f) {
  for (int half = 0; half < halves; ++half) bytes_of_half<Bits, Rows>(p, f, half);
}

template <int Bits>
inline void widen_part(const FewBitsPanel& p, const FewBitsPart& part, float* to,
                       std::int64_t stride) {
  constexpr int in_group = 32 / Bits;
  const bool shifts = has_zeros(p);
  const __m256 middle = _mm256_set1_ps(1 << (Bits - 1));
  for (int half = 0; half < halves; ++half) {
    const std::int64_t at = part.block * few_bits_columns + std::ptrdiff_t{8} * half;
    const __m256 scale = _mm256_loadu_ps(p.scales + at);
    const __m256 zero = shifts ? _mm256_sub_ps(zeros_at(p, at), middle) : _mm256_setzero_ps();
    const std::uint8_t* numbers = part.numbers + std::ptrdiff_t{32} * half;
    float* columns = to + std::ptrdiff_t{8} * half;
    for (std::int64_t k = 0; k < part.count; k += in_group, numbers += 64)
      each<Bits>(prepared<Bits>(numbers), [&](__m256 w, int) {
        _mm256_storeu_ps(columns, _mm256_mul_ps(_mm256_sub_ps(w, zero), scale));
        columns += stride;
      });
  }
}

#include "kernels/simd/few_bits_functions.inc"

}  // namespace

extern const SimdFewBits few_bits_avx2_table;
const SimdFewBits few_bits_avx2_table = {.name = "avx2",
                                         .level = "avx2",
                                         .multiply_floats = multiply_floats,
                                         .multiply_bytes = multiply_bytes,
                                         .widen = widen,
                                         .most = most,
                                         .quantize = quantize};

}  // namespace quern
