// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/batch_norm.h"

#include <cmath>

#include "tests/expect.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;

using ::testing::IsNan;

// Two channels: scale 2 and 1, bias 1 and 0, mean 1 and 0, variance 4 and 1.
const Tensor scale = tensor<float>({2}, {2, 1});
const Tensor bias = tensor<float>({2}, {1, 0});
const Tensor mean = tensor<float>({2}, {1, 0});
const Tensor variance = tensor<float>({2}, {4, 1});
const BatchNorm exact = {.epsilon = 0};
const BatchNorm training = {.epsilon = 0, .momentum = 0.75f, .training = true};

TEST(BatchNorm, EachChannelByItsOwnNumbers) {
  const Tensor x = tensor<float>({2, 2, 2}, {1, 3, 1, 3, 5, 7, 5, 7});
  const Tensor y = run(exact, {x, scale, bias, mean, variance});
  EXPECT_ELEMENTS(values<float>(y), 1, 3, 1, 3, 5, 7, 5, 7);
}

TEST(BatchNorm, EpsilonStandsUnderTheRoot) {
  const Tensor one = tensor<float>({1}, {1});
  const Tensor zero = tensor<float>({1}, {0});
  EXPECT_ELEMENTS(values<float>(run(BatchNorm{.epsilon = 3},
                                    {tensor<float>({1, 1}, {4}), one, zero, zero, one})),
                  2);
}

TEST(BatchNorm, AVectorHasOneChannel) {
  const Tensor one = tensor<float>({1}, {1});
  const Tensor y = run(exact, {tensor<float>({3}, {1, 2, 3}), one, one, one, one});
  EXPECT_ELEMENTS(values<float>(y), 1, 2, 3);
}

TEST(BatchNorm, TrainingUsesTheBatch) {
  // Channel 0 holds 1, 3, 5, 7: mean 4, variance 5. Channel 1 holds 2, 2, 2, 6: mean 3, variance 3.
  const Tensor x = tensor<float>({2, 2, 2}, {1, 3, 2, 2, 5, 7, 2, 6});
  const auto y = run_reference(training, {x, scale, bias, mean, variance}, 3);
  ASSERT_TRUE(y);
  EXPECT_ELEMENTS(values<float>((*y)[1]), 1.75f, 0.75f);
  EXPECT_ELEMENTS(values<float>((*y)[2]), 4.25f, 1.5f);
  const auto v = values<float>((*y)[0]);
  EXPECT_FLOAT_EQ(v[0], -3 / std::sqrt(5.0f) * 2 + 1);
  EXPECT_FLOAT_EQ(v[7], 3 / std::sqrt(3.0f));
}

TEST(BatchNorm, OverNothing) {
  const auto y =
      run_reference(training, {tensor<float>({0, 2, 3}, {}), scale, bias, mean, variance}, 3);
  ASSERT_TRUE(y);
  EXPECT_EQ((*y)[0].shape(), Shape({0, 2, 3}));
  EXPECT_THAT(values<float>((*y)[1]), ElementsAre(IsNan(), IsNan()));
}

TEST(BatchNorm, ParametersOfAnotherType) {
  const Tensor x = tensor<Half>({1, 2}, {Half(3.0f), Half(3.0f)});
  const Tensor y = run(exact, {x, scale, bias, mean, tensor<double>({2}, {4, 1})});
  EXPECT_EQ(y.dtype(), DType::f16);
  EXPECT_THAT(values<Half>(y), ElementsAre(3.0f, 3.0f));
}

TEST(BatchNorm, RefusesWhatDoesNotFit) {
  const Tensor x = tensor<float>({1, 3}, {1, 2, 3});
  EXPECT_CONTAINS(error_of(exact, {x, scale, bias, mean, variance}),
                  "input 1 (f32[2]) must have one element for each channel of input 0");
  EXPECT_CONTAINS(error_of(exact, {tensor<float>({}, {1}), scale, bias, mean, variance}),
                  "at least one dimension");
  EXPECT_CONTAINS(error_of(exact, {tensor<float>({1, 2}, {1, 2}), scale, bias, mean, variance}, 3),
                  "in training mode only");
  EXPECT_CONTAINS(
      error_of(exact, {tensor<std::int32_t>({1, 2}, {1, 2}), scale, bias, mean, variance}),
      "must be of f32");
}

}  // namespace
}  // namespace quern::testing
