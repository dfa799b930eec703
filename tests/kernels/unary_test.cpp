// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/unary.h"

#include <cmath>
#include <limits>

#include "tests/expect.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;
using K = UnaryKind;

template <class T>
std::vector<T> of(const Unary& op, std::initializer_list<std::type_identity_t<T>> x) {
  return values<T>(run(op, {tensor<T>({static_cast<std::int64_t>(x.size())}, x)}));
}
std::vector<float> of(const Unary& op, std::initializer_list<float> x) {
  return of<float>(op, x);
}

struct Row {
  Unary op;
  double at_half, at_minus_three_quarters;
};
// Values from Python's math module.
const Row rows[] = {
    {{K::exp}, 1.6487212707001282, 0.4723665527410147},
    {{K::sin}, 0.479425538604203, -0.6816387600233341},
    {{K::cos}, 0.8775825618903728, 0.7316888688738209},
    {{K::tan}, 0.5463024898437905, -0.9315964599440725},
    {{K::asin}, 0.5235987755982989, -0.848062078981481},
    {{K::acos}, 1.0471975511965979, 2.4188584057763776},
    {{K::atan}, 0.4636476090008061, -0.6435011087932844},
    {{K::sinh}, 0.5210953054937474, -0.82231673193583},
    {{K::cosh}, 1.1276259652063807, 1.2946832846768448},
    {{K::tanh}, 0.46211715726000974, -0.6351489523872873},
    {{K::asinh}, 0.48121182505960347, -0.6931471805599453},
    {{K::atanh}, 0.5493061443340548, -0.9729550745276566},
    {{K::erf}, 0.5204998778130465, -0.7111556336535151},
    {{K::sigmoid}, 0.6224593312018546, 0.320821300824607},
    {{K::softplus}, 0.9740769841801067, 0.3868710061149},
    {{K::softsign}, 0.3333333333333333, -0.42857142857142855},
    {{K::mish}, 0.3752452113048951, -0.2764947145054652},
    {{K::gelu}, 0.34573123063700656, -0.16997051428265114},
    {{K::gelu_tanh}, 0.34571400982514394, -0.17003944483437966},
    {{K::swish, 2}, 0.36552928931500245, -0.13681914285476726},
    {{K::elu, 2}, 0.5, -1.0552668945179706},
    {{K::selu, 1.67, 1.05}, 0.525, -0.9252052497686307},
    {{K::celu, 2}, 0.5, -0.6254214424180555},
    {{K::abs}, 0.5, 0.75},
    {{K::neg}, -0.5, 0.75},
    {{K::sign}, 1, -1},
    {{K::ceil}, 1, 0},
    {{K::floor}, 0, -1},
    {{K::reciprocal}, 2, -4.0 / 3},
    {{K::relu}, 0.5, 0},
    {{K::leaky_relu, 0.5}, 0.5, -0.375},
    {{K::hard_sigmoid, 0.2, 0.5}, 0.6, 0.35},
    {{K::hard_swish}, 0.5 * 3.5 / 6, -0.75 * 2.25 / 6},
    {{K::thresholded_relu, 0.5}, 0, 0},
    {{K::shrink, 0.6, 0.25}, 0, -0.5},
    {{K::clip, -0.5, 0.25}, 0.25, -0.5},
};

TEST(Unary, EveryFloatKind) {
  for (const Row& row : rows) {
    SCOPED_TRACE(static_cast<int>(row.op.kind));
    const double half = row.at_half;
    const double minus = row.at_minus_three_quarters;
    const auto d = of<double>(row.op, {0.5, -0.75});
    EXPECT_NEAR(d[0], half, 1e-14);
    EXPECT_NEAR(d[1], minus, 1e-14);
    const auto f = of<float>(row.op, {0.5f, -0.75f});
    EXPECT_NEAR(f[0], half, 5e-7);
    EXPECT_NEAR(f[1], minus, 5e-7);
    const auto h = of<Half>(row.op, {Half(0.5f), Half(-0.75f)});
    EXPECT_NEAR(h[0], half, 0x1p-11 * std::max(1.0, std::fabs(half)));
    EXPECT_NEAR(h[1], minus, 0x1p-11 * std::max(1.0, 2 * std::fabs(minus)));
    const auto b = of<BFloat16>(row.op, {BFloat16(0.5f), BFloat16(-0.75f)});
    EXPECT_NEAR(b[0], half, 0x1p-8 * std::max(1.0, std::fabs(half)));
    EXPECT_NEAR(b[1], minus, 0x1p-8 * std::max(1.0, 2 * std::fabs(minus)));
  }
}

TEST(Unary, KindsOfPositiveNumbers) {
  EXPECT_FLOAT_EQ(of({K::log}, {0.5f})[0], -0.69314718f);
  EXPECT_FLOAT_EQ(of({K::sqrt}, {0.5f})[0], 0.70710678f);
  EXPECT_FLOAT_EQ(of({K::acosh}, {1.5f})[0], 0.96242365f);
}

TEST(Unary, RoundIsHalfToEven) {
  EXPECT_ELEMENTS(of({K::round}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 2.4f}), 0, 2, 2, 0, -2, 2);
  EXPECT_TRUE(std::signbit(of({K::round}, {-0.5f})[0]));
}

// The specification's functions of two of them give 0 for all that is not beyond alpha.
TEST(Unary, NanGoesThroughEveryOtherKind) {
  for (const Row& row : rows) {
    SCOPED_TRACE(static_cast<int>(row.op.kind));
    if (row.op.kind == K::thresholded_relu || row.op.kind == K::shrink) {
      EXPECT_EQ(of(row.op, {nan})[0], 0);
      EXPECT_EQ(float(of<Half>(row.op, {Half(nan)})[0]), 0);
      continue;
    }
    EXPECT_TRUE(std::isnan(of(row.op, {nan})[0]));
    EXPECT_TRUE(std::isnan(of<Half>(row.op, {Half(nan)})[0]));
  }
  for (const K kind : {K::log, K::sqrt, K::acosh, K::round})
    EXPECT_TRUE(std::isnan(of({kind}, {nan})[0]));
}

TEST(Unary, LargeNumbersAndInfinities) {
  EXPECT_ELEMENTS(of({K::sigmoid}, {1000, -1000, inf, -inf}), 1, 0, 1, 0);
  EXPECT_ELEMENTS(of({K::softplus}, {1000, -1000, inf, -inf}), 1000, 0, inf, 0);
  EXPECT_ELEMENTS(of({K::tanh}, {1000, -inf}), 1, -1);
  EXPECT_ELEMENTS(of({K::erf}, {10, -inf}), 1, -1);
  EXPECT_ELEMENTS(of({K::gelu}, {100, -100, inf}), 100, 0, inf);
  EXPECT_ELEMENTS(of({K::mish}, {1000, inf}), 1000, inf);
  EXPECT_ELEMENTS(of({K::elu, 1}, {-inf, inf}), -1, inf);
  EXPECT_ELEMENTS(of({K::exp}, {1000, -1000}), inf, 0);
  EXPECT_ELEMENTS(of({K::reciprocal}, {0.0f, -0.0f, inf}), inf, -inf, 0);
  EXPECT_ELEMENTS(of({K::log}, {0}), -inf);
  EXPECT_TRUE(std::isnan(of({K::log}, {-1})[0]));
  EXPECT_TRUE(std::isnan(of({K::sqrt}, {-1})[0]));
  EXPECT_THAT(of<Half>({K::exp}, {Half(12.0f)}), ElementsAre(inf));
}

TEST(Unary, SmallNumbersKeepTheirDigits) {
  EXPECT_FLOAT_EQ(of({K::elu, 1}, {-1e-8f})[0], -1e-8f);
  EXPECT_FLOAT_EQ(of({K::tanh}, {1e-8f})[0], 1e-8f);
  EXPECT_FLOAT_EQ(of({K::erf}, {1e-6f})[0], 1.1283792e-6f);
  EXPECT_FLOAT_EQ(of({K::softplus}, {-20})[0], 2.0611537e-9f);
}

TEST(Unary, Predicates) {
  const auto flags = [](const Unary& op, std::initializer_list<float> x) {
    return values<bool>(run(op, {tensor<float>({static_cast<std::int64_t>(x.size())}, x)}));
  };
  EXPECT_ELEMENTS(flags({K::is_nan}, {nan, 1, inf}), true, false, false);
  EXPECT_ELEMENTS(flags({K::is_inf, 1, 1}, {inf, -inf, nan, 3}), true, true, false, false);
  EXPECT_ELEMENTS(flags({K::is_inf, 1, 0}, {inf, -inf}), false, true);
  EXPECT_ELEMENTS(flags({K::is_inf, 0, 1}, {inf, -inf}), true, false);
  EXPECT_ELEMENTS(
      (values<bool>(run(Unary{K::is_nan}, {tensor<Half>({2}, {Half(nan), Half(1.0f)})}))), true,
      false);
  EXPECT_ELEMENTS(values<bool>(run(Unary{K::logical_not}, {tensor<bool>({2}, {true, false})})),
                  false, true);
}

template <class T>
void expect_integer_kinds() {
  constexpr T low = std::numeric_limits<T>::min();
  constexpr T high = std::numeric_limits<T>::max();
  constexpr bool has_sign = std::is_signed_v<T>;
  EXPECT_THAT(of<T>({K::abs}, {low, high, 5}), ElementsAre(low, high, 5));
  EXPECT_THAT(of<T>({K::neg}, {low, 5, 0}), ElementsAre(low, static_cast<T>(-5), 0));
  EXPECT_THAT(of<T>({K::sign}, {low, high, 0}), ElementsAre(has_sign ? T(-1) : T(0), 1, 0));
  EXPECT_THAT(of<T>({K::relu}, {low, high}), ElementsAre(0, high));
  EXPECT_THAT(of<T>({K::bitwise_not}, {0, high}), ElementsAre(static_cast<T>(-1), low));
  EXPECT_THAT(of<T>({K::clip, 2, 9}, {low, 5, high}), ElementsAre(2, 5, 9));
  EXPECT_THAT(of<T>({K::clip, -inf, inf}, {low, high}), ElementsAre(low, high));
  EXPECT_THAT(of<T>({K::reciprocal}, {0, 1, 2}), ElementsAre(0, 1, 0));
  EXPECT_THAT(of<T>({K::shrink, 2, 1}, {1, 5}), ElementsAre(0, 4));
}

TEST(Unary, IntegersAtTheirExtremes) {
  expect_integer_kinds<std::int8_t>();
  expect_integer_kinds<std::int16_t>();
  expect_integer_kinds<std::int32_t>();
  expect_integer_kinds<std::int64_t>();
  expect_integer_kinds<std::uint8_t>();
  expect_integer_kinds<std::uint16_t>();
  expect_integer_kinds<std::uint32_t>();
  expect_integer_kinds<std::uint64_t>();
}

TEST(Unary, ShapesStay) {
  EXPECT_EQ(run(Unary{}, {tensor<float>({}, {1})}).shape(), Shape());
  EXPECT_EQ(run(Unary{}, {tensor<float>({2, 0, 3}, {})}).shape(), Shape({2, 0, 3}));
}

TEST(Unary, RefusesTypesThatAKindDoesNotTake) {
  const auto message = [](K kind, const Tensor& x) { return error_of(Unary{kind}, {x}); };
  EXPECT_CONTAINS(message(K::exp, tensor<std::int32_t>({1}, {1})), "exp does not take i32");
  EXPECT_CONTAINS(message(K::logical_not, tensor<float>({1}, {1})), "does not take f32");
  EXPECT_CONTAINS(message(K::bitwise_not, tensor<float>({1}, {1})), "does not take f32");
  EXPECT_CONTAINS(message(K::relu, tensor<bool>({1}, {true})), "does not take bool");
  EXPECT_CONTAINS(message(K::neg, tensor<Int4>({1}, {Int4(1)})), "does not take i4");
  using E5M2 = SmallFloatOf<SmallFloat::e5m2>;
  EXPECT_CONTAINS(message(K::abs, tensor<E5M2>({1}, {E5M2(1.0f)})), "does not take f8e5m2");
}

}  // namespace
}  // namespace quern::testing
