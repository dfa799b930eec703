// SPDX-License-Identifier: Apache-2.0
// Bytes are widened to 16 bits and multiplied in pairs: the instruction that takes bytes as they
// are saturates. Of four bytes in a row, one and three are a pair, and two and four: to widen them
// takes a mask or a shift where they lie, no shuffle.
#include <immintrin.h>

#include "kernels/simd/int8.h"

namespace quern {
namespace {

constexpr std::int64_t group = 4;
constexpr std::int64_t lanes = 16;  // channels of a depthwise convolution side by side
constexpr std::int64_t block = 64;  // channels of one call: each has a price of its own

inline __m128i load16(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
inline __m256i load32(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
inline __m256i widen_signed(const std::int8_t* p) {
  return _mm256_cvtepi8_epi16(load16(p));
}
template <class T>
inline T read(const std::uint8_t* p) {
  T v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

// The bytes of a vector as two vectors of 16 bits: those at even places, and those at odd ones.
struct Halves {
  __m256i even, odd;
};
inline Halves signed_halves(__m256i v) {
  return {_mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8), _mm256_srai_epi16(v, 8)};
}
inline Halves unsigned_halves(__m256i v) {
  return {_mm256_and_si256(v, _mm256_set1_epi16(0xff)), _mm256_srli_epi16(v, 8)};
}
inline __m256i sum_of_products(__m256i sum, const Halves& x, const Halves& w) {
  sum = _mm256_add_epi32(sum, _mm256_madd_epi16(x.even, w.even));
  return _mm256_add_epi32(sum, _mm256_madd_epi16(x.odd, w.odd));
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
    for (std::int64_t k = 0; k < p.depth; k += group, b += 64) {
      const Halves left = signed_halves(load32(b));
      const Halves right = signed_halves(load32(b + 32));
      for (int r = 0; r < Rows; ++r) {
        const Halves x = unsigned_halves(_mm256_set1_epi32(read<int>(a[r] + k)));
        sums[r][0] = sum_of_products(sums[r][0], x, left);
        sums[r][1] = sum_of_products(sums[r][1], x, right);
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

// Weights of `lanes` channels after each other, two taps of a channel side by side.
constexpr std::int64_t lanes_bytes(std::int64_t taps) {
  return (taps + 1) / 2 * 2 * lanes;
}
std::int64_t depthwise_bytes(std::int64_t taps) {
  return lanes_bytes(taps) * (block / lanes);
}
std::int64_t depthwise_at(std::int64_t taps, std::int64_t tap, std::int64_t channel) {
  return channel / lanes * lanes_bytes(taps) + tap / 2 * 2 * lanes + channel % lanes * 2 + tap % 2;
}

// The first n bytes at p, at most 16, and zeros; reads no others.
inline __m128i load_bytes(const std::uint8_t* p, std::int64_t n) {
  if (n >= 16) return load16(p);
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  if (n >= 8) {
    low = read<std::uint64_t>(p);
    if (n > 8) high = read<std::uint64_t>(p + n - 8) >> 8 * (16 - n);
  } else if (n >= 4) {
    const std::uint64_t last = read<std::uint32_t>(p + n - 4);
    low = read<std::uint32_t>(p) | last >> 8 * (8 - n) << 32;
  } else {
    for (std::int64_t i = 0; i < n; ++i) low |= std::uint64_t{p[i]} << 8 * i;
  }
  return _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
}

// `n` channels from `first` on, at most `lanes`.
inline void depthwise_lanes(const Int8Depthwise& p, std::int64_t first, std::int64_t n,
                            const std::int8_t* w) {
  __m256i low = _mm256_setzero_si256();
  __m256i high = _mm256_setzero_si256();
  const std::int64_t at = p.offset + first;
  for (std::int64_t t = 0; t < p.taps; t += 2, w += 2 * lanes) {
    const __m128i a = load_bytes(p.pieces[t] + at, n);
    const __m128i b = t + 1 < p.taps ? load_bytes(p.pieces[t + 1] + at, n) : _mm_setzero_si128();
    const __m256i pairs = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(a, b));
    const __m256i more = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(a, b));
    low = _mm256_add_epi32(low, _mm256_madd_epi16(pairs, widen_signed(w)));
    high = _mm256_add_epi32(high, _mm256_madd_epi16(more, widen_signed(w + lanes)));
  }
  store(p.sums + first, low);
  store(p.sums + first + 8, high);
}

void depthwise(const Int8Depthwise& p) {
  const std::int8_t* w = p.weights;
  std::int64_t first = 0;
  for (; first + lanes <= p.channels; first += lanes, w += lanes_bytes(p.taps))
    depthwise_lanes(p, first, lanes, w);
  if (first < p.channels) depthwise_lanes(p, first, p.channels - first, w);
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
