// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/cast.h"
#include "tests/expect.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;

TEST(BitCast, KeepsTheBits) {
  const Tensor y = run(BitCast{.to = DType::u32}, {tensor<float>({3}, {1.0f, -0.0f, 0.5f})});
  EXPECT_ELEMENTS(values<std::uint32_t>(y), 0x3f800000u, 0x80000000u, 0x3f000000u);
  const Tensor back = run(BitCast{.to = DType::f32}, {y});
  EXPECT_ELEMENTS(values<float>(back), 1.0f, -0.0f, 0.5f);
}

TEST(BitCast, ScalarsAndEmptyTensors) {
  EXPECT_ELEMENTS(
      (values<std::int64_t>(run(BitCast{.to = DType::i64}, {tensor<double>({}, {1.0})}))),
      0x3ff0000000000000);
  EXPECT_EQ(run(BitCast{.to = DType::u8}, {tensor<std::int8_t>({0}, {})}).shape(), Shape({0}));
}

TEST(BitCast, FourBitsStayInForm) {
  const Tensor u =
      run(BitCast{.to = DType::u4}, {tensor<Int4>({3}, {Int4(-1), Int4(-8), Int4(7)})});
  EXPECT_THAT(values<UInt4>(u), ElementsAre(15, 8, 7));
  EXPECT_THAT(values<Int4>(run(BitCast{.to = DType::i4}, {u})), ElementsAre(-1, -8, 7));
}

TEST(BitCast, OtherSmallTypesStayInForm) {
  using E2M1 = SmallFloatOf<SmallFloat::e2m1>;
  const Tensor u =
      run(BitCast{.to = DType::u2}, {tensor<Int2>({4}, {Int2(-2), Int2(-1), Int2(0), Int2(1)})});
  EXPECT_THAT(values<UInt2>(u), ElementsAre(2, 3, 0, 1));
  EXPECT_THAT(values<Int2>(run(BitCast{.to = DType::i2}, {u})), ElementsAre(-2, -1, 0, 1));
  const Tensor i4 = tensor<Int4>({2}, {Int4(-1), Int4(3)});
  EXPECT_THAT(values<E2M1>(run(BitCast{.to = DType::f4e2m1}, {i4})), ElementsAre(-6, 1.5f));
  const Tensor e = run(BitCast{.to = DType::f8e8m0}, {tensor<std::uint8_t>({2}, {126, 255})});
  EXPECT_ELEMENTS(values<std::uint8_t>(run(BitCast{.to = DType::u8}, {e})), 126, 255);
}

TEST(BitCast, AnyByteBecomesABool) {
  const Tensor y = run(BitCast{.to = DType::boolean}, {tensor<std::uint8_t>({3}, {0, 1, 0x80})});
  EXPECT_ELEMENTS(values<std::uint8_t>(run(BitCast{.to = DType::u8}, {y})), 0, 1, 1);
}

TEST(BitCast, RefusesOtherWidths) {
  EXPECT_CONTAINS(error_of(BitCast{.to = DType::f64}, {tensor<float>({1}, {1})}),
                  "f32 has 32 bits, f64 has 64");
  EXPECT_CONTAINS(error_of(BitCast{.to = DType::i4}, {tensor<std::int8_t>({1}, {1})}),
                  "i8 has 8 bits, i4 has 4");
  EXPECT_CONTAINS(error_of(BitCast{.to = DType::u2}, {tensor<Int4>({1}, {Int4(1)})}),
                  "i4 has 4 bits, u2 has 2");
  EXPECT_CONTAINS(error_of(BitCast{.to = DType::string}, {tensor<float>({1}, {1})}), "strings");
}

}  // namespace
}  // namespace quern::testing
