// SPDX-License-Identifier: Apache-2.0
// Operators that import as arithmetic: attention, losses, optimisers, com.microsoft.
#include "tests/expect.h"
#include "tests/onnx-parser/import_test.h"

namespace quern::onnx_test {
namespace {

const Message scalar = tensor_type(f32, {});
const Message q4 = tensor_type(f32, {2, 4, 3, 8});
const Message k4 = tensor_type(f32, {2, 2, 5, 8});

TEST(AttentionOp, PlainIsOneNode) {
  EXPECT_EQ(nodes_of({.op = "Attention",
                      .types = {q4, k4, k4},
                      .attributes = {number("scale", 0.5f)},
                      .version = 23}),
            "%3: f32[2,4,3,8] = Attention(%0, %1, %2) scale=0.5\n");
}

TEST(AttentionOp, PackedHeadsAreSplitAndJoined) {
  const Message packed = tensor_type(f32, {2, 3, 32});
  EXPECT_EQ(nodes_of({.op = "Attention",
                      .types = {packed, packed, packed},
                      .attributes = {integer("q_num_heads", 4), integer("kv_num_heads", 4)},
                      .version = 23}),
            "const %3: i64[4] = {0, 0, 4, -1}\n"
            "%4: f32[2,3,4,8] = Reshape(%0, %3)\n"
            "%5: f32[2,4,3,8] = Transpose(%4) perm=[0,2,1,3]\n"
            "const %6: i64[4] = {0, 0, 4, -1}\n"
            "%7: f32[2,3,4,8] = Reshape(%1, %6)\n"
            "%8: f32[2,4,3,8] = Transpose(%7) perm=[0,2,1,3]\n"
            "const %9: i64[4] = {0, 0, 4, -1}\n"
            "%10: f32[2,3,4,8] = Reshape(%2, %9)\n"
            "%11: f32[2,4,3,8] = Transpose(%10) perm=[0,2,1,3]\n"
            "%12: f32[2,4,3,8] = Attention(%5, %8, %11) scale=0.35355338\n"
            "%13: f32[2,3,4,8] = Transpose(%12) perm=[0,2,1,3]\n"
            "const %14: i64[3] = {0, 0, -1}\n"
            "%15: f32[2,3,32] = Reshape(%13, %14)\n");
  EXPECT_CONTAINS(nodes_of({.op = "Attention", .types = {packed, packed, packed}, .version = 23}),
                  "'q_num_heads' is missing");
}

TEST(AttentionOp, MasksBecomeABiasAndHiddenRowsZero) {
  EXPECT_EQ(
      nodes_of(
          {.op = "Attention", .types = {q4, k4, k4, tensor_type(boolean, {3, 5})}, .version = 23}),
      "const %4: f32[] = {0}\n"
      "const %5: f32[] = {-inf}\n"
      "%6: f32[3,5] = Where(%3, %4, %5)\n"
      "%7: f32[2,4,3,8] = Attention(%0, %1, %2, %6) scale=0.35355338\n"
      "const %8: i64[1] = {-1}\n"
      "%9: f32[3,1] = Reduce(%6, %8) kind=max\n"
      "const %10: f32[] = {-inf}\n"
      "%11: bool[3,1] = Binary(%9, %10) kind=equal\n"
      "const %12: f32[] = {0}\n"
      "%13: f32[2,4,3,8] = Where(%11, %12, %7)\n");
}

TEST(AttentionOp, CausalWithAPast) {
  EXPECT_EQ(nodes_of({.op = "Attention",
                      .types = {q4, k4, k4, {}, k4, k4},
                      .attributes = {integer("is_causal", 1)},
                      .version = 23,
                      .outputs = 3}),
            "%5: f32[2,2,10,8] = Concat(%3, %1) axis=2\n"
            "%6: f32[2,2,10,8] = Concat(%4, %2) axis=2\n"
            "const %7: i64[] = {0}\n"
            "const %8: i64[] = {10}\n"
            "const %9: i64[] = {1}\n"
            "%10: i64[10] = Range(%7, %8, %9)\n"
            "const %11: i64[] = {0}\n"
            "const %12: i64[] = {3}\n"
            "const %13: i64[] = {1}\n"
            "%14: i64[3] = Range(%11, %12, %13)\n"
            "const %15: i64[1] = {1}\n"
            "%16: i64[3,1] = Unsqueeze(%14, %15)\n"
            "const %17: i64[1] = {5}\n"
            "%18: i64[3,1] = Binary(%16, %17) kind=add\n"
            "%19: i64[3,10] = Binary(%18, %10) kind=sub\n"
            "const %20: i64[] = {0}\n"
            "%21: bool[3,10] = Binary(%19, %20) kind=greater_equal\n"
            "const %22: f32[] = {0}\n"
            "const %23: f32[] = {-inf}\n"
            "%24: f32[3,10] = Where(%21, %22, %23)\n"
            "%25: f32[2,4,3,8] = Attention(%0, %5, %6, %24) scale=0.35355338\n"
            "const %26: i64[1] = {-1}\n"
            "%27: f32[3,1] = Reduce(%24, %26) kind=max\n"
            "const %28: f32[] = {-inf}\n"
            "%29: bool[3,1] = Binary(%27, %28) kind=equal\n"
            "const %30: f32[] = {0}\n"
            "%31: f32[2,4,3,8] = Where(%29, %30, %25)\n");
  EXPECT_CONTAINS(nodes_of({.op = "Attention", .types = {q4, k4, k4, {}, k4}, .version = 23}),
                  "past key and past value must come together");
}

TEST(AttentionOp, SpelledOutWhenSomethingBetweenIsWanted) {
  EXPECT_EQ(nodes_of({.op = "Attention",
                      .types = {q4, k4, k4},
                      .attributes = {number("softcap", 2), number("scale", 1)},
                      .version = 23}),
            "const %3: i64[1] = {2}\n"
            "%4: f32[2,2,1,5,8] = Unsqueeze(%1, %3)\n"
            "const %5: i64[5] = {2, 2, 2, 5, 8}\n"
            "%6: f32[2,2,2,5,8] = Expand(%4, %5)\n"
            "const %7: i64[4] = {2, 4, 5, 8}\n"
            "%8: f32[2,4,5,8] = Reshape(%6, %7)\n"
            "const %9: i64[1] = {2}\n"
            "%10: f32[2,2,1,5,8] = Unsqueeze(%2, %9)\n"
            "const %11: i64[5] = {2, 2, 2, 5, 8}\n"
            "%12: f32[2,2,2,5,8] = Expand(%10, %11)\n"
            "const %13: i64[4] = {2, 4, 5, 8}\n"
            "%14: f32[2,4,5,8] = Reshape(%12, %13)\n"
            "%15: f32[2,4,3,5] = MatMul(%0, %8) transpose_b=true\n"
            "const %16: f32[] = {0.5}\n"
            "%17: f32[2,4,3,5] = Binary(%15, %16) kind=mul\n"
            "%18: f32[2,4,3,5] = Unary(%17) kind=tanh\n"
            "const %19: f32[] = {2}\n"
            "%20: f32[2,4,3,5] = Binary(%18, %19) kind=mul\n"
            "%21: f32[2,4,3,5] = Softmax(%20) kind=softmax\n"
            "%22: f32[2,4,3,8] = MatMul(%21, %14)\n");
  EXPECT_EQ(nodes_of({.op = "Attention",
                      .types = {q4, q4, q4},
                      .attributes = {integer("qk_matmul_output_mode", 3), number("scale", 1)},
                      .version = 23,
                      .outputs = 4}),
            "%3: f32[2,4,3,3] = MatMul(%0, %1) transpose_b=true\n"
            "%4: f32[2,4,3,3] = Softmax(%3) kind=softmax\n"
            "%5: f32[2,4,3,8] = MatMul(%4, %2)\n");
  EXPECT_CONTAINS(nodes_of({.op = "Attention",
                            .types = {q4, q4, q4},
                            .attributes = {integer("qk_matmul_output_mode", 4)},
                            .version = 23,
                            .outputs = 4}),
                  "'qk_matmul_output_mode' wants 0 to 3");
}

// A graph of one operator, x -> y.
Message graph_of(std::string_view op, const Message& type) {
  return make_graph({.nodes = {node(op, {"x"}, {"y"})},
                     .inputs = {value("x", type)},
                     .outputs = {Message().text(1, "y")}});
}

TEST(FlexAttention, PlainIsOneNode) {
  EXPECT_EQ(nodes_of({.op = "FlexAttention",
                      .types = {q4, k4, k4},
                      .attributes = {number("scale", 0.5f)},
                      .domain = "ai.onnx.preview"}),
            "%3: f32[2,4,3,8] = Attention(%0, %1, %2) scale=0.5\n");
}

TEST(FlexAttention, GraphsOfTheModelStandWhereTheyApply) {
  const Message h4 = tensor_type(f16, {2, 4, 3, 8});
  const Message scores = tensor_type(f32, {2, 4, 3, 3});
  EXPECT_EQ(
      nodes_of({.op = "FlexAttention",
                .types = {h4, h4, h4},
                .attributes = {number("scale", 1), graph("score_mod", graph_of("Tanh", scores)),
                               graph("prob_mod", graph_of("Abs", scores))},
                .domain = "ai.onnx.preview"}),
      "%3: f16[2,4,3,3] = MatMul(%0, %1) transpose_b=true\n"
      "%4: f32[2,4,3,3] = Cast(%3)\n"
      "%5: f32[2,4,3,3] = Unary(%4) kind=tanh\n"
      "%6: f32[2,4,3,3] = Softmax(%5) kind=softmax\n"
      "%7: f32[2,4,3,3] = Unary(%6) kind=abs\n"
      "%8: f32[2,4,3,8] = Cast(%2)\n"
      "%9: f32[2,4,3,8] = MatMul(%7, %8)\n"
      "%10: f16[2,4,3,8] = Cast(%9) to=f16\n");
}

TEST(FlexAttention, RefusesWhatChangesTypeOrShape) {
  const auto with = [](const Message& mod) {
    return nodes_of({.op = "FlexAttention",
                     .types = {q4, q4, q4},
                     .attributes = {graph("score_mod", mod)},
                     .domain = "ai.onnx.preview"});
  };
  const Message scores = tensor_type(f32, {2, 4, 3, 3});
  const std::string wanted = "'score_mod' wants a graph with one output of the type and shape";
  EXPECT_CONTAINS(with(graph_of("Shape", scores)), wanted);
  EXPECT_CONTAINS(with(graph_of("Flatten", scores)), wanted);
  EXPECT_CONTAINS(with(make_graph({.inputs = {value("x", scores)}})), wanted);
  EXPECT_CONTAINS(with(make_graph({.nodes = {node("Add", {"x", "z"}, {"y"})},
                                   .inputs = {value("x", scores), value("z", scores)},
                                   .outputs = {Message().text(1, "y")}})),
                  "has 2 inputs, its node wants 1");
  EXPECT_CONTAINS(nodes_of({.op = "FlexAttention",
                            .types = {q4, tensor_type(f32, {2, 5, 8}), q4},
                            .domain = "ai.onnx.preview"}),
                  "input 1 has rank 3, wants 4");
}

TEST(AttentionOp, WindowsAndExternalCachesOfLaterOpsets) {
  EXPECT_EQ(nodes_of({.op = "Attention",
                      .types = {q4, k4, k4, {}, {}, {}, tensor_type(i64, {2})},
                      .attributes = {integer("left_window_size", 2), number("scale", 1)},
                      .version = 25}),
            "const %4: i64[] = {0}\n"
            "const %5: i64[] = {5}\n"
            "const %6: i64[] = {1}\n"
            "%7: i64[5] = Range(%4, %5, %6)\n"
            "const %8: i64[3] = {1, 2, 3}\n"
            "%9: i64[2,1,1,1] = Unsqueeze(%3, %8)\n"
            "%10: bool[2,1,1,5] = Binary(%7, %9) kind=less\n"
            "const %11: i64[] = {0}\n"
            "const %12: i64[] = {3}\n"
            "const %13: i64[] = {1}\n"
            "%14: i64[3] = Range(%11, %12, %13)\n"
            "const %15: i64[1] = {1}\n"
            "%16: i64[3,1] = Unsqueeze(%14, %15)\n"
            "const %17: i64[1] = {3}\n"
            "%18: i64[2,1,1,1] = Binary(%9, %17) kind=sub\n"
            "%19: i64[2,1,3,1] = Binary(%16, %18) kind=add\n"
            "%20: i64[2,1,3,5] = Binary(%19, %7) kind=sub\n"
            "const %21: i64[] = {2}\n"
            "%22: bool[2,1,3,5] = Binary(%20, %21) kind=less_equal\n"
            "%23: bool[2,1,3,5] = Binary(%10, %22) kind=logical_and\n"
            "const %24: f32[] = {0}\n"
            "const %25: f32[] = {-inf}\n"
            "%26: f32[2,1,3,5] = Where(%23, %24, %25)\n"
            "%27: f32[2,4,3,8] = Attention(%0, %1, %2, %26)\n"
            "const %28: i64[1] = {-1}\n"
            "%29: f32[2,1,3,1] = Reduce(%26, %28) kind=max\n"
            "const %30: f32[] = {-inf}\n"
            "%31: bool[2,1,3,1] = Binary(%29, %30) kind=equal\n"
            "const %32: f32[] = {0}\n"
            "%33: f32[2,4,3,8] = Where(%31, %32, %27)\n");
  EXPECT_CONTAINS(nodes_of({.op = "Attention",
                            .types = {q4, k4, k4, tensor_type(f32, {3, 4})},
                            .attributes = {number("scale", 1)},
                            .version = 24}),
                  "Pad(%3");
}

TEST(RotaryEmbeddingOp, HalvesAndPairs) {
  const Message cache = tensor_type(f32, {2, 3, 4});
  EXPECT_EQ(nodes_of({.op = "RotaryEmbedding", .types = {q4, cache, cache}, .version = 23}),
            "const %3: i64[1] = {1}\n"
            "%4: f32[2,1,3,4] = Unsqueeze(%1, %3)\n"
            "const %5: i64[1] = {1}\n"
            "%6: f32[2,1,3,4] = Unsqueeze(%2, %5)\n"
            "%7: f32[2,4,3,4], %8: f32[2,4,3,4] = Split(%0) axis=-1\n"
            "%9: f32[2,4,3,4] = Binary(%4, %7) kind=mul\n"
            "%10: f32[2,4,3,4] = Binary(%6, %8) kind=mul\n"
            "%11: f32[2,4,3,4] = Binary(%9, %10) kind=sub\n"
            "%12: f32[2,4,3,4] = Binary(%6, %7) kind=mul\n"
            "%13: f32[2,4,3,4] = Binary(%4, %8) kind=mul\n"
            "%14: f32[2,4,3,4] = Binary(%12, %13) kind=add\n"
            "%15: f32[2,4,3,8] = Concat(%11, %14) axis=-1\n");
  EXPECT_EQ(nodes_of({.op = "RotaryEmbedding",
                      .types = {tensor_type(f32, {2, 3, 32}), tensor_type(f32, {50, 2}),
                                tensor_type(f32, {50, 2}), tensor_type(i64, {2, 3})},
                      .attributes = {integer("interleaved", 1), integer("rotary_embedding_dim", 4),
                                     integer("num_heads", 4)},
                      .version = 23}),
            "const %4: i64[4] = {0, 0, 4, -1}\n"
            "%5: f32[2,3,4,8] = Reshape(%0, %4)\n"
            "%6: f32[2,3,2] = Gather(%1, %3) kind=axis\n"
            "const %7: i64[1] = {0}\n"
            "const %8: i64[1] = {2}\n"
            "const %9: i64[1] = {-1}\n"
            "%10: f32[2,3,2] = Slice(%6, %7, %8, %9)\n"
            "const %11: i64[1] = {2}\n"
            "%12: f32[2,3,1,2] = Unsqueeze(%10, %11)\n"
            "%13: f32[2,3,2] = Gather(%2, %3) kind=axis\n"
            "const %14: i64[1] = {0}\n"
            "const %15: i64[1] = {2}\n"
            "const %16: i64[1] = {-1}\n"
            "%17: f32[2,3,2] = Slice(%13, %14, %15, %16)\n"
            "const %18: i64[1] = {2}\n"
            "%19: f32[2,3,1,2] = Unsqueeze(%17, %18)\n"
            "const %20: i64[1] = {0}\n"
            "const %21: i64[1] = {4}\n"
            "const %22: i64[1] = {-1}\n"
            "%23: f32[2,3,4,4] = Slice(%5, %20, %21, %22)\n"
            "const %24: i64[1] = {0}\n"
            "const %25: i64[1] = {9223372036854775807}\n"
            "const %26: i64[1] = {-1}\n"
            "const %27: i64[1] = {2}\n"
            "%28: f32[2,3,4,2] = Slice(%23, %24, %25, %26, %27)\n"
            "const %29: i64[1] = {1}\n"
            "const %30: i64[1] = {9223372036854775807}\n"
            "const %31: i64[1] = {-1}\n"
            "const %32: i64[1] = {2}\n"
            "%33: f32[2,3,4,2] = Slice(%23, %29, %30, %31, %32)\n"
            "%34: f32[2,3,4,2] = Binary(%12, %28) kind=mul\n"
            "%35: f32[2,3,4,2] = Binary(%19, %33) kind=mul\n"
            "%36: f32[2,3,4,2] = Binary(%34, %35) kind=sub\n"
            "%37: f32[2,3,4,2] = Binary(%19, %28) kind=mul\n"
            "%38: f32[2,3,4,2] = Binary(%12, %33) kind=mul\n"
            "%39: f32[2,3,4,2] = Binary(%37, %38) kind=add\n"
            "const %40: i64[1] = {-1}\n"
            "%41: f32[2,3,4,2,1] = Unsqueeze(%36, %40)\n"
            "const %42: i64[1] = {-1}\n"
            "%43: f32[2,3,4,2,1] = Unsqueeze(%39, %42)\n"
            "%44: f32[2,3,4,2,2] = Concat(%41, %43) axis=-1\n"
            "const %45: i64[4] = {2, 3, 4, 4}\n"
            "%46: f32[2,3,4,4] = Reshape(%44, %45)\n"
            "const %47: i64[1] = {4}\n"
            "const %48: i64[1] = {9223372036854775807}\n"
            "const %49: i64[1] = {-1}\n"
            "%50: f32[2,3,4,4] = Slice(%5, %47, %48, %49)\n"
            "%51: f32[2,3,4,8] = Concat(%46, %50) axis=-1\n"
            "const %52: i64[3] = {2, 3, 32}\n"
            "%53: f32[2,3,32] = Reshape(%51, %52)\n");
}

TEST(LinearAttentionOp, IsAScanOverThePositions) {
  const Message packed = tensor_type(f32, {2, 5, 16});
  EXPECT_EQ(nodes_of({.op = "LinearAttention",
                      .types = {packed,
                                tensor_type(f32, {2, 5, 8}),
                                tensor_type(f32, {2, 5, 8}),
                                {},
                                tensor_type(f32, {2, 5, 2}),
                                tensor_type(f32, {2, 5, 1})},
                      .attributes = {integer("q_num_heads", 4), integer("kv_num_heads", 2)},
                      .version = 27,
                      .outputs = 2}),
            "const %5: i64[5] = {0, 0, 2, 2, -1}\n"
            "%6: f32[2,5,2,2,4] = Reshape(%0, %5)\n"
            "const %7: i64[4] = {0, 0, 2, -1}\n"
            "%8: f32[2,5,2,4] = Reshape(%1, %7)\n"
            "const %9: i64[4] = {0, 0, 2, -1}\n"
            "%10: f32[2,5,2,4] = Reshape(%2, %9)\n"
            "const %11: i64[4] = {2, 2, 4, 4}\n"
            "%12: f32[2,2,4,4] = ConstantOfShape(%11)\n"
            "const %13: f32[] = {0.5}\n"
            "%14: f32[2,5,2,2,4] = Binary(%6, %13) kind=mul\n"
            "const %15: i64[4] = {0, 0, 2, -1}\n"
            "%16: f32[2,5,2,1] = Reshape(%3, %15)\n"
            "const %17: i64[4] = {0, 0, -1, 1}\n"
            "%18: f32[2,5,1,1] = Reshape(%4, %17)\n"
            "%19: f32[2,2,4,4], %20: f32[2,5,2,2,4] = Scan(%12, %14, %8, %10, %16, %18) states=1 "
            "scanned_inputs=5 input_axes=[1,1,1,1,1] output_axes=[1] {\n"
            "%6: f32[2,2,1] = Unary(%4) kind=exp\n"
            "const %7: i64[1] = {-1}\n"
            "%8: f32[2,2,1,1] = Unsqueeze(%6, %7)\n"
            "%9: f32[2,2,4,4] = Binary(%0, %8) kind=mul\n"
            "const %10: i64[1] = {-2}\n"
            "%11: f32[2,2,1,4] = Unsqueeze(%3, %10)\n"
            "const %12: i64[1] = {-2}\n"
            "%13: f32[2,2,1,4] = Unsqueeze(%2, %12)\n"
            "%14: f32[2,2,1,4] = MatMul(%13, %9)\n"
            "const %15: i64[1] = {-1}\n"
            "%16: f32[2,1,1,1] = Unsqueeze(%5, %15)\n"
            "%17: f32[2,2,1,4] = Binary(%11, %14) kind=sub\n"
            "%18: f32[2,2,1,4] = Binary(%16, %17) kind=mul\n"
            "const %19: i64[1] = {-1}\n"
            "%20: f32[2,2,4,1] = Unsqueeze(%2, %19)\n"
            "%21: f32[2,2,4,4] = Binary(%20, %18) kind=mul\n"
            "%22: f32[2,2,4,4] = Binary(%9, %21) kind=add\n"
            "%23: f32[2,2,2,4] = MatMul(%1, %22)\n"
            "const %21: i64[3] = {0, 0, -1}\n"
            "%22: f32[2,5,16] = Reshape(%20, %21)\n");
  EXPECT_CONTAINS(nodes_of({.op = "LinearAttention",
                            .types = {packed, packed, packed},
                            .attributes = {integer("q_num_heads", 4), integer("kv_num_heads", 2)},
                            .version = 27}),
                  "wants a decay or beta that is left out");
}

TEST(Losses, NegativeLogLikelihood) {
  const Message scores = tensor_type(f32, {2, 3, 4});
  const Message target = tensor_type(i64, {2, 4});
  EXPECT_EQ(nodes_of({"NegativeLogLikelihoodLoss", {scores, target}, {word("reduction", "none")}}),
            "const %2: i64[1] = {1}\n"
            "%3: i64[2,1,4] = Unsqueeze(%1, %2)\n"
            "%4: f32[2,1,4] = Gather(%0, %3) kind=elements axis=1\n"
            "const %5: i64[1] = {1}\n"
            "%6: f32[2,4] = Squeeze(%4, %5)\n"
            "%7: f32[2,4] = Unary(%6) kind=neg\n");
  EXPECT_EQ(nodes_of({"NegativeLogLikelihoodLoss",
                      {scores, target, tensor_type(f32, {3})},
                      {integer("ignore_index", -1)}}),
            "const %3: i64[] = {-1}\n"
            "%4: bool[2,4] = Binary(%1, %3) kind=equal\n"
            "const %5: i64[] = {0}\n"
            "%6: i64[2,4] = Where(%4, %5, %1)\n"
            "const %7: i64[1] = {1}\n"
            "%8: i64[2,1,4] = Unsqueeze(%6, %7)\n"
            "%9: f32[2,1,4] = Gather(%0, %8) kind=elements axis=1\n"
            "const %10: i64[1] = {1}\n"
            "%11: f32[2,4] = Squeeze(%9, %10)\n"
            "%12: f32[2,4] = Unary(%11) kind=neg\n"
            "%13: f32[2,4] = Gather(%2, %6) kind=axis\n"
            "%14: f32[2,4] = Binary(%12, %13) kind=mul\n"
            "const %15: f32[] = {0}\n"
            "%16: f32[2,4] = Where(%4, %15, %14)\n"
            "%17: f32[2,4] = Where(%4, %15, %13)\n"
            "%18: f32[] = Reduce(%16) kind=sum keepdims=false\n"
            "%19: f32[] = Reduce(%17) kind=sum keepdims=false\n"
            "%20: f32[] = Binary(%18, %19) kind=div\n");
  EXPECT_EQ(nodes_of({.op = "SoftmaxCrossEntropyLoss",
                      .types = {scores, target},
                      .attributes = {word("reduction", "sum")},
                      .outputs = 2}),
            "%2: f32[2,3,4] = Softmax(%0) kind=log_softmax axis=1\n"
            "const %3: i64[1] = {1}\n"
            "%4: i64[2,1,4] = Unsqueeze(%1, %3)\n"
            "%5: f32[2,1,4] = Gather(%2, %4) kind=elements axis=1\n"
            "const %6: i64[1] = {1}\n"
            "%7: f32[2,4] = Squeeze(%5, %6)\n"
            "%8: f32[2,4] = Unary(%7) kind=neg\n"
            "%9: f32[] = Reduce(%8) kind=sum keepdims=false\n");
}

TEST(Optimisers, AreArithmetic) {
  const std::string_view training = "ai.onnx.preview.training";
  const Message x = tensor_type(f32, {2});
  const Message t = tensor_type(i64, {});
  EXPECT_EQ(nodes_of({.op = "Adagrad",
                      .types = {scalar, t, x, x, x},
                      .attributes = {number("epsilon", 0.5f), number("decay_factor", 0.25f),
                                     number("norm_coefficient", 2)},
                      .outputs = 2,
                      .domain = training}),
            "%5: f32[] = Cast(%1)\n"
            "const %6: f32[] = {0.25}\n"
            "%7: f32[] = Binary(%5, %6) kind=mul\n"
            "const %8: f32[] = {1}\n"
            "%9: f32[] = Binary(%7, %8) kind=add\n"
            "%10: f32[] = Binary(%0, %9) kind=div\n"
            "const %11: f32[] = {2}\n"
            "%12: f32[2] = Binary(%2, %11) kind=mul\n"
            "%13: f32[2] = Binary(%12, %3) kind=add\n"
            "%14: f32[2] = Binary(%13, %13) kind=mul\n"
            "%15: f32[2] = Binary(%4, %14) kind=add\n"
            "%16: f32[2] = Unary(%15) kind=sqrt\n"
            "const %17: f32[] = {0.5}\n"
            "%18: f32[2] = Binary(%16, %17) kind=add\n"
            "%19: f32[2] = Binary(%10, %13) kind=mul\n"
            "%20: f32[2] = Binary(%19, %18) kind=div\n"
            "%21: f32[2] = Binary(%2, %20) kind=sub\n");
  EXPECT_EQ(nodes_of({.op = "Momentum",
                      .types = {scalar, t, x, x, x},
                      .attributes = {number("alpha", 0.5f), number("beta", 0.25f),
                                     number("norm_coefficient", 0), word("mode", "nesterov")},
                      .outputs = 2,
                      .domain = training}),
            "const %5: i64[] = {0}\n"
            "%6: bool[] = Binary(%1, %5) kind=greater\n"
            "const %7: f32[] = {0.25}\n"
            "const %8: f32[] = {1}\n"
            "%9: f32[] = Where(%6, %7, %8)\n"
            "const %10: f32[] = {0.5}\n"
            "%11: f32[2] = Binary(%4, %10) kind=mul\n"
            "%12: f32[2] = Binary(%9, %3) kind=mul\n"
            "%13: f32[2] = Binary(%11, %12) kind=add\n"
            "const %14: f32[] = {0.5}\n"
            "%15: f32[2] = Binary(%13, %14) kind=mul\n"
            "%16: f32[2] = Binary(%3, %15) kind=add\n"
            "%17: f32[2] = Binary(%0, %16) kind=mul\n"
            "%18: f32[2] = Binary(%2, %17) kind=sub\n");
  EXPECT_EQ(
      nodes_of({.op = "Adam", .types = {scalar, t, x, x, x, x}, .outputs = 3, .domain = training}),
      "const %6: f32[] = {0.9}\n"
      "%7: f32[2] = Binary(%4, %6) kind=mul\n"
      "const %8: f32[] = {0.100000024}\n"
      "%9: f32[2] = Binary(%3, %8) kind=mul\n"
      "%10: f32[2] = Binary(%7, %9) kind=add\n"
      "%11: f32[2] = Binary(%3, %3) kind=mul\n"
      "const %12: f32[] = {0.999}\n"
      "%13: f32[2] = Binary(%5, %12) kind=mul\n"
      "const %14: f32[] = {0.0009999871}\n"
      "%15: f32[2] = Binary(%11, %14) kind=mul\n"
      "%16: f32[2] = Binary(%13, %15) kind=add\n"
      "%17: f32[2] = Unary(%16) kind=sqrt\n"
      "const %18: f32[] = {1e-06}\n"
      "%19: f32[2] = Binary(%17, %18) kind=add\n"
      "%20: f32[] = Cast(%1)\n"
      "const %21: f32[] = {0.999}\n"
      "%22: f32[] = Binary(%21, %20) kind=pow\n"
      "const %23: f32[] = {1}\n"
      "%24: f32[] = Binary(%23, %22) kind=sub\n"
      "%25: f32[] = Unary(%24) kind=sqrt\n"
      "%26: f32[] = Binary(%0, %25) kind=mul\n"
      "const %27: f32[] = {0.9}\n"
      "%28: f32[] = Binary(%27, %20) kind=pow\n"
      "const %29: f32[] = {1}\n"
      "%30: f32[] = Binary(%29, %28) kind=sub\n"
      "%31: f32[] = Binary(%26, %30) kind=div\n"
      "const %32: i64[] = {0}\n"
      "%33: bool[] = Binary(%1, %32) kind=greater\n"
      "%34: f32[] = Where(%33, %31, %0)\n"
      "%35: f32[2] = Binary(%34, %10) kind=mul\n"
      "%36: f32[2] = Binary(%35, %19) kind=div\n"
      "%37: f32[2] = Binary(%2, %36) kind=sub\n");
  EXPECT_CONTAINS(
      nodes_of({.op = "Adam", .types = {scalar, t, x, x, x}, .outputs = 3, .domain = training}),
      "has 3 tensors, wants 4 for each that is optimised");
  EXPECT_CONTAINS(nodes_of({.op = "Gradient", .types = {x}, .domain = training}),
                  "automatic differentiation");
}

TEST(Microsoft, FusedOperators) {
  const std::string_view ms = "com.microsoft";
  const Message image = tensor_type(f32, {1, 4, 8, 8});
  const Message w = tensor_type(f32, {4, 4, 1, 1});
  const Message x = tensor_type(f32, {2, 4});
  const Message four = tensor_type(f32, {4});
  EXPECT_EQ(
      nodes_of({.op = "FusedConv",
                .types = {image, w, {}, image},
                .attributes = {word("activation", "Clip"), numbers("activation_params", {0, 6})},
                .domain = ms}),
      "%3: f32[1,4,8,8] = Conv(%0, %1)\n"
      "%4: f32[1,4,8,8] = Binary(%3, %2) kind=add\n"
      "%5: f32[1,4,8,8] = Unary(%4) kind=clip beta=6\n");
  EXPECT_CONTAINS(nodes_of({.op = "FusedConv",
                            .types = {image, w},
                            .attributes = {word("activation", "LeakyRelu")},
                            .domain = ms}),
                  "'activation_params' is too short");
  EXPECT_EQ(nodes_of({.op = "FusedGemm",
                      .types = {x, tensor_type(f32, {4, 4}), four},
                      .attributes = {word("activation", "Relu")},
                      .domain = ms}),
            "%3: f32[2,4] = MatMul(%0, %1)\n"
            "%4: f32[2,4] = Binary(%3, %2) kind=add\n"
            "%5: f32[2,4] = Unary(%4) kind=relu\n");
  EXPECT_EQ(nodes_of({.op = "FusedMatMul",
                      .types = {x, x},
                      .attributes = {integer("transB", 1), number("alpha", 0.5f)},
                      .domain = ms}),
            "%2: f32[2,2] = MatMul(%0, %1) transpose_b=true alpha=0.5\n");
  const auto batched = [&](std::vector<std::int64_t> a, const char* attribute) {
    return nodes_of(
        {.op = "FusedMatMul",
         .types = {tensor_type(f32, {a.begin(), a.end()}), tensor_type(f32, {5, 2, 3, 4})},
         .attributes = {integer(attribute, 1)},
         .domain = ms});
  };
  EXPECT_EQ(batched({6, 5, 2, 3}, "transBatchA"),
            "%2: f32[5,2,6,3] = Transpose(%0) perm=[1,2,0,3]\n"
            "%3: f32[5,2,6,4] = MatMul(%2, %1)\n");
  EXPECT_EQ(batched({6, 2, 3}, "transBatchA"),
            "%2: f32[2,6,3] = Transpose(%0) perm=[1,0,2]\n"
            "%3: f32[5,2,6,4] = MatMul(%2, %1)\n");
  EXPECT_EQ(batched({6, 3}, "transBatchA"), "%2: f32[5,2,6,4] = MatMul(%0, %1)\n");
  EXPECT_EQ(batched({2, 3, 7, 5}, "transBatchB"),
            "%2: f32[2,3,5,4] = Transpose(%1) perm=[1,2,0,3]\n"
            "%3: f32[2,3,7,4] = MatMul(%0, %2)\n");
  EXPECT_EQ(nodes_of({.op = "Inverse", .types = {tensor_type(f32, {5, 2, 2})}, .domain = ms}),
            "%1: f32[5,2,2] = Inverse(%0)\n");
  EXPECT_CONTAINS(nodes_of({.op = "Inverse", .types = {tensor_type(f32, {2, 2})}}), "Inverse");
  EXPECT_EQ(nodes_of({.op = "Gelu", .types = {x}, .domain = ms}),
            "%1: f32[2,4] = Unary(%0) kind=gelu\n");
  EXPECT_EQ(nodes_of({.op = "FastGelu", .types = {x, four}, .domain = ms}),
            "%2: f32[2,4] = Binary(%0, %1) kind=add\n"
            "%3: f32[2,4] = Unary(%2) kind=gelu_tanh\n");
  EXPECT_EQ(nodes_of({.op = "BiasGelu", .types = {x, four}, .domain = ms}),
            "%2: f32[2,4] = Binary(%0, %1) kind=add\n"
            "%3: f32[2,4] = Unary(%2) kind=gelu\n");
  EXPECT_EQ(nodes_of({.op = "QuickGelu", .types = {x}, .domain = ms}),
            "%1: f32[2,4] = Unary(%0) kind=swish alpha=1.7020000219345093\n");
  EXPECT_EQ(
      nodes_of({.op = "SkipLayerNormalization", .types = {x, x, four, four, four}, .domain = ms}),
      "%5: f32[2,4] = Binary(%0, %1) kind=add\n"
      "%6: f32[2,4] = Binary(%5, %4) kind=add\n"
      "%7: f32[2,4] = LayerNorm(%6, %2, %3) epsilon=1e-12\n");
  EXPECT_EQ(
      nodes_of({.op = "SkipSimplifiedLayerNormalization",
                .types = {x, x, four},
                .outputs = 4,
                .domain = ms}),
      "%3: f32[2,4] = Binary(%0, %1) kind=add\n"
      "%4: f32[2,4], %5: f32[2,1], %6: f32[2,1] = LayerNorm(%3, %2) epsilon=1e-12 center=false\n");
}

// Each of the two alone.
TEST(Microsoft, AttentionWithSharedBuffersIsRefused) {
  const Message x = tensor_type(f32, {1, 3, 4});
  EXPECT_CONTAINS(
      nodes_of({.op = "Attention",
                .types = {x, tensor_type(f32, {4, 12}), tensor_type(f32, {12})},
                .attributes = {integer("num_heads", 2), integer("past_present_share_buffer", 1)},
                .domain = "com.microsoft"}),
      "shared buffers inside Attention are not supported");
}

TEST(Microsoft, QuantisedOperators) {
  const std::string_view ms = "com.microsoft";
  const Message q = tensor_type(u8, {2, 4});
  const Message zero = tensor_type(u8, {});
  EXPECT_EQ(nodes_of({.op = "QLinearAdd",
                      .types = {q, scalar, zero, q, scalar, zero, scalar, zero},
                      .domain = ms}),
            "%8: f32[2,4] = Dequantize(%0, %1, %2)\n"
            "%9: f32[2,4] = Dequantize(%3, %4, %5)\n"
            "%10: f32[2,4] = Binary(%8, %9) kind=add\n"
            "%11: u8[2,4] = Quantize(%10, %6, %7)\n");
  EXPECT_EQ(nodes_of({.op = "QLinearSigmoid", .types = {q, scalar, {}, scalar}, .domain = ms}),
            "%3: f32[2,4] = Dequantize(%0, %1)\n"
            "%4: f32[2,4] = Unary(%3) kind=sigmoid\n"
            "%5: u8[2,4] = Quantize(%4, %2)\n");
  EXPECT_EQ(nodes_of({.op = "QLinearConcat",
                      .types = {scalar, zero, q, scalar, zero, q, scalar, zero},
                      .attributes = {integer("axis", 1)},
                      .domain = ms}),
            "%8: f32[2,4] = Dequantize(%2, %3, %4)\n"
            "%9: f32[2,4] = Dequantize(%5, %6, %7)\n"
            "%10: f32[2,8] = Concat(%8, %9) axis=1\n"
            "%11: u8[2,8] = Quantize(%10, %0, %1)\n");
  EXPECT_EQ(nodes_of({.op = "QLinearSoftmax",
                      .types = {q, scalar, zero, scalar, zero},
                      .attributes = {integer("axis", 1), integer("opset", 11)},
                      .domain = ms}),
            "%5: f32[2,4] = Dequantize(%0, %1, %2)\n"
            "%6: f32[2,4] = Softmax(%5) kind=softmax axis=1 flatten=true\n"
            "%7: u8[2,4] = Quantize(%6, %3, %4)\n");
  EXPECT_EQ(nodes_of({.op = "QLinearGlobalAveragePool",
                      .types = {tensor_type(u8, {1, 4, 2, 2}), scalar, zero, scalar, zero},
                      .attributes = {integer("channels_last", 0)},
                      .domain = ms}),
            "%5: f32[1,4,2,2] = Dequantize(%0, %1, %2)\n"
            "%6: f32[1,4,1,1] = Pool(%5) kind=average global=true\n"
            "%7: u8[1,4,1,1] = Quantize(%6, %3, %4)\n");
  EXPECT_EQ(nodes_of({.op = "DynamicQuantizeMatMul",
                      .types = {tensor_type(f32, {2, 4}),
                                tensor_type(i8, {4, 3}),
                                scalar,
                                {},
                                tensor_type(f32, {3})},
                      .domain = ms}),
            "%4: u8[2,4], %5: f32[], %6: u8[] = DynamicQuantize(%0)\n"
            "%7: f32[] = Binary(%5, %2) kind=mul\n"
            "%8: i32[2,3] = MatMulInteger(%4, %1, %6)\n"
            "%9: f32[2,3] = Cast(%8)\n"
            "%10: f32[2,3] = Binary(%9, %7) kind=mul\n"
            "%11: f32[2,3] = Binary(%10, %3) kind=add\n");
  EXPECT_EQ(nodes_of({.op = "MatMulIntegerToFloat",
                      .types = {q, tensor_type(u8, {4, 3}), scalar, scalar, zero},
                      .domain = ms}),
            "%5: f32[] = Binary(%2, %3) kind=mul\n"
            "%6: i32[2,3] = MatMulInteger(%0, %1, %4)\n"
            "%7: f32[2,3] = Cast(%6)\n"
            "%8: f32[2,3] = Binary(%7, %5) kind=mul\n");
  EXPECT_EQ(nodes_of({.op = "QGemm",
                      .types = {q, scalar, zero, tensor_type(u8, {3, 4}), scalar, zero,
                                tensor_type(i32, {3}), scalar, zero},
                      .attributes = {integer("transB", 1)},
                      .domain = ms}),
            "%9: f32[2,4] = Dequantize(%0, %1, %2)\n"
            "%10: f32[3,4] = Dequantize(%3, %4, %5) axis=0\n"
            "%11: f32[2,3] = MatMul(%9, %10) transpose_b=true\n"
            "%12: f32[] = Binary(%1, %4) kind=mul\n"
            "%13: f32[3] = Cast(%6)\n"
            "%14: f32[3] = Binary(%13, %12) kind=mul\n"
            "%15: f32[2,3] = Binary(%11, %14) kind=add\n"
            "%16: u8[2,3] = Quantize(%15, %7, %8)\n");
  EXPECT_CONTAINS(nodes_of({.op = "QLinearLeakyRelu",
                            .types = {q, scalar, zero, scalar, zero},
                            .attributes = {number("alpha", 0.5f)},
                            .domain = ms}),
                  "kind=leaky_relu alpha=0.5");
}

}  // namespace
}  // namespace quern::onnx_test
