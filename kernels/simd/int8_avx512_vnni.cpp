// SPDX-License-Identifier: Apache-2.0
// VNNI: four products of bytes and their sum in one instruction, without saturation.
#include <immintrin.h>

#include "kernels/simd/int8.h"

namespace quern {
namespace {

constexpr std::int64_t group = 4;
constexpr std::int64_t block = 64;

inline __m512i load(const void* p) {
  return _mm512_loadu_si512(p);
}
inline __m512i broadcast4(const std::uint8_t* p) {
  int v;
  __builtin_memcpy(&v, p, 4);
  return _mm512_set1_epi32(v);
}

template <int Rows, int Panels>
inline void tile(const Int8Product& p) {
  __m512i sums[Rows][Panels];
  for (int r = 0; r < Rows; ++r)
    for (int q = 0; q < Panels; ++q) sums[r][q] = _mm512_setzero_si512();
  const std::int64_t panel_bytes = p.taps * p.depth * int8_panel_columns;
  const std::int8_t* b = p.columns;
  for (std::int64_t t = 0; t < p.taps; ++t) {
    const std::uint8_t* a[Rows];
    for (int r = 0; r < Rows; ++r) a[r] = p.pieces[t * Rows + r] + p.offset;
    for (std::int64_t k = 0; k < p.depth; k += group, b += 64) {
      __m512i columns[Panels];
      for (int q = 0; q < Panels; ++q) columns[q] = load(b + q * panel_bytes);
      for (int r = 0; r < Rows; ++r) {
        const __m512i x = broadcast4(a[r] + k);
        for (int q = 0; q < Panels; ++q)
          sums[r][q] = _mm512_dpbusd_epi32(sums[r][q], x, columns[q]);
      }
    }
  }
  for (int r = 0; r < Rows; ++r)
    for (int q = 0; q < Panels; ++q)
      _mm512_storeu_si512(p.sums + std::ptrdiff_t{r * Panels + q} * int8_panel_columns, sums[r][q]);
}

#include "kernels/simd/int8_tile.inc"

// Weights follow the order in which four taps are woven together: within the 128-bit lanes of a
// block, lane l of vector v has the channels 16 l + 4 v and the three after it, each with its four
// taps.
std::int64_t depthwise_bytes(std::int64_t taps) {
  return (taps + 3) / 4 * 4 * block;
}
std::int64_t depthwise_at(std::int64_t, std::int64_t tap, std::int64_t channel) {
  const std::int64_t lane = channel / 16;
  const std::int64_t vector = channel % 16 / 4;
  return tap / 4 * 4 * block + vector * 64 + lane * 16 + channel % 4 * 4 + tap % 4;
}

// From lane l of vector v = channels 16 l + 4 v to channels in order: a 4 x 4 transposition of
// lanes.
inline void store_sums(const __m512i (&s)[4], std::int32_t* to) {
  const auto pair = [](__m512i a, __m512i b) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
  };
  const auto other_pair = [](__m512i a, __m512i b) {
    return __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
  };
  const auto even_lanes = [](__m512i a, __m512i b) {
    return __builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13);
  };
  const auto odd_lanes = [](__m512i a, __m512i b) {
    return __builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15);
  };
  const __m512i low01 = pair(s[0], s[1]);
  const __m512i low23 = pair(s[2], s[3]);
  const __m512i high01 = other_pair(s[0], s[1]);
  const __m512i high23 = other_pair(s[2], s[3]);
  _mm512_storeu_si512(to, even_lanes(low01, low23));
  _mm512_storeu_si512(to + 16, odd_lanes(low01, low23));
  _mm512_storeu_si512(to + 32, even_lanes(high01, high23));
  _mm512_storeu_si512(to + 48, odd_lanes(high01, high23));
}

void depthwise(const Int8Depthwise& p) {
  const __mmask64 mask = p.channels >= block ? ~__mmask64{0} : (__mmask64{1} << p.channels) - 1;
  __m512i sums[4] = {};
  const std::int8_t* w = p.weights;
  for (std::int64_t t = 0; t < p.taps; t += 4, w += 4 * block) {
    __m512i x[4];
    for (std::int64_t i = 0; i < 4; ++i)
      x[i] = t + i < p.taps ? _mm512_maskz_loadu_epi8(mask, p.pieces[t + i] + p.offset)
                            : _mm512_setzero_si512();
    const __m512i low01 = _mm512_unpacklo_epi8(x[0], x[1]);
    const __m512i low23 = _mm512_unpacklo_epi8(x[2], x[3]);
    const __m512i high01 = _mm512_unpackhi_epi8(x[0], x[1]);
    const __m512i high23 = _mm512_unpackhi_epi8(x[2], x[3]);
    sums[0] = _mm512_dpbusd_epi32(sums[0], _mm512_unpacklo_epi16(low01, low23), load(w));
    sums[1] = _mm512_dpbusd_epi32(sums[1], _mm512_unpackhi_epi16(low01, low23), load(w + 64));
    sums[2] = _mm512_dpbusd_epi32(sums[2], _mm512_unpacklo_epi16(high01, high23), load(w + 128));
    sums[3] = _mm512_dpbusd_epi32(sums[3], _mm512_unpackhi_epi16(high01, high23), load(w + 192));
  }
  store_sums(sums, p.sums);
}

}  // namespace

extern const SimdInt8 int8_avx512_vnni_table;
const SimdInt8 int8_avx512_vnni_table = {.name = "avx512-vnni",
                                         .group = group,
                                         .multiply = multiply,
                                         .block = block,
                                         .depthwise_bytes = depthwise_bytes,
                                         .depthwise_at = depthwise_at,
                                         .depthwise = depthwise};

}  // namespace quern
