// SPDX-License-Identifier: Apache-2.0
#include "bench/compare/agreement.h"

#include <cmath>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect.h"

namespace quern::bench {
namespace {

// 0 scale, 1 scale, ..., 999 scale
NamedTensor ramp(float scale, const Shape& shape = {1000}) {
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 0.0F);
  for (float& v : values) v *= scale;
  return {"y", Tensor::from_values<float>(DType::f32, shape, values)};
}

TEST(Disagreement, SmallRelativeDifferencesAreNone) {
  EXPECT_EQ(disagreement({ramp(1)}, {ramp(1)}), "");
  EXPECT_EQ(disagreement({ramp(1.0005F)}, {ramp(1)}), "");
  EXPECT_EQ(disagreement({ramp(1.0005e-20F)}, {ramp(1e-20F)}), "");
}

TEST(Disagreement, LargerOnesAreToldWithTheOutput) {
  EXPECT_CONTAINS(disagreement({ramp(1.01F)}, {ramp(1)}), "output 'y': at [");
  EXPECT_NE(disagreement({ramp(1.01e-20F)}, {ramp(1e-20F)}), "");
}

TEST(Disagreement, RoundingToBf16IsNone) {
  EXPECT_EQ(disagreement({ramp(1.02F)}, {ramp(1)}, Rounding::bf16), "");
  EXPECT_NE(disagreement({ramp(1.3F)}, {ramp(1)}, Rounding::bf16), "");
}

TEST(OneMinusCosine, IsTheGreatestOfAllOutputsOfF32) {
  const auto pair = [](float x, float y) {
    return Tensor::from_values<float>(DType::f32, {2}, std::vector<float>{x, y});
  };
  EXPECT_NEAR(one_minus_cosine({{"a", pair(1, 0)}, {"b", pair(1, 1)}},
                               {{"a", pair(2, 0)}, {"b", pair(1, 0)}}),
              1 - std::sqrt(0.5), 1e-6);
  EXPECT_EQ(one_minus_cosine({{"a", pair(1, 0)}}, {{"b", pair(1, 0)}}), -1);
  EXPECT_EQ(one_minus_cosine({{"a", pair(0, 0)}}, {{"a", pair(1, 0)}}), -1);
}

TEST(Disagreement, OneElementInAHundredMayDiffer) {
  NamedTensor got = ramp(1);
  auto* values = reinterpret_cast<float*>(got.tensor.mutable_data());
  for (int i = 0; i < 5; ++i) values[i] += 20;  // 0.1 of 500 on average
  EXPECT_EQ(disagreement({got}, {ramp(1)}), "");
  for (int i = 0; i < 11; ++i) values[i] += 20;
  EXPECT_NE(disagreement({got}, {ramp(1)}), "");
}

TEST(Disagreement, HalfPrecisionHasFewerBits) {
  const auto one = [](std::uint16_t bits) {
    return NamedTensor{"y", Tensor::scalar<std::uint16_t>(DType::f16, bits)};
  };
  EXPECT_EQ(disagreement({one(0x3c08)}, {one(0x3c00)}), "");  // 1.0078 against 1
  EXPECT_NE(disagreement({one(0x3c10)}, {one(0x3c00)}), "");  // 1.0156
}

TEST(Disagreement, MissingOutputsAndOtherShapes) {
  EXPECT_EQ(disagreement({}, {ramp(1)}), "output 'y' is missing");
  EXPECT_CONTAINS(disagreement({ramp(1, {10, 100})}, {ramp(1)}), "wanted f32[1000]");
}

}  // namespace
}  // namespace quern::bench
