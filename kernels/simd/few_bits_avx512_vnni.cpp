// SPDX-License-Identifier: Apache-2.0
// Numbers become floats by a permutation of a table of them, which takes the lowest four bits of a
// lane for its index; bytes are multiplied four at a time and summed without saturation.
#include <immintrin.h>

#include "kernels/simd/few_bits.h"

namespace quern {
namespace {

constexpr int most_rows = 8;
// From where a panel is read to what is brought into the cache meanwhile.
constexpr std::int64_t ahead = 4096;

// With a mask, since GCC 12 warns of what the forms without leave undefined.
constexpr __mmask16 all_lanes = 0xffff;

inline __m512i load(const void* p) {
  return _mm512_loadu_si512(p);
}
inline __m512 to_floats(__m512i v) {
  return _mm512_maskz_cvtepi32_ps(all_lanes, v);
}
inline void bring(const std::uint8_t* p) {
  _mm_prefetch(reinterpret_cast<const char*>(p) + ahead, _MM_HINT_T0);
}

// The numbers less 2^(Bits - 1), for every index of four bits.
template <int Bits>
inline __m512 table() {
  constexpr int mask = (1 << Bits) - 1;
  constexpr float middle = 1 << (Bits - 1);
  alignas(64) float all[16];
  for (int i = 0; i < 16; ++i) all[i] = static_cast<float>(i & mask) - middle;
  return _mm512_load_ps(all);
}

// A group as numbers less 2^(Bits - 1).
template <int Bits>
struct Floats {
  __m512 values = table<Bits>();

  template <int I, int J>
  __m512 get(__m512i v) const {
    if constexpr (Bits == 8) {
      const __m512i high = J == 3 ? v : _mm512_maskz_slli_epi32(all_lanes, v, 24 - 8 * J);
      return to_floats(_mm512_maskz_srai_epi32(all_lanes, high, 24));
    } else {
      constexpr int shift = 8 * J + Bits * I;
      const __m512i low = shift == 0 ? v : _mm512_maskz_srli_epi32(all_lanes, v, shift);
      return _mm512_maskz_permutexvar_ps(all_lanes, low, values);
    }
  }
  // Makes bytes signed, where they are bytes.
  static __m512i prepared(__m512i v) {
    return Bits == 8 ? _mm512_xor_si512(v, _mm512_set1_epi8(static_cast<char>(0x80))) : v;
  }
  // f(number, k) for each of the numbers of a group, k from 0.
  template <class F>
  void each(__m512i group, const F& f) const {
    const __m512i v = prepared(group);
    f(get<0, 0>(v), 0), f(get<0, 1>(v), 1), f(get<0, 2>(v), 2), f(get<0, 3>(v), 3);
    if constexpr (Bits < 8)
      f(get<1, 0>(v), 4), f(get<1, 1>(v), 5), f(get<1, 2>(v), 6), f(get<1, 3>(v), 7);
    if constexpr (Bits < 4) {
      f(get<2, 0>(v), 8), f(get<2, 1>(v), 9), f(get<2, 2>(v), 10), f(get<2, 3>(v), 11);
      f(get<3, 0>(v), 12), f(get<3, 1>(v), 13), f(get<3, 2>(v), 14), f(get<3, 3>(v), 15);
    }
  }
};

inline bool has_zeros(const FewBitsPanel& p) {
  return p.zeros || p.float_zeros;
}
inline __m512 zeros_at(const FewBitsPanel& p, std::int64_t block) {
  const std::int64_t at = block * few_bits_columns;
  if (!p.zeros) return _mm512_loadu_ps(p.float_zeros + at);
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p.zeros + at));
  return to_floats(_mm512_maskz_cvtepu8_epi32(all_lanes, bytes));
}

template <int Bits, int Rows>
inline void floats(const FewBitsPanel& p, const FewBitsFloats& f) {
  constexpr int chains = Rows == 1 ? 4 : Rows <= 4 ? 2 : 1;  // that hide the latency of sums
  constexpr int in_group = 32 / Bits;
  const Floats<Bits> unpacked;
  const __m512 middle = _mm512_set1_ps(1 << (Bits - 1));
  const bool shifts = has_zeros(p);
  __m512 out[Rows];
  for (int r = 0; r < Rows; ++r) out[r] = _mm512_setzero_ps();
  const std::uint8_t* numbers = p.numbers;
  for (std::int64_t b = 0; b < p.blocks; ++b) {
    __m512 sums[Rows][chains];
    for (int r = 0; r < Rows; ++r)
      for (int c = 0; c < chains; ++c) sums[r][c] = _mm512_setzero_ps();
    const float* x = f.x + b * p.size;
    for (std::int64_t k = 0; k < p.size; k += in_group, numbers += 64) {
      bring(numbers);
      unpacked.each(load(numbers), [&](__m512 w, int i) {
        for (int r = 0; r < Rows; ++r)
          sums[r][i % chains] =
              _mm512_fmadd_ps(_mm512_set1_ps(x[r * f.x_stride + k + i]), w, sums[r][i % chains]);
      });
    }
    const __m512 scale = _mm512_loadu_ps(p.scales + b * few_bits_columns);
    const __m512 zero = shifts ? _mm512_sub_ps(zeros_at(p, b), middle) : _mm512_setzero_ps();
    for (int r = 0; r < Rows; ++r) {
      __m512 sum = sums[r][0];
      for (int c = 1; c < chains; ++c) sum = _mm512_add_ps(sum, sums[r][c]);
      if (shifts) sum = _mm512_fnmadd_ps(zero, _mm512_set1_ps(f.sums[r * p.blocks + b]), sum);
      out[r] = _mm512_fmadd_ps(sum, scale, out[r]);
    }
  }
  for (int r = 0; r < Rows; ++r)
    _mm512_storeu_ps(f.y + std::ptrdiff_t{r} * few_bits_columns, out[r]);
}

inline __m512i four_bytes(const std::int8_t* p) {
  int v;
  __builtin_memcpy(&v, p, 4);
  return _mm512_set1_epi32(v);
}

// The numbers 4 i to 4 i + 3 of each column of a group, as bytes.
template <int Bits>
inline __m512i bytes_of(__m512i group, int i) {
  if constexpr (Bits == 8) return group;
  const __m512i v = i == 0 ? group : _mm512_srli_epi16(group, static_cast<unsigned>(Bits * i));
  return _mm512_and_si512(v, _mm512_set1_epi8((1 << Bits) - 1));
}

template <int Bits, int Rows>
inline void bytes(const FewBitsPanel& p, const FewBitsBytes& f) {
  constexpr int in_byte = 8 / Bits;
  constexpr int chains = Rows <= 2 && in_byte > 1 ? 2 : 1;
  constexpr int middle = 1 << (Bits - 1);
  const bool shifts = has_zeros(p);
  __m512 out[Rows];
  for (int r = 0; r < Rows; ++r) out[r] = _mm512_setzero_ps();
  const std::uint8_t* numbers = p.numbers;
  for (std::int64_t b = 0; b < p.blocks; ++b) {
    __m512i sums[Rows][chains];
    for (int r = 0; r < Rows; ++r) {
      for (int c = 1; c < chains; ++c) sums[r][c] = _mm512_setzero_si512();
      sums[r][0] = _mm512_set1_epi32(shifts ? 0 : -middle * f.sums[r * p.blocks + b]);
    }
    const std::int8_t* x = f.x + b * p.size;
    for (std::int64_t k = 0; k < p.size; k += std::int64_t{4} * in_byte, numbers += 64) {
      bring(numbers);
      const __m512i group = load(numbers);
      for (int i = 0; i < in_byte; ++i) {
        const __m512i w = bytes_of<Bits>(group, i);
        for (int r = 0; r < Rows; ++r)
          sums[r][i % chains] = _mm512_dpbusd_epi32(
              sums[r][i % chains], w, four_bytes(x + r * f.x_stride + k + std::ptrdiff_t{4} * i));
      }
    }
    const __m512 scale = _mm512_loadu_ps(p.scales + b * few_bits_columns);
    const __m512 zero = shifts ? zeros_at(p, b) : _mm512_setzero_ps();
    for (int r = 0; r < Rows; ++r) {
      const std::int64_t at = r * p.blocks + b;
      __m512i whole = sums[r][0];
      for (int c = 1; c < chains; ++c) whole = _mm512_add_epi32(whole, sums[r][c]);
      __m512 sum = to_floats(whole);
      if (shifts) sum = _mm512_fnmadd_ps(zero, _mm512_set1_ps(static_cast<float>(f.sums[at])), sum);
      out[r] = _mm512_fmadd_ps(sum, _mm512_mul_ps(scale, _mm512_set1_ps(f.scales[at])), out[r]);
    }
  }
  for (int r = 0; r < Rows; ++r)
    _mm512_storeu_ps(f.y + std::ptrdiff_t{r} * few_bits_columns, out[r]);
}

template <int Bits>
inline void widen_part(const FewBitsPanel& p, const FewBitsPart& part, float* to,
                       std::int64_t stride) {
  constexpr int in_group = 32 / Bits;
  const Floats<Bits> unpacked;
  const bool shifts = has_zeros(p);
  const __m512 middle = _mm512_set1_ps(1 << (Bits - 1));
  const __m512 scale = _mm512_loadu_ps(p.scales + part.block * few_bits_columns);
  const __m512 zero = shifts ? _mm512_sub_ps(zeros_at(p, part.block), middle) : _mm512_setzero_ps();
  const std::uint8_t* numbers = part.numbers;
  for (std::int64_t k = 0; k < part.count; k += in_group, numbers += 64)
    unpacked.each(load(numbers), [&](__m512 w, int) {
      _mm512_storeu_ps(to, _mm512_mul_ps(_mm512_sub_ps(w, zero), scale));
      to += stride;
    });
}

template <int Bits>
inline void unpack_block(const std::uint8_t* numbers, std::int64_t size, std::int8_t* to) {
  constexpr int in_byte = 8 / Bits;
  const __m512i middle = _mm512_set1_epi8(static_cast<char>(1 << (Bits - 1)));
  for (std::int64_t k = 0; k < size; k += std::int64_t{4} * in_byte, numbers += 64) {
    const __m512i group = load(numbers);
    for (int i = 0; i < in_byte; ++i, to += 64)
      _mm512_storeu_si512(to, _mm512_sub_epi8(bytes_of<Bits>(group, i), middle));
  }
}

void unpack(const FewBitsPanel& p, std::int64_t block, std::int8_t* to) {
  const std::uint8_t* numbers = p.numbers + block * p.size * p.bits / 8 * few_bits_columns;
  switch (p.bits) {
    case 2: return unpack_block<2>(numbers, p.size, to);
    case 4: return unpack_block<4>(numbers, p.size, to);
    default: return unpack_block<8>(numbers, p.size, to);
  }
}

// Rows whose results stay in registers while all blocks are added. All addresses of a block are an
// offset from one of three pointers: with any other strides they take longer than the sums.
template <bool Shifts, int Rows>
inline void add_rows(const FewBitsPanel& p, const FewBitsSums& f, int row) {
  const __m512 middle = _mm512_set1_ps(static_cast<float>(1 << (p.bits - 1)));
  float* to = f.y + row * few_bits_sum_stride;
  __m512 y[Rows];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) y[r] = _mm512_loadu_ps(to + r * few_bits_sum_stride);
  const std::int32_t* sums = f.sums + row * few_bits_sum_stride;
  const float* scales = f.scales + row;
  const std::int32_t* x_sums = f.x_sums + row;
  for (int b = 0; b < f.blocks; ++b) {
    const __m512 scale = _mm512_loadu_ps(p.scales + (f.block + b) * few_bits_columns);
    const __m512 zero = Shifts ? _mm512_sub_ps(zeros_at(p, f.block + b), middle) : middle;
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      __m512 sum = to_floats(load(sums + r * few_bits_sum_stride));
      if constexpr (Shifts)
        sum = _mm512_fnmadd_ps(zero, to_floats(_mm512_set1_epi32(x_sums[r])), sum);
      y[r] = _mm512_fmadd_ps(sum, _mm512_mul_ps(scale, _mm512_set1_ps(scales[r])), y[r]);
    }
    sums += few_bits_sum_rows * few_bits_sum_stride;
    scales += f.scale_stride;
    x_sums += f.scale_stride;
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) _mm512_storeu_ps(to + r * few_bits_sum_stride, y[r]);
}

template <bool Shifts>
void add_all_rows(const FewBitsPanel& p, const FewBitsSums& f) {
  constexpr int at_once = 8;
  int row = 0;
  for (; row + at_once <= f.rows; row += at_once) add_rows<Shifts, at_once>(p, f, row);
  for (; row < f.rows; ++row) add_rows<Shifts, 1>(p, f, row);
}

void add_sums(const FewBitsPanel& p, const FewBitsSums& f) {
  has_zeros(p) ? add_all_rows<true>(p, f) : add_all_rows<false>(p, f);
}

#include "kernels/simd/few_bits_functions.inc"

}  // namespace

extern const SimdFewBits few_bits_avx512_vnni_table;
const SimdFewBits few_bits_avx512_vnni_table = {.name = "avx512-vnni",
                                                .level = "avx512",
                                                .multiply_floats = multiply_floats,
                                                .multiply_bytes = multiply_bytes,
                                                .widen = widen,
                                                .most = most,
                                                .quantize = quantize,
                                                .unpack = unpack,
                                                .add_sums = add_sums};

}  // namespace quern
