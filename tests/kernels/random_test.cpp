// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/random.h"

#include "kernels/reference/philox.h"
#include "tests/expect.h"
#include "tests/kernels/spatial_test.h"

namespace quern::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

Tensor shape(std::initializer_list<std::int64_t> v) {
  return tensor<std::int64_t>({static_cast<std::int64_t>(v.size())}, v);
}

// The known answers of the authors' own tests (Random123, kat_vectors).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, UniformNumbersStayBelowOne) {
  EXPECT_LT(uniform_float(~0u), 1);
  EXPECT_LT(uniform_double(~0u, ~0u), 1);
  EXPECT_EQ(uniform_float(0), 0);
}

struct Moments {
  double mean = 0, variance = 0;
};
template <class T>
Moments moments(const Tensor& t) {
  Moments m;
  const auto v = values<T>(t);
  for (T x : v) m.mean += static_cast<double>(x) / static_cast<double>(v.size());
  for (T x : v) {
    const double d = static_cast<double>(x) - m.mean;
    m.variance += d * d / static_cast<double>(v.size());
  }
  return m;
}

TEST(Random, UniformFillsItsRange) {
  const Random op{.low_or_mean = -1, .high_or_scale = 3, .seed = 42};
  const Tensor y = run(op, {shape({100, 200})});
  EXPECT_EQ(y.shape(), (Shape{100, 200}));
  for (float v : values<float>(y)) EXPECT_TRUE(v >= -1 && v < 3);
  EXPECT_NEAR(moments<float>(y).mean, 1, 0.03);
  EXPECT_NEAR(moments<float>(y).variance, 16.0 / 12, 0.03);
}

TEST(Random, NormalHasItsMoments) {
  for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    const Random op{.kind = RandomKind::normal,
                    .dtype = dtype,
                    .low_or_mean = 2,
                    .high_or_scale = 3,
                    .seed = 7};
    const Tensor y = run(op, {shape({20000})});
    EXPECT_EQ(y.dtype(), dtype);
    const Moments m = dtype == DType::f32   ? moments<float>(y)
                      : dtype == DType::f64 ? moments<double>(y)
                      : dtype == DType::f16 ? moments<Half>(y)
                                            : moments<BFloat16>(y);
    EXPECT_NEAR(m.mean, 2, 0.1);
    EXPECT_NEAR(m.variance, 9, 0.3);
  }
}

TEST(Random, ASeedIsASequence) {
  const auto draw = [](std::uint64_t seed, std::int64_t n) {
    return values<float>(run(Random{.seed = seed}, {shape({n})}));
  };
  const auto some = draw(5, 10);
  const auto more = draw(5, 20);
  EXPECT_EQ(some, draw(5, 10));
  EXPECT_TRUE(std::equal(some.begin(), some.end(), more.begin()));  // an element is its index's
  EXPECT_NE(some, draw(6, 10));
  EXPECT_NE(some, draw(std::uint64_t{5} << 32, 10));
  // Pinned: the same on every machine and in every version.
  EXPECT_EQ(draw(0, 1)[0], static_cast<float>(0x6627e8d5 >> 8) * 0x1p-24f);
}

// NumPy 1.24: u = RandomState(42).rand(6).astype(t); u *= 4.0; u += -1.0.
TEST(Random, UniformNumbersOfNumPy) {
  Random op{
      .generator = RandomGenerator::mersenne, .low_or_mean = -1, .high_or_scale = 3, .seed = 42};
  EXPECT_THAT(values<float>(run(op, {shape({2, 3})})),
              ElementsAre(0x1.fe1dc8p-2f, 0x1.66c406p+1f, 0x1.ed8fdp+0f, 0x1.6506bcp+0f,
                          -0x1.80f298p-2f, -0x1.810be4p-2f));
  op.dtype = DType::f64;
  EXPECT_THAT(values<double>(run(op, {shape({3})})),
              ElementsAre(0x1.fe1dc797d47b0p-2, 0x1.66c4068bbd654p+1, 0x1.ed8fd1e3ccea2p+0));
  op.dtype = DType::f16;
  EXPECT_THAT(values<Half>(run(op, {shape({4})})),
              ElementsAre(0x1.fep-2f, 0x1.66cp+1f, 0x1.ed8p+0f, 0x1.65p+0f));
}

// The same of randn(6), * 0.3 (as a float) + 2; and the sequence of seed 7, of an odd length.
TEST(Random, NormalNumbersOfNumPy) {
  Random op{.kind = RandomKind::normal,
            .generator = RandomGenerator::mersenne,
            .low_or_mean = 2,
            .high_or_scale = 0.3f,
            .seed = 42};
  EXPECT_THAT(values<float>(run(op, {shape({6})})),
              ElementsAre(0x1.1312e6p+1f, 0x1.f5619cp+0f, 0x1.18df0ap+1f, 0x1.3a7bfep+1f,
                          0x1.ee045cp+0f, 0x1.ee04aep+0f));
  op.dtype = DType::f16;
  EXPECT_THAT(values<Half>(run(op, {shape({3})})),
              ElementsAre(0x1.13p+1f, 0x1.f58p+0f, 0x1.18cp+1f));
  op = {.kind = RandomKind::normal,
        .generator = RandomGenerator::mersenne,
        .dtype = DType::f64,
        .seed = 7};
  EXPECT_THAT(values<double>(run(op, {shape({5})})),
              ElementsAre(0x1.b0c64ae2deb29p+0, -0x1.dd1eafa1d414dp-2, 0x1.0cdcdf34c3aedp-5,
                          0x1.a14bf2d03adc9p-2, -0x1.93edb81e0483fp-1));
}

TEST(Random, SeedsOfNumPyEndAt32Bits) {
  const Random last{
      .generator = RandomGenerator::mersenne, .dtype = DType::f64, .seed = 0xFFFFFFFF};
  EXPECT_THAT(values<double>(run(last, {shape({2})})),
              ElementsAre(0x1.8fe69a3924820p-4, 0x1.d323d824032b1p-1));
  EXPECT_CONTAINS(
      error_of(Random{.generator = RandomGenerator::mersenne, .seed = 0x100000000}, {shape({1})}),
      "the seed is 4294967296");
}

TEST(Random, ShapesAndErrors) {
  EXPECT_EQ(run(Random{}, {shape({})}).shape(), Shape{});
  EXPECT_EQ(run(Random{}, {shape({2, 0})}).shape(), (Shape{2, 0}));
  EXPECT_CONTAINS(error_of(Random{}, {shape({-1})}), "shape holds -1");
  EXPECT_CONTAINS(error_of(Random{.dtype = DType::i32}, {shape({1})}), "makes no elements of i32");
  EXPECT_CONTAINS(error_of(Random{}, {counting<float>({1})}), "must be a list of i64 or i32");
  EXPECT_EQ(dims_of(Random{}, {i64({3})}), (Dims{Dim(), Dim(), Dim()}));
  EXPECT_TRUE(Random::def().is(OpTrait::random));
}

TEST(Multinomial, DrawsByProbability) {
  const Multinomial op{.sample_size = 20000, .seed = 3};
  // Unnormalised: 1/6, 2/6, 3/6 of a common factor; a class of none.
  const Tensor x = tensor<float>({2, 4}, {std::log(1.0f), std::log(2.0f), -inf, std::log(3.0f),  //
                                          -inf, 500, -inf, 400});
  const auto y = values<std::int32_t>(run(op, {x}));
  std::array<double, 4> share{};
  for (std::size_t i = 0; i < 20000; ++i) share[static_cast<std::size_t>(y[i])] += 1.0 / 20000;
  EXPECT_NEAR(share[0], 1.0 / 6, 0.01);
  EXPECT_NEAR(share[1], 2.0 / 6, 0.01);
  EXPECT_EQ(share[2], 0);
  EXPECT_NEAR(share[3], 3.0 / 6, 0.01);
  EXPECT_THAT(std::vector<std::int32_t>(y.begin() + 20000, y.end()), Each(1));
}

TEST(Multinomial, RowsWithoutSenseGiveTheLastClass) {
  const Multinomial op{.dtype = DType::i64, .sample_size = 2};
  EXPECT_THAT(values<std::int64_t>(run(op, {filled<float>({1, 3}, -inf)})), Each(2));
  EXPECT_THAT(values<std::int64_t>(run(op, {filled<float>({1, 3}, nan)})), Each(2));
}

TEST(Multinomial, RefusesWhatDoesNotFit) {
  EXPECT_CONTAINS(error_of(Multinomial{}, {tensor<float>({1, 0}, {})}), "has no classes");
  EXPECT_CONTAINS(error_of(Multinomial{.sample_size = 0}, {counting<float>({1, 2})}),
                  "sample_size is 0");
  EXPECT_CONTAINS(error_of(Multinomial{.dtype = DType::f32}, {counting<float>({1, 2})}),
                  "draws i32 or i64");
  EXPECT_CONTAINS(error_of(Multinomial{}, {counting<float>({2})}), "must have rank 2");
}

}  // namespace
}  // namespace quern::testing
