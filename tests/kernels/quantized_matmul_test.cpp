// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/quantised_products.h"
#include "tests/expect.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;

using i8 = std::int8_t;
using u8 = std::uint8_t;

std::vector<std::int32_t> product(const std::vector<Tensor>& inputs) {
  return values<std::int32_t>(run(MatMulInteger{}, inputs));
}

const Tensor a22 = tensor<u8>({2, 2}, {1, 2, 3, 4});
const Tensor b22 = tensor<i8>({2, 2}, {1, -1, 2, 0});

// ONNX's test_matmulinteger.
TEST(MatMulInteger, ZeroPointsForAll) {
  const Tensor a = tensor<u8>({4, 3}, {11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0});
  const Tensor b = tensor<u8>({3, 2}, {1, 4, 2, 5, 3, 6});
  EXPECT_ELEMENTS(product({a, b, tensor<u8>({1}, {12}), tensor<u8>({1}, {0})}), -38, -83, -44, -98,
                  -50, -113, -56, -128);
}

TEST(MatMulInteger, ZeroPointsPerRowAndColumn) {
  EXPECT_ELEMENTS(product({a22, b22}), 5, -1, 11, -3);
  // Rows become (0, 1) and (0, 1); columns (1, 2) and (0, 1).
  EXPECT_ELEMENTS(product({a22, b22, tensor<u8>({2}, {1, 3}), tensor<i8>({2}, {0, -1})}), 2, 1, 2,
                  1);
  EXPECT_ELEMENTS(product({a22, b22, tensor<u8>({2, 1}, {1, 3}), tensor<i8>({1, 2}, {0, -1})}), 2,
                  1, 2, 1);
}

TEST(MatMulInteger, BatchesWithTheirOwnZeroPoints) {
  const Tensor a = tensor<u8>({2, 1, 1}, {10, 20});
  const Tensor b = tensor<u8>({1, 1}, {2});
  const Tensor y = run(MatMulInteger{}, {a, b, tensor<u8>({2, 1, 1}, {9, 18})});
  EXPECT_EQ(y.shape(), Shape({2, 1, 1}));
  EXPECT_ELEMENTS(values<std::int32_t>(y), 2, 4);
}

TEST(MatMulInteger, VectorsAndNothing) {
  const Tensor v = tensor<u8>({2}, {200, 255});
  EXPECT_ELEMENTS(product({v, v}), 200 * 200 + 255 * 255);
  EXPECT_ELEMENTS(product({tensor<u8>({1, 0}, {}), tensor<u8>({0, 2}, {})}), 0, 0);
}

TEST(MatMulInteger, RefusesWhatDoesNotFit) {
  EXPECT_CONTAINS(error_of(MatMulInteger{}, {a22, tensor<u8>({1, 1}, {1})}), "has 2 columns");
  EXPECT_CONTAINS(error_of(MatMulInteger{}, {a22, b22, tensor<u8>({3}, {1, 1, 1})}),
                  "input 2 (u8[3]) must be a scalar or have one element for each row of input 0");
  EXPECT_CONTAINS(error_of(MatMulInteger{}, {a22, b22, absent(), tensor<i8>({2, 1}, {1, 1})}),
                  "one element for each column of input 1");
  // For a batch, a parameter for each row must have the rank of the matrices.
  const Tensor batch = tensor<u8>({2, 2, 1}, {1, 2, 3, 4});
  EXPECT_CONTAINS(
      error_of(MatMulInteger{}, {batch, tensor<u8>({1, 1}, {1}), tensor<u8>({2, 1}, {1, 1})}),
      "one element for each row of input 0");
  EXPECT_CONTAINS(error_of(MatMulInteger{}, {a22, b22, tensor<i8>({}, {1})}),
                  "must have one element type");
  EXPECT_CONTAINS(error_of(MatMulInteger{}, {tensor<std::int32_t>({1}, {1}), b22}),
                  "must be of i8 or u8");
}

Tensor scale_of(float v) {
  return tensor<float>({}, {v});
}
Tensor zero_of(u8 v) {
  return tensor<u8>({}, {v});
}

// ONNX's test_qlinearmatmul_2D of opset 10.
TEST(QLinearMatMul, TheVectorsOfOnnx) {
  const Tensor a = tensor<u8>({2, 4}, {208, 236, 0, 238, 3, 214, 255, 29});
  const Tensor b = tensor<u8>({4, 3}, {152, 51, 244, 60, 26, 255, 0, 127, 246, 127, 254, 247});
  const Tensor y = run(QLinearMatMul{}, {a, scale_of(0.0066f), zero_of(113), b, scale_of(0.00705f),
                                         zero_of(114), scale_of(0.0107f), zero_of(118)});
  EXPECT_THAT(values<u8>(y), ElementsAre(168, 115, 255, 1, 66, 151));
}

TEST(QLinearMatMul, ScalesPerRowAndColumn) {
  const Tensor a = tensor<u8>({2, 1}, {10, 10});
  const Tensor b = tensor<u8>({1, 2}, {3, 3});
  const Tensor y = run(QLinearMatMul{}, {a, tensor<float>({2}, {1, 2}), tensor<u8>({2}, {0, 5}), b,
                                         tensor<float>({1, 2}, {1, 0.5f}), tensor<u8>({2}, {1, 0}),
                                         scale_of(1), tensor<i8>({}, {-10})});
  EXPECT_EQ(y.dtype(), DType::i8);
  EXPECT_THAT(values<i8>(y), ElementsAre(10, 5, 10, 5));
}

TEST(QLinearMatMul, HalvesToEvenBeforeTheZeroPoint) {
  const Tensor a = tensor<u8>({3, 1}, {1, 3, 5});
  const Tensor b = tensor<u8>({1, 1}, {1});
  const Tensor half = tensor<Half>({}, {Half(0.5f)});
  const Tensor one = tensor<Half>({}, {Half(1.0f)});
  EXPECT_THAT(
      values<u8>(run(QLinearMatMul{}, {a, half, zero_of(0), b, one, zero_of(0), one, zero_of(1)})),
      ElementsAre(1, 3, 3));
}

TEST(QLinearMatMul, RefusesWhatDoesNotFit) {
  const auto with = [](const Tensor& a, const Tensor& a_scale, const Tensor& y_scale) {
    return error_of(QLinearMatMul{},
                    {a, a_scale, zero_of(0), a22, scale_of(1), zero_of(0), y_scale, zero_of(0)});
  };
  EXPECT_CONTAINS(with(a22, tensor<float>({3}, {1, 1, 1}), scale_of(1)), "for each row of input 0");
  EXPECT_CONTAINS(with(a22, tensor<float>({1, 2, 1}, {1, 1}), scale_of(1)),
                  "for each row of input 0");
  EXPECT_CONTAINS(with(a22, scale_of(1), tensor<float>({2}, {1, 1})),
                  "input 6 (f32[2]) must be a scalar");
  EXPECT_CONTAINS(with(a22, zero_of(1), scale_of(1)), "input 1 (u8[]) must be of f32");
  using E4M3 = SmallFloatOf<SmallFloat::e4m3fn>;
  EXPECT_CONTAINS(with(tensor<E4M3>({1, 2}, {E4M3(1.0f), E4M3(1.0f)}), scale_of(1), scale_of(1)),
                  "8-bit floats are not supported");
}

}  // namespace
}  // namespace quern::testing
