// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/problem.h"

#include <gtest/gtest.h>

#include "graph/graph.h"
#include "graph/text.h"
#include "tests/expect.h"

namespace quern::tools::lab {
namespace {

std::string refusal(std::string_view line) {
  const auto problem = parse_problem(line);
  return problem ? "" : std::string(problem.error().message());
}

std::string graph_of(std::string_view line) {
  const auto problem = parse_problem(line);
  if (!problem) return std::string(problem.error().message());
  const auto model = build_problem(*problem, 1);
  return model ? to_text(model->graph(), {.max_elements = 0})
               : std::string(model.error().message());
}

TEST(KernelProblem, AConvolutionHasItsSizes) {
  const std::string text = graph_of("conv:n2c64h56w28o32k3s2p1g4 f32 bias +relu");
  EXPECT_CONTAINS(text, "f32[2,64,56,28]");
  EXPECT_CONTAINS(text, "f32[32,16,3,3]");
  EXPECT_CONTAINS(text, "f32[32] = ...");
  EXPECT_CONTAINS(text, "f32[2,32,28,14] = Conv(");
  EXPECT_CONTAINS(text, "strides=[2,2]");
  EXPECT_CONTAINS(text, "Unary(");
}

TEST(KernelProblem, SizesMayDifferByAxis) {
  EXPECT_CONTAINS(graph_of("conv:c8o4w100k5pw2"), "f32[1,4,100] = Conv(");
  EXPECT_CONTAINS(graph_of("conv:c8o4z6h7w9kz1k3"), "f32[1,4,6,5,7] = Conv(");
  EXPECT_CONTAINS(graph_of("conv:c8o4h9kh3kw1d2"), "f32[1,4,5,9] = Conv(");
  EXPECT_CONTAINS(graph_of("conv:c8o4h9k3 u8*i8"), "i32[1,4,7,7] = ConvInteger(");
}

TEST(KernelProblem, AProductHasAWeightOrTwoInputs) {
  const std::string weight = graph_of("matmul:m128n1536k384 f32 bias +gelu +add");
  EXPECT_CONTAINS(weight, "f32[384,1536] = ...");
  EXPECT_CONTAINS(weight, "input %1 \"x1\": f32[128,1536]");
  const std::string batch = graph_of("matmul:b12m128n64k32");
  EXPECT_CONTAINS(batch, "input %1 \"x1\": f32[12,32,64]");
  EXPECT_CONTAINS(graph_of("matmul:m4n5k6 dynamic"), "input %1 \"x1\": f32[6,5]");
  EXPECT_CONTAINS(graph_of("matmul:m4n5k6 u8*i8"), "i32[4,5] = MatMulInteger(");
}

TEST(KernelProblem, AProductMayHaveWeightsOfFewBits) {
  const std::string plain = graph_of("matmul:m2n48k70 bf16*int4 bias +relu");
  EXPECT_CONTAINS(plain, "u8[48,3,16] = ...");
  EXPECT_CONTAINS(plain, "bf16[48,3] = ...");
  EXPECT_CONTAINS(plain, "bf16[48] = ...");
  EXPECT_CONTAINS(plain, "bf16[2,48] = BlockQuantizedMatMul(%0, %1, %2, _, %3)");
  const std::string zeros = graph_of("matmul:m2n48k70q16 f32*u2 quantize_x");
  EXPECT_CONTAINS(zeros, "u8[48,5,4] = ...");
  EXPECT_CONTAINS(zeros, "f32[48,5] = ...");
  EXPECT_CONTAINS(zeros, "u8[48,2] = ...");
  EXPECT_CONTAINS(zeros, "bits=2 block_size=16 quantize_x=true");
  EXPECT_EQ(graph_of("matmul:m4n5k6 f16*uint8"), graph_of("matmul:m4n5k6 f16*u8"));
  EXPECT_CONTAINS(graph_of("matmul:m4n5k6 uint8*int8"), "i32[4,5] = MatMulInteger(");
}

TEST(KernelProblem, WeightsOfFewBitsLieBetweenMinusOneAndOne) {
  for (const char* types : {"f32*i2", "f32*i4", "f32*i8"}) {
    const auto problem = parse_problem(std::string("matmul:m1n64k64 ") + types);
    ASSERT_TRUE(problem) << problem.error().message();
    const Tensor scales = generate_elements(problem->operands[2], 1).value();
    const double most = types[5] == '2' ? 2 : types[5] == '4' ? 8 : 128;
    for (const float scale : scales.span<float>()) {
      EXPECT_GE(scale * most, 0.5);
      EXPECT_LT(scale * most, 1);
    }
  }
}

TEST(KernelProblem, MixedTypesThatAreNotThereAreRefusedWithThoseThatAre) {
  for (const char* types : {"f64*i4", "f32*f16", "u8*i4", "i8*f32", "f16*i16", "bf16*bool"}) {
    const std::string said = refusal(std::string("matmul:m4n4k4 ") + types);
    EXPECT_CONTAINS(said, types);
    EXPECT_CONTAINS(said, "f32, f16 or bf16 by weights of i2, i4 or i8");
    EXPECT_CONTAINS(said, "u8 or i8 by u8 or i8");
  }
  EXPECT_CONTAINS(refusal("matmul:m4n4k4 f32*i3"), "wanted a type");
  EXPECT_CONTAINS(refusal("conv:c4o4h4k3 f32*i4"), "no weights of few bits");
  EXPECT_CONTAINS(refusal("matmul:m4n4k4 f32*i4 dynamic"), "are constants");
  EXPECT_CONTAINS(refusal("matmul:b2m4n4k4 f32*i4"), "the same for all rows");
  EXPECT_CONTAINS(refusal("matmul:m4n4k4q32 f32"), "only with weights of few bits");
  EXPECT_CONTAINS(refusal("matmul:m4n4k4 f32 quantize_x"), "only with weights of few bits");
  EXPECT_CONTAINS(refusal("matmul:m4n4k4q0 f32*i4"), "whole bytes of numbers of 4 bits");
  EXPECT_CONTAINS(refusal("matmul:m4n4k4q3 f32*i2"), "whole bytes of numbers of 2 bits");
  EXPECT_CONTAINS(refusal("matmul:m4n4k4q2147483648 f32*i8"), "1048576 numbers at most");
  EXPECT_CONTAINS(refusal("matmul:m1n2147483648k2147483648q1 f32*i8"), "takes more than");
}

TEST(KernelProblem, AnyOperatorHasAttributesAndOperands) {
  EXPECT_CONTAINS(graph_of("op:Softmax axis=0 f32[8,1000]"), "Softmax(%0) kind=softmax axis=0");
  const std::string slice = graph_of("op:Slice f32[8,9] i64[1]={2} i64[1]={7} i64[1]={1} _");
  EXPECT_CONTAINS(slice, "Slice(%0, %1, %2, %3, _)");
  EXPECT_CONTAINS(slice, "f32[8,5]");
  EXPECT_CONTAINS(graph_of("op:Split f32[6,4] axis=0 ->3"), "y2");
}

TEST(KernelProblem, PostOpsHaveOperandsAndOrder) {
  const std::string text = graph_of("matmul:m4n5k6 +clip(0,6) +~sub:const:f32[5] +mul:f32[1]@1..2");
  EXPECT_CONTAINS(text, "kind=clip beta=6");
  EXPECT_CONTAINS(text, "Binary(%5, %4) kind=sub");
  EXPECT_CONTAINS(text, "kind=mul");
}

TEST(KernelProblem, WordsAreReadBack) {
  for (const char* text : {"const:f32[3,4]", "f32[2]@-0.5..3", "i64[2]={1,-2}", "_", "u8[]"}) {
    const auto problem = parse_problem(std::string("op:Identity ") + text);
    ASSERT_TRUE(problem) << problem.error().message();
    EXPECT_EQ(operand_text(problem->operands[0]), text);
  }
  for (const char* text : {"+relu", "+clip(0,6)", "+add", "+~sub:f32[3]", "+mul:const:f32[1]"}) {
    const auto problem = parse_problem(std::string("op:Identity f32[3] ") + text);
    ASSERT_TRUE(problem) << problem.error().message();
    EXPECT_EQ(post_op_text(problem->post_ops[0]), text);
  }
}

TEST(KernelProblem, RefusesWithASentence) {
  EXPECT_CONTAINS(refusal(""), "a word at least");
  EXPECT_CONTAINS(refusal("conv"), "wanted conv:SIZES");
  EXPECT_CONTAINS(refusal("pool:c3"), "no such family");
  EXPECT_CONTAINS(refusal("conv:c64"), "wants a size o");
  EXPECT_CONTAINS(refusal("conv:c64o64h5"), "wants a size k");
  EXPECT_CONTAINS(refusal("conv:c64o64k3"), "wants a size w");
  EXPECT_CONTAINS(refusal("conv:c64o64h5k3c3"), "stands twice");
  EXPECT_CONTAINS(refusal("conv:c64o64h5k3x3"), "no such size");
  EXPECT_CONTAINS(refusal("conv:c64o64h5k3p"), "wanted letters and a number");
  EXPECT_CONTAINS(refusal("conv:c64o64h5k3g0"), "a group at least");
  EXPECT_CONTAINS(refusal("conv:c99999999999o64h5k3"), "larger than 2^31");
  EXPECT_CONTAINS(refusal("conv:n99999c9999o64h9999k3"), "takes more than");
  EXPECT_CONTAINS(refusal("matmul:m2147483648n2147483648k2147483648"), "takes more than");
  EXPECT_CONTAINS(refusal("matmul:m4n4k4 f33"), "wanted a type");
  EXPECT_CONTAINS(refusal("matmul:m4n4k4 f32 f32"), "a second type");
  EXPECT_CONTAINS(refusal("matmul:m4n4k4 +rleu"), "no elementwise operation");
  EXPECT_CONTAINS(refusal("matmul:m4n4k4 +relu:f32[4]"), "has no operand");
  EXPECT_CONTAINS(refusal("matmul:m4n4k4 +clip(0,6"), "in parentheses");
  EXPECT_CONTAINS(refusal("op:Sofmax f32[3]"), "no operator of this name");
  EXPECT_CONTAINS(refusal("op:Softmax axes=1 f32[3]"), "no attribute 'axes'");
  EXPECT_CONTAINS(refusal("op:Softmax f32[3"), "wants a ] at its end");
  EXPECT_CONTAINS(refusal("op:Softmax f32[-3]"), "is no size");
  EXPECT_CONTAINS(refusal("op:Softmax f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"),
                  "more than 16 dimensions");
  EXPECT_CONTAINS(refusal("op:Softmax string[3]"), "texts are nothing to measure");
  EXPECT_CONTAINS(refusal("op:Softmax f32[3]={1,2}"), "has 2 numbers, f32[3] wants 3");
  EXPECT_CONTAINS(refusal("op:Softmax f32[3]@2..1"), "its end above its beginning");
  EXPECT_CONTAINS(refusal("op:Softmax f32[3]@0..nan"), "wanted a range");
  EXPECT_CONTAINS(refusal("op:Split f32[3] ->0"), "wanted a number of results");
  EXPECT_CONTAINS(graph_of("conv:c6o4h5k3g4"), "problem 'conv:c6o4h5k3g4'");
}

TEST(KernelProblem, DenormalInputsAreRefused) {
  EXPECT_CONTAINS(refusal("op:Softmax f32[3]@0..1e-38"), "denormal");
  const auto problem = parse_problem("op:Softmax f32[4096]@-1e-20..1e-20");
  ASSERT_TRUE(problem);
  const Tensor numbers = generate_elements(problem->operands[0], 3).value();
  for (const float x : numbers.span<float>()) EXPECT_TRUE(x == 0 || std::abs(x) > 1e-37F) << x;
}

TEST(KernelProblem, NumbersLieInTheirRangeAndChangeWithTheSeed) {
  const auto problem = parse_problem("op:Softmax f32[1000]@2..3");
  ASSERT_TRUE(problem);
  const Tensor a = generate_elements(problem->operands[0], 1).value();
  const Tensor b = generate_elements(problem->operands[0], 2).value();
  EXPECT_NE(a.span<float>()[0], b.span<float>()[0]);
  double sum = 0;
  for (const float x : a.span<float>()) {
    EXPECT_GE(x, 2);
    EXPECT_LT(x, 3);
    sum += x;
  }
  EXPECT_NEAR(sum / 1000, 2.5, 0.03);
}

// ---- sweeps

std::vector<std::string> swept(std::string_view line) {
  auto lines = expand_sweeps(line);
  return lines ? *lines : std::vector<std::string>{std::string(lines.error().message())};
}

TEST(KernelSweep, EachNumberIsALine) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(swept("conv:c64o8"), Lines{"conv:c64o8"});
  EXPECT_EQ(swept("conv:c{64..512*2}o8"),
            (Lines{"conv:c64o8", "conv:c128o8", "conv:c256o8", "conv:c512o8"}));
  EXPECT_EQ(swept("conv:c3o8 f32 c=1..9+4"),
            (Lines{"conv:c1o8 f32", "conv:c5o8 f32", "conv:c9o8 f32"}));
  EXPECT_EQ(swept("matmul:m1n1 k=7..8"), (Lines{"matmul:m1n1k7", "matmul:m1n1k8"}));
  EXPECT_EQ(swept("op:Softmax f32[{1,3},{2..3}]"),
            (Lines{"op:Softmax f32[1,2]", "op:Softmax f32[1,3]", "op:Softmax f32[3,2]",
                   "op:Softmax f32[3,3]"}));
  EXPECT_EQ(swept("op:X i64[2]={1,2}"), Lines{"op:X i64[2]={1,2}"});
}

TEST(KernelSweep, IsBounded) {
  EXPECT_CONTAINS(swept("conv:c{1..99999999}")[0], "more than 4096 problems");
  EXPECT_CONTAINS(swept("op:X f32[{1..100},{1..100}]")[0], "more than 4096 problems");
  EXPECT_CONTAINS(swept("conv:c{1..8*1}")[0], "has no end");
  EXPECT_CONTAINS(swept("conv:c{0..8*2}")[0], "has no end");
  EXPECT_CONTAINS(swept("conv:c{1..8+0}")[0], "has no end");
  EXPECT_CONTAINS(swept("conv:c{9..8}")[0], "ends before it begins");
  EXPECT_CONTAINS(swept("conv:c{1..99999999999}")[0], "0 to 2^31");
  EXPECT_CONTAINS(swept("conv:c{a..b}")[0], "wanted a sweep");
  EXPECT_CONTAINS(swept("conv:c{}")[0], "numbers in braces");
  EXPECT_CONTAINS(swept("conv:c{1,x}")[0], "a number in braces");
  EXPECT_CONTAINS(swept("conv:c1{")[0], "at its end");
  EXPECT_CONTAINS(swept("conv:c{1..2} c=3..4")[0], "a second sweep");
}

TEST(KernelSweep, FilesHaveCommentsAndErrorsTheirLine) {
  const auto problems = parse_problems("# shapes\n\nmatmul:m{1,2}n3k4  # small\nop:Exp f32[3]\r\n");
  EXPECT_FALSE(problems);  // Exp is a kind of Unary
  EXPECT_CONTAINS(std::string(problems.error().message()), "line 4");
  const auto good = parse_problems("# shapes\n\nmatmul:m{1,2}n3k4  # small\n");
  ASSERT_TRUE(good);
  ASSERT_EQ(good->size(), 2U);
  EXPECT_EQ((*good)[1].text, "matmul:m2n3k4");
}

// Whatever bytes stand in a line, there is an answer.
TEST(KernelSweep, AnyBytesHaveAnAnswer) {
  const std::string seed = "conv:n1c{6..8+2}h5o6k3 f32 +clip(0,6) +add:f32[1]@0..1 k=1..3";
  std::uint64_t state = 7;
  for (int i = 0; i < 20000; ++i) {
    std::string line = seed;
    for (int changes = 0; changes < 3; ++changes) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      line[(state >> 33) % line.size()] = static_cast<char>((state >> 20) & 0xff);
    }
    const auto lines = expand_sweeps(line);
    if (!lines) continue;
    ASSERT_LE(lines->size(), max_lines);
    const auto problem = parse_problem(lines->back());
    EXPECT_TRUE(problem || !problem.error().message().empty());
  }
}

}  // namespace
}  // namespace quern::tools::lab
