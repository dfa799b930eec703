// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/binary.h"

#include <cmath>
#include <limits>

#include "tests/expect.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsNan;
using K = BinaryKind;

template <class T, class Y = T>
std::vector<Y> of(K kind, std::initializer_list<std::type_identity_t<T>> a,
                  std::initializer_list<std::type_identity_t<T>> b) {
  return values<Y>(run(Binary{kind}, {tensor<T>({static_cast<std::int64_t>(a.size())}, a),
                                      tensor<T>({static_cast<std::int64_t>(b.size())}, b)}));
}
template <class T>
T one(K kind, T a, T b) {
  return of<T>(kind, {a}, {b})[0];
}

TEST(Binary, FloatArithmetic) {
  EXPECT_ELEMENTS(of<float>(K::add, {1, 2}, {3, 4}), 4, 6);
  EXPECT_ELEMENTS(of<float>(K::sub, {1, 2}, {3, 5}), -2, -3);
  EXPECT_ELEMENTS(of<float>(K::mul, {1, -2}, {3, 4}), 3, -8);
  EXPECT_THAT(of<float>(K::div, {1, 1, 0, -1}, {4, 0, 0, 0}),
              ElementsAre(0.25f, inf, IsNan(), -inf));
  EXPECT_ELEMENTS(of<float>(K::pow, {2, 4, 0, -8}, {3, 0.5f, -1, 3}), 8, 2, inf, -512);
  EXPECT_THAT(of<float>(K::prelu, {-2, 3, nan}, {0.5f, 0.5f, 1}), ElementsAre(-1, 3, IsNan()));
  EXPECT_THAT(of<double>(K::add, {0.1}, {0.2}), ElementsAre(0.1 + 0.2));
}

TEST(Binary, SixteenBitFloatsRoundOnce) {
  EXPECT_EQ(one(K::add, Half(2048.0f), Half(3.0f)), 2052.0f);  // 2051 lies halfway: to even
  EXPECT_EQ(one(K::mul, Half(300.0f), Half(300.0f)), inf);
  EXPECT_EQ(one(K::div, BFloat16(1.0f), BFloat16(3.0f)).bits, 0x3eab);
}

TEST(Binary, ModTakesTheSignOfTheDivisorFmodOfTheDividend) {
  EXPECT_ELEMENTS(of<float>(K::mod, {5.5f, -5.5f, 5.5f, -5.5f}, {3, 3, -3, -3}), 2.5f, 0.5f, -0.5f,
                  -2.5f);
  EXPECT_ELEMENTS(of<float>(K::fmod, {5.5f, -5.5f, 5.5f}, {3, 3, -3}), 2.5f, -2.5f, 2.5f);
  EXPECT_THAT(of<std::int32_t>(K::mod, {5, -5, 5, -5}, {3, 3, -3, -3}), ElementsAre(2, 1, -1, -2));
  EXPECT_THAT(of<std::int32_t>(K::fmod, {5, -5, 5, -5}, {3, 3, -3, -3}), ElementsAre(2, -2, 2, -2));
  EXPECT_THAT(of<std::uint8_t>(K::mod, {250}, {7}), ElementsAre(5));
  EXPECT_THAT(of<float>(K::mod, {1, 1}, {0, inf}), ElementsAre(IsNan(), 1));
}

TEST(Binary, MinAndMaxLetNanThrough) {
  for (const K kind : {K::min, K::max}) {
    EXPECT_THAT(of<float>(kind, {nan, 1, nan}, {1, nan, nan}),
                ElementsAre(IsNan(), IsNan(), IsNan()));
    EXPECT_TRUE(std::isnan(one(kind, Half(nan), Half(1.0f))));
  }
  EXPECT_ELEMENTS(of<float>(K::min, {1, -inf}, {2, 5}), 1, -inf);
  EXPECT_ELEMENTS(of<float>(K::max, {1, -inf}, {2, 5}), 2, 5);
  EXPECT_THAT(of<std::uint16_t>(K::max, {1, 65535}, {2, 0}), ElementsAre(2, 65535));
}

template <class T>
void expect_integers_wrap() {
  using Limits = std::numeric_limits<T>;
  constexpr T low = Limits::min();
  constexpr T high = Limits::max();
  const T minus_one = static_cast<T>(-1);
  EXPECT_EQ(one(K::add, high, T(1)), low);
  EXPECT_EQ(one(K::sub, low, T(1)), high);
  EXPECT_EQ(one(K::mul, high, T(2)), static_cast<T>(-2));
  EXPECT_EQ(one(K::div, T(7), T(2)), T(3));
  EXPECT_EQ(one(K::div, T(7), T(0)), T(0));
  EXPECT_EQ(one(K::mod, T(7), T(0)), T(0));
  EXPECT_EQ(one(K::fmod, T(7), T(0)), T(0));
  EXPECT_EQ(one(K::pow, T(3), T(4)), T(81));
  EXPECT_EQ(one(K::pow, T(2), T(Limits::digits + Limits::is_signed)), T(0));
  EXPECT_EQ(one(K::pow, T(0), T(0)), T(1));
  EXPECT_EQ(one(K::min, low, high), low);
  EXPECT_EQ(one(K::max, low, high), high);
  if constexpr (std::is_signed_v<T>) {
    EXPECT_EQ(one(K::div, low, minus_one), low);
    EXPECT_EQ(one(K::mod, low, minus_one), T(0));
    EXPECT_EQ(one(K::fmod, low, minus_one), T(0));
    EXPECT_EQ(one(K::div, T(-7), T(2)), T(-3));
    EXPECT_EQ(one(K::pow, T(2), T(-1)), T(0));
    EXPECT_EQ(one(K::pow, T(-1), T(-3)), T(-1));
    EXPECT_EQ(one(K::pow, T(-2), T(3)), T(-8));
    EXPECT_EQ(one(K::prelu, T(-2), T(3)), T(-6));
  }
  EXPECT_EQ(one(K::bitwise_and, T(12), T(10)), T(8));
  EXPECT_EQ(one(K::bitwise_or, T(12), T(10)), T(14));
  EXPECT_EQ(one(K::bitwise_xor, T(12), T(10)), T(6));
  EXPECT_EQ(one(K::shift_left, T(1), T(3)), T(8));
  EXPECT_EQ(one(K::shift_right, T(12), T(2)), T(3));
  EXPECT_EQ(one(K::shift_left, T(1), T(8 * sizeof(T))), T(0));
  EXPECT_EQ(one(K::shift_right, high, T(8 * sizeof(T))), T(0));
}

TEST(Binary, IntegersWrapAndDivisionByZeroIsZero) {
  expect_integers_wrap<std::int8_t>();
  expect_integers_wrap<std::int16_t>();
  expect_integers_wrap<std::int32_t>();
  expect_integers_wrap<std::int64_t>();
  expect_integers_wrap<std::uint8_t>();
  expect_integers_wrap<std::uint16_t>();
  expect_integers_wrap<std::uint32_t>();
  expect_integers_wrap<std::uint64_t>();
}

TEST(Binary, PowOfMixedTypes) {
  const auto power = []<class A, class B>(A a, B b) {
    return values<A>(run(Binary{K::pow}, {tensor<A>({1}, {a}), tensor<B>({1}, {b})}))[0];
  };
  EXPECT_EQ(power(2.0f, std::int64_t{10}), 1024);
  EXPECT_EQ(power(2.0f, std::uint64_t{3}), 8);
  EXPECT_EQ(power(std::int32_t{3}, 2.0f), 9);
  EXPECT_EQ(power(std::int32_t{2}, 0.5), 1);
  EXPECT_EQ(power(std::int32_t{2}, std::int64_t{31}), INT32_MIN);
  EXPECT_EQ(power(std::int32_t{10}, 20.0f), INT32_MAX);
  EXPECT_EQ(power(std::int64_t{-1}, std::uint64_t{UINT64_MAX}), -1);
  EXPECT_EQ(power(std::uint64_t{UINT64_MAX}, std::int32_t{-1}), 0u);
  EXPECT_EQ(power(Half(3.0f), std::int32_t{2}), 9.0f);
  EXPECT_EQ(power(2.0, std::int8_t{-1}), 0.5);
}

TEST(Binary, Comparisons) {
  const auto of_floats = [](K kind) {
    return of<float, bool>(kind, {1, 2, 3, nan}, {2, 2, 2, nan});
  };
  EXPECT_ELEMENTS(of_floats(K::equal), false, true, false, false);
  EXPECT_ELEMENTS(of_floats(K::less), true, false, false, false);
  EXPECT_ELEMENTS(of_floats(K::less_equal), true, true, false, false);
  EXPECT_ELEMENTS(of_floats(K::greater), false, false, true, false);
  EXPECT_ELEMENTS(of_floats(K::greater_equal), false, true, true, false);
  EXPECT_THAT((of<float, bool>(K::equal, {0.0f, inf}, {-0.0f, inf})), ElementsAre(true, true));
  EXPECT_THAT((of<std::uint64_t, bool>(K::greater, {UINT64_MAX}, {1})), ElementsAre(true));
  EXPECT_THAT((of<std::int64_t, bool>(K::less, {INT64_MIN}, {1})), ElementsAre(true));
  EXPECT_THAT((of<Half, bool>(K::less, {Half(-1.0f)}, {Half(1.0f)})), ElementsAre(true));
  EXPECT_THAT((of<bool>(K::equal, {true, false}, {true, true})), ElementsAre(true, false));
  EXPECT_THAT((of<StringRef, bool>(K::equal, {{"ab", 2}, {"ab", 2}}, {{"ab", 2}, {"a", 1}})),
              ElementsAre(true, false));
}

TEST(Binary, Logic) {
  const auto table = [](K kind) {
    return of<bool>(kind, {false, false, true, true}, {false, true, false, true});
  };
  EXPECT_ELEMENTS(table(K::logical_and), false, false, false, true);
  EXPECT_ELEMENTS(table(K::logical_or), false, true, true, true);
  EXPECT_ELEMENTS(table(K::logical_xor), false, true, true, false);
}

TEST(Binary, Broadcasts) {
  const Tensor column = tensor<float>({2, 1}, {10, 20});
  const Tensor row = tensor<float>({3}, {1, 2, 3});
  const Tensor y = run(Binary{K::sub}, {column, row});
  EXPECT_EQ(y.shape(), Shape({2, 3}));
  EXPECT_ELEMENTS(values<float>(y), 9, 8, 7, 19, 18, 17);
  EXPECT_EQ(run(Binary{}, {tensor<float>({}, {1}), tensor<float>({}, {1})}).shape(), Shape());
  EXPECT_EQ(run(Binary{}, {tensor<float>({1, 0}, {}), column}).shape(), Shape({2, 0}));
  const Tensor deep = run(Binary{}, {tensor<float>({2, 1, 1, 1, 1, 1, 1, 1}, {1, 2}), row});
  EXPECT_EQ(deep.shape(), Shape({2, 1, 1, 1, 1, 1, 1, 3}));
}

TEST(Binary, RefusesWhatDoesNotFit) {
  const Tensor f = tensor<float>({2}, {1, 2});
  const auto message = [](K kind, const Tensor& a, const Tensor& b) {
    return error_of(Binary{kind}, {a, b});
  };
  EXPECT_CONTAINS(message(K::add, f, tensor<float>({3}, {1, 2, 3})), "does not broadcast");
  EXPECT_CONTAINS(message(K::add, f, tensor<double>({2}, {1, 2})), "must have one element type");
  EXPECT_CONTAINS(message(K::logical_and, f, f), "logical_and does not take f32");
  EXPECT_CONTAINS(message(K::bitwise_or, f, f), "bitwise_or does not take f32");
  const Tensor flag = tensor<bool>({1}, {true});
  EXPECT_CONTAINS(message(K::less, flag, flag), "less does not take bool");
  EXPECT_CONTAINS(message(K::pow, f, flag), "pow does not take f32 and bool");
  const Tensor nibble = tensor<Int4>({1}, {Int4(1)});
  EXPECT_CONTAINS(message(K::add, nibble, nibble), "add does not take i4");
  EXPECT_CONTAINS(message(K::equal, nibble, nibble), "equal does not take i4");
}

}  // namespace
}  // namespace quern::testing
