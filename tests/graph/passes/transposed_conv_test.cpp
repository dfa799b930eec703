// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

TEST(TransposedConvToConv, SwapsChannelsAndReversesTheKernel) {
  expect_becomes({"transposed_conv_to_conv", "fold_constants"}, R"(
    input %0 "x": f32[1,2,5]
    const %1: f32[2,1,3] = {1, 2, 3, 4, 5, 6}
    %2: f32[1,1,6] = ConvTranspose(%0, %1) pads=[1,0] dilations=[1]
    output %2 "y")",
                 R"(
    input %0 "x": f32[1,2,5]
    const %1: f32[1,2,3] = {3, 2, 1, 6, 5, 4}
    %2: f32[1,1,6] = Conv(%0, %1) pads=[1,2] dilations=[1]
    output %2 "y")");
  expect_becomes({"transposed_conv_to_conv", "fold_constants"}, R"(
    input %0 "x": f32[1,4,2,2]
    const %1: f32[4,1,1,2] = {1, 2, 3, 4, 5, 6, 7, 8}
    const %2: f32[2] = {10, 20}
    %3: f32[1,2,2,4] = ConvTranspose(%0, %1, %2) dilations=[1,2] group=2
    output %3 "y")",
                 R"(
    input %0 "x": f32[1,4,2,2]
    const %1: f32[2,2,1,2] = {2, 1, 4, 3, 6, 5, 8, 7}
    const %2: f32[2] = {10, 20}
    %3: f32[1,2,2,4] = Conv(%0, %1, %2) pads=[0,2,0,2] dilations=[1,2] group=2
    output %3 "y")");
}

TEST(TransposedConvToConv, StaysWhereMostPlacesAreReachedByFewElements) {
  expect_stays({"transposed_conv_to_conv"}, R"(
    input %0 "x": f32[1,1,1]
    const %1: f32[1,1,3] = {1, 2, 3}
    %2: f32[1,1,3] = ConvTranspose(%0, %1)
    output %2 "y")");
}

TEST(TransposedConvToConv, StaysWithStepsWeightsOfARunAndWindowsThatCut) {
  expect_stays({"transposed_conv_to_conv"}, R"(
    input %0 "x": f32[1,2,5]
    input %1 "w": f32[2,1,3]
    input %2 "u": f32[1,2,N]
    const %3: f32[2,1,3] = {1, 2, 3, 4, 5, 6}
    %4: f32[1,1,11] = ConvTranspose(%0, %3) strides=[2]
    %5: f32[1,1,7] = ConvTranspose(%0, %1)
    %6: f32[1,1,4] = ConvTranspose(%0, %3) pads=[3,0]
    %7: f32[1,1,5] = ConvTranspose(%0, %3) auto_pad=same_upper
    %8: f32[1,1,?] = ConvTranspose(%2, %3)
    output %4 "a"
    output %5 "b"
    output %6 "c"
    output %7 "d"
    output %8 "e")");
}

}  // namespace
}  // namespace quern::testing
