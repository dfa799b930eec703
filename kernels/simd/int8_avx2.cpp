// SPDX-License-Identifier: Apache-2.0
// Bytes are widened to 16 bits and multiplied in pairs: the instruction that takes bytes as they
// are saturates.
#include <immintrin.h>

#include "kernels/simd/int8.h"

namespace quern {
namespace {

constexpr std::int64_t group = 2;
constexpr std::int64_t block = 16;

inline __m128i load16(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
inline __m256i widen_signed(const std::int8_t* p) {
  return _mm256_cvtepi8_epi16(load16(p));
}
inline __m256i broadcast2(const std::uint8_t* p) {
  return _mm256_set1_epi32(p[0] | static_cast<int>(p[1]) << 16);
}
inline void store(std::int32_t* to, __m256i v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v);
}

template <int Rows>
inline void panel(const Int8Product& p, const std::int8_t* b, std::int32_t* to) {
  __m256i sums[Rows][2];
  for (int r = 0; r < Rows; ++r) sums[r][0] = sums[r][1] = _mm256_setzero_si256();
  for (std::int64_t t = 0; t < p.taps; ++t) {
    const std::uint8_t* a[Rows];
    for (int r = 0; r < Rows; ++r) a[r] = p.pieces[t * Rows + r] + p.offset;
    for (std::int64_t k = 0; k < p.depth; k += group, b += 32) {
      const __m256i left = widen_signed(b);
      const __m256i right = widen_signed(b + 16);
      for (int r = 0; r < Rows; ++r) {
        const __m256i x = broadcast2(a[r] + k);
        sums[r][0] = _mm256_add_epi32(sums[r][0], _mm256_madd_epi16(x, left));
        sums[r][1] = _mm256_add_epi32(sums[r][1], _mm256_madd_epi16(x, right));
      }
    }
  }
  for (int r = 0; r < Rows; ++r) {
    std::int32_t* row = to + std::ptrdiff_t{r} * p.panels * int8_panel_columns;
    store(row, sums[r][0]);
    store(row + 8, sums[r][1]);
  }
}

// Sixteen registers hold one panel of sums at a time.
template <int Rows, int Panels>
inline void tile(const Int8Product& p) {
  const std::int64_t panel_bytes = p.taps * p.depth * int8_panel_columns;
  for (int q = 0; q < Panels; ++q)
    panel<Rows>(p, p.columns + q * panel_bytes, p.sums + std::ptrdiff_t{q} * int8_panel_columns);
}

#include "kernels/simd/int8_tile.inc"

std::int64_t depthwise_bytes(std::int64_t taps) {
  return (taps + 1) / 2 * 2 * block;
}
std::int64_t depthwise_at(std::int64_t, std::int64_t tap, std::int64_t channel) {
  return tap / 2 * 2 * block + channel * 2 + tap % 2;
}

inline __m128i load_channels(const std::uint8_t* p, std::int64_t n) {
  if (n >= block) return load16(p);
  alignas(16) std::uint8_t part[16] = {};
  for (std::int64_t i = 0; i < n; ++i) part[i] = p[i];
  return load16(part);
}

void depthwise(const Int8Depthwise& p) {
  __m256i low = _mm256_setzero_si256();
  __m256i high = _mm256_setzero_si256();
  const std::int8_t* w = p.weights;
  for (std::int64_t t = 0; t < p.taps; t += 2, w += 2 * block) {
    const __m128i a = load_channels(p.pieces[t] + p.offset, p.channels);
    const __m128i b = t + 1 < p.taps ? load_channels(p.pieces[t + 1] + p.offset, p.channels)
                                     : _mm_setzero_si128();
    const __m256i pairs = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(a, b));
    const __m256i more = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(a, b));
    low = _mm256_add_epi32(low, _mm256_madd_epi16(pairs, widen_signed(w)));
    high = _mm256_add_epi32(high, _mm256_madd_epi16(more, widen_signed(w + 16)));
  }
  store(p.sums, low);
  store(p.sums + 8, high);
}

}  // namespace

extern const SimdInt8 int8_avx2_table;
const SimdInt8 int8_avx2_table = {.name = "avx2",
                                  .group = group,
                                  .multiply = multiply,
                                  .block = block,
                                  .depthwise_bytes = depthwise_bytes,
                                  .depthwise_at = depthwise_at,
                                  .depthwise = depthwise};

}  // namespace quern
