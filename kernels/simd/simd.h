// SPDX-License-Identifier: Apache-2.0
// Vectorised loops over f32, compiled once per instruction set and chosen when the program starts.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/simd/levels.h"

namespace quern {

struct Unary;
enum class BinaryKind : std::uint8_t;
enum class UnaryKind : std::uint8_t;

// An operand of a loop: contiguous elements, or one element for all.
struct SimdOperand {
  const float* data;
  bool is_scalar;
};

// An 8-bit quantised type: an integer represents (integer - zero) * scale.
struct QuantizedInt {
  std::int32_t zero;
  bool is_signed;
};

// What a result is cut to; NaN stays.
struct FloatRange {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();

  bool is_everything() const {
    return low == -std::numeric_limits<float>::infinity() &&
           high == std::numeric_limits<float>::infinity();
  }
};

// A sum over `count` places, each so many elements behind the one before.
struct SimdTaps {
  std::int64_t count = 1;
  std::int64_t a_step = 0;
  std::int64_t b_step = 0;
};

// c = a b, or c += a b. Columns of b come in panels of simd_panel: element (k, n) is at n /
// simd_panel * b_panel + k * b_stride + n % simd_panel. With b_panel = simd_panel that is a
// row-major matrix; with b_stride = simd_panel each panel is read sequentially.
//
// With taps it is the sum of such products, as for the window of a convolution: all of them are
// added up before c is written.
inline constexpr std::int64_t simd_panel = 64;
struct SimdProduct {
  const float* a;
  std::int64_t a_stride;  // from row to row
  const float* b;
  std::int64_t b_stride;
  std::int64_t b_panel;
  float* c;
  std::int64_t c_stride;
  std::int64_t rows;
  std::int64_t depth;
  std::int64_t columns;
  bool accumulate;
  const float* bias = nullptr;  // added to each row, unless null
  SimdTaps outer = {}, inner = {};
  FloatRange range = {};  // of what is stored

  std::int64_t taps() const { return outer.count * inner.count; }
};

// Sums of products of integers, as kernels leave them, whose columns get an offset and a
// multiplier: v = (x + offset) * multiplier, where the sum wraps. Of x and of both lists whole
// multiples of 16 columns are read.
struct SimdSums {
  const std::int32_t* x;
  std::int64_t x_stride;  // from row to row, as those of results
  std::int64_t rows;
  std::int64_t columns;
  const std::int32_t* offset;
  const float* multiplier;
};

// Lane i of y at (line, position) is the fold over all rows and taps of x[row][line * line_stride +
// position * stride + tap * dilation + i]. Lanes are channels, or neighbours in a plane. Without
// rows the result is the neutral element of the fold.
struct SimdWindow {
  const float* const* x;  // `rows` of them
  std::int64_t rows;
  std::int64_t taps = 1;  // at least 1
  std::int64_t dilation = 0;
  float* y;
  std::int64_t lanes;
  std::int64_t positions = 1, stride = 0, y_stride = 0;
  std::int64_t lines = 1, line_stride = 0, y_line_stride = 0;
  float divisor = 1;                // of a sum, unless `divisors` is set
  const float* divisors = nullptr;  // one per element, in the layout of y
  bool accumulate = false;          // adds to (or folds with) y
};

// A line of a depthwise convolution, channels last: y[p * channels + c] is bias[c] and the sum of
// x[r][(first + p * stride + t * dilation) * channels + c] * weights[r][t * channels + c] over rows
// r and taps t, of those that lie inside the line of `width` elements.
struct SimdDepthwise {
  const float* const* x;  // `rows` lines
  const float* const* weights;
  std::int64_t rows, taps;
  std::int64_t width, channels;
  std::int64_t first, stride, dilation;
  const float* bias;  // or null
  float* y;           // lies beside all x
  std::int64_t positions;
  FloatRange range;
};

// Winograd's transforms for 3x3 windows, channels last, by the points of winograd_points: 6x6
// elements of x to one element of each of 36 matrices, and one of each of 36 products to 4x4 of the
// result.
struct SimdWinogradInput {
  const float* x;  // the tile's first element, which may lie outside the image
  std::int64_t line, channels;
  int top, bottom, left, right;  // the lines and elements that lie inside; others are 0
  float* v;
  std::int64_t v_stride;  // from matrix to matrix
};
struct SimdWinogradOutput {
  const float* m;
  std::int64_t m_stride;
  const float* bias;  // or null
  float* y;
  std::int64_t line, channels;
  int lines, positions;  // up to 4 of each are written
  bool accumulate;       // to y
  FloatRange range;
};
// The points but for infinity, the last one.
inline constexpr double winograd_points[] = {0, 0.625, -0.625, 1.5, -1.5};

// Row-wise functions take rows of n contiguous elements. Any function may work in place. Relative
// errors are a few units in the last place; NaN comes out as NaN.
struct Simd {
  const char* name;  // as at simd_allows(): "avx512", "avx2", "neon", "baseline"

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
  // Both of them; NaN and NaN if one element is.
  void (*range)(const float* x, std::int64_t n, float* low, float* high);
  float (*dot)(const float* x, const float* y, std::int64_t n);
  // y = exp(x - shift); returns the sum.
  float (*exp_sum)(const float* x, float shift, float* y, std::int64_t n);
  // y += a * x
  void (*axpy)(float a, const float* x, float* y, std::int64_t n);

  // y[i] = sum over t < taps of weight[t] * x[index[t] * stride + i]
  void (*weigh_rows)(const float* x, std::int64_t stride, const std::int32_t* index,
                     const float* weight, std::int64_t taps, float* y, std::int64_t n);
  // y[i] = sum over t < taps of weight[t * n + i] * x[index[t * n + i]]
  void (*weigh_gathered)(const float* x, const std::int32_t* index, const float* weight,
                         std::int64_t taps, float* y, std::int64_t n);

  void (*multiply)(const SimdProduct& product);
  // Whether multiply_few() is the faster one for so many taps of this depth.
  bool (*is_few)(std::int64_t columns, std::int64_t depth, std::int64_t taps);
  // The same of 1 to 8 columns, whose elements lie side by side instead: (k, n) at n * b_panel + k;
  // b_stride is 1.
  void (*multiply_few)(const SimdProduct& product);

  // -inf for an empty window; NaN propagates.
  void (*max_windows)(const SimdWindow& window);
  // 0 for an empty window. Taps are summed first, then rows.
  void (*sum_windows)(const SimdWindow& window);
  void (*depthwise)(const SimdDepthwise& line);
  void (*winograd_input)(const SimdWinogradInput& tile);
  void (*winograd_output)(const SimdWinogradOutput& tile);
  // y[way * n + i] = x[i * ways + way], i < n
  void (*deinterleave)(const float* x, std::int64_t ways, float* y, std::int64_t n);

  // y[i] = start[i] + sum over t < terms of a[t][i] * b[t][i]; start may be null.
  void (*sum_products)(const float* const* a, const float* const* b, std::int64_t terms,
                       const float* start, float* y, std::int64_t n);

  // One step of an LSTM: i, o, f and g, before their activations, are n elements each, `stride`
  // apart from each other in `gates`. c = sigmoid(f) c + sigmoid(i) tanh(g), h = sigmoid(o)
  // tanh(c).
  void (*lstm_cell)(const float* gates, std::int64_t stride, float* c, float* h, std::int64_t n);
  // One step of a GRU: h = (1 - z) tanh(x + r y) + z h, z and r activated; y null: tanh(x).
  void (*gru_cell)(const float* z, const float* r, const float* x, const float* y, float* h,
                   std::int64_t n);

  void (*half_to_float)(const std::uint16_t* x, float* y, std::int64_t n);
  void (*float_to_half)(const float* x, std::uint16_t* y, std::int64_t n);
  void (*bfloat_to_float)(const std::uint16_t* x, float* y, std::int64_t n);
  void (*float_to_bfloat)(const float* x, std::uint16_t* y, std::int64_t n);
  // x = high + low, as Bf16Parts says (graph/ops/cast.h).
  void (*bfloat_parts)(const float* x, std::uint16_t* high, std::uint16_t* low, std::int64_t n);

  // The next six give exactly the results of the references: halves are rounded to even, NaN
  // gives 0.
  // y = saturate(round(x / scale) + zero)
  void (*quantize)(const float* x, float scale, QuantizedInt to, std::uint8_t* y, std::int64_t n);
  // y = (x - zero) * scale
  void (*dequantize)(const std::uint8_t* x, QuantizedInt from, float scale, float* y,
                     std::int64_t n);
  // The same for 16 bits.
  void (*quantize_words)(const float* x, float scale, QuantizedInt to, std::uint16_t* y,
                         std::int64_t n);
  void (*dequantize_words)(const std::uint16_t* x, QuantizedInt from, float scale, float* y,
                           std::int64_t n);
  // y = saturate(round(v) + zero)
  void (*requantize)(const SimdSums& sums, QuantizedInt to, std::uint8_t* y, std::int64_t y_stride);
  // y = min(max(v + bias, low), high), NaN as it is; v is rounded before the sum. Of the list
  // `bias` whole multiples of 16 are read.
  void (*scale_sums)(const SimdSums& sums, const float* bias, float low, float high, float* y,
                     std::int64_t y_stride);
  void (*int_to_float)(const std::int32_t* x, float* y, std::int64_t n);
};

// The best allowed variant for this CPU. A build for some models has the same loops one by one
// (simd_calls.h).
#ifdef QUERN_ONLY
struct SimdCalls;
using SimdSet = SimdCalls;
#else
using SimdSet = Simd;
#endif
const SimdSet& simd() noexcept;

// All variants that this CPU can run, for tests.
const SimdSets<Simd>& simd_sets() noexcept;

}  // namespace quern

#ifdef QUERN_ONLY
#include "kernels/simd/simd_calls.h"
#endif
