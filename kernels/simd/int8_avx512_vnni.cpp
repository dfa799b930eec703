// SPDX-License-Identifier: Apache-2.0
// VNNI: four products of bytes and their sum in one instruction, without saturation.
#include <immintrin.h>

#include "kernels/simd/int8.h"

namespace quern {
namespace {

constexpr std::int64_t group = 4;

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

// Elements go where two steps of weaving within lanes of 128 bits leave them in order.
inline __m512i load_for_weaving(const std::uint8_t* line, __mmask64 mask) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_maskz_permutexvar_epi32(static_cast<__mmask16>(0xffff), order,
                                        _mm512_maskz_loadu_epi8(mask, line));
}

inline void weave_lanes(const std::uint8_t* const* lines, std::int64_t i, __mmask64 mask,
                        std::uint8_t* to) {
  const __m512i x0 = load_for_weaving(lines[0] + i, mask);
  const __m512i x1 = load_for_weaving(lines[1] + i, mask);
  const __m512i x2 = load_for_weaving(lines[2] + i, mask);
  const __m512i x3 = load_for_weaving(lines[3] + i, mask);
  const __m512i low01 = _mm512_unpacklo_epi8(x0, x1);
  const __m512i low23 = _mm512_unpacklo_epi8(x2, x3);
  const __m512i high01 = _mm512_unpackhi_epi8(x0, x1);
  const __m512i high23 = _mm512_unpackhi_epi8(x2, x3);
  _mm512_storeu_si512(to, _mm512_unpacklo_epi16(low01, low23));
  _mm512_storeu_si512(to + 64, _mm512_unpackhi_epi16(low01, low23));
  _mm512_storeu_si512(to + 128, _mm512_unpacklo_epi16(high01, high23));
  _mm512_storeu_si512(to + 192, _mm512_unpackhi_epi16(high01, high23));
}

void weave(const Int8Weave& w) {
  const std::uint8_t* lines[] = {w.lines[0], w.lines[1], w.lines[2], w.lines[3]};
  const std::int64_t rest = w.bytes % int8_lanes;
  const __mmask64 mask = (__mmask64{1} << rest) - 1;
  for (std::int64_t column = 0; column < w.columns; ++column) {
    std::uint8_t* to = w.to + column * w.to_step;
    std::int64_t i = 0;
    for (; i + int8_lanes <= w.bytes; i += int8_lanes)
      weave_lanes(lines, i, ~__mmask64{0}, to + i * int8_woven_lines);
    if (rest != 0) weave_lanes(lines, i, mask, to + i * int8_woven_lines);
    for (int k = 0; k < int8_woven_lines; ++k) lines[k] += w.steps[k];
  }
}

// Segments side by side that meet the same weights.
template <int Segments, int Vectors>
inline void segments(const Int8Depthwise& p, std::int64_t first, std::int64_t phase) {
  __m512i sums[Segments][Vectors];
  for (int s = 0; s < Segments; ++s)
    for (int v = 0; v < Vectors; ++v) sums[s][v] = _mm512_setzero_si512();
  const std::int8_t* w = p.weights + 4 * phase;
  for (std::int64_t g = 0; g < p.groups; ++g) {
    const std::uint8_t* x = p.woven + g * p.group_bytes + 4 * first * p.segment_step;
    for (std::int64_t t = 0; t < p.taps; ++t, x += p.tap_bytes, w += 4 * p.weight_lanes)
      for (int v = 0; v < Vectors; ++v) {
        const __m512i column = load(w + std::ptrdiff_t{v} * 64);
        for (int s = 0; s < Segments; ++s)
          sums[s][v] = _mm512_dpbusd_epi32(
              sums[s][v], load(x + std::ptrdiff_t{4} * s * p.segment_step + std::ptrdiff_t{v} * 64),
              column);
      }
  }
  for (int s = 0; s < Segments; ++s)
    for (int v = 0; v < Vectors; ++v)
      _mm512_storeu_si512(p.sums + (first + s) * int8_lanes + std::ptrdiff_t{v} * 16, sums[s][v]);
}

template <int Vectors>
inline void depthwise_vectors(const Int8Depthwise& p) {
  std::int64_t phase = p.phase;
  std::int64_t i = 0;
  if (p.phase_step == 0)
    for (; i + 2 <= p.segments; i += 2) segments<2, Vectors>(p, i, phase);
  for (; i < p.segments; ++i, phase = (phase + p.phase_step) % p.period)
    segments<1, Vectors>(p, i, phase);
}

void depthwise(const Int8Depthwise& p) {
  switch ((p.lanes + 15) / 16) {
    case 1: return depthwise_vectors<1>(p);
    case 2: return depthwise_vectors<2>(p);
    case 3: return depthwise_vectors<3>(p);
    default: return depthwise_vectors<4>(p);
  }
}

}  // namespace

extern const SimdInt8 int8_avx512_vnni_table;
const SimdInt8 int8_avx512_vnni_table = {.name = "avx512-vnni",
                                         .level = "avx512",
                                         .group = group,
                                         .outruns_floats = true,
                                         .multiply = multiply,
                                         .weave = weave,
                                         .depthwise = depthwise};

}  // namespace quern
