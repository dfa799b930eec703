// SPDX-License-Identifier: Apache-2.0
// Bytes are widened to 16 bits and multiplied in pairs: the instruction that takes bytes as they
// are saturates. Of four bytes in a row, one and three are a pair, and two and four: to widen them
// takes a mask or a shift where they lie, no shuffle.
#include <immintrin.h>

#include "kernels/simd/int8.h"

namespace quern {
namespace {

constexpr std::int64_t group = 4;

inline __m128i load16(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
inline __m256i load32(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
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

// `n` lanes of a column, at most 16.
inline void weave_lanes(const Int8Weave& w, std::int64_t column, std::int64_t i, std::int64_t n,
                        std::uint8_t* to) {
  const auto line = [&](int k) { return load_bytes(w.lines[k] + column * w.steps[k] + i, n); };
  const auto put = [&](std::int64_t at, __m128i v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + at), v);
  };
  const __m128i x0 = line(0);
  const __m128i x1 = line(1);
  const __m128i x2 = line(2);
  const __m128i x3 = line(3);
  const __m128i low01 = _mm_unpacklo_epi8(x0, x1);
  const __m128i low23 = _mm_unpacklo_epi8(x2, x3);
  const __m128i high01 = _mm_unpackhi_epi8(x0, x1);
  const __m128i high23 = _mm_unpackhi_epi8(x2, x3);
  put(0, _mm_unpacklo_epi16(low01, low23));
  put(16, _mm_unpackhi_epi16(low01, low23));
  put(32, _mm_unpacklo_epi16(high01, high23));
  put(48, _mm_unpackhi_epi16(high01, high23));
}

void weave(const Int8Weave& w) {
  for (std::int64_t column = 0; column < w.columns; ++column)
    for (std::int64_t i = 0; i < w.bytes; i += 16)
      weave_lanes(w, column, i, w.bytes - i, w.to + column * w.to_step + i * int8_woven_lines);
}

// Sixteen lanes of a segment.
inline void depthwise_lanes(const Int8Depthwise& p, const std::uint8_t* woven, const std::int8_t* w,
                            std::int32_t* to) {
  __m256i low = _mm256_setzero_si256();
  __m256i high = _mm256_setzero_si256();
  for (std::int64_t g = 0; g < p.groups; ++g) {
    const std::uint8_t* x = woven + g * p.group_bytes;
    for (std::int64_t t = 0; t < p.taps; ++t, x += p.tap_bytes, w += 4 * p.weight_lanes) {
      low = sum_of_products(low, unsigned_halves(load32(x)), signed_halves(load32(w)));
      high = sum_of_products(high, unsigned_halves(load32(x + 32)), signed_halves(load32(w + 32)));
    }
  }
  store(to, low);
  store(to + 8, high);
}

void depthwise(const Int8Depthwise& p) {
  std::int64_t phase = p.phase;
  for (std::int64_t i = 0; i < p.segments; ++i, phase = (phase + p.phase_step) % p.period)
    for (std::int64_t l = 0; l < p.lanes; l += 16)
      depthwise_lanes(p, p.woven + 4 * (i * p.segment_step + l), p.weights + 4 * (phase + l),
                      p.sums + i * int8_lanes + l);
}

}  // namespace

extern const SimdInt8 int8_avx2_table;
const SimdInt8 int8_avx2_table = {.name = "avx2",
                                  .level = "avx2",
                                  .group = group,
                                  .multiply = multiply,
                                  .weave = weave,
                                  .depthwise = depthwise};

}  // namespace quern
