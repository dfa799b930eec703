// SPDX-License-Identifier: Apache-2.0
// Every instruction set that this machine has, against the scalar definitions in double.
#include "kernels/simd/simd.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/unary.h"
#include "kernels/contract/binary_math.h"
#include "kernels/contract/float_state.h"
#include "kernels/contract/unary_math.h"

namespace quern::testing {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
const float nan = std::numeric_limits<float>::quiet_NaN();

// NEON of 32-bit ARM takes denormal numbers for 0, and makes none: there they are no samples, and
// what is one, or comes of one by a factor of some tens, may be 0.
#ifdef __arm__
constexpr float least = std::numeric_limits<float>::min();
#else
constexpr float least = 0;
#endif

// From denormals to overflow on both sides, dense where functions bend, and the special values.
std::vector<float> samples() {
  std::vector<float> xs = {0.0f,   -0.0f,   infinity, -infinity, nan,
                           1e-45f, -1e-45f, 1e-40f,   3e38f,     -3e38f};
  for (float m = 1e-38f; m < 1e38f; m *= 1.37f) xs.insert(xs.end(), {m, -m});
  for (float x = -20; x < 20; x += 0.013f) xs.push_back(x);
  for (float x = -105; x < 95; x += 0.37f) xs.push_back(x);
  std::erase_if(xs, [](float x) { return x != 0 && std::fabs(x) < least; });
  return xs;
}

// Units in the last place between two floats; specials must match exactly.
double ulps(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e9;
  const auto rounded = static_cast<float>(want);
  if (std::isinf(rounded)) return got == rounded ? 0 : 1e9;
  const double unit =
      std::max(std::ldexp(1.0, std::ilogb(std::max(std::fabs(want), 1e-300)) - 23), 1.5e-45);
  return std::fabs(static_cast<double>(got) - want) / unit;
}

struct Case {
  Unary op;
  double max_ulps;
  double absolute = 0;  // where the function has a zero that arguments in f32 cannot hit
};

TEST(Simd, UnaryFunctionsAreWithinAFewUlps) {
  const Case cases[] = {
      {{UnaryKind::abs}, 0},
      {{UnaryKind::neg}, 0},
      {{UnaryKind::sign}, 0},
      {{UnaryKind::ceil}, 0},
      {{UnaryKind::floor}, 0},
      {{UnaryKind::round}, 0},
      {{UnaryKind::sqrt}, 0.51},
      {{UnaryKind::reciprocal}, 0.51},
      {{UnaryKind::exp}, 2},
      {{UnaryKind::log}, 2},
      {{UnaryKind::tanh}, 3},
      {{UnaryKind::erf}, 4},
      {{UnaryKind::sigmoid}, 4, 1e-38},
      {{UnaryKind::relu}, 0},
      {{UnaryKind::leaky_relu, 0.1}, 1},
      {{UnaryKind::elu, 1.3}, 6},
      {{UnaryKind::selu, 1.67, 1.05}, 6},
      {{UnaryKind::celu, 0.7}, 6},
      {{UnaryKind::celu, -1}, 6},
      {{UnaryKind::hard_sigmoid, 0.2, 0.5}, 2, 1e-7},
      {{UnaryKind::hard_swish}, 4, 1e-6},
      {{UnaryKind::softplus}, 4},
      {{UnaryKind::softsign}, 2},
      {{UnaryKind::mish}, 8, 1e-37},
      {{UnaryKind::gelu}, 8, 3e-7},
      {{UnaryKind::gelu_tanh}, 8, 1e-6},
      {{UnaryKind::swish, 1}, 6, 2e-37},
      {{UnaryKind::thresholded_relu, 1}, 0},
      {{UnaryKind::shrink, 0.5, 0.1}, 1},
      {{UnaryKind::clip, -1, 6}, 0},
      {{UnaryKind::affine, 1.5, -0.25}, 2, 1e-7},
      {{UnaryKind::scaled_tanh, 1.7, 0.66}, 6},
  };
  const std::vector<float> xs = samples();
  for (const Simd* set : simd_sets()) {
    for (const Case& c : cases) {
      std::vector<float> ys(xs.size());
      set->unary(c.op, xs.data(), ys.data(), static_cast<std::int64_t>(xs.size()));
      for (std::size_t i = 0; i < xs.size(); ++i) {
        Unary exact = c.op;  // the attributes as the float loops see them
        exact.alpha = static_cast<float>(exact.alpha);
        exact.beta = static_cast<float>(exact.beta);
        const double want = apply_float<double>(exact, static_cast<double>(xs[i]));
        if (std::isfinite(want) && std::fabs(ys[i] - want) <= c.absolute) continue;
        if (std::fabs(want) < 128 * least && ys[i] == 0) continue;
        ASSERT_LE(ulps(ys[i], want), c.max_ulps) << set->name << " " << enum_name(c.op.kind) << "("
                                                 << xs[i] << ") = " << ys[i] << ", wants " << want;
      }
    }
  }
}

TEST(Simd, TailsGiveWhatWholeVectorsGive) {
  const std::vector<float> xs = samples();
  for (const Simd* set : simd_sets()) {
    for (std::int64_t n = 0; n < 40; ++n) {
      std::vector<float> ys(static_cast<std::size_t>(n) + 1, 42.0f);
      set->unary({UnaryKind::exp}, xs.data() + 100, ys.data(), n);
      EXPECT_EQ(ys[static_cast<std::size_t>(n)], 42.0f) << "wrote past the end";
      for (std::int64_t i = 0; i < n; ++i) {
        float one = 0;
        set->unary({UnaryKind::exp}, xs.data() + 100 + i, &one, 1);
        EXPECT_EQ(ys[static_cast<std::size_t>(i)], one);
      }
    }
  }
}

TEST(Simd, BinaryFunctionsFollowTheScalarDefinition) {
  const float small = std::max(1e-40f, 4 * least);
  const std::vector<float> values = {0.0f, -0.0f, 1.5f, -2.25f, infinity, -infinity,
                                     nan,  small, 7.0f, 3.0f,   0.5f,     2.0f};
  for (const Simd* set : simd_sets()) {
    for (int k = 0; k <= static_cast<int>(BinaryKind::prelu); ++k) {
      const auto kind = static_cast<BinaryKind>(k);
      for (float b : values) {
        std::vector<float> y(values.size());
        std::vector<float> bs(values.size(), b);
        const auto n = static_cast<std::int64_t>(values.size());
        for (bool scalar : {false, true}) {
          set->binary(kind, {values.data(), false}, {bs.data(), scalar}, y.data(), n);
          for (std::size_t i = 0; i < values.size(); ++i) {
            const float want = apply_float(kind, values[i], b);
            ASSERT_TRUE(y[i] == want || (std::isnan(y[i]) && std::isnan(want)))
                << set->name << " " << enum_name(kind) << "(" << values[i] << ", " << b
                << ") = " << y[i] << ", wants " << want;
          }
        }
      }
    }
  }
}

TEST(Simd, ReductionsLetNanThrough) {
  for (const Simd* set : simd_sets()) {
    for (std::size_t at : {0, 3, 16, 69}) {
      std::vector<float> x(70, 1.0f);
      EXPECT_EQ(set->sum(x.data(), 70), 70.0f);
      EXPECT_EQ(set->dot(x.data(), x.data(), 70), 70.0f);
      float low = 0;
      float high = 0;
      x[at] = 5;
      EXPECT_EQ(set->max(x.data(), 70), 5.0f);
      set->range(x.data(), 70, &low, &high);
      EXPECT_EQ(low, 1.0f);
      EXPECT_EQ(high, 5.0f);
      x[at] = -5;
      EXPECT_EQ(set->min(x.data(), 70), -5.0f);
      set->range(x.data(), 70, &low, &high);
      EXPECT_EQ(low, -5.0f);
      EXPECT_EQ(high, 1.0f);
      EXPECT_EQ(set->sum_abs(x.data(), 70), 74.0f);
      EXPECT_EQ(set->sum_square(x.data(), 1, 70), 36.0f);
      x[at] = nan;
      EXPECT_TRUE(std::isnan(set->max(x.data(), 70)));
      EXPECT_TRUE(std::isnan(set->min(x.data(), 70)));
      EXPECT_TRUE(std::isnan(set->sum(x.data(), 70)));
      set->range(x.data(), 70, &low, &high);
      EXPECT_TRUE(std::isnan(low) && std::isnan(high));
    }
  }
}

TEST(Simd, HalvesConvertAsTheScalarFunctionsDo) {
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  for (const Simd* set : simd_sets()) {
    std::vector<float> floats(halves.size());
    std::vector<std::uint16_t> back(halves.size());
    set->half_to_float(halves.data(), floats.data(), 65536);
    for (std::size_t i = 0; i < halves.size(); ++i) {
      const float want = half_to_float(halves[i]);
      ASSERT_TRUE(floats[i] == want || (std::isnan(floats[i]) && std::isnan(want))) << i;
    }
    set->float_to_half(floats.data(), back.data(), 65536);
    for (std::size_t i = 0; i < halves.size(); ++i)
      if (!std::isnan(floats[i])) {
        ASSERT_EQ(back[i], halves[i]);
      }
    const std::vector<float> xs = samples();
    back.resize(xs.size());
    set->float_to_half(xs.data(), back.data(), static_cast<std::int64_t>(xs.size()));
    for (std::size_t i = 0; i < xs.size(); ++i)
      if (!std::isnan(xs[i])) {
        ASSERT_EQ(back[i], float_to_half(xs[i])) << xs[i];
      }
  }
}

// Where threads take denormal floats for 0, those of f16 still are numbers of f32 like others.
TEST(Simd, HalvesConvertTheSameWhereDenormalsAreFlushed) {
  const FloatStateScope flushed(flushing);
  for (const Simd* set : simd_sets()) {
    for (std::uint16_t bits = 0; bits < 0x400; ++bits) {
      float f = 0;
      std::uint16_t back = 0;
      set->half_to_float(&bits, &f, 1);
      ASSERT_EQ(f, static_cast<float>(bits) * 0x1p-24F);
      set->float_to_half(&f, &back, 1);
      ASSERT_EQ(back, bits);
    }
  }
}

TEST(Simd, Bfloats16ConvertAsTheScalarFunctionsDo) {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  std::vector<float> xs = samples();
  for (const std::uint16_t bits : all)  // what lies half way to the next one, and beside that
    for (const std::uint32_t below : {0x7fffU, 0x8000U, 0x8001U})
      xs.push_back(std::bit_cast<float>(std::uint32_t{bits} << 16 | below));
  for (const Simd* set : simd_sets()) {
    std::vector<float> floats(all.size());
    set->bfloat_to_float(all.data(), floats.data(), 65536);
    for (std::size_t i = 0; i < all.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(floats[i]), i << 16);
    std::vector<std::uint16_t> back(xs.size());
    set->float_to_bfloat(xs.data(), back.data(), static_cast<std::int64_t>(xs.size()));
    for (std::size_t i = 0; i < xs.size(); ++i)
      ASSERT_EQ(back[i], float_to_bfloat16(xs[i])) << xs[i];
  }
}

TEST(Simd, PartsOfBfloat16AreSixteenBits) {
  constexpr float largest = std::numeric_limits<float>::max();
  std::vector<float> xs = samples();
  for (const float x : {largest, -largest, 0x1.FEp127F, 0x1.FFp127F, 1e-45F, -0.0F})
    xs.push_back(x);
  const auto value = [](std::uint16_t bits) { return double{bfloat16_to_float(bits)}; };
  for (const Simd* set : simd_sets()) {
    std::vector<std::uint16_t> high(xs.size());
    std::vector<std::uint16_t> low(xs.size());
    set->bfloat_parts(xs.data(), high.data(), low.data(), static_cast<std::int64_t>(xs.size()));
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const float x = xs[i];
      if (!std::isfinite(x)) {
        ASSERT_EQ(high[i], float_to_bfloat16(x)) << x;
        ASSERT_EQ(low[i], 0) << x;
        continue;
      }
      ASSERT_TRUE(std::isfinite(value(high[i]))) << x;
      const double tolerance =
          std::fabs(double{x}) * (std::fabs(x) > 0x1.FEp127F ? 0x1p-16 : 0x1p-17);
      ASSERT_LE(std::fabs(value(high[i]) + value(low[i]) - x), tolerance + 0x1p-134 + least) << x;
    }
  }
}

// ---- windows

enum class Fold : std::uint8_t { greatest, sum };
enum class Onto : std::uint8_t { nothing, quarter };  // what y holds before

struct WindowCase {
  std::int64_t rows, taps, dilation, lanes, positions, stride, lines;
};

// This folds one element of y, whose window begins `at` elements after the beginnings of the rows.
double fold_of(const std::vector<float>& x, const WindowCase& c, const SimdWindow& w, Fold fold,
               std::int64_t at) {
  double folded = fold == Fold::greatest ? -infinity : 0;
  for (std::int64_t r = 0; r < c.rows; ++r)
    for (std::int64_t t = 0; t < c.taps; ++t) {
      const double v = x[static_cast<std::size_t>(w.x[r] - x.data() + at + t * c.dilation)];
      if (fold == Fold::sum)
        folded += v;
      else if (std::isnan(v) || v > folded)
        folded = v;
    }
  return folded;
}

void expect_windows(const Simd& s, const WindowCase& c, const std::vector<float>& x,
                    std::initializer_list<Fold> folds, Onto onto) {
  std::vector<const float*> rows;
  for (std::int64_t r = 0; r < c.rows; ++r) rows.push_back(x.data() + r * 401);
  const auto size = static_cast<std::size_t>(c.lanes * c.positions * c.lines);
  std::vector<float> divisors(size);
  for (std::size_t i = 0; i < size; ++i) divisors[i] = static_cast<float>(i % 5 + 1);
  for (const Fold kind : folds) {
    const bool greatest = kind == Fold::greatest;
    std::vector<float> y(size + 1, 0.25F);
    const SimdWindow w{.x = rows.data(),
                       .rows = c.rows,
                       .taps = c.taps,
                       .dilation = c.dilation,
                       .y = y.data(),
                       .lanes = c.lanes,
                       .positions = c.positions,
                       .stride = c.stride,
                       .y_stride = c.lanes,
                       .lines = c.lines,
                       .line_stride = 211,
                       .y_line_stride = c.lanes * c.positions,
                       .divisors = divisors.data(),
                       .accumulate = onto == Onto::quarter};
    greatest ? s.max_windows(w) : s.sum_windows(w);
    EXPECT_EQ(y[size], 0.25F) << s.name << " wrote behind the last lane";
    for (std::size_t i = 0; i < size; ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const std::int64_t from =
          at / (c.lanes * c.positions) * 211 + at / c.lanes % c.positions * c.stride + at % c.lanes;
      double want = fold_of(x, c, w, kind, from);
      if (w.accumulate)
        want = !greatest ? want + 0.25 : std::isnan(want) ? want : std::fmax(want, 0.25);
      if (!greatest) want /= divisors[i];
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(y[i])) << s.name;
      } else if (greatest) {
        EXPECT_EQ(y[i], want) << s.name << " lanes " << c.lanes;
      } else {
        EXPECT_NEAR(y[i], want, 2e-5) << s.name << " lanes " << c.lanes;
      }
    }
  }
}

TEST(Simd, WindowsOfRowsAndTaps) {
  std::vector<float> x(4000);
  std::uint32_t state = 1;
  for (float& v : x) {
    state = state * 1664525 + 1013904223;
    v = static_cast<float>(state >> 8) / 8388608.0F - 1;
  }
  std::vector<float> special = x;
  for (std::size_t i = 0; i < special.size(); i += 23) special[i] = i % 2 ? nan : -infinity;
  for (const Simd* s : simd_sets())
    for (const std::int64_t lanes : {1, 3, 8, 16, 17, 31, 64, 70, 131})
      for (const WindowCase& c : {WindowCase{3, 3, lanes, lanes, 5, 2 * lanes, 2},
                                  {1, 1, 0, lanes, 1, 0, 6},
                                  {2, 2, 1, lanes, 9, 1, 1},
                                  {5, 4, 3, lanes, 1, 0, 3},
                                  {0, 1, 0, lanes, 3, 1, 2}})
        for (const Onto onto : {Onto::nothing, Onto::quarter}) {
          expect_windows(*s, c, x, {Fold::greatest, Fold::sum}, onto);
          expect_windows(*s, c, special, {Fold::greatest}, onto);
        }
}

TEST(Simd, Deinterleaves) {
  std::vector<float> x(5 * 37);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  for (const Simd* s : simd_sets())
    for (const std::size_t ways : {1, 2, 3, 5}) {
      std::vector<float> y(ways * 37 + 1, -1.0F);
      s->deinterleave(x.data(), static_cast<std::int64_t>(ways), y.data(), 37);
      for (std::size_t i = 0; i < ways * 37; ++i)
        EXPECT_EQ(y[i], x[i % 37 * ways + i / 37]) << s->name << " of " << ways;
      EXPECT_EQ(y.back(), -1);
    }
}

}  // namespace
}  // namespace quern::testing
