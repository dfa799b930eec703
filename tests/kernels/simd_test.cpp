// SPDX-License-Identifier: Apache-2.0
// Every instruction set that this machine has, against the scalar definitions in double.
#include "kernels/simd/simd.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "kernels/scalar_math.h"

namespace quern::testing {
namespace {

std::vector<const Simd*> all_sets() {
  std::vector<const Simd*> sets = {&simd_baseline()};
  if (simd_avx2()) sets.push_back(simd_avx2());
  if (simd_avx512()) sets.push_back(simd_avx512());
  return sets;
}

constexpr float infinity = std::numeric_limits<float>::infinity();
const float nan = std::numeric_limits<float>::quiet_NaN();

// From denormals to overflow on both sides, dense where functions bend, and the special values.
std::vector<float> samples() {
  std::vector<float> xs = {0.0f,   -0.0f,   infinity, -infinity, nan,
                           1e-45f, -1e-45f, 1e-40f,   3e38f,     -3e38f};
  for (float m = 1e-38f; m < 1e38f; m *= 1.37f) xs.insert(xs.end(), {m, -m});
  for (float x = -20; x < 20; x += 0.013f) xs.push_back(x);
  for (float x = -105; x < 95; x += 0.37f) xs.push_back(x);
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
  for (const Simd* set : all_sets()) {
    for (const Case& c : cases) {
      std::vector<float> ys(xs.size());
      set->unary(c.op, xs.data(), ys.data(), static_cast<std::int64_t>(xs.size()));
      for (std::size_t i = 0; i < xs.size(); ++i) {
        Unary exact = c.op;  // the attributes as the float loops see them
        exact.alpha = static_cast<float>(exact.alpha);
        exact.beta = static_cast<float>(exact.beta);
        const double want = apply_float<double>(exact, static_cast<double>(xs[i]));
        if (std::isfinite(want) && std::fabs(ys[i] - want) <= c.absolute) continue;
        ASSERT_LE(ulps(ys[i], want), c.max_ulps) << set->name << " " << enum_name(c.op.kind) << "("
                                                 << xs[i] << ") = " << ys[i] << ", wants " << want;
      }
    }
  }
}

TEST(Simd, TailsGiveWhatWholeVectorsGive) {
  const std::vector<float> xs = samples();
  for (const Simd* set : all_sets()) {
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
  const std::vector<float> values = {0.0f, -0.0f,  1.5f, -2.25f, infinity, -infinity,
                                     nan,  1e-40f, 7.0f, 3.0f,   0.5f,     2.0f};
  for (const Simd* set : all_sets()) {
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
  for (const Simd* set : all_sets()) {
    for (std::size_t at : {0, 3, 16, 69}) {
      std::vector<float> x(70, 1.0f);
      EXPECT_EQ(set->sum(x.data(), 70), 70.0f);
      EXPECT_EQ(set->dot(x.data(), x.data(), 70), 70.0f);
      x[at] = 5;
      EXPECT_EQ(set->max(x.data(), 70), 5.0f);
      x[at] = -5;
      EXPECT_EQ(set->min(x.data(), 70), -5.0f);
      EXPECT_EQ(set->sum_abs(x.data(), 70), 74.0f);
      EXPECT_EQ(set->sum_square(x.data(), 1, 70), 36.0f);
      x[at] = nan;
      EXPECT_TRUE(std::isnan(set->max(x.data(), 70)));
      EXPECT_TRUE(std::isnan(set->min(x.data(), 70)));
      EXPECT_TRUE(std::isnan(set->sum(x.data(), 70)));
    }
  }
}

TEST(Simd, HalvesConvertAsTheScalarFunctionsDo) {
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  for (const Simd* set : all_sets()) {
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

}  // namespace
}  // namespace quern::testing
