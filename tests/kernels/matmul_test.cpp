// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/matmul.h"

#include <limits>

#include "tests/expect.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsNan;

const Tensor a23 = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
const Tensor b32 = tensor<float>({3, 2}, {7, 8, 9, 10, 11, 12});

TEST(MatMul, Matrices) {
  const Tensor y = run(MatMul{}, {a23, b32});
  EXPECT_EQ(y.shape(), Shape({2, 2}));
  EXPECT_ELEMENTS(values<float>(y), 58, 64, 139, 154);
}

TEST(MatMul, VectorsLeaveNoDimension) {
  const Tensor v = tensor<float>({3}, {1, 0, -1});
  const Tensor dot = run(MatMul{}, {v, v});
  EXPECT_EQ(dot.shape(), Shape());
  EXPECT_ELEMENTS(values<float>(dot), 2);
  const Tensor left = run(MatMul{}, {v, b32});
  EXPECT_EQ(left.shape(), Shape({2}));
  EXPECT_ELEMENTS(values<float>(left), -4, -4);
  const Tensor right = run(MatMul{}, {a23, v});
  EXPECT_EQ(right.shape(), Shape({2}));
  EXPECT_ELEMENTS(values<float>(right), -2, -2);
}

TEST(MatMul, BatchesBroadcast) {
  const Tensor a = tensor<float>({2, 1, 1, 2}, {1, 2, 3, 4});
  const Tensor b = tensor<float>({3, 2, 1}, {1, 0, 0, 1, 1, 1});
  const Tensor y = run(MatMul{}, {a, b});
  EXPECT_EQ(y.shape(), Shape({2, 3, 1, 1}));
  EXPECT_ELEMENTS(values<float>(y), 1, 2, 3, 3, 4, 7);
  EXPECT_EQ(run(MatMul{}, {a, tensor<float>({2}, {1, 1})}).shape(), Shape({2, 1, 1}));
}

TEST(MatMul, TransposeAndAlpha) {
  EXPECT_ELEMENTS(values<float>(run(MatMul{.transpose_a = true, .alpha = 0.5f}, {a23, a23})), 8.5f,
                  11, 13.5f, 11, 14.5f, 18, 13.5f, 18, 22.5f);
  EXPECT_ELEMENTS(values<float>(run(MatMul{.transpose_b = true}, {a23, a23})), 14, 32, 32, 77);
  // A vector has nothing to transpose.
  const Tensor v = tensor<float>({2}, {1, 2});
  EXPECT_ELEMENTS(values<float>(run(MatMul{.transpose_a = true, .transpose_b = true}, {v, b32})),
                  23, 29, 35);
}

TEST(MatMul, NoDepthGivesZeros) {
  const Tensor y = run(MatMul{}, {tensor<float>({2, 0}, {}), tensor<float>({0, 3}, {})});
  EXPECT_EQ(y.shape(), Shape({2, 3}));
  EXPECT_ELEMENTS(values<float>(y), 0, 0, 0, 0, 0, 0);
  EXPECT_EQ(run(MatMul{}, {tensor<float>({0, 3}, {}), b32}).shape(), Shape({0, 2}));
}

TEST(MatMul, ElementTypes) {
  const auto twice = []<class T>(T big) {
    return values<T>(run(MatMul{}, {tensor<T>({1}, {big}), tensor<T>({1}, {T(2)})}))[0];
  };
  EXPECT_EQ(twice(std::int32_t{INT32_MAX}), -2);
  EXPECT_EQ(twice(std::uint32_t{UINT32_MAX}), UINT32_MAX - 1);
  EXPECT_EQ(twice(std::int64_t{INT64_MIN}), 0);
  EXPECT_EQ(twice(std::uint64_t{UINT64_MAX}), UINT64_MAX - 1);
  EXPECT_EQ(twice(0.1), 0.2);
  // Rounded once: one by one 2048 + 1 would stay 2048.
  const Tensor h = tensor<Half>({3}, {Half(2048.0f), Half(1.0f), Half(1.0f)});
  const Tensor ones = tensor<Half>({3}, {Half(1.0f), Half(1.0f), Half(1.0f)});
  EXPECT_THAT(values<Half>(run(MatMul{}, {h, ones})), ElementsAre(2050.0f));
  const Tensor b = tensor<BFloat16>({2}, {BFloat16(256.0f), BFloat16(2.0f)});
  EXPECT_THAT(values<BFloat16>(run(MatMul{.alpha = 0.5f}, {b, b})), ElementsAre(32768.0f));
}

TEST(MatMul, SumsInDouble) {
  EXPECT_ELEMENTS(values<float>(run(MatMul{}, {tensor<float>({3}, {1e20f, 1, -1e20f}),
                                               tensor<float>({3}, {1e10f, 1, 1e10f})})),
                  0);
  EXPECT_ELEMENTS(values<float>(run(MatMul{}, {tensor<float>({3}, {16777216, 1, 1}),
                                               tensor<float>({3}, {1, 1, 1})})),
                  16777218);
}

TEST(MatMul, NanAndInfinity) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor y =
      run(MatMul{}, {tensor<float>({1, 2}, {inf, 0}), tensor<float>({2, 2}, {1, 0, 0, 0})});
  EXPECT_THAT(values<float>(y), ElementsAre(inf, IsNan()));
}

TEST(MatMul, CountsOperations) {
  const std::vector<TensorType> in = {{DType::f32, {5, 2, 3}}, {DType::f32, {3, 4}}};
  const std::vector<TensorType> out = {{DType::f32, {5, 2, 4}}};
  const Cost cost = cost_of(MatMul{}, in, out);
  EXPECT_EQ(cost.flops, 2.0 * 5 * 2 * 3 * 4);
  EXPECT_EQ(cost.bytes, 4.0 * (30 + 12 + 40));
}

TEST(MatMul, RefusesWhatDoesNotFit) {
  EXPECT_CONTAINS(error_of(MatMul{}, {a23, a23}),
                  "input 0 (f32[2,3]) has 3 columns, input 1 (f32[2,3]) has 2 rows");
  EXPECT_CONTAINS(error_of(MatMul{}, {tensor<float>({}, {1}), a23}), "is not a matrix");
  EXPECT_CONTAINS(
      error_of(MatMul{}, {tensor<float>({2, 1, 1}, {1, 1}), tensor<float>({3, 1, 1}, {1, 1, 1})}),
      "differ in the batch dimensions");
  EXPECT_CONTAINS(
      error_of(MatMul{}, {tensor<std::int8_t>({1}, {1}), tensor<std::int8_t>({1}, {1})}),
      "must be of floats or of 32 or 64-bit integers");
  EXPECT_CONTAINS(error_of(MatMul{}, {a23, tensor<double>({3, 1}, {1, 1, 1})}),
                  "must have one element type");
}

}  // namespace
}  // namespace quern::testing
