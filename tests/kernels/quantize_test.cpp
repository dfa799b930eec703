// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/quantize.h"

#include <limits>

#include "tests/expect.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;

using E4M3 = SmallFloatOf<SmallFloat::e4m3fn>;
using u8 = std::uint8_t;

template <class T>
std::vector<T> quantize(const Quantize& op, const std::vector<Tensor>& inputs) {
  return values<T>(run(op, inputs));
}
Tensor scalar(float v) {
  return tensor<float>({}, {v});
}

// ONNX's test_quantizelinear.
TEST(Quantize, RoundsHalvesToEvenAndSaturates) {
  EXPECT_THAT(quantize<u8>({}, {tensor<float>({6}, {0, 2, 3, 1000, -254, -1000}), scalar(2),
                                tensor<u8>({}, {128})}),
              ElementsAre(128, 129, 130, 255, 1, 0));
  EXPECT_THAT(
      quantize<std::int8_t>({.to = DType::i8},
                            {tensor<float>({5}, {0.5f, 1.5f, -0.5f, -2.5f, 200}), scalar(1)}),
      ElementsAre(0, 2, 0, -2, 127));
}

TEST(Quantize, RoundsBeforeTheZeroPointIsAdded) {
  EXPECT_THAT(quantize<u8>({}, {tensor<float>({2}, {0.5f, 1.5f}), scalar(1), tensor<u8>({}, {1})}),
              ElementsAre(1, 3));
}

TEST(Quantize, NanAndInfinity) {
  EXPECT_THAT(
      quantize<u8>({}, {tensor<float>({3}, {nan, inf, -inf}), scalar(1), tensor<u8>({}, {7})}),
      ElementsAre(0, 255, 0));
  EXPECT_THAT(quantize<std::int16_t>({.to = DType::i16}, {tensor<float>({2}, {1, 0}), scalar(0)}),
              ElementsAre(32767, 0));
}

TEST(Quantize, PerAxis) {
  const Tensor x = tensor<float>({2, 2}, {2, 4, 2, 4});
  EXPECT_THAT(quantize<u8>({}, {x, tensor<float>({2}, {1, 2}), tensor<u8>({2}, {0, 10})}),
              ElementsAre(2, 12, 2, 12));
  EXPECT_THAT(quantize<u8>({.axis = -2}, {x, tensor<float>({2}, {1, 2})}), ElementsAre(2, 4, 1, 2));
}

TEST(Quantize, Blocked) {
  const Tensor x = tensor<float>({2, 3}, {4, 4, 4, 8, 8, 8});
  const Quantize op = {.axis = 1, .block_size = 2};
  EXPECT_THAT(
      quantize<u8>(op, {x, tensor<float>({2, 2}, {1, 2, 4, 8}), tensor<u8>({2, 2}, {0, 1, 2, 3})}),
      ElementsAre(4, 4, 3, 4, 4, 4));
  EXPECT_THAT(quantize<u8>({.axis = 0, .block_size = 2}, {x, tensor<float>({1, 3}, {1, 2, 4})}),
              ElementsAre(4, 2, 1, 8, 4, 2));
}

TEST(Quantize, SmallTypes) {
  const Tensor x = tensor<float>({4}, {-20, -3, 3, 20});
  EXPECT_THAT(quantize<Int4>({.to = DType::i4}, {x, scalar(1)}), ElementsAre(-8, -3, 3, 7));
  EXPECT_THAT(quantize<UInt4>({.to = DType::u4}, {x, scalar(1)}), ElementsAre(0, 0, 3, 15));
  EXPECT_THAT(quantize<std::uint16_t>({.to = DType::u16}, {tensor<float>({1}, {1e9f}), scalar(1)}),
              ElementsAre(65535));
  // 8-bit floats are not rounded to whole numbers.
  const Tensor y = tensor<float>({3}, {0.75f, -3, 5000});
  EXPECT_THAT(quantize<E4M3>({.to = DType::f8e4m3fn}, {y, scalar(2)}),
              ElementsAre(0.375f, -1.5f, 448.0f));
  EXPECT_EQ(quantize<E4M3>({.to = DType::f8e4m3fn, .saturate = false}, {y, scalar(2)})[2].bits,
            0x7f);
}

// ONNX's test_quantizelinear_int2, _uint2 and _float4e2m1.
TEST(Quantize, TypesOfTwoAndFourBits) {
  using E2M1 = SmallFloatOf<SmallFloat::e2m1>;
  const Tensor scale = tensor<float>({3}, {2, 3, 4});
  const Tensor x =
      tensor<float>({3, 4}, {0, 2.5f, 4.8f, 8.6f, -4, -3, 1, 2, -0.0f, -2.5f, -4.8f, -8.6f});
  EXPECT_THAT(quantize<Int2>({.axis = 0, .to = DType::i2},
                             {x, scale, tensor<Int2>({3}, {Int2(0), Int2(0), Int2(0)})}),
              ElementsAre(0, 1, 1, 1, -1, -1, 0, 1, 0, -1, -1, -2));
  const Tensor z = tensor<float>({3, 4}, {0, 2.5f, 4.8f, 8.6f, -2, -1, 1, 3, 4, 5, 6, 7});
  EXPECT_THAT(quantize<UInt2>({.axis = 0, .to = DType::u2},
                              {z, scale, tensor<UInt2>({3}, {UInt2(0), UInt2(0), UInt2(0)})}),
              ElementsAre(0, 1, 2, 3, 0, 0, 0, 1, 1, 1, 2, 2));
  const Tensor y =
      tensor<float>({3, 4}, {0, 2.5f, 4.8f, 8.6f, -30, -20, 6, 9, -0.0f, -2.5f, -4.8f, -8.6f});
  EXPECT_THAT(quantize<E2M1>({.axis = 0, .to = DType::f4e2m1}, {y, scale}),
              ElementsAre(0, 1, 2, 4, -6, -6, 2, 3, -0.0f, -0.5f, -1, -2));
  EXPECT_CONTAINS(error_of(Quantize{.to = DType::f8e8m0}, {x, scalar(1)}),
                  "cannot quantize to f8e8m0");
}

TEST(Quantize, TheQuotientHasThePrecisionOfTheScale) {
  // 5.0009765625 / 2 = 2.50048828125 rounds to 2.5 in half precision, and then to even.
  const Tensor x = tensor<float>({1}, {5.0009765625f});
  EXPECT_THAT(quantize<u8>({}, {x, scalar(2)}), ElementsAre(3));
  EXPECT_THAT(quantize<u8>({}, {x, tensor<Half>({}, {Half(2.0f)})}), ElementsAre(2));
  EXPECT_THAT(quantize<u8>({}, {tensor<std::int32_t>({2}, {5, 100}), scalar(2)}),
              ElementsAre(2, 50));
}

TEST(Quantize, ScalarsAndEmptyTensors) {
  EXPECT_THAT(quantize<u8>({}, {scalar(4), tensor<float>({1}, {2})}), ElementsAre(2));
  EXPECT_EQ(run(Quantize{}, {tensor<float>({0, 2}, {}), tensor<float>({2}, {1, 1})}).shape(),
            Shape({0, 2}));
}

TEST(Quantize, RefusesWhatDoesNotFit) {
  const Tensor x = tensor<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_CONTAINS(error_of(Quantize{}, {x, tensor<float>({3}, {1, 1, 1})}),
                  "input 1 (f32[3]) must be a scalar or a list of 2");
  EXPECT_CONTAINS(error_of(Quantize{.axis = 2}, {x, tensor<float>({2}, {1, 1})}),
                  "axis 2 is outside of rank 2");
  EXPECT_CONTAINS(error_of(Quantize{}, {x, tensor<float>({2}, {1, 1}), tensor<u8>({}, {0})}),
                  "must have one shape");
  EXPECT_CONTAINS(error_of(Quantize{.block_size = 2}, {x, tensor<float>({2, 2}, {1, 1, 1, 1})}),
                  "does not fit blocks of 2 along axis 1");
  EXPECT_CONTAINS(error_of(Quantize{.block_size = -1}, {x, scalar(1)}), "block_size is -1");
  EXPECT_CONTAINS(error_of(Quantize{}, {x, x}), "must be a scalar");
  EXPECT_CONTAINS(error_of(Quantize{.to = DType::i32}, {x, scalar(1)}), "cannot quantize to i32");
  EXPECT_CONTAINS(error_of(Quantize{}, {tensor<bool>({1}, {true}), scalar(1)}),
                  "must be of floats or i32");
}

// ONNX's test_dequantizelinear.
// ONNX's test_dequantizelinear_int2 and _float4e2m1.
TEST(Dequantize, TypesOfTwoAndFourBits) {
  using E2M1 = SmallFloatOf<SmallFloat::e2m1>;
  const Tensor x = tensor<Int2>({4}, {Int2(0), Int2(1), Int2(-1), Int2(-2)});
  EXPECT_THAT(
      values<float>(run(Dequantize{.axis = 0}, {x, scalar(2), tensor<Int2>({1}, {Int2(1)})})),
      ElementsAre(-2, 0, -4, -6));
  const Tensor y =
      tensor<E2M1>({5}, {E2M1(0.0f), E2M1(1.0f), E2M1(-1.0f), E2M1(1.5f), E2M1(-4.0f)});
  EXPECT_THAT(values<float>(run(Dequantize{.axis = 0}, {y, scalar(2)})),
              ElementsAre(0, 2, -2, 3, -8));
}

TEST(Dequantize, PerTensor) {
  const Tensor y =
      run(Dequantize{}, {tensor<u8>({4}, {0, 3, 128, 255}), scalar(2), tensor<u8>({}, {128})});
  EXPECT_ELEMENTS(values<float>(y), -256, -250, 0, 254);
}

TEST(Dequantize, PerAxisAndBlocked) {
  const Tensor x = tensor<std::int8_t>({2, 3}, {1, 2, 3, -1, -2, -3});
  EXPECT_ELEMENTS(values<float>(run(Dequantize{.axis = 0}, {x, tensor<float>({2}, {1, 10}),
                                                            tensor<std::int8_t>({2}, {1, 0})})),
                  0, 1, 2, -10, -20, -30);
  EXPECT_ELEMENTS(values<float>(run(Dequantize{.axis = 1, .block_size = 2},
                                    {x, tensor<float>({2, 2}, {1, 2, 3, 4})})),
                  1, 2, 6, -3, -6, -12);
}

TEST(Dequantize, TypesAndPrecision) {
  EXPECT_ELEMENTS(
      (values<float>(
          run(Dequantize{}, {tensor<std::int32_t>({2}, {INT32_MAX, INT32_MIN}), scalar(1)}))),
      2147483648.0f, -2147483648.0f);
  // The difference of two large integers is exact.
  EXPECT_ELEMENTS(
      (values<float>(run(Dequantize{}, {tensor<std::int32_t>({1}, {INT32_MAX}), scalar(1),
                                        tensor<std::int32_t>({}, {INT32_MAX - 3})}))),
      3);
  const Tensor h =
      run(Dequantize{}, {tensor<Int4>({2}, {Int4(-8), Int4(7)}), tensor<Half>({}, {Half(0.5f)})});
  EXPECT_EQ(h.dtype(), DType::f16);
  EXPECT_THAT(values<Half>(h), ElementsAre(-4.0f, 3.5f));
  EXPECT_THAT(values<BFloat16>(run(Dequantize{}, {tensor<E4M3>({1}, {E4M3(0.375f)}),
                                                  tensor<BFloat16>({}, {BFloat16(2.0f)})})),
              ElementsAre(0.75f));
}

TEST(Dequantize, RefusesWhatDoesNotFit) {
  const Tensor x = tensor<u8>({2}, {1, 2});
  EXPECT_CONTAINS(error_of(Dequantize{}, {scalar(1), scalar(1)}), "is not quantized");
  EXPECT_CONTAINS(error_of(Dequantize{}, {x, x}), "input 1 (u8[2]) must be of f32");
  EXPECT_CONTAINS(error_of(Dequantize{}, {x, scalar(1), tensor<std::int8_t>({}, {0})}),
                  "must have one element type");
  EXPECT_CONTAINS(error_of(Dequantize{.axis = 0}, {x, tensor<float>({3}, {1, 1, 1})}),
                  "or a list of 2");
}

// ONNX's test_dynamicquantizelinear.
TEST(DynamicQuantize, SpreadsTheRangeOverAByte) {
  const auto y =
      run_reference(DynamicQuantize{}, {tensor<float>({6}, {0, 2, -3, -2.5f, 1.34f, 0.5f})}, 3);
  ASSERT_TRUE(y);
  EXPECT_THAT(values<u8>((*y)[0]), ElementsAre(153, 255, 0, 26, 221, 179));
  EXPECT_ELEMENTS(values<float>((*y)[1]), 0.019607844f);
  EXPECT_THAT(values<u8>((*y)[2]), ElementsAre(153));
}

// Neither the scale nor the zero point is wanted.
TEST(DynamicQuantize, GivesTheBytesAlone) {
  const auto y = run_reference(DynamicQuantize{}, {tensor<float>({2}, {102, 255})}, 1);
  ASSERT_TRUE(y) << y.error().message();
  ASSERT_EQ(y->size(), 1U);
  EXPECT_ELEMENTS(values<std::uint8_t>((*y)[0]), 102, 255);
}

TEST(DynamicQuantize, TheRangeIncludesZero) {
  const auto y = run_reference(DynamicQuantize{}, {tensor<float>({2}, {102, 255})}, 3);
  ASSERT_TRUE(y);
  EXPECT_THAT(values<u8>((*y)[0]), ElementsAre(102, 255));
  EXPECT_ELEMENTS(values<float>((*y)[1]), 1);
  EXPECT_THAT(values<u8>((*y)[2]), ElementsAre(0));
}

TEST(DynamicQuantize, ZerosAndNothingHaveScaleOne) {
  for (const Tensor& x : {tensor<float>({2}, {0, -0.0f}), tensor<float>({0}, {})}) {
    const auto y = run_reference(DynamicQuantize{}, {x}, 3);
    ASSERT_TRUE(y);
    EXPECT_ELEMENTS(values<float>((*y)[1]), 1);
    EXPECT_THAT(values<u8>((*y)[2]), ElementsAre(0));
  }
}

TEST(DynamicQuantize, NanAndInfinityDoNoHarm) {
  for (const float bad : {nan, inf, -inf}) {
    const auto y = run_reference(DynamicQuantize{}, {tensor<float>({2}, {1, bad})}, 3);
    ASSERT_TRUE(y);
    EXPECT_EQ((*y)[0].shape(), Shape({2}));
  }
  EXPECT_CONTAINS(error_of(DynamicQuantize{}, {tensor<double>({1}, {1})}), "must be f32");
}

}  // namespace
}  // namespace quern::testing
