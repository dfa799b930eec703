// SPDX-License-Identifier: Apache-2.0
#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

TEST(DropCast, ToItsOwnType) {
  expect_becomes({"drop_cast"}, R"(
    input %0 "x": f32[?]
    %1: f32[?] = Cast(%0) to=f32
    output %1 "y")",
                 R"(
    input %0 "x": f32[?]
    output %0 "y")");
}

TEST(MergeCasts, WhereTheFirstLosesNothing) {
  expect_becomes({"merge_casts", "drop_cast"}, R"(
    input %0 "h": f16[2]
    input %1 "i": i32[2]
    input %2 "b": bool[2]
    %3: f32[2] = Cast(%0) to=f32
    %4: f16[2] = Cast(%3) to=f16
    %5: i64[2] = Cast(%1) to=i64
    %6: f32[2] = Cast(%5) to=f32
    %7: f32[2] = Cast(%2) to=f32
    %8: i64[2] = Cast(%7) to=i64
    output %4 "a"
    output %6 "b"
    output %8 "c")",
                 R"(
    input %0 "h": f16[2]
    input %1 "i": i32[2]
    input %2 "b": bool[2]
    %3: f32[2] = Cast(%1) to=f32
    %4: i64[2] = Cast(%2) to=i64
    output %0 "a"
    output %3 "b"
    output %4 "c")",
                 0);
}

TEST(MergeCasts, StaysWhereTheFirstRoundsWrapsOrSaturates) {
  expect_stays({"merge_casts"}, R"(
    input %0 "x": f32[2]
    input %1 "i": i64[2]
    input %2 "s": i32[2]
    %3: f16[2] = Cast(%0) to=f16
    %4: f32[2] = Cast(%3) to=f32
    %5: i32[2] = Cast(%1) to=i32
    %6: i64[2] = Cast(%5) to=i64
    %7: f64[2] = Cast(%2) to=f64
    %8: i8[2] = Cast(%7) to=i8
    %9: bf16[2] = Cast(%3) to=bf16
    %10: f32[2] = Cast(%9) to=f32
    %11: u32[2] = Cast(%2) to=u32
    %12: i64[2] = Cast(%11) to=i64
    output %4 "a"
    output %6 "b"
    output %8 "c"
    output %10 "d"
    output %12 "e")");
}

}  // namespace
}  // namespace quern::testing
