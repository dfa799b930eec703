// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/cast.h"

#include <cmath>
#include <limits>

#include "tests/expect.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

template <class To, class From>
std::vector<To> cast(std::initializer_list<std::type_identity_t<From>> x, bool saturate = true) {
  const Shape shape = {static_cast<std::int64_t>(x.size())};
  return values<To>(run(Cast{dtype_of<To>(), saturate}, {tensor<From>(shape, x)}));
}

// The bits of powers of two that numbers become.
std::vector<int> powers(const std::vector<double>& x, PowerRounding rounding,
                        bool saturate = true) {
  const Tensor t = tensor_of_bytes({DType::f64, {static_cast<std::int64_t>(x.size())}},
                                   std::as_bytes(std::span(x)));
  std::vector<int> out;
  for (const E8M0 y : values<E8M0>(
           run(Cast{.to = DType::f8e8m0, .saturate = saturate, .rounding = rounding}, {t})))
    out.push_back(y.bits);
  return out;
}

// Bytes from 0 on as elements of T, as floats.
template <class T>
std::vector<float> all_values(int count) {
  std::vector<std::byte> bytes;
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<std::byte>(i));
  return values<float>(
      run(Cast{.to = DType::f32}, {tensor_of_bytes({dtype_of<T>(), {count}}, bytes)}));
}

template <class T>
std::vector<int> bits(const std::vector<T>& v) {
  std::vector<int> out;
  for (const T& x : v) out.push_back(x.bits);
  return out;
}

template <class From>
std::vector<std::string> to_text(std::initializer_list<std::type_identity_t<From>> x) {
  std::vector<std::string> out;
  for (const StringRef s : cast<StringRef, From>(x)) out.emplace_back(s.view());
  return out;
}

template <class To>
std::vector<To> from_text(const std::vector<std::string>& texts) {
  Tensor x = Tensor::zeros({DType::string, {static_cast<std::int64_t>(texts.size())}}).value();
  for (std::size_t i = 0; i < texts.size(); ++i)
    reinterpret_cast<StringRef*>(x.mutable_data())[i] = {texts[i].data(), texts[i].size()};
  return values<To>(run(Cast{dtype_of<To>()}, {x}));
}

TEST(Cast, FloatToIntegerTruncatesAndSaturates) {
  EXPECT_THAT((cast<std::int32_t, float>({1.9f, -1.9f, nan, inf, -inf, 3e9f})),
              ElementsAre(1, -1, 0, INT32_MAX, INT32_MIN, INT32_MAX));
  EXPECT_THAT((cast<std::uint8_t, float>({-0.9f, -5, 255.5f, 256, nan})),
              ElementsAre(0, 0, 255, 255, 0));
  EXPECT_THAT((cast<std::int64_t, double>({9.3e18, -9.3e18, 9007199254740993.0})),
              ElementsAre(INT64_MAX, INT64_MIN, 9007199254740992));
  EXPECT_THAT((cast<std::uint64_t, double>({1.8446744073709552e19, -1})),
              ElementsAre(UINT64_MAX, 0));
}

TEST(Cast, IntegerToIntegerKeepsTheLowBits) {
  EXPECT_THAT((cast<std::int8_t, std::int16_t>({200, -129, 127})), ElementsAre(-56, 127, 127));
  EXPECT_THAT((cast<std::uint64_t, std::int8_t>({-1})), ElementsAre(UINT64_MAX));
  EXPECT_THAT((cast<std::int64_t, std::uint64_t>({UINT64_MAX})), ElementsAre(-1));
}

TEST(Cast, IntegerToFloatRoundsOnce) {
  // 2^24 + 1 lies halfway; 2^53 + 2^29 + 1 would lose its last bit on the way through a double and
  // then go to the even neighbour below.
  EXPECT_THAT((cast<float, std::int32_t>({16777217, -16777219})),
              ElementsAre(16777216.0f, -16777220.0f));
  EXPECT_THAT((cast<float, std::int64_t>({(std::int64_t{1} << 53) + (1 << 29) + 1})),
              ElementsAre(9007200328482816.0f));
  // For bfloat16 the halfway point above 2^62 is 2^62 + 2^54.
  const std::int64_t tie = (std::int64_t{1} << 62) + (std::int64_t{1} << 54);
  EXPECT_ELEMENTS(bits(cast<BFloat16, std::int64_t>({tie, tie + 1, -tie - 1})), 0x5e80, 0x5e81,
                  0xde81);
  EXPECT_THAT((cast<Half, std::int32_t>({65519, 65520, 2049})),
              ElementsAre(65504.0f, inf, 2048.0f));
}

TEST(Cast, FloatToFloatRoundsToNearestEven) {
  EXPECT_ELEMENTS(
      (bits(cast<Half, float>({1 + 0x1p-11f, 1 + 0x1.8p-10f, 65520.0f, 0x1p-25f, 0x1.8p-25f}))),
      0x3c00, 0x3c02, 0x7c00, 0, 1);
  EXPECT_ELEMENTS(bits(cast<BFloat16, float>({1 + 0x1p-8f, 1 + 0x1.8p-7f, 3.4e38f, -0.0f})), 0x3f80,
                  0x3f82, 0x7f80, 0x8000);
  // A hair above the halfway point: by way of a float it would become the halfway point itself.
  EXPECT_ELEMENTS(bits(cast<Half, double>({1 + 0x1p-11 + 0x1p-40})), 0x3c01);
  EXPECT_ELEMENTS(bits(cast<BFloat16, double>({1 + 0x1p-8 + 0x1p-40, 1e300})), 0x3f81, 0x7f80);
  EXPECT_TRUE(std::isnan(cast<float, Half>({Half(nan)})[0]));
  EXPECT_THAT((cast<float, double>({1e300, -1e300})), ElementsAre(inf, -inf));
}

TEST(Cast, BoolIsZeroOrOne) {
  EXPECT_THAT((cast<bool, float>({0, -0.0f, 0.1f, nan})), ElementsAre(false, false, true, true));
  EXPECT_THAT((cast<bool, std::int64_t>({0, 256, -1})), ElementsAre(false, true, true));
  EXPECT_THAT((cast<float, bool>({true, false})), ElementsAre(1.0f, 0.0f));
}

// The bytes of ONNX's vectors for test_cast_FLOAT_to_FLOAT8* (opset 25).
TEST(Cast, EightBitFloatsSaturateWhenTold) {
  const auto x = {0.47892547f, 0.48033667f, 0.49968487f, 0.7229038f, 1e6f,
                  1e-7f,       inf,         -inf,        -1e-7f};
  using E4M3 = SmallFloatOf<SmallFloat::e4m3fn>;
  using E4M3UZ = SmallFloatOf<SmallFloat::e4m3fnuz>;
  using E5M2 = SmallFloatOf<SmallFloat::e5m2>;
  EXPECT_ELEMENTS(bits(cast<E4M3, float>(x)), 0x2f, 0x2f, 0x30, 0x34, 0x7e, 0, 0x7e, 0xfe, 0x80);
  EXPECT_ELEMENTS(bits(cast<E4M3UZ, float>(x)), 0x37, 0x37, 0x38, 0x3c, 0x7f, 0, 0x7f, 0xff, 0);
  EXPECT_ELEMENTS(bits(cast<E4M3UZ, float>(x, false)), 0x37, 0x37, 0x38, 0x3c, 0x80, 0, 0x80, 0x80,
                  0);
  EXPECT_ELEMENTS(bits(cast<E5M2, float>({1e6f, -inf, nan}, false)), 0x7c, 0xfc, 0x7e);
  EXPECT_THAT((cast<float, E4M3>({E4M3(0.4375f), E4M3(448.0f)})), ElementsAre(0.4375f, 448.0f));
  EXPECT_THAT((cast<Half, E5M2>({E5M2(-57344.0f)})), ElementsAre(-57344.0f));
}

// As ONNX's vectors have it: -9 keeps the low bits 0111. Its page on these types rounds fractions,
// halves to even.
TEST(Cast, IntegersOfFewBitsRoundAndKeepTheLowBits) {
  EXPECT_THAT((cast<Int4, float>({-9, -8, 6.9f, 8, 15})), ElementsAre(7, -8, 7, -8, -1));
  EXPECT_THAT((cast<Int4, double>({0.5, 1.5, -2.5, -3.6, nan})), ElementsAre(0, 2, -2, -4, 0));
  EXPECT_THAT((cast<UInt4, Half>({Half(2.5f), Half(3.5f)})), ElementsAre(2, 4));
  EXPECT_THAT((cast<UInt4, float>({-9, -1, 15, 16})), ElementsAre(7, 15, 15, 0));
  EXPECT_THAT((cast<Int4, std::int64_t>({9, -9})), ElementsAre(-7, 7));
  EXPECT_THAT((cast<std::int32_t, Int4>({Int4(-8), Int4(7)})), ElementsAre(-8, 7));
  EXPECT_THAT((cast<float, UInt4>({UInt4(15)})), ElementsAre(15.0f));
}

// The numbers of ONNX's test_cast_FLOAT_to_INT2 and test_cast_FLOAT_to_UINT2.
TEST(Cast, TwoBitIntegersKeepTheLowBits) {
  EXPECT_THAT((cast<Int2, float>({-3, -2, -1, 0, 1, 2, 3})), ElementsAre(1, -2, -1, 0, 1, -2, -1));
  EXPECT_THAT((cast<UInt2, float>({-3, -2, -1, 0, 1, 2, 3})), ElementsAre(1, 2, 3, 0, 1, 2, 3));
  EXPECT_THAT((cast<Int2, float>({0.5f, -0.5f, 0.6f, -1.5f})), ElementsAre(0, 0, 1, -2));
  EXPECT_THAT((cast<UInt2, std::int64_t>({7, -1})), ElementsAre(3, 3));
  EXPECT_THAT((cast<float, Int2>({Int2(-2), Int2(1)})), ElementsAre(-2.0f, 1.0f));
  EXPECT_THAT((cast<std::uint8_t, UInt2>({UInt2(0), UInt2(1), UInt2(2), UInt2(3)})),
              ElementsAre(0, 1, 2, 3));
}

// The table of docs/docsgen/source/technical/float4.md in ONNX.
TEST(Cast, FloatsOfFourBitsAreTheTable) {
  using E2M1 = SmallFloatOf<SmallFloat::e2m1>;
  EXPECT_THAT(all_values<E2M1>(16),
              ElementsAre(0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6));
  // Middles go to the even mantissa; NaN, infinity and what is out of range to 6.
  EXPECT_ELEMENTS(bits(cast<E2M1, float>({0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5, -5})), 0, 2, 2,
                  4, 4, 6, 6, 14);
  EXPECT_ELEMENTS(bits(cast<E2M1, float>({0.26f, 1e-7f, 5.01f, 1e6f, inf, -inf, nan, -nan, -0.0f})),
                  1, 0, 7, 7, 7, 15, 7, 7, 8);
  EXPECT_ELEMENTS(bits(cast<E2M1, double>({0.25 + 0x1p-40, -1e300}, false)), 1, 15);
  EXPECT_ELEMENTS(bits(cast<E2M1, std::int32_t>({5, -7, 3})), 6, 15, 5);
}

TEST(Cast, PowersOfTwoAreEveryByte) {
  const std::vector<float> all = all_values<E8M0>(256);
  for (int i = 0; i < 255; ++i)
    EXPECT_EQ(all[static_cast<std::size_t>(i)], std::ldexp(1.0f, i - 127)) << i;
  EXPECT_TRUE(std::isnan(all[255]));
}

TEST(Cast, PowersOfTwoRoundAsTold) {
  using R = PowerRounding;
  const std::vector<double> x = {1, 1 + 0x1p-50, 1.499, 1.5, 1.999, 0x1.8p-127, 0x1.8p126};
  EXPECT_ELEMENTS(powers(x, R::up), 127, 128, 128, 128, 128, 1, 254);
  EXPECT_ELEMENTS(powers(x, R::down), 127, 127, 127, 127, 127, 0, 253);
  EXPECT_ELEMENTS(powers(x, R::nearest), 127, 127, 127, 128, 128, 1, 254);
}

// The two tables of Cast in ONNX's Operators.md; what it leaves open (numbers below 0) are numbers
// below the range.
TEST(Cast, PowersOfTwoSaturateWhenTold) {
  using R = PowerRounding;
  const std::vector<double> x = {0, nan, inf, 0x1.01p127, 0x1.8p-128, 0x1p127, 0x1p-127, -4, -inf};
  EXPECT_ELEMENTS(powers(x, R::up), 0, 255, 254, 254, 0, 254, 0, 0, 0);
  EXPECT_ELEMENTS(powers(x, R::nearest, false), 255, 255, 255, 255, 255, 254, 0, 255, 255);
  EXPECT_ELEMENTS(powers({0x1.01p127, 0x1p-128}, R::down, false), 255, 255);
  // ONNX's test_cast_e8m0_FLOAT_to_FLOAT8E8M0.
  EXPECT_ELEMENTS(bits(cast<E8M0, float>({0, 0.124f, 0.25f, 0.5f, 1.1f, 2, 4, 8})), 0, 124, 125,
                  126, 128, 128, 129, 130);
  EXPECT_THAT((cast<Half, E8M0>({E8M0(0.125), E8M0(1024.0)})), ElementsAre(0.125f, 1024.0f));
  EXPECT_ELEMENTS(to_text<E8M0>({E8M0(0.5), E8M0(8.0)}), "0.5", "8");
}

TEST(Cast, NumbersToTextAreTheShortestThatReadBack) {
  EXPECT_THAT(
      to_text<float>({0.9767611f, 0.039187793f, 314.15926f, -0.0f, 1000, 0.0002f, 1e-6f, 1e30f}),
      ElementsAre("0.9767611", "0.039187793", "314.15927", "-0", "1000", "0.0002", "1e-06",
                  "1e+30"));
  EXPECT_THAT(to_text<float>({nan, inf, -inf}), ElementsAre("NaN", "INF", "-INF"));
  EXPECT_THAT(to_text<double>({0.1, 1e15, 5e-324}),
              ElementsAre("0.1", "1000000000000000", "5e-324"));
  EXPECT_THAT(to_text<Half>({Half(0.1f), Half(65504.0f)}), ElementsAre("0.1", "65500"));
  EXPECT_THAT(to_text<BFloat16>({BFloat16(0.1f)}), ElementsAre("0.1"));
  EXPECT_THAT(to_text<std::int64_t>({INT64_MIN, 0}), ElementsAre("-9223372036854775808", "0"));
  EXPECT_THAT(to_text<std::uint64_t>({UINT64_MAX}), ElementsAre("18446744073709551615"));
  EXPECT_THAT(to_text<bool>({true, false}), ElementsAre("1", "0"));
}

TEST(Cast, TextToNumbers) {
  EXPECT_THAT(
      from_text<float>({"3.14", "1e-5", "1E8", "+INF", "inf", "-Inf", " 7 ", ".5", "-0.25"}),
      ElementsAre(3.14f, 1e-5f, 1e8f, inf, inf, -inf, 7.0f, 0.5f, -0.25f));
  EXPECT_TRUE(std::isnan(from_text<float>({"nan"})[0]));
  EXPECT_THAT(from_text<std::int64_t>({"-9223372036854775808", "100.5", "+12"}),
              ElementsAre(INT64_MIN, 100, 12));
  EXPECT_THAT(from_text<std::uint64_t>({"18446744073709551615"}), ElementsAre(UINT64_MAX));
  EXPECT_THAT(from_text<bool>({"1", "0", "True", "false"}), ElementsAre(true, false, true, false));
  EXPECT_THAT(from_text<Half>({"65504", "1e9"}), ElementsAre(65504.0f, inf));
}

TEST(Cast, TextOutOfRangeIsInfinityOrZero) {
  EXPECT_THAT(from_text<float>({"1e39", "-1e999", "1e-999", "0.00001e400", "123e-400"}),
              ElementsAre(inf, -inf, 0.0f, inf, 0.0f));
  EXPECT_THAT(from_text<double>({"1e99999999999999999999", "1e-99999999999999999999"}),
              ElementsAre(std::numeric_limits<double>::infinity(), 0.0));
}

TEST(Cast, TextStaysText) {
  const Tensor x = tensor<StringRef>({2}, {{"ab", 2}, {"", 0}});
  const Tensor y = run(Cast{DType::string}, {x});
  EXPECT_EQ(y.span<StringRef>()[0].view(), "ab");
  EXPECT_EQ(y.span<StringRef>()[1].view(), "");
}

TEST(Cast, RefusesTextThatIsNoNumber) {
  for (const char* s : {"", "hello", "1x", "+-1", "0x10", "1e"}) {
    const Tensor x = tensor<StringRef>({1}, {{s, std::string_view(s).size()}});
    EXPECT_CONTAINS(error_of(Cast{DType::f32}, {x}), "is not a number") << s;
    EXPECT_CONTAINS(error_of(Cast{DType::i32}, {x}), "is not a number") << s;
  }
}

TEST(Cast, LongTensorsGoThroughInPieces) {
  Tensor x = Tensor::zeros({DType::i32, {3, 333}}).value();
  std::vector<float> wanted;
  for (int i = 0; i < 999; ++i) {
    reinterpret_cast<std::int32_t*>(x.mutable_data())[i] = i - 500;
    wanted.push_back(static_cast<float>(i - 500));
  }
  const Tensor y = run(Cast{DType::f32}, {x});
  EXPECT_EQ(y.shape(), x.shape());
  EXPECT_THAT(values<float>(y), ElementsAreArray(wanted));
  EXPECT_EQ(run(Cast{DType::f32}, {tensor<double>({0, 2}, {})}).shape(), Shape({0, 2}));
}

TEST(Bf16Parts, AreThreeTermsOfEachNumber) {
  constexpr float x = 1 + 0x1p-9F;  // half way to the next: rounds to 1
  const auto left = run(Bf16Parts{0, Bf16Factor::left}, {tensor<float>({2}, {x, -3})});
  EXPECT_THAT(bits(values<BFloat16>(left)), ElementsAre(0x3f80, 0xc040, 0x3f80, 0xc040, 0x3b00, 0));
  const auto right = run(Bf16Parts{-1, Bf16Factor::right}, {tensor<float>({1, 2}, {x, -3})});
  EXPECT_THAT(bits(values<BFloat16>(right)),
              ElementsAre(0x3f80, 0xc040, 0x3b00, 0, 0x3f80, 0xc040));
}

TEST(Bf16Parts, OfWhatBf16CannotHoldAreFiniteOrHaveNoRest) {
  constexpr float largest = std::numeric_limits<float>::max();
  const auto y = values<BFloat16>(run(Bf16Parts{}, {tensor<float>({3}, {largest, inf, nan})}));
  EXPECT_EQ(y[0].bits, 0x7f7f);
  EXPECT_EQ(y[1].bits, 0x7f80);
  EXPECT_TRUE(std::isnan(static_cast<float>(y[2])));
  EXPECT_EQ(y[7].bits, 0);
  EXPECT_EQ(y[8].bits, 0);
}

TEST(Bf16Parts, RefusesOtherTypesAndAxes) {
  EXPECT_THAT(error_of(Bf16Parts{}, {tensor<double>({1}, {1})}), ::testing::HasSubstr("f32"));
  EXPECT_THAT(error_of(Bf16Parts{1}, {tensor<float>({1}, {1})}), ::testing::HasSubstr("axis 1"));
}

}  // namespace
}  // namespace quern::testing
