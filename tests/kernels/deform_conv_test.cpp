// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/deform_conv.h"

#include "tests/expect.h"
#include "tests/kernels/spatial_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;

// A 3 x 3 image of 0 .. 8 and a kernel of ones, of ONNX's page.
const DeformConv padless{.window = {.kernel = {2, 2}}};

TEST(DeformConv, WithoutOffsetsItIsAConvolution) {
  const Tensor x = counting<float>({1, 1, 3, 3});
  const Tensor w = filled<float>({1, 1, 2, 2}, 1);
  EXPECT_ELEMENTS(values<float>(run(padless, {x, w, filled<float>({1, 8, 2, 2}, 0)})), 8, 12, 20,
                  24);
}

TEST(DeformConv, OffsetsMoveTapsBetweenElements) {
  const Tensor x = counting<float>({1, 1, 3, 3});
  const Tensor w = filled<float>({1, 1, 2, 2}, 1);
  Tensor offset = filled<float>({1, 8, 2, 2}, 0);
  auto* p = reinterpret_cast<float*>(offset.mutable_data());
  p[0] = 0.5f;           // tap 0, rows, output 0: half way from 0 to 3
  p[5 * 4 + 3] = -0.1f;  // tap 2, columns, output 3: from 7 towards 6
  EXPECT_THAT(values<float>(run(padless, {x, w, offset})),
              ElementsAre(9.5f, 12, 20, ::testing::FloatNear(23.9f, 1e-5f)));
}

TEST(DeformConv, OutsideIsZeroAndFadesIn) {
  const Tensor x = tensor<float>({1, 1, 1, 2}, {10, 20});
  const Tensor w = tensor<float>({1, 1, 1, 1}, {1});
  const auto at = [&](float row, float column) {
    const Tensor offset = tensor<float>({1, 2, 1, 2}, {row, 0, column, 0});
    return values<float>(run(DeformConv{}, {x, w, offset}))[0];
  };
  EXPECT_EQ(at(0, -0.5f), 5);
  EXPECT_EQ(at(0, -1), 0);
  EXPECT_EQ(at(0, 1.5f), 10);
  EXPECT_EQ(at(0.5f, 0), 5);
  EXPECT_EQ(at(0, 1e30f), 0);
  EXPECT_EQ(at(-inf, 0), 0);
  EXPECT_EQ(at(nan, 0), 0);
}

TEST(DeformConv, MaskAndBias) {
  const Tensor x = counting<float>({1, 1, 3, 3});
  const Tensor w = filled<float>({1, 1, 2, 2}, 1);
  Tensor mask = filled<float>({1, 4, 2, 2}, 1);
  reinterpret_cast<float*>(mask.mutable_data())[3 * 4] = 0.25f;  // tap 3, output 0: the 4
  EXPECT_ELEMENTS(values<float>(run(padless, {x, w, filled<float>({1, 8, 2, 2}, 0),
                                              tensor<float>({1}, {100}), mask})),
                  105, 112, 120, 124);
}

TEST(DeformConv, GroupsAndOffsetGroups) {
  const Tensor x = tensor<float>({1, 2, 1, 2}, {1, 2, 10, 20});
  const Tensor w = tensor<float>({2, 1, 1, 1}, {1, 1});
  // The second half of the channels is moved one to the right.
  const Tensor offset = tensor<float>({1, 4, 1, 2}, {0, 0, 0, 0, 0, 0, 1, 1});
  EXPECT_ELEMENTS(values<float>(run(DeformConv{.group = 2, .offset_group = 2}, {x, w, offset})), 1,
                  2, 20, 0);
}

TEST(DeformConv, OneDimensionStridesPadsAndDilations) {
  const DeformConv op{.window = {.strides = {2}, .pads = {1, 1}, .dilations = {2}}};
  const Tensor y = run(op, {tensor<float>({1, 1, 4}, {1, 2, 3, 4}),
                            tensor<float>({1, 1, 2}, {1, 10}), filled<float>({1, 2, 2}, 0)});
  EXPECT_ELEMENTS(values<float>(y), 20, 42);
}

TEST(DeformConv, RefusesWhatDoesNotFit) {
  const Tensor x = counting<float>({1, 2, 3, 3});
  const Tensor w = counting<float>({1, 2, 2, 2});
  EXPECT_CONTAINS(error_of(padless, {x, w, counting<float>({1, 4, 2, 2})}),
                  "does not fit the input and the weights");
  EXPECT_CONTAINS(error_of(padless, {x, w, counting<float>({1, 8, 3, 2})}), "does not fit");
  const Tensor offset = counting<float>({1, 8, 2, 2});
  EXPECT_CONTAINS(error_of(padless, {x, counting<float>({1, 2, 2}), offset}), "one rank");
  EXPECT_CONTAINS(error_of(padless, {counting<float>({1, 2}), counting<float>({1, 2}), offset}),
                  "one rank");
  EXPECT_CONTAINS(error_of(padless, {x, w, offset, counting<float>({2})}), "input 3");
  EXPECT_CONTAINS(error_of(padless, {x, w, offset, absent(), counting<float>({1, 8, 2, 2})}),
                  "input 4");
  EXPECT_CONTAINS(error_of(DeformConv{.offset_group = 3}, {x, w, offset}),
                  "2 input channels do not fall into 3 offset groups");
  EXPECT_CONTAINS(error_of(DeformConv{.group = 2}, {x, w, offset}),
                  "weight has 2 input channels for each of 2 groups");
}

}  // namespace
}  // namespace quern::testing
