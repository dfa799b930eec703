// SPDX-License-Identifier: Apache-2.0
// Einsums that are products of matrices, and those that are none.
#include "engine/vocabulary/text_util.h"
#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

TEST(EinsumToMatmul, ScoresOfAttention) {
  expect_becomes({"einsum_to_matmul", "transpose_in_matmul"}, R"(
    input %0 "q": f32[N,4,T,8]
    input %1 "k": f32[N,4,S,8]
    %2: f32[N,4,T,S] = Einsum(%0, %1) equation="bhqd,bhkd->bhqk"
    output %2 "y")",
                 R"(
    input %0 "q": f32[N,4,T,8]
    input %1 "k": f32[N,4,S,8]
    %2: f32[N,4,T,S] = MatMul(%0, %1) transpose_b=true
    output %2 "y")");
}

TEST(EinsumToMatmul, DimensionsComeInTheOrderOfTheResult) {
  expect_becomes({"einsum_to_matmul"}, R"(
    input %0 "a": f32[5,2,3]
    input %1 "b": f32[2,5,4]
    %2: f32[4,3,2] = Einsum(%0, %1) equation="kbm,bkn->nmb"
    output %2 "y")",
                 R"(
    input %0 "a": f32[5,2,3]
    input %1 "b": f32[2,5,4]
    %2: f32[2,3,5] = Transpose(%0) perm=[1,2,0]
    %3: f32[2,3,4] = MatMul(%2, %1)
    %4: f32[4,3,2] = Transpose(%3) perm=[2,1,0]
    output %4 "y")");
}

TEST(EinsumToMatmul, SeveralLabelsAreOneDimension) {
  expect_becomes({"einsum_to_matmul"}, R"(
    input %0 "x": f32[2,3,4]
    input %1 "w": f32[4,5,6]
    %2: f32[2,3,5,6] = Einsum(%0, %1) equation="bsd,dhe->bshe"
    output %2 "y")",
                 R"(
    input %0 "x": f32[2,3,4]
    input %1 "w": f32[4,5,6]
    const %2: i64[2] = {6, 4}
    %3: f32[6,4] = Reshape(%0, %2)
    const %4: i64[2] = {4, 30}
    %5: f32[4,30] = Reshape(%1, %4)
    %6: f32[6,30] = MatMul(%3, %5)
    const %7: i64[4] = {2, 3, 5, 6}
    %8: f32[2,3,5,6] = Reshape(%6, %7)
    output %8 "y")");
}

// Dimensions of 1 that are summed would broadcast, sums within one operand and diagonals are no
// products, what has no numbers cannot be reshaped, and integers wrap.
TEST(EinsumToMatmul, WhatIsNoProductStays) {
  const auto stays = [](const char* type_a, const char* type_b, const char* result,
                        const char* equation) {
    SCOPED_TRACE(equation);
    expect_stays({"einsum_to_matmul"},
                 cat("input %0 \"a\": ", type_a, "\ninput %1 \"b\": ", type_b, "\n%2: ", result,
                     " = Einsum(%0, %1) equation=\"", equation, "\"\noutput %2 \"y\""));
  };
  stays("f32[2,1]", "f32[3,4]", "f32[2,4]", "ik,kj->ij");
  stays("f32[2,A]", "f32[B,4]", "f32[2,4]", "ik,kj->ij");
  stays("f32[2,3]", "f32[4]", "f32[2,4]", "ik,j->ij");
  stays("f32[2,2,3]", "f32[3,4]", "f32[2,4]", "iik,kj->ij");
  stays("f32[2,3]", "f32[2,3]", "f32[2,3]", "ij,ij->ij");
  stays("f32[N,3,4]", "f32[4,5,6]", "f32[N,3,5,6]", "bsd,dhe->bshe");
  stays("i32[2,3]", "i32[3,4]", "i32[2,4]", "ik,kj->ij");
}

}  // namespace
}  // namespace quern::testing
