// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/attention.h"

#include <cmath>
#include <limits>

#include "tests/expect.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::IsNan;

// Scores ln 3 and 0 become weights 3/4 and 1/4.
const float ln3 = std::log(3.0f);
const Tensor q = tensor<float>({1, 1, 1}, {1});
const Tensor k = tensor<float>({1, 2, 1}, {ln3, 0});
const Tensor v = tensor<float>({1, 2, 2}, {4, 8, 0, 4});

auto near(float x) {
  return FloatNear(x, 1e-6f);
}

TEST(Attention, WeighsTheValues) {
  const Tensor y = run(Attention{}, {q, k, v});
  EXPECT_EQ(y.shape(), Shape({1, 1, 2}));
  EXPECT_THAT(values<float>(y), ElementsAre(near(3), near(7)));
  const Tensor half = run(Attention{.scale = 0}, {q, k, v});
  EXPECT_ELEMENTS(values<float>(half), 2, 6);
}

TEST(Attention, KeysMayLieTransposed) {
  const Tensor q2 = tensor<float>({1, 1, 2}, {1, 2});
  const Tensor k2 = tensor<float>({1, 3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor t2 = tensor<float>({1, 2, 3}, {1, 3, 5, 2, 4, 6});
  const Tensor v2 = tensor<float>({1, 3, 1}, {1, 2, 4});
  EXPECT_EQ(values<float>(run(Attention{.scale = 0.1f}, {q2, k2, v2})),
            values<float>(run(Attention{.scale = 0.1f, .k_transposed = true}, {q2, t2, v2})));
}

TEST(Attention, MasksAddOrKeep) {
  const auto with = [](const Tensor& mask) {
    return values<float>(run(Attention{}, {q, k, v, mask}));
  };
  EXPECT_THAT(with(tensor<float>({2}, {-ln3, 0})), ElementsAre(near(2), near(6)));
  EXPECT_ELEMENTS(with(tensor<float>({1, 1, 2}, {-inf, 0})), 0, 4);
  EXPECT_ELEMENTS(with(tensor<bool>({2}, {true, false})), 4, 8);
  EXPECT_THAT(with(tensor<float>({1}, {5})), ElementsAre(near(3), near(7)));
}

TEST(Attention, ARowWithoutKeysIsZero) {
  const auto with = [](const Tensor& mask) {
    return values<float>(run(Attention{}, {q, k, v, mask}));
  };
  EXPECT_ELEMENTS(with(tensor<bool>({2}, {false, false})), 0, 0);
  EXPECT_ELEMENTS(with(tensor<float>({}, {-inf})), 0, 0);
  const Tensor none =
      run(Attention{}, {q, tensor<float>({1, 0, 1}, {}), tensor<float>({1, 0, 2}, {})});
  EXPECT_ELEMENTS(values<float>(none), 0, 0);
}

TEST(Attention, HeadsShareKeyHeads) {
  // Four query heads, two key heads of one key each: 0 and 1 read 10, 2 and 3 read 20.
  const Tensor q4 = tensor<float>({1, 4, 1, 1}, {1, 2, 3, 4});
  const Tensor k2 = tensor<float>({1, 2, 1, 1}, {1, 1});
  const Tensor v2 = tensor<float>({1, 2, 1, 1}, {10, 20});
  EXPECT_ELEMENTS(values<float>(run(Attention{}, {q4, k2, v2})), 10, 10, 20, 20);
}

TEST(Attention, BatchesBroadcast) {
  const Tensor v2 = tensor<float>({2, 1, 2, 1}, {4, 0, 8, 4});
  const Tensor q1 = q.reshaped({1, 1, 1, 1});
  const Tensor k1 = k.reshaped({1, 1, 2, 1});
  const Tensor y = run(Attention{}, {q1, k1, v2});
  EXPECT_EQ(y.shape(), Shape({2, 1, 1, 1}));
  EXPECT_THAT(values<float>(y), ElementsAre(near(3), near(7)));
  const Tensor mask = tensor<bool>({2, 1, 1, 2}, {true, false, false, true});
  EXPECT_ELEMENTS(values<float>(run(Attention{}, {q1, k1, v2, mask})), 4, 4);
}

TEST(Attention, NanLargeScoresAndSixteenBits) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(values<float>(run(Attention{}, {q, tensor<float>({1, 2, 1}, {nan, 0}), v})),
              ElementsAre(IsNan(), IsNan()));
  EXPECT_ELEMENTS(values<float>(run(Attention{.scale = 1e6f}, {q, k, v})), 4, 8);
  const Half one(1.0f);
  const Tensor h = tensor<Half>({1, 1, 1}, {one});
  EXPECT_THAT(values<Half>(run(Attention{}, {h, h, h})), ElementsAre(1.0f));
}

TEST(Attention, CountsOperations) {
  const std::vector<TensorType> in = {
      {DType::f32, {2, 4, 3, 5}}, {DType::f32, {2, 4, 7, 5}}, {DType::f32, {2, 4, 7, 6}}};
  const std::vector<TensorType> out = {{DType::f32, {2, 4, 3, 6}}};
  EXPECT_EQ(cost_of(Attention{}, in, out).flops, 2.0 * 2 * 4 * 3 * 7 * (5 + 6));
}

TEST(Attention, RefusesWhatDoesNotFit) {
  EXPECT_CONTAINS(error_of(Attention{}, {q, q, v}), "number of keys is 1 in one operand and 2");
  EXPECT_CONTAINS(error_of(Attention{.k_transposed = true}, {q, k, v}), "width is 1");
  EXPECT_CONTAINS(error_of(Attention{}, {q, k, tensor<float>({2, 1}, {1, 2})}), "one rank");
  const Tensor heads = tensor<float>({3, 1, 1}, {1, 2, 3});
  const Tensor key_heads = tensor<float>({2, 1, 1}, {1, 2});
  EXPECT_CONTAINS(error_of(Attention{}, {heads, key_heads, key_heads}),
                  "3 heads are no multiple of 2 key heads");
  EXPECT_CONTAINS(error_of(Attention{}, {q, k, v, tensor<float>({3}, {1, 2, 3})}),
                  "input 3 (f32[3]) does not broadcast to f32[1,1,2]");
  EXPECT_CONTAINS(error_of(Attention{}, {q, k, v, tensor<std::int32_t>({2}, {1, 2})}),
                  "input 3 (i32[2]) must be of f32");
}

}  // namespace
}  // namespace quern::testing
