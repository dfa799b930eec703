// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/deform_conv.h"
#include "tests/expect.h"
#include "tests/kernels/spatial_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;

Tensor col2im_sizes(std::initializer_list<std::int64_t> v) {
  return tensor<std::int64_t>({static_cast<std::int64_t>(v.size())}, v);
}

// The example of ONNX's page: five blocks of 1 x 5 make a 5 x 5 image.
TEST(Col2Im, RowsOfBlocks) {
  const Tensor columns = tensor<float>(
      {1, 5, 5},
      {1, 6, 11, 16, 21, 2, 7, 12, 17, 22, 3, 8, 13, 18, 23, 4, 9, 14, 19, 24, 5, 0, 15, 20, 25});
  const Tensor y = run(Col2Im{}, {columns, col2im_sizes({5, 5}), col2im_sizes({1, 5})});
  EXPECT_EQ(y.shape(), (Shape{1, 1, 5, 5}));
  EXPECT_ELEMENTS(values<float>(y), 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 11, 12, 13, 14, 15, 16, 17, 18,
                  19, 20, 21, 22, 23, 24, 25);
}

TEST(Col2Im, OverlapsAdd) {
  const Tensor y = run(Col2Im{}, {tensor<float>({1, 2, 3}, {1, 2, 3, 10, 20, 30}),
                                  col2im_sizes({4}), col2im_sizes({2})});
  EXPECT_ELEMENTS(values<float>(y), 1, 12, 23, 30);
}

TEST(Col2Im, StridesPadsAndDilations) {
  const Col2Im op{.strides = {2}, .pads = {1, 0}, .dilations = {2}};
  // Blocks begin at -1 and 1 of 4 elements: taps at (-1, 1) and (1, 3).
  const Tensor y =
      run(op, {tensor<float>({1, 2, 2}, {1, 2, 10, 20}), col2im_sizes({4}), col2im_sizes({2})});
  EXPECT_ELEMENTS(values<float>(y), 0, 12, 0, 20);
}

TEST(Col2Im, ChannelsBatchesAndThreeDimensions) {
  const Tensor y = run(
      Col2Im{}, {filled<double>({2, 16, 1}, 2), col2im_sizes({2, 2, 2}), col2im_sizes({2, 2, 2})});
  EXPECT_EQ(y.shape(), (Shape{2, 2, 2, 2, 2}));
  EXPECT_THAT(values<double>(y), ::testing::Each(2));
}

TEST(Col2Im, IntegersWrap) {
  const Tensor y = run(Col2Im{}, {tensor<std::int8_t>({1, 2, 2}, {1, 100, 100, 5}),
                                  col2im_sizes({3}), col2im_sizes({2})});
  EXPECT_ELEMENTS(values<std::int8_t>(y), 1, -56, 5);
}

TEST(Col2Im, InfersWhatItCan) {
  EXPECT_EQ(dims_of(Col2Im{}, {f32({1, 5, 5}), i64({2}), i64({2})}),
            (Dims{1, Dim(), Dim(), Dim()}));
  EXPECT_EQ(infer_type(Col2Im{}, {f32({1, 5, 5}), i64({Dim()}), i64({2})})->dims, std::nullopt);
}

TEST(Col2Im, RefusesWhatDoesNotFit) {
  const Tensor columns = counting<float>({1, 4, 3});
  EXPECT_CONTAINS(error_of(Col2Im{}, {columns, col2im_sizes({5}), col2im_sizes({2})}),
                  "does not have one column for each of 4 blocks");
  EXPECT_CONTAINS(error_of(Col2Im{}, {columns, col2im_sizes({5}), col2im_sizes({3})}),
                  "does not have a multiple of 3 rows");
  EXPECT_CONTAINS(error_of(Col2Im{}, {columns, col2im_sizes({5}), col2im_sizes({2, 2})}),
                  "kernel has 2");
  EXPECT_CONTAINS(error_of(Col2Im{}, {columns, col2im_sizes({-5}), col2im_sizes({2})}), "holds -5");
  EXPECT_CONTAINS(error_of(Col2Im{}, {columns, col2im_sizes({4}), col2im_sizes({0})}), "holds 0");
  EXPECT_CONTAINS(error_of(Col2Im{}, {columns, tensor<std::int64_t>({0}, {}), col2im_sizes({2})}),
                  "0 spatial dimensions");
  EXPECT_CONTAINS(error_of(Col2Im{}, {columns, counting<float>({1}), col2im_sizes({2})}),
                  "must be a list of i64 or i32");
  EXPECT_CONTAINS(
      error_of(Col2Im{}, {counting<float>({4, 3}), col2im_sizes({4}), col2im_sizes({2})}),
      "must have rank 3");
}

}  // namespace
}  // namespace quern::testing
