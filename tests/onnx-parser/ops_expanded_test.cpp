// SPDX-License-Identifier: Apache-2.0
// Operators that import as arithmetic: attention, losses, optimisers, com.microsoft.
#include "tests/onnx-parser/import_test.h"

namespace quern::onnx_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Message scalar = tensor_type(f32, {});
const Message q4 = tensor_type(f32, {2, 4, 3, 8});
const Message k4 = tensor_type(f32, {2, 2, 5, 8});

TEST(AttentionOp, PlainIsOneNode) {
  EXPECT_EQ(nodes_of({.op = "Attention", .types = {q4, k4, k4}, .attributes = {number("scale", 0.5f)}, .version = 23}),
            "@@1");
}

TEST(AttentionOp, PackedHeadsAreSplitAndJoined) {
  const Message packed = tensor_type(f32, {2, 3, 32});
  EXPECT_EQ(nodes_of({.op = "Attention", .types = {packed, packed, packed},
                      .attributes = {integer("q_num_heads", 4), integer("kv_num_heads", 4)}, .version = 23}),
            "@@2");
  EXPECT_THAT(nodes_of({.op = "Attention", .types = {packed, packed, packed}, .version = 23}),
              HasSubstr("'q_num_heads' is missing"));
}

TEST(AttentionOp, MasksBecomeABiasAndHiddenRowsZero) {
  EXPECT_EQ(nodes_of({.op = "Attention", .types = {q4, k4, k4, tensor_type(boolean, {3, 5})}, .version = 23}), "@@3");
}

TEST(AttentionOp, CausalWithAPast) {
  EXPECT_EQ(nodes_of({.op = "Attention", .types = {q4, k4, k4, {}, k4, k4}, .attributes = {integer("is_causal", 1)},
                      .version = 23, .outputs = 3}),
            "@@4");
  EXPECT_THAT(nodes_of({.op = "Attention", .types = {q4, k4, k4, {}, k4}, .version = 23}),
              HasSubstr("past key and past value must come together"));
}

TEST(AttentionOp, SpelledOutWhenSomethingBetweenIsWanted) {
  EXPECT_EQ(nodes_of({.op = "Attention", .types = {q4, k4, k4}, .attributes = {number("softcap", 2), number("scale", 1)},
                      .version = 23}),
            "@@5");
  const std::string scores =
      nodes_of({.op = "Attention", .types = {q4, q4, q4}, .attributes = {integer("qk_matmul_output_mode", 3)},
                .version = 23, .outputs = 4});
  EXPECT_THAT(scores, HasSubstr("error: node 'n' (Attention)"));
}

TEST(AttentionOp, WindowsAndExternalCachesOfLaterOpsets) {
  EXPECT_EQ(nodes_of({.op = "Attention", .types = {q4, k4, k4, {}, {}, {}, tensor_type(i64, {2})},
                      .attributes = {integer("left_window_size", 2), number("scale", 1)}, .version = 25}),
            "@@6");
  EXPECT_THAT(nodes_of({.op = "Attention", .types = {q4, k4, k4, tensor_type(f32, {3, 4})},
                        .attributes = {number("scale", 1)}, .version = 24}),
              HasSubstr("Pad(%3"));
}

TEST(RotaryEmbeddingOp, HalvesAndPairs) {
  const Message cache = tensor_type(f32, {2, 3, 4});
  EXPECT_EQ(nodes_of({.op = "RotaryEmbedding", .types = {q4, cache, cache}, .version = 23}), "@@7");
  EXPECT_EQ(nodes_of({.op = "RotaryEmbedding",
                      .types = {tensor_type(f32, {2, 3, 32}), tensor_type(f32, {50, 2}), tensor_type(f32, {50, 2}),
                                tensor_type(i64, {2, 3})},
                      .attributes = {integer("interleaved", 1), integer("rotary_embedding_dim", 4), integer("num_heads", 4)},
                      .version = 23}),
            "@@8");
}

TEST(LinearAttentionOp, IsAScanOverThePositions) {
  const Message packed = tensor_type(f32, {2, 5, 16});
  EXPECT_EQ(nodes_of({.op = "LinearAttention",
                      .types = {packed, tensor_type(f32, {2, 5, 8}), tensor_type(f32, {2, 5, 8}), {},
                                tensor_type(f32, {2, 5, 2}), tensor_type(f32, {2, 5, 1})},
                      .attributes = {integer("q_num_heads", 4), integer("kv_num_heads", 2)},
                      .version = 27, .outputs = 2}),
            "@@9");
  EXPECT_THAT(nodes_of({.op = "LinearAttention", .types = {packed, packed, packed},
                        .attributes = {integer("q_num_heads", 4), integer("kv_num_heads", 2)}, .version = 27}),
              HasSubstr("wants a decay or beta that is left out"));
}

TEST(Losses, NegativeLogLikelihood) {
  const Message scores = tensor_type(f32, {2, 3, 4});
  const Message target = tensor_type(i64, {2, 4});
  EXPECT_EQ(nodes_of({"NegativeLogLikelihoodLoss", {scores, target}, {word("reduction", "none")}}), "@@10");
  EXPECT_EQ(nodes_of({"NegativeLogLikelihoodLoss", {scores, target, tensor_type(f32, {3})}, {integer("ignore_index", -1)}}),
            "@@11");
  EXPECT_EQ(nodes_of({.op = "SoftmaxCrossEntropyLoss", .types = {scores, target}, .attributes = {word("reduction", "sum")},
                      .outputs = 2}),
            "@@12");
}

TEST(Optimisers, AreArithmetic) {
  const std::string_view training = "ai.onnx.preview.training";
  const Message x = tensor_type(f32, {2});
  const Message t = tensor_type(i64, {});
  EXPECT_EQ(nodes_of({.op = "Adagrad", .types = {scalar, t, x, x, x},
                      .attributes = {number("epsilon", 0.5f), number("decay_factor", 0.25f), number("norm_coefficient", 2)},
                      .outputs = 2, .domain = training}),
            "@@13");
  EXPECT_EQ(nodes_of({.op = "Momentum", .types = {scalar, t, x, x, x},
                      .attributes = {number("alpha", 0.5f), number("beta", 0.25f), number("norm_coefficient", 0), word("mode", "nesterov")},
                      .outputs = 2, .domain = training}),
            "@@14");
  EXPECT_EQ(nodes_of({.op = "Adam", .types = {scalar, t, x, x, x, x}, .outputs = 3, .domain = training}), "@@15");
  EXPECT_THAT(nodes_of({.op = "Adam", .types = {scalar, t, x, x, x}, .outputs = 3, .domain = training}),
              HasSubstr("has 3 tensors, wants 4 for each that is optimised"));
  EXPECT_THAT(nodes_of({.op = "Gradient", .types = {x}, .domain = training}), HasSubstr("automatic differentiation"));
}

TEST(Microsoft, FusedOperators) {
  const std::string_view ms = "com.microsoft";
  const Message image = tensor_type(f32, {1, 4, 8, 8});
  const Message w = tensor_type(f32, {4, 4, 1, 1});
  const Message x = tensor_type(f32, {2, 4});
  const Message four = tensor_type(f32, {4});
  EXPECT_EQ(nodes_of({.op = "FusedConv", .types = {image, w, {}, image},
                      .attributes = {word("activation", "Clip"), numbers("activation_params", {0, 6})}, .domain = ms}),
            "@@16");
  EXPECT_THAT(nodes_of({.op = "FusedConv", .types = {image, w}, .attributes = {word("activation", "LeakyRelu")}, .domain = ms}),
              HasSubstr("'activation_params' is too short"));
  EXPECT_EQ(nodes_of({.op = "FusedGemm", .types = {x, tensor_type(f32, {4, 4}), four},
                      .attributes = {word("activation", "Relu")}, .domain = ms}),
            "@@17");
  EXPECT_EQ(nodes_of({.op = "FusedMatMul", .types = {x, x}, .attributes = {integer("transB", 1), number("alpha", 0.5f)}, .domain = ms}),
            "@@18");
  EXPECT_EQ(nodes_of({.op = "Gelu", .types = {x}, .domain = ms}), "@@19");
  EXPECT_EQ(nodes_of({.op = "FastGelu", .types = {x, four}, .domain = ms}), "@@20");
  EXPECT_EQ(nodes_of({.op = "BiasGelu", .types = {x, four}, .domain = ms}), "@@21");
  EXPECT_EQ(nodes_of({.op = "QuickGelu", .types = {x}, .domain = ms}), "@@22");
  EXPECT_EQ(nodes_of({.op = "SkipLayerNormalization", .types = {x, x, four, four, four}, .domain = ms}), "@@23");
  EXPECT_EQ(nodes_of({.op = "SkipSimplifiedLayerNormalization", .types = {x, x, four}, .outputs = 4, .domain = ms}), "@@24");
}

TEST(Microsoft, QuantisedOperators) {
  const std::string_view ms = "com.microsoft";
  const Message q = tensor_type(u8, {2, 4});
  const Message zero = tensor_type(u8, {});
  EXPECT_EQ(nodes_of({.op = "QLinearAdd", .types = {q, scalar, zero, q, scalar, zero, scalar, zero}, .domain = ms}), "@@25");
  EXPECT_EQ(nodes_of({.op = "QLinearSigmoid", .types = {q, scalar, {}, scalar}, .domain = ms}), "@@26");
  EXPECT_EQ(nodes_of({.op = "QLinearConcat", .types = {scalar, zero, q, scalar, zero, q, scalar, zero},
                      .attributes = {integer("axis", 1)}, .domain = ms}),
            "@@27");
  EXPECT_EQ(nodes_of({.op = "QLinearSoftmax", .types = {q, scalar, zero, scalar, zero},
                      .attributes = {integer("axis", 1), integer("opset", 11)}, .domain = ms}),
            "@@28");
  EXPECT_EQ(nodes_of({.op = "QLinearGlobalAveragePool", .types = {tensor_type(u8, {1, 4, 2, 2}), scalar, zero, scalar, zero},
                      .attributes = {integer("channels_last", 0)}, .domain = ms}),
            "@@29");
  EXPECT_EQ(nodes_of({.op = "DynamicQuantizeMatMul", .types = {tensor_type(f32, {2, 4}), tensor_type(i8, {4, 3}), scalar, {}, tensor_type(f32, {3})},
                      .domain = ms}),
            "@@30");
  EXPECT_EQ(nodes_of({.op = "MatMulIntegerToFloat", .types = {q, tensor_type(u8, {4, 3}), scalar, scalar, zero}, .domain = ms}), "@@31");
  EXPECT_EQ(nodes_of({.op = "QGemm",
                      .types = {q, scalar, zero, tensor_type(u8, {3, 4}), scalar, zero, tensor_type(i32, {3}), scalar, zero},
                      .attributes = {integer("transB", 1)}, .domain = ms}),
            "@@32");
  EXPECT_THAT(nodes_of({.op = "QLinearLeakyRelu", .types = {q, scalar, zero, scalar, zero},
                        .attributes = {number("alpha", 0.5f)}, .domain = ms}),
              HasSubstr("kind=leaky_relu alpha=0.5"));
}

}  // namespace
}  // namespace quern::onnx_test
