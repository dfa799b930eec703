// SPDX-License-Identifier: Apache-2.0
// The kernels of 8-bit integers against the references, bit by bit, and those of every instruction
// set against plain sums.
#include "kernels/simd/int8.h"

#include "graph/ops/quantised_products.h"
#include "graph/ops/quantize.h"
#include "kernels/simd/simd.h"
#include "tests/expect.h"
#include "tests/kernels/kernel_test.h"
#include "tests/sanitized.h"

namespace quern::testing {
namespace {

using i8 = std::int8_t;
using u8 = std::uint8_t;
using ::testing::StartsWith;

// ---- loops

// Extremes of both types: what saturates somewhere shows here.
Tensor extremes_u8(RandomTensors& random, const Shape& shape) {
  Tensor t = random.integers<u8>(shape, 0, 1);
  for (std::size_t i = 0; i < t.bytes(); ++i)
    t.mutable_data()[i] = t.data()[i] == std::byte{0} ? std::byte{250} : std::byte{255};
  return t;
}
Tensor extremes_i8(RandomTensors& random, const Shape& shape) {
  Tensor t = random.integers<u8>(shape, 0, 1);
  for (std::size_t i = 0; i < t.bytes(); ++i)
    t.mutable_data()[i] = t.data()[i] == std::byte{0} ? std::byte{0x80} : std::byte{0x7f};
  return t;
}

void check_multiply(const SimdInt8& set, int rows, int panels, std::int64_t taps,
                    std::int64_t depth) {
  RandomTensors random(static_cast<unsigned>(rows * 100 + panels * 10 + taps));
  const std::int64_t columns = panels * int8_panel_columns;
  const Tensor x = extremes_u8(random, {taps, rows, depth + 3});
  const Tensor w = extremes_i8(random, {taps * depth, columns});
  std::vector<i8> packed(static_cast<std::size_t>(taps * depth * columns));
  for (std::int64_t k = 0; k < taps * depth; ++k)
    for (std::int64_t n = 0; n < columns; ++n)
      packed[static_cast<std::size_t>(n / 16 * taps * depth * 16 + k / set.group * 16 * set.group +
                                      n % 16 * set.group + k % set.group)] =
          static_cast<i8>(w.span<i8>()[static_cast<std::size_t>(k * columns + n)] ^ set.flip);
  std::vector<const u8*> pieces;
  for (std::int64_t i = 0; i < taps * rows; ++i)
    pieces.push_back(reinterpret_cast<const u8*>(x.data()) + i * (depth + 3));
  std::vector<std::int32_t> sums(static_cast<std::size_t>(rows * columns));
  set.multiply({pieces.data(), 3, rows, panels, taps, depth, packed.data(), sums.data()});
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t n = 0; n < columns; ++n) {
      std::int32_t want = 0;
      for (std::int64_t t = 0; t < taps; ++t)
        for (std::int64_t k = 0; k < depth; ++k)
          want += pieces[static_cast<std::size_t>(t * rows + r)][3 + k] *
                  w.span<i8>()[static_cast<std::size_t>((t * depth + k) * columns + n)];
      ASSERT_EQ(sums[static_cast<std::size_t>(r * columns + n)], want)
          << set.name << ", row " << r << " of " << rows << ", column " << n << ", depth " << depth;
    }
}

TEST(SimdInt8, ProductsAreExactForTheExtremesOfTheTypes) {
  for (const SimdInt8* set : int8_sets())
    for (int rows = 1; rows <= int8_rows; ++rows)
      for (int panels = 1; panels <= int8_panels; ++panels)
        for (std::int64_t taps : {1, 3})
          for (std::int64_t depth : {4, 8, 52, 56})
            if (depth % set->group == 0) check_multiply(*set, rows, panels, taps, depth);
}

struct DepthwiseCase {
  std::int64_t lines, taps, lanes, segments, segment_step, phase, phase_step, period;
};

void check_depthwise(const SimdInt8& set, const DepthwiseCase& c) {
  RandomTensors random(static_cast<unsigned>(c.lines * 100 + c.lanes));
  const std::int64_t groups = (c.lines + 3) / 4;
  const std::int64_t tap_lanes = 5;
  const std::int64_t columns = 3;  // what is woven at one time, and again
  const std::int64_t used =
      (c.segments - 1) * c.segment_step + c.lanes + (c.taps - 1) * tap_lanes + 8;
  const std::int64_t bytes = (used + columns - 1) / columns;
  const Tensor x = extremes_u8(random, {groups * 4, columns * bytes});
  const std::int64_t weight_lanes = c.period + int8_lanes;
  const Tensor w = extremes_i8(random, {groups, c.taps, weight_lanes, 4});
  const std::int64_t group_bytes = 4 * (columns * bytes + 2 * int8_lanes);
  std::vector<u8> woven(static_cast<std::size_t>(groups * group_bytes));
  const auto* first = reinterpret_cast<const u8*>(x.data());
  for (std::int64_t g = 0; g < groups; ++g) {
    Int8Weave weave{.columns = columns,
                    .bytes = bytes,
                    .to_step = 4 * bytes,
                    .to = woven.data() + g * group_bytes};
    for (std::int64_t k = 0; k < 4; ++k) {
      weave.lines[k] = first + (g * 4 + k) * columns * bytes;
      weave.steps[k] = bytes;
    }
    set.weave(weave);
  }
  std::vector<std::int32_t> sums(static_cast<std::size_t>(c.segments * int8_lanes));
  set.depthwise({woven.data(), group_bytes, groups, 4 * tap_lanes, c.taps, w.span<i8>().data(),
                 weight_lanes, c.phase, c.phase_step, c.period, c.segments, c.segment_step, c.lanes,
                 sums.data()});
  for (std::int64_t i = 0; i < c.segments; ++i)
    for (std::int64_t l = 0; l < c.lanes; ++l) {
      std::int32_t want = 0;
      const std::int64_t lane = (c.phase + i * c.phase_step) % c.period + l;
      for (std::int64_t line = 0; line < groups * 4; ++line)
        for (std::int64_t t = 0; t < c.taps; ++t)
          want += first[line * columns * bytes + i * c.segment_step + l + t * tap_lanes] *
                  w.span<i8>()[static_cast<std::size_t>(
                      ((line / 4 * c.taps + t) * weight_lanes + lane) * 4 + line % 4)];
      ASSERT_EQ(sums[static_cast<std::size_t>(i * int8_lanes + l)], want)
          << set.name << ", lane " << l << " of " << c.lanes << " of segment " << i;
    }
}

TEST(SimdInt8, DepthwiseSumsAreExactForTheExtremesOfTheTypes) {
  for (const SimdInt8* set : int8_sets())
    for (std::int64_t lines : {1, 3, 4, 5, 9})
      for (std::int64_t taps : {1, 3, 5})
        for (std::int64_t lanes = 1; lanes <= int8_lanes; lanes += 7) {
          check_depthwise(*set, {lines, taps, lanes, 3, 2 * lanes, 0, 0, lanes});
          check_depthwise(*set, {lines, taps, 64, 3, 64, lanes / 2, 64, lanes});
        }
}

void check_tiles(const Int8Tiles& tiles, std::int64_t tile_depth, int rows, int panels,
                 std::int64_t steps, bool is_signed) {
  RandomTensors random(static_cast<unsigned>(rows * 100 + panels * 10 + steps));
  const std::int64_t depth = steps * tile_depth;
  const std::int64_t stride = depth + 7;
  const int read_rows = (rows + 15) / 16 * 16;
  const std::int64_t columns = panels * int8_panel_columns;
  const Tensor x = extremes_u8(random, {read_rows, stride});
  const Tensor w = extremes_i8(random, {depth, columns});
  std::vector<i8> packed(static_cast<std::size_t>(depth * columns));
  for (std::int64_t k = 0; k < depth; ++k)
    for (std::int64_t n = 0; n < columns; ++n)
      packed[static_cast<std::size_t>(n / 16 * depth * 16 + k / 4 * 64 + n % 16 * 4 + k % 4)] =
          w.span<i8>()[static_cast<std::size_t>(k * columns + n)];
  constexpr std::int64_t width = int8_tile_panels * int8_panel_columns;
  std::vector<std::int32_t> sums(static_cast<std::size_t>(read_rows * width), 7);
  const auto* first = reinterpret_cast<const u8*>(x.data());
  tiles.begin(tile_depth);
  tiles.multiply(
      {first, stride, is_signed, rows, panels, depth, packed.data(), sums.data(), tile_depth});
  tiles.end();
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t n = 0; n < columns; ++n) {
      std::int32_t want = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        const u8 v = first[r * stride + k];
        want += (is_signed ? static_cast<i8>(v) : std::int32_t{v}) *
                w.span<i8>()[static_cast<std::size_t>(k * columns + n)];
      }
      ASSERT_EQ(sums[static_cast<std::size_t>(r * width + n)], want)
          << "row " << r << " of " << rows << ", column " << n << ", depth " << depth;
    }
}

TEST(SimdInt8, TilesAreExactForTheExtremesOfTheTypes) {
  const Int8Tiles* tiles = int8_amx();
  if (!tiles) GTEST_SKIP() << "this CPU, or its operating system, has no units for matrices";
  for (int rows : {1, 7, 15, 16, 17, 31, 32})
    for (int panels : {1, 2})
      for (std::int64_t steps : {1, 2, 5})
        for (bool is_signed : {false, true})
          for (std::int64_t depth : {int8_tile_depth, int8_half_tile_depth})
            check_tiles(*tiles, depth, rows, panels, steps, is_signed);
}

TEST(SimdInt8, IsNamedWithoutItsLoops) {
  EXPECT_STREQ(simd_int8_name(), simd_int8().name);
  EXPECT_EQ(simd_has_int8_tiles(), simd_int8_tiles() != nullptr);
}

TEST(SimdInt8, RequantisingRoundsHalvesToEvenAndSaturates) {
  const std::vector<std::int32_t> numbers = {
      0, 1, 2, 3, 5, -1, -3, 7, 509, 511, -255, -257, 1000, 2147483647, -2147483647, 4, 6};
  const std::size_t n = numbers.size();
  constexpr std::size_t rows = 3;
  constexpr std::size_t stride = 48;
  std::vector<std::int32_t> x(rows * stride);
  for (std::size_t r = 0; r < rows; ++r)
    std::copy(numbers.begin(), numbers.end(), x.begin() + static_cast<std::ptrdiff_t>(r * stride));
  const std::vector<std::int32_t> offset(stride, 1);
  const std::vector<float> half(stride, 0.5f);
  const std::vector<float> nan(stride, std::numeric_limits<float>::quiet_NaN());
  for (const Simd* set : simd_sets()) {
    std::vector<u8> y(rows * (n + 1), 77);
    SimdSums sums{x.data(), stride, rows, static_cast<std::int64_t>(n), offset.data(), half.data()};
    set->requantize(sums, {3, false}, y.data(), static_cast<std::int64_t>(n + 1));
    for (std::size_t r = 0; r < rows; ++r)
      EXPECT_THAT(
          std::vector<u8>(y.begin() + static_cast<std::ptrdiff_t>(r * (n + 1)),
                          y.begin() + static_cast<std::ptrdiff_t>((r + 1) * (n + 1))),
          ::testing::ElementsAre(3, 4, 5, 5, 6, 3, 2, 7, 255, 255, 0, 0, 255, 0, 0, 5, 7, 77))
          << set->name;
    sums.multiplier = nan.data();
    set->requantize(sums, {3, false}, y.data(), static_cast<std::int64_t>(n + 1));
    EXPECT_EQ(std::count(y.begin(), y.end(), 0), static_cast<std::ptrdiff_t>(rows * n))
        << set->name;
  }
}

// The inverse of the scale is multiplied with, but where that might round to another integer.
TEST(SimdInt8, QuantisingDivides) {
  RandomTensors random(12);
  std::vector<float> scales = {0.1f,  1.0f / 3, 0.007f, 1e-3f, 1.0f,
                               -0.3f, 1e-38f,   1e-45f, 3e38f, 0};
  for (const float scale : scales) {
    std::vector<float> x;
    const Tensor steps = random.integers<std::int32_t>({500}, -300, 300);
    for (const std::int32_t step : steps.span<std::int32_t>()) {
      const float half = (static_cast<float>(step) + 0.5f) * scale;
      for (const float v : {half, std::nextafterf(half, 1e38f), std::nextafterf(half, -1e38f),
                            static_cast<float>(step) * scale})
        x.push_back(v);
    }
    x.insert(x.end(), {std::numeric_limits<float>::infinity(), -1e38f,
                       std::numeric_limits<float>::quiet_NaN(), 1e-44f});
    std::vector<u8> y(x.size());
    for (const Simd* set : simd_sets()) {
      set->quantize(x.data(), scale, {7, false}, y.data(), static_cast<std::int64_t>(x.size()));
      for (std::size_t i = 0; i < x.size(); ++i) {
        const volatile float quotient = x[i] / scale;
        const double rounded = std::nearbyint(quotient) + 7.0;
        const double want = quotient != quotient ? 0 : std::clamp(rounded, 0.0, 255.0);
        ASSERT_EQ(y[i], want) << set->name << ", " << x[i] << " by " << scale;
      }
    }
  }
}

TEST(SimdInt8, ScaledSumsAreRoundedTwiceAndCut) {
  RandomTensors random(8);
  constexpr std::int64_t stride = 48;
  const Tensor x = random.integers<std::int32_t>({3, stride}, -1000000, 1000000);
  const Tensor offset = random.integers<std::int32_t>({stride}, -1000, 1000);
  const Tensor multiplier = random.floats({stride}, -0.01f, 0.01f);
  const Tensor bias = random.floats({stride}, -100, 100);
  for (const Simd* set : simd_sets())
    for (std::int64_t n : {1, 5, 16, 23, 32, 48}) {
      std::vector<float> y(static_cast<std::size_t>(3 * n + 1), 77);
      set->scale_sums({x.span<std::int32_t>().data(), stride, 3, n,
                       offset.span<std::int32_t>().data(), multiplier.span<float>().data()},
                      bias.span<float>().data(), -50, 2000, y.data(), n);
      for (std::int64_t i = 0; i < 3 * n; ++i) {
        const auto at = static_cast<std::size_t>(i % n);
        const std::int32_t sum =
            x.span<std::int32_t>()[static_cast<std::size_t>(i / n * stride + i % n)] +
            offset.span<std::int32_t>()[at];
        const volatile float scaled = static_cast<float>(sum) * multiplier.span<float>()[at];
        const float want = std::clamp(scaled + bias.span<float>()[at], -50.0f, 2000.0f);
        ASSERT_EQ(y[static_cast<std::size_t>(i)], want) << set->name << ", " << i << " of " << n;
      }
      EXPECT_EQ(y.back(), 77) << set->name;
    }
}

// ---- operators

struct Int8Conv {
  Shape x;
  Shape w;
  std::int64_t group = 1;
  Window window = {};
};

const Int8Conv int8_convs[] = {
    {{1, 8, 5, 7}, {16, 8, 1, 1}},
    {{2, 5, 6, 6}, {3, 5, 1, 1}},
    {{1, 3, 9, 9}, {17, 3, 3, 3}, 1, {.strides = {2, 2}, .pads = {1, 1, 1, 1}}},
    {{1, 8, 6, 5}, {70, 8, 3, 3}, 1, {.pads = {1, 0, 2, 1}, .dilations = {2, 1}}},
    {{1, 100, 7, 7}, {100, 1, 3, 3}, 100, {.pads = {1, 1, 1, 1}}},
    {{2, 24, 6, 6}, {24, 1, 5, 5}, 24, {.strides = {2, 1}, .pads = {2, 2, 2, 2}}},
    {{1, 6, 5, 5}, {12, 1, 3, 3}, 6, {.auto_pad = AutoPad::same_upper}},
    {{1, 12, 5, 5}, {9, 4, 2, 2}, 3},
    {{1, 6, 11}, {4, 6, 4}, 1, {.strides = {3}, .pads = {2, 1}}},
    {{1, 2, 3, 4, 5}, {5, 2, 2, 2, 2}, 1, {.pads = {0, 1, 1, 0, 0, 1}}},
    {{1, 130, 40, 40}, {64, 130, 1, 1}},  // enough for two threads
    {{1, 3, 2, 2}, {4, 3, 3, 3}, 1, {.pads = {5, 5, 5, 5}}},
    // depthwise: along lines, by blocks of channels, in pieces, beyond both ends
    {{1, 24, 9, 700}, {24, 1, 3, 3}, 24, {.pads = {1, 1, 1, 1}}},
    {{2, 130, 3, 90}, {130, 1, 5, 5}, 130, {.strides = {1, 2}, .pads = {2, 2, 2, 2}}},
    {{1, 70, 40}, {70, 1, 20}, 70, {.pads = {0, 19}}},
    {{1, 7, 2, 2}, {7, 1, 3, 3}, 7, {.pads = {6, 6, 6, 6}, .dilations = {3, 5}}},
    {{1, 5, 4, 3, 9}, {5, 1, 3, 2, 2}, 5, {.strides = {1, 1, 3}, .pads = {1, 0, 1, 1, 1, 0}}},
    {{1, 3, 4, 40}, {3, 1, 1, 4}, 3, {.pads = {0, 30, 0, 30}, .dilations = {1, 11}}},
};

template <class X, class W>
void check_conv_integer(const Int8Conv& c, bool constant_weights, bool zero_w) {
  RandomTensors random(7);
  const std::int64_t m = c.w[0];
  const std::vector<Tensor> inputs = {
      random.bytes<X>(c.x), random.bytes<W>(c.w), random.bytes<X>({}),
      zero_w ? random.integers<W>({m}, std::is_signed_v<W> ? 0 : 128, std::is_signed_v<W> ? 0 : 128)
             : random.bytes<W>({m})};
  const ConvInteger op{.window = c.window, .group = c.group};
  std::vector<std::size_t> constants;
  if (constant_weights) constants = {1, 3};
  const SelectedRun got = run_selected(op, inputs, constants);
  EXPECT_THAT(got.implementation, StartsWith("int8"));
  EXPECT_TRUE(same_bytes(got.outputs[0], run(op, inputs)))
      << c.x.text() << " by " << c.w.text() << " in " << c.group << " groups";
}

TEST(ConvIntegerKernel, IsTheReferenceToTheBit) {
  unsigned at = 0;
  for (const Int8Conv& c : int8_convs)
    for (bool constant : {true, false})
      for (bool zero_w : {true, false}) {
        // Under a sanitizer the reference takes minutes: each fifth, of every kind in turn.
        if (sanitized && at++ % 5 != 0) continue;
        check_conv_integer<u8, i8>(c, constant, zero_w);
        check_conv_integer<u8, u8>(c, constant, zero_w);
        check_conv_integer<i8, i8>(c, constant, zero_w);
        check_conv_integer<i8, u8>(c, constant, zero_w);
      }
}

TEST(ConvIntegerKernel, WeightsWithoutZeroPoint) {
  RandomTensors random(3);
  const std::vector<Tensor> inputs = {random.bytes<u8>({1, 9, 5, 5}),
                                      random.bytes<u8>({9, 1, 3, 3})};
  const ConvInteger op{.group = 9};
  EXPECT_TRUE(same_bytes(run_selected(op, inputs, {1}).outputs[0], run(op, inputs)));
}

template <class X, class W, class Y>
void check_qlinear_conv(const Int8Conv& c, bool with_bias) {
  RandomTensors random(11);
  const std::int64_t m = c.w[0];
  // Multiples of a power of two: sums that end in exactly one half are common.
  const float unit = 1.0f / 256;
  std::vector<Tensor> inputs = {
      random.bytes<X>(c.x),
      tensor<float>({}, {unit}),
      random.bytes<X>({}),
      random.bytes<W>(c.w),
      random.floats({m}, 0.25f, 4.0f),
      random.integers<W>({m}, std::is_signed_v<W> ? 0 : 128, 128 - 128 * std::is_signed_v<W>),
      tensor<float>({}, {1.0f}),
      random.bytes<Y>({})};
  std::fill_n(reinterpret_cast<float*>(inputs[4].mutable_data()), m / 2, 0.5f);
  if (with_bias) inputs.push_back(random.integers<std::int32_t>({m}, -100000, 100000));
  const QLinearConv op{.window = c.window, .group = c.group};
  const SelectedRun got = run_selected(op, inputs, {3, 5});
  EXPECT_THAT(got.implementation, StartsWith("int8"));
  EXPECT_TRUE(same_bytes(got.outputs[0], run(op, inputs)))
      << c.x.text() << " by " << c.w.text() << " in " << c.group << " groups";
}

TEST(QLinearConvKernel, IsTheReferenceToTheBit) {
  unsigned at = 0;
  for (const Int8Conv& c : int8_convs)
    for (bool with_bias : {true, false}) {
      if (sanitized && at++ % 3 != 0) continue;  // as above
      check_qlinear_conv<u8, i8, u8>(c, with_bias);
      check_qlinear_conv<u8, u8, i8>(c, with_bias);
      check_qlinear_conv<i8, i8, i8>(c, with_bias);
    }
}

template <class X, class W>
void check_conv_to_float(const Int8Conv& c, bool with_bias) {
  RandomTensors random(6);
  const std::int64_t m = c.w[0];
  std::vector<Tensor> inputs = {
      random.bytes<X>(c.x), tensor<float>({}, {0.3f}),       random.bytes<X>({}),
      random.bytes<W>(c.w), random.floats({m}, 0.01f, 4.0f), random.bytes<W>({m})};
  if (with_bias) inputs.push_back(random.floats({m}, -1000, 1000));
  const ConvIntegerToFloat op{.window = c.window, .group = c.group};
  const SelectedRun got = run_selected(op, inputs, {3, 5});
  EXPECT_THAT(got.implementation, StartsWith("int8"));
  EXPECT_TRUE(same_bytes(got.outputs[0], run(op, inputs)))
      << c.x.text() << " by " << c.w.text() << " in " << c.group << " groups";
}

TEST(ConvIntegerToFloatKernel, IsTheReferenceToTheBit) {
  unsigned at = 0;
  for (const Int8Conv& c : int8_convs)
    for (bool with_bias : {true, false}) {
      if (sanitized && at++ % 3 != 0) continue;  // as above
      check_conv_to_float<u8, i8>(c, with_bias);
      check_conv_to_float<i8, u8>(c, with_bias);
    }
}

// Odd shapes, strides and padding in all kinds of products, at the edges of blocks of every size.
TEST(ConvIntegerKernel, IsTheReferenceForShapesOfAllKinds) {
  RandomTensors random(41);
  const auto number = [&](int low, int high) {
    return std::int64_t{random.integers<std::int32_t>({1}, low, high).span<std::int32_t>()[0]};
  };
  for (int i = 0; i < (sanitized ? 30 : 300); ++i) {
    const std::int64_t group = number(0, 3) == 0 ? number(2, 3) : 1;
    const std::int64_t depth = number(0, 3) == 0 ? number(1, 130) : number(1, 20);
    const std::int64_t columns = number(1, 70);
    const Shape kernel = {number(1, 3), number(1, 4)};
    const Int8Conv c{{number(1, 2), group * depth, number(3, 8), number(4, 20)},
                     {group * columns, depth, kernel[0], kernel[1]},
                     group,
                     {.strides = {number(1, 2), number(1, 3)},
                      .pads = {number(0, 3), number(0, 4), number(0, 3), number(0, 4)},
                      .dilations = {kernel[0] < 3 ? number(1, 2) : 1, 1}}};
    const bool constant = number(0, 3) != 0;
    const bool zero_w = number(0, 1) != 0;
    switch (i % 4) {
      case 0: check_conv_integer<u8, i8>(c, constant, zero_w); break;
      case 1: check_conv_integer<u8, u8>(c, constant, zero_w); break;
      case 2: check_conv_integer<i8, i8>(c, constant, zero_w); break;
      default: check_conv_integer<i8, u8>(c, constant, zero_w);
    }
  }
}

TEST(MatMulIntegerKernel, IsTheReferenceAtTheEdgesOfBlocks) {
  for (std::int64_t rows : {1, 15, 16, 17, 31, 32, 33, 40})
    for (std::int64_t depth : {1, 3, 4, 63, 64, 65, 127, 130})
      for (std::int64_t columns : {1, 15, 16, 17, 32, 33, 64, 70}) {
        RandomTensors random(static_cast<unsigned>(rows + depth + columns));
        const std::vector<Tensor> inputs = {random.bytes<u8>({rows, depth}),
                                            random.bytes<i8>({depth, columns}),
                                            random.bytes<u8>({}), random.bytes<i8>({})};
        const SelectedRun got = run_selected(MatMulInteger{}, inputs, {1});
        ASSERT_TRUE(same_bytes(got.outputs[0], run(MatMulInteger{}, inputs)))
            << rows << " by " << depth << " by " << columns;
      }
}

struct MatMulCase {
  Shape a, b;
};
const MatMulCase matmul_cases[] = {
    {{1, 64}, {64, 64}}, {{5, 7}, {7, 3}},          {{2, 3, 33}, {33, 65}},
    {{13}, {13, 20}},    {{9, 4}, {1, 1, 4, 5}},    {{300, 200}, {200, 150}},
    {{6, 1}, {1, 17}},   {{2, 2, 3, 8}, {1, 8, 1}},
};

template <class A, class B>
void check_matmul_integer(const MatMulCase& c, bool constant, bool per_column) {
  RandomTensors random(5);
  const Shape columns = per_column ? Shape{c.b.back()} : Shape{};
  const std::vector<Tensor> inputs = {random.bytes<A>(c.a), random.bytes<B>(c.b),
                                      random.bytes<A>({}), random.bytes<B>(columns)};
  std::vector<std::size_t> constants;
  if (constant) constants = {1};
  const SelectedRun got = run_selected(MatMulInteger{}, inputs, constants);
  EXPECT_THAT(got.implementation, StartsWith("int8"));
  EXPECT_TRUE(same_bytes(got.outputs[0], run(MatMulInteger{}, inputs)))
      << c.a.text() << " by " << c.b.text();
}

TEST(MatMulIntegerKernel, IsTheReferenceToTheBit) {
  for (const MatMulCase& c : matmul_cases)
    for (bool constant : {true, false})
      for (bool per_column : {true, false}) {
        check_matmul_integer<u8, i8>(c, constant, per_column);
        check_matmul_integer<u8, u8>(c, constant, per_column);
        check_matmul_integer<i8, u8>(c, constant, per_column);
      }
}

TEST(MatMulIntegerKernel, LeavesOtherFormsToTheReference) {
  RandomTensors random(5);
  const std::vector<Tensor> batched = {random.bytes<u8>({2, 3, 4}), random.bytes<u8>({2, 4, 5})};
  EXPECT_EQ(run_selected(MatMulInteger{}, batched).implementation, "reference");
  const std::vector<Tensor> zero_a_row = {random.bytes<u8>({3, 4}), random.bytes<u8>({4, 5}),
                                          random.bytes<u8>({3})};
  EXPECT_EQ(run_selected(MatMulInteger{}, zero_a_row).implementation, "reference");
}

TEST(QLinearMatMulKernel, IsTheReferenceToTheBit) {
  for (const MatMulCase& c : matmul_cases)
    for (bool per_column : {true, false}) {
      RandomTensors random(6);
      const Shape columns = per_column ? Shape{c.b.back()} : Shape{};
      const std::vector<Tensor> inputs = {random.bytes<u8>(c.a),
                                          tensor<float>({}, {0.5f}),
                                          random.bytes<u8>({}),
                                          random.bytes<i8>(c.b),
                                          random.floats(columns, 0.001f, 0.01f),
                                          random.bytes<i8>(columns),
                                          tensor<float>({}, {0.25f}),
                                          random.bytes<u8>({})};
      const SelectedRun got = run_selected(QLinearMatMul{}, inputs, {3});
      EXPECT_THAT(got.implementation, StartsWith("int8"));
      EXPECT_TRUE(same_bytes(got.outputs[0], run(QLinearMatMul{}, inputs)))
          << c.a.text() << " by " << c.b.text();
    }
}

// Where work is cut small, small products go by units for matrices, too.
TEST(MatMulIntegerKernel, IsTheReferenceAtTheEdgesOfSmallBlocks) {
  expect_passes_with("QUERN_CUTS=small",
                     "MatMulIntegerKernel.IsTheReferenceAtTheEdgesOfBlocks:"
                     "ConvIntegerKernel.IsTheReferenceForShapesOfAllKinds");
}
TEST(Int8Kernels, AreTheReferencesWithLess) {
  for (const char* level : {"avx512", "avx2", "dotprod", "neon", "baseline"})
    expect_passes_with(std::string("QUERN_SIMD=") + level,
                       "ConvIntegerKernel.IsTheReferenceForShapesOfAllKinds:"
                       "MatMulIntegerKernel.IsTheReferenceAtTheEdgesOfBlocks");
}

// ---- Quantize and its kin

// Numbers whose quotients end in one half, and what is no number.
Tensor awkward_floats(const Shape& shape) {
  RandomTensors random(9);
  Tensor t = random.floats(shape, -40, 40);
  auto* p = reinterpret_cast<float*>(t.mutable_data());
  const float specials[] = {0.125f,
                            0.375f,
                            -0.125f,
                            0,
                            -0.0f,
                            1e30f,
                            -1e30f,
                            std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(),
                            31.875f,
                            63.625f};
  for (std::int64_t i = 0; i < std::min<std::int64_t>(shape.elements(), 12); ++i)
    p[i] = specials[i];
  return t;
}

template <class T>
void check_quantize(const Shape& shape, const Shape& steps, bool with_zero) {
  RandomTensors random(2);
  Tensor scale = random.floats(steps, 0.05f, 0.5f);
  *reinterpret_cast<float*>(scale.mutable_data()) = 0.25f;
  std::vector<Tensor> floats = {awkward_floats(shape), scale};
  std::vector<Tensor> bytes = {random.bytes<T>(shape), scale};
  if (with_zero) {
    floats.push_back(random.bytes<T>(steps));
    bytes.push_back(floats.back());
  }
  const Quantize quantize{.to = dtype_of<T>()};
  const SelectedRun q = run_selected(quantize, floats);
  EXPECT_THAT(q.implementation, StartsWith("rows"));
  EXPECT_TRUE(same_bytes(q.outputs[0], run(quantize, floats))) << shape.text() << steps.text();
  const SelectedRun d = run_selected(Dequantize{}, bytes);
  EXPECT_THAT(d.implementation, StartsWith("rows"));
  EXPECT_TRUE(same_bytes(d.outputs[0], run(Dequantize{}, bytes))) << shape.text() << steps.text();
}

TEST(QuantizeKernel, IsTheReferenceToTheBit) {
  for (bool with_zero : {true, false}) {
    check_quantize<u8>({3, 5, 7}, {}, with_zero);
    check_quantize<i8>({50000}, {1}, with_zero);
    check_quantize<u8>({2, 5, 7}, {5}, with_zero);
    check_quantize<i8>({2, 5}, {5}, with_zero);
    check_quantize<std::uint16_t>({3, 5, 7}, {}, with_zero);
    check_quantize<std::int16_t>({2, 5, 700}, {5}, with_zero);
  }
}

TEST(DynamicQuantizeKernel, IsTheReferenceToTheBit) {
  RandomTensors random(1);
  for (const Tensor& x :
       {random.floats({3, 1000}, -3, 5), random.floats({7}, 2, 5), random.floats({70000}, -3, -2),
        Tensor::zeros({DType::f32, {4}}).value(), awkward_floats({30}), awkward_floats({70000})}) {
    const auto want = run_reference(DynamicQuantize{}, {x}, 3).value();
    const SelectedRun got = run_selected(DynamicQuantize{}, {x}, {}, 3);
    EXPECT_THAT(got.implementation, StartsWith("rows"));
    EXPECT_TRUE(same_bytes(got.outputs[0], want[0]));
    EXPECT_TRUE(same_bytes(got.outputs[2], want[2]));
    const float scale = want[1].span<float>()[0];
    EXPECT_TRUE(std::isnan(scale) || same_bytes(got.outputs[1], want[1]));
  }
}

}  // namespace
}  // namespace quern::testing
