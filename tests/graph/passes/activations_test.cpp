// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/text_util.h"
#include "graph/passes/terms.h"
#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

void expect_one_function(std::string_view statements, std::string_view function) {
  expect_becomes(
      {}, cat("input %0 \"x\": f32[3,5]\n", statements),
      cat("input %0 \"x\": f32[3,5]\n%1: f32[3,5] = Unary(%0) ", function, "\noutput %1 \"y\""));
}

TEST(Gelu, ByErf) {
  expect_one_function(R"(
    const %1: f32[] = {1.4142135}
    const %2: f32[] = {1}
    const %3: f32[] = {0.5}
    %4: f32[3,5] = Binary(%0, %1) kind=div
    %5: f32[3,5] = Unary(%4) kind=erf
    %6: f32[3,5] = Binary(%5, %2) kind=add
    %7: f32[3,5] = Binary(%0, %6) kind=mul
    %8: f32[3,5] = Binary(%7, %3) kind=mul
    output %8 "y")",
                      "kind=gelu");
  expect_one_function(R"(
    const %1: f32[1] = {0.70710677}
    const %2: f32[] = {1}
    const %3: f32[] = {2}
    %4: f32[3,5] = Binary(%1, %0) kind=mul
    %5: f32[3,5] = Unary(%4) kind=erf
    %6: f32[3,5] = Binary(%2, %5) kind=add
    %7: f32[3,5] = Binary(%0, %3) kind=div
    %8: f32[3,5] = Binary(%6, %7) kind=mul
    output %8 "y")",
                      "kind=gelu");
  expect_one_function(R"(
    const %1: f32[] = {0.70710677}
    const %2: f32[] = {0.5}
    %4: f32[3,5] = Binary(%1, %0) kind=mul
    %5: f32[3,5] = Unary(%4) kind=erf
    %6: f32[3,5] = Binary(%5, %2) kind=mul
    %7: f32[3,5] = Binary(%6, %2) kind=add
    %8: f32[3,5] = Binary(%0, %7) kind=mul
    output %8 "y")",
                      "kind=gelu");
}

// Divided by the gate, and with the error function taken away.
TEST(Gelu, IsNoQuotientAndNoDifference) {
  expect_stays({"recognise_gated"}, R"(
    input %0 "x": f32[3,5]
    const %1: f32[] = {0.70710677}
    const %2: f32[] = {1}
    const %3: f32[] = {0.5}
    %4: f32[3,5] = Binary(%0, %1) kind=mul
    %5: f32[3,5] = Unary(%4) kind=erf
    %6: f32[3,5] = Binary(%5, %2) kind=add
    %7: f32[3,5] = Binary(%0, %3) kind=mul
    %8: f32[3,5] = Binary(%7, %6) kind=div
    %9: f32[3,5] = Binary(%2, %5) kind=sub
    %10: f32[3,5] = Binary(%7, %9) kind=mul
    output %8 "quotient"
    output %10 "difference")");
}

// x is itself a product, and a sum.
TEST(Gelu, OfAProduct) {
  expect_becomes({}, R"(
    input %0 "a": f32[3,5]
    input %9 "b": f32[5]
    const %1: f32[] = {1.4142135}
    const %2: f32[] = {1}
    const %3: f32[] = {0.5}
    %10: f32[3,5] = Binary(%0, %9) kind=mul
    %4: f32[3,5] = Binary(%10, %1) kind=div
    %5: f32[3,5] = Unary(%4) kind=erf
    %6: f32[3,5] = Binary(%5, %2) kind=add
    %7: f32[3,5] = Binary(%10, %3) kind=mul
    %8: f32[3,5] = Binary(%7, %6) kind=mul
    output %8 "y")",
                 R"(
    input %0 "a": f32[3,5]
    input %1 "b": f32[5]
    %2: f32[3,5] = Binary(%0, %1) kind=mul | gelu
    output %2 "y")");
}

TEST(Gelu, ByTanh) {
  expect_one_function(R"(
    const %1: f32[] = {3}
    const %2: f32[] = {0.044715}
    const %3: f32[] = {0.7978846}
    const %4: f32[] = {1}
    const %5: f32[] = {0.5}
    %6: f32[3,5] = Binary(%0, %1) kind=pow
    %7: f32[3,5] = Binary(%6, %2) kind=mul
    %8: f32[3,5] = Binary(%0, %7) kind=add
    %9: f32[3,5] = Binary(%8, %3) kind=mul
    %10: f32[3,5] = Unary(%9) kind=tanh
    %11: f32[3,5] = Binary(%10, %4) kind=add
    %12: f32[3,5] = Binary(%0, %5) kind=mul
    %13: f32[3,5] = Binary(%12, %11) kind=mul
    output %13 "y")",
                      "kind=gelu_tanh");
  expect_one_function(R"(
    const %2: f32[] = {0.044715}
    const %3: f32[] = {0.7978846}
    const %4: f32[] = {1}
    const %5: f32[] = {0.5}
    %6: f32[3,5] = Binary(%0, %0) kind=mul
    %7: f32[3,5] = Binary(%6, %0) kind=mul
    %8: f32[3,5] = Binary(%2, %7) kind=mul
    %9: f32[3,5] = Binary(%0, %8) kind=add
    %10: f32[3,5] = Binary(%3, %9) kind=mul
    %11: f32[3,5] = Unary(%10) kind=tanh
    %12: f32[3,5] = Binary(%4, %11) kind=add
    %13: f32[3,5] = Binary(%0, %12) kind=mul
    %14: f32[3,5] = Binary(%5, %13) kind=mul
    output %14 "y")",
                      "kind=gelu_tanh");
  expect_one_function(R"(
    const %2: f32[] = {0.044715}
    const %3: f32[] = {0.7978846}
    const %4: f32[] = {1}
    const %5: f32[] = {0.5}
    %6: f32[3,5] = Binary(%0, %3) kind=mul
    %7: f32[3,5] = Binary(%0, %2) kind=mul
    %8: f32[3,5] = Binary(%7, %0) kind=mul
    %9: f32[3,5] = Binary(%8, %4) kind=add
    %10: f32[3,5] = Binary(%6, %9) kind=mul
    %11: f32[3,5] = Unary(%10) kind=tanh
    %12: f32[3,5] = Binary(%4, %11) kind=add
    %13: f32[3,5] = Binary(%0, %12) kind=mul
    %14: f32[3,5] = Binary(%5, %13) kind=mul
    output %14 "y")",
                      "kind=gelu_tanh");
}

TEST(Gelu, StaysForOtherNumbersOrOtherArguments) {
  expect_stays({"recognise_gated"}, R"(
    input %0 "x": f32[3]
    input %1 "z": f32[3]
    const %2: f32[] = {0.7071}
    const %3: f32[] = {0.70710677}
    const %4: f32[] = {1}
    const %5: f32[] = {0.5}
    %6: f32[3] = Binary(%0, %2) kind=mul
    %7: f32[3] = Unary(%6) kind=erf
    %8: f32[3] = Binary(%7, %4) kind=add
    %9: f32[3] = Binary(%0, %5) kind=mul
    %10: f32[3] = Binary(%9, %8) kind=mul
    %11: f32[3] = Binary(%1, %3) kind=mul
    %12: f32[3] = Unary(%11) kind=erf
    %13: f32[3] = Binary(%12, %4) kind=add
    %14: f32[3] = Binary(%9, %13) kind=mul
    output %10 "y"
    output %14 "z")");
}

TEST(Swish, BySigmoid) {
  expect_one_function(R"(
    %1: f32[3,5] = Unary(%0) kind=sigmoid
    %2: f32[3,5] = Binary(%0, %1) kind=mul
    output %2 "y")",
                      "kind=swish alpha=1");
  expect_one_function(R"(
    const %1: f32[] = {1.75}
    %2: f32[3,5] = Binary(%0, %1) kind=mul
    %3: f32[3,5] = Unary(%2) kind=sigmoid
    %4: f32[3,5] = Binary(%3, %0) kind=mul
    output %4 "y")",
                      "kind=swish alpha=1.75");
  // x / (1 + exp(-x))
  expect_one_function(R"(
    const %1: f32[] = {1}
    %2: f32[3,5] = Unary(%0) kind=neg
    %3: f32[3,5] = Unary(%2) kind=exp
    %4: f32[3,5] = Binary(%3, %1) kind=add
    %5: f32[3,5] = Binary(%1, %4) kind=div
    %6: f32[3,5] = Binary(%5, %0) kind=mul
    output %6 "y")",
                      "kind=swish alpha=1");
}

TEST(Swish, StaysForAGateOfSomethingElse) {
  expect_stays({"recognise_gated"}, R"(
    input %0 "x": f32[3]
    input %1 "z": f32[3]
    input %2 "w": f32[1]
    %3: f32[3] = Unary(%1) kind=sigmoid
    %4: f32[3] = Binary(%0, %3) kind=mul
    %5: f32[1] = Unary(%2) kind=sigmoid
    %6: f32[3] = Binary(%0, %5) kind=mul
    output %4 "y"
    output %6 "z")");
}

TEST(Sigmoid, IsAReciprocalAndNothingElse) {
  expect_stays({"recognise_sigmoid"}, R"(
    input %0 "x": f32[3]
    const %1: f32[] = {1}
    %2: f32[3] = Unary(%0) kind=neg
    %3: f32[3] = Unary(%2) kind=exp
    %4: f32[3] = Binary(%3, %1) kind=add
    %5: f32[3] = Unary(%4) kind=sqrt
    output %5 "y")");
}

TEST(Swish, WhoseGateIsReadElsewhere) {
  expect_becomes({"recognise_gated"}, R"(
    input %0 "x": f32[3]
    %1: f32[3] = Unary(%0) kind=sigmoid
    %2: f32[3] = Binary(%0, %1) kind=mul
    output %1 "g"
    output %2 "y")",
                 R"(
    input %0 "x": f32[3]
    %1: f32[3] = Unary(%0) kind=sigmoid
    %2: f32[3] = Unary(%0) kind=swish alpha=1
    output %1 "g"
    output %2 "y")");
}

TEST(HardSwish, InEveryOrder) {
  expect_one_function(R"(
    const %1: f32[] = {3}
    const %2: f32[] = {6}
    %3: f32[3,5] = Binary(%0, %1) kind=add
    %4: f32[3,5] = Unary(%3) kind=clip beta=6
    %5: f32[3,5] = Binary(%0, %4) kind=mul
    %6: f32[3,5] = Binary(%5, %2) kind=div
    output %6 "y")",
                      "kind=hard_swish");
  expect_one_function(R"(
    const %1: f32[] = {3}
    const %2: f32[] = {0.16666667}
    const %3: f32[] = {6}
    %4: f32[3,5] = Binary(%1, %0) kind=add
    %5: f32[3,5] = Unary(%4) kind=relu
    %6: f32[3,5] = Binary(%5, %3) kind=min
    %7: f32[3,5] = Binary(%6, %2) kind=mul
    %8: f32[3,5] = Binary(%7, %0) kind=mul
    output %8 "y")",
                      "kind=hard_swish");
  expect_one_function(R"(
    %1: f32[3,5] = Unary(%0) kind=hard_sigmoid alpha=0.16666667163372 beta=0.5
    %2: f32[3,5] = Binary(%0, %1) kind=mul
    output %2 "y")",
                      "kind=hard_swish");
}

TEST(HardSwish, StaysForOtherNumbers) {
  expect_stays({"recognise_gated"}, R"(
    input %0 "x": f32[3]
    const %1: f32[] = {3}
    const %2: f32[] = {0.2}
    %3: f32[3] = Unary(%0) kind=hard_sigmoid alpha=0.2 beta=0.5
    %4: f32[3] = Binary(%0, %3) kind=mul
    %5: f32[3] = Binary(%0, %1) kind=add
    %6: f32[3] = Unary(%5) kind=clip beta=5
    %7: f32[3] = Binary(%0, %6) kind=mul
    %8: f32[3] = Binary(%7, %2) kind=mul
    output %4 "y"
    output %8 "z")");
}

TEST(HardSigmoid, ByClip) {
  expect_one_function(R"(
    const %1: f32[] = {3}
    const %2: f32[] = {6}
    %3: f32[3,5] = Binary(%0, %1) kind=add
    %4: f32[3,5] = Unary(%3) kind=clip beta=6
    %5: f32[3,5] = Binary(%4, %2) kind=div
    output %5 "y")",
                      "kind=hard_sigmoid alpha=0.16666666666666666 beta=0.5");
  expect_one_function(R"(
    const %1: f32[] = {0.25}
    const %2: f32[] = {0.5}
    %3: f32[3,5] = Binary(%0, %1) kind=mul
    %4: f32[3,5] = Binary(%3, %2) kind=add
    %5: f32[3,5] = Unary(%4) kind=clip beta=1
    output %5 "y")",
                      "kind=hard_sigmoid alpha=0.25 beta=0.5");
  expect_stays({"recognise_hard_sigmoid"}, R"(
    input %0 "x": f32[3]
    const %1: f32[] = {0.5}
    %2: f32[3] = Unary(%0) kind=clip beta=1
    %3: f32[3] = Binary(%2, %1) kind=add
    %4: f32[3] = Unary(%3) kind=clip alpha=-1 beta=1
    output %4 "y")");
}

// A straight line is followed over six nodes.
TEST(HardSigmoid, OfALongLine) {
  expect_becomes({"recognise_hard_sigmoid"}, R"(
    input %0 "x": f32[3]
    const %1: f32[] = {0.125}
    %2: f32[3] = Binary(%0, %1) kind=add
    %3: f32[3] = Binary(%2, %1) kind=add
    %4: f32[3] = Binary(%3, %1) kind=add
    %5: f32[3] = Binary(%4, %1) kind=add
    %6: f32[3] = Binary(%5, %1) kind=add
    %7: f32[3] = Binary(%6, %1) kind=add
    %8: f32[3] = Binary(%7, %1) kind=add
    %9: f32[3] = Unary(%8) kind=clip beta=1
    output %9 "y")",
                 R"(
    input %0 "x": f32[3]
    const %1: f32[] = {0.125}
    %2: f32[3] = Binary(%0, %1) kind=add
    %3: f32[3] = Unary(%2) kind=hard_sigmoid alpha=1 beta=0.75
    output %3 "y")");
}

TEST(Mish, BySoftplus) {
  expect_one_function(R"(
    const %1: f32[] = {1}
    %2: f32[3,5] = Unary(%0) kind=exp
    %3: f32[3,5] = Binary(%2, %1) kind=add
    %4: f32[3,5] = Unary(%3) kind=log
    %5: f32[3,5] = Unary(%4) kind=tanh
    %6: f32[3,5] = Binary(%0, %5) kind=mul
    output %6 "y")",
                      "kind=mish");
  expect_stays({"recognise_softplus"}, R"(
    input %0 "x": f32[3]
    const %1: f32[] = {2}
    %2: f32[3] = Unary(%0) kind=exp
    %3: f32[3] = Binary(%2, %1) kind=add
    %4: f32[3] = Unary(%3) kind=log
    output %4 "y")");
}

TEST(Softsign, ByAbs) {
  expect_one_function(R"(
    const %1: f32[] = {1}
    %2: f32[3,5] = Unary(%0) kind=abs
    %3: f32[3,5] = Binary(%1, %2) kind=add
    %4: f32[3,5] = Binary(%0, %3) kind=div
    output %4 "y")",
                      "kind=softsign");
}

TEST(LeakyRelu, ByMax) {
  expect_one_function(R"(
    const %1: f32[] = {0.125}
    %2: f32[3,5] = Binary(%0, %1) kind=mul
    %3: f32[3,5] = Binary(%2, %0) kind=max
    output %3 "y")",
                      "kind=leaky_relu alpha=0.125");
  expect_stays({"recognise_leaky_relu"}, R"(
    input %0 "x": f32[3]
    const %1: f32[] = {1.5}
    %2: f32[3] = Binary(%0, %1) kind=mul
    %3: f32[3] = Binary(%2, %0) kind=max
    output %3 "y")");
  expect_stays({"recognise_leaky_relu"}, R"(
    input %0 "x": f32[3]
    const %1: f32[] = {3}
    %2: f32[3] = Binary(%0, %1) kind=div
    %3: f32[3] = Binary(%2, %0) kind=max
    output %3 "y")");
}

TEST(Terms, HoldAFew) {
  passes::Terms terms(1);
  for (std::size_t k = 0; k < passes::Terms::max_size; ++k)
    EXPECT_TRUE(terms.add(static_cast<ValueId>(k)));
  EXPECT_FALSE(terms.add(static_cast<ValueId>(77)));
  EXPECT_EQ(terms.size(), passes::Terms::max_size);
}

}  // namespace
}  // namespace quern::testing
