// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

TEST(AbsorbConvPads, OfZeros) {
  expect_becomes({"absorb_conv_pads"}, R"(
    input %0 "x": f32[1,2,4,4]
    input %1 "w": f32[3,2,3,3]
    const %2: i64[8] = {0, 0, 1, 0, 0, 0, 2, 3}
    %3: f32[1,2,7,7] = Pad(%0, %2)
    %4: f32[1,3,6,7] = Conv(%3, %1) pads=[1,1,0,1]
    output %4 "y")",
                 R"(
    input %0 "x": f32[1,2,4,4]
    input %1 "w": f32[3,2,3,3]
    %2: f32[1,3,6,7] = Conv(%0, %1) pads=[2,1,2,4]
    output %2 "y")",
                 0);
  expect_becomes({"absorb_conv_pads"}, R"(
    input %0 "x": f32[1,2,4]
    input %1 "w": f32[3,2,3]
    const %2: i64[2] = {1, 1}
    const %3: f32[] = {0}
    const %4: i64[1] = {-1}
    %5: f32[1,2,6] = Pad(%0, %2, %3, %4)
    %6: f32[1,3,4] = Conv(%5, %1) auto_pad=valid
    output %6 "y")",
                 R"(
    input %0 "x": f32[1,2,4]
    input %1 "w": f32[3,2,3]
    %2: f32[1,3,4] = Conv(%0, %1) pads=[1,1]
    output %2 "y")",
                 0);
}

TEST(AbsorbConvPads, StaysForChannelsCropsOtherValuesAndModes) {
  expect_stays({"absorb_conv_pads"}, R"(
    input %0 "x": f32[1,2,4]
    input %1 "w": f32[3,2,3]
    input %2 "u": f32[3,3,3]
    const %3: i64[6] = {0, 1, 0, 0, 0, 0}
    const %4: i64[6] = {0, 0, 1, 0, 0, -1}
    const %5: i64[6] = {0, 0, 1, 0, 0, 1}
    const %6: f32[] = {1}
    %7: f32[1,3,4] = Pad(%0, %3)
    %8: f32[1,3,2] = Conv(%7, %2)
    %9: f32[1,2,4] = Pad(%0, %4)
    %10: f32[1,3,2] = Conv(%9, %1)
    %11: f32[1,2,6] = Pad(%0, %5, %6)
    %12: f32[1,3,4] = Conv(%11, %1)
    %13: f32[1,2,6] = Pad(%0, %5) mode=reflect
    %14: f32[1,3,4] = Conv(%13, %1)
    %15: f32[1,2,6] = Pad(%0, %5)
    %16: f32[1,3,6] = Conv(%15, %1) auto_pad=same_upper
    output %8 "a"
    output %10 "b"
    output %12 "c"
    output %14 "d"
    output %16 "e")");
}

TEST(AbsorbPoolPads, OfWhatThePoolPadsWithItself) {
  expect_becomes({"absorb_pool_pads"}, R"(
    input %0 "x": f32[1,2,4]
    const %1: i64[6] = {0, 0, 1, 0, 0, 1}
    const %2: f32[] = {-inf}
    %3: f32[1,2,6] = Pad(%0, %1, %2)
    %4: f32[1,2,4] = Pool(%3) kind=max kernel=[3]
    %5: f32[1,2,6] = Pad(%0, %1)
    %6: f32[1,2,4] = Pool(%5) kind=average kernel=[3]
    output %4 "y"
    output %6 "z")",
                 R"(
    input %0 "x": f32[1,2,4]
    %1: f32[1,2,4] = Pool(%0) kind=max kernel=[3] pads=[1,1]
    %2: f32[1,2,4] = Pool(%0) kind=average kernel=[3] pads=[1,1] count_include_pad=true
    output %1 "y"
    output %2 "z")",
                 0);
}

TEST(AbsorbPoolPads, StaysWhereTheCountOrTheValueDiffers) {
  expect_stays({"absorb_pool_pads"}, R"(
    input %0 "x": f32[1,2,4]
    const %1: i64[6] = {0, 0, 1, 0, 0, 1}
    %2: f32[1,2,6] = Pad(%0, %1)
    %3: f32[1,2,4] = Pool(%2) kind=max kernel=[3]
    %4: f32[1,2,6] = Pool(%2) kind=average kernel=[3] pads=[1,1]
    %5: f32[1,2,3] = Pool(%2) kind=average kernel=[3] strides=[2] ceil_mode=true
    output %3 "y"
    output %4 "z"
    output %5 "w")");
}

TEST(AbsorbConvPads, StaysForPadsBeyondAnySize) {
  expect_stays({"absorb_conv_pads"}, R"(
    input %0 "x": f32[1,1,?]
    const %1: i64[6] = {0, 0, 9223372036854775807, 0, 0, 0}
    const %2: f32[1,1,1] = {1}
    %3: f32[1,1,?] = Pad(%0, %1)
    %4: f32[1,1,?] = Conv(%3, %2) pads=[1,0]
    output %4 "y")");
}

}  // namespace
}  // namespace quern::testing
