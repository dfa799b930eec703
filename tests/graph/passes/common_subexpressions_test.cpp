// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

TEST(MergeCommon, NodesAndConstants) {
  expect_becomes({"merge_common"}, R"(
    input %0 "x": f32[2]
    const %1: f32[] = {3}
    const %2: f32[] = {3}
    %3: f32[2] = Binary(%0, %1) kind=mul
    %4: f32[2] = Binary(%0, %2) kind=mul
    %5: f32[2] = Unary(%3) kind=exp
    %6: f32[2] = Unary(%4) kind=exp
    %7: f32[2] = Binary(%5, %6) kind=add
    output %7 "y"
    output %6 "z")",
                 R"(
    input %0 "x": f32[2]
    const %1: f32[] = {3}
    %2: f32[2] = Binary(%0, %1) kind=mul
    %3: f32[2] = Unary(%2) kind=exp
    %4: f32[2] = Binary(%3, %3) kind=add
    output %4 "y"
    output %3 "z")");
}

// Those up to a kibibyte are compared by their bytes, larger ones by where they are.
TEST(MergeCommon, EqualConstantsUpToAKibibyte) {
  expect_becomes({"merge_common"}, R"(
    input %0 "x": f32[256]
    const %1: f32[256] = ...
    const %2: f32[256] = ...
    %3: f32[256] = Binary(%0, %1) kind=pow
    %4: f32[256] = Binary(%0, %2) kind=pow
    %5: f32[256] = Binary(%3, %4) kind=add
    output %5 "y")",
                 R"(
    input %0 "x": f32[256]
    const %1: f32[256] = ...
    %2: f32[256] = Binary(%0, %1) kind=pow
    %3: f32[256] = Binary(%2, %2) kind=add
    output %3 "y")");
  expect_stays({"merge_common"}, R"(
    input %0 "x": f32[257]
    const %1: f32[257] = ...
    const %2: f32[257] = ...
    %3: f32[257] = Binary(%0, %1) kind=pow
    %4: f32[257] = Binary(%0, %2) kind=pow
    %5: f32[257] = Binary(%3, %4) kind=add
    output %5 "y")");
}

TEST(MergeCommon, KeepsApartWhatDiffers) {
  expect_stays({"merge_common"}, R"(
    input %0 "x": f32[2]
    const %1: f32[] = {3}
    const %2: f32[1] = {3}
    const %3: f32[] = {4}
    const %4: i32[] = {3}
    %5: f32[2] = Binary(%0, %1) kind=mul
    %6: f32[2] = Binary(%0, %2) kind=mul
    %7: f32[2] = Binary(%0, %3) kind=mul
    %8: f32[2] = Binary(%0, %4) kind=pow
    %9: f32[2] = Binary(%0, %1) kind=add
    %10: f32[2] = Unary(%0) kind=leaky_relu alpha=0.1
    %11: f32[2] = Unary(%0) kind=leaky_relu alpha=0.2
    %12: f32[2] = Unary(%0) kind=leaky_relu alpha=0.1 | relu
    %13: f32[8] = Concat(%5, %6, %7, %8)
    %14: f32[8] = Concat(%9, %10, %11, %12)
    output %13 "y"
    output %14 "z")");
}

TEST(MergeCommon, NeverRandomNodes) {
  expect_stays({"merge_common"}, R"(
    const %0: i64[1] = {2}
    %1: f32[2] = Random(%0) kind=uniform
    %2: f32[2] = Random(%0) kind=uniform
    output %1 "a"
    output %2 "b")");
}

TEST(MergeCommon, OutputsThatOnlyTheSecondHasKeepItApart) {
  expect_stays({"merge_common"}, R"(
    input %0 "x": f32[4]
    _, %1: f32[2] = Split(%0)
    %2: f32[2], %3: f32[2] = Split(%0)
    output %1 "a"
    output %2 "b"
    output %3 "c")");
}

}  // namespace
}  // namespace quern::testing
