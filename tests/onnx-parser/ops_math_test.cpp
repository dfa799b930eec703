// SPDX-License-Identifier: Apache-2.0
// Reductions, products, convolutions, pooling, normalisation, quantised operators.
#include "tests/onnx-parser/import_test.h"

namespace quern::onnx_test {
namespace {

using ::testing::HasSubstr;

const Message x = tensor_type(f32, {2, 3, 4});
const Message image = tensor_type(f32, {1, 4, 8, 8});
const Message channels = tensor_type(f32, {4});
const Message scalar = tensor_type(f32, {});

TEST(Reductions, Kinds) {
  for (const auto& [op, kind] : std::initializer_list<std::pair<std::string_view, std::string>>{
           {"ReduceL1", "l1"}, {"ReduceL2", "l2"}, {"ReduceLogSum", "log_sum"},
           {"ReduceLogSumExp", "log_sum_exp"}, {"ReduceMax", "max"}, {"ReduceMean", "mean"},
           {"ReduceMin", "min"}, {"ReduceProd", "prod"}, {"ReduceSum", "sum"},
           {"ReduceSumSquare", "sum_square"}}) {
    EXPECT_EQ(nodes_of({op, {x}, {integers("axes", {1}), integer("keepdims", 0)}, 11}),
              "const %1: i64[1] = {1}\n%2: f32[2,4] = Reduce(%0, %1) kind=" + kind +
                  " keepdims=false\n");
    EXPECT_EQ(nodes_of({op, {x}, {}, 1}), "%1: f32[1,1,1] = Reduce(%0) kind=" + kind + "\n");
    EXPECT_EQ(nodes_of({op, {x, tensor_type(i64, {1})}, {integer("noop_with_empty_axes", 1)}, 18}),
              "%2: f32[?,?,?] = Reduce(%0, %1) kind=" + kind + " noop_with_empty_axes=true\n");
  }
}

TEST(Reductions, ReduceSumTookItsAxesAsAnInputFirst) {
  EXPECT_THAT(nodes_of({"ReduceSum", {x, tensor_type(i64, {1})}, {}, 13}), HasSubstr("Reduce(%0, %1)"));
  EXPECT_THAT(nodes_of({"ReduceMax", {x, tensor_type(i64, {1})}, {}, 13}), HasSubstr("has 2 inputs, wants 1"));
}

TEST(Reductions, ArgumentsAndRunningSums) {
  EXPECT_EQ(nodes_of({"ArgMax", {x}, {integer("axis", 2), integer("keepdims", 0), integer("select_last_index", 1)}}),
            "@@1");
  EXPECT_EQ(nodes_of({"ArgMin", {x}}), "@@2");
  EXPECT_EQ(nodes_of({"CumSum", {x, tensor_type(i64, {})}, {integer("exclusive", 1), integer("reverse", 1)}}),
            "@@3");
  EXPECT_EQ(nodes_of({.op = "CumProd", .types = {x, tensor_type(i64, {})}, .version = 26}), "@@4");
}

TEST(Products, MatMulEinsumDet) {
  EXPECT_EQ(nodes_of({"MatMul", {tensor_type(f32, {2, 3}), tensor_type(f32, {3, 4})}}), "@@5");
  EXPECT_EQ(nodes_of({"Einsum", {tensor_type(f32, {2, 3}), tensor_type(f32, {3, 4})}, {word("equation", "ij,jk->ik")}}),
            "@@6");
  EXPECT_EQ(nodes_of({"Det", {tensor_type(f32, {5, 2, 2})}}), "@@7");
}

TEST(Gemm, IsAProductAndASum) {
  const Message a = tensor_type(f32, {2, 3});
  const Message b = tensor_type(f32, {4, 3});
  EXPECT_EQ(nodes_of({"Gemm", {a, b, tensor_type(f32, {4})},
                      {number("alpha", 0.5f), number("beta", 2), integer("transB", 1)}}),
            "@@8");
  EXPECT_EQ(nodes_of({"Gemm", {a, b, channels}, {integer("transB", 1)}}), "@@9");
  EXPECT_EQ(nodes_of({"Gemm", {a, b}, {integer("transB", 1)}}), "@@10");
  EXPECT_EQ(nodes_of({"Gemm", {a, b, channels}, {integer("transB", 1), number("beta", 0)}}), "@@11");
  EXPECT_EQ(nodes_of({"Gemm", {a, b, channels}, {integer("transB", 1), integer("broadcast", 1)}, 6}), "@@12");
  EXPECT_THAT(nodes_of({"Gemm", {x, b, channels}}), HasSubstr("a and b must be matrices"));
  EXPECT_THAT(nodes_of({"Gemm", {a, tensor_type(f32, {4, 4}), channels}}),
              HasSubstr("node 'n' (Gemm): "));
}

TEST(Convolutions, WindowsAndGroups) {
  const Message w = tensor_type(f32, {6, 2, 3, 3});
  EXPECT_EQ(nodes_of({"Conv", {image, w, tensor_type(f32, {6})},
                      {integer("group", 2), integers("kernel_shape", {3, 3}), integers("strides", {2, 2}),
                       integers("pads", {1, 1, 1, 1}), integers("dilations", {1, 1})}}),
            "@@13");
  EXPECT_EQ(nodes_of({"Conv", {image, w}, {integer("group", 2), word("auto_pad", "SAME_UPPER"), integers("pads", {0, 0, 0, 0})}}),
            "@@14");
  EXPECT_EQ(nodes_of({"Conv", {image, w}, {integer("group", 2), word("auto_pad", "VALID")}}), "@@15");
  EXPECT_THAT(nodes_of({"Conv", {image, w}, {word("auto_pad", "SAME")}}), HasSubstr("attribute 'auto_pad' is 'SAME'"));
  EXPECT_EQ(nodes_of({"ConvTranspose", {image, tensor_type(f32, {4, 2, 3, 3})},
                      {integers("strides", {2, 2}), integers("output_padding", {1, 1})}}),
            "@@16");
  EXPECT_EQ(nodes_of({.op = "DeformConv",
                      .types = {image, tensor_type(f32, {6, 4, 3, 3}), tensor_type(f32, {1, 18, 6, 6})},
                      .version = 19}),
            "@@17");
  EXPECT_EQ(nodes_of({.op = "Col2Im", .types = {tensor_type(f32, {1, 5, 5}), tensor_type(i64, {2}), tensor_type(i64, {2})},
                      .attributes = {integers("dilations", {1, 5})}, .version = 18}),
            "@@18");
}

TEST(Convolutions, CausalConvWithStateKeepsTheLastElements) {
  EXPECT_EQ(nodes_of({.op = "CausalConvWithState",
                      .types = {tensor_type(f32, {2, 4, 8}), tensor_type(f32, {4, 1, 3}), channels},
                      .attributes = {word("activation", "silu")},
                      .version = 27,
                      .outputs = 2}),
            "@@19");
}

TEST(Pooling, Windows) {
  const Message kernel = integers("kernel_shape", {2, 2});
  EXPECT_EQ(nodes_of({.op = "MaxPool", .types = {image},
                      .attributes = {kernel, integer("storage_order", 1), integer("ceil_mode", 1)}, .outputs = 2}),
            "@@20");
  EXPECT_EQ(nodes_of({"MaxPool", {image}, {kernel, word("auto_pad", "SAME_LOWER")}, 1}), "@@21");
  EXPECT_EQ(nodes_of({"AveragePool", {image}, {kernel, integer("count_include_pad", 1)}}), "@@22");
  EXPECT_EQ(nodes_of({"LpPool", {image}, {kernel, integer("p", 3)}}), "@@23");
  EXPECT_EQ(nodes_of({"LpPool", {image}, {kernel, number("p", 3)}, 1}), "@@24");
  EXPECT_THAT(nodes_of({"LpPool", {image}, {kernel, number("p", 2.5f)}, 1}), HasSubstr("p is no positive integer"));
  EXPECT_THAT(nodes_of({"MaxPool", {image}}), HasSubstr("'kernel_shape' is missing"));
  EXPECT_EQ(nodes_of({"GlobalAveragePool", {image}}), "@@25");
  EXPECT_EQ(nodes_of({"GlobalMaxPool", {image}}), "@@26");
  EXPECT_EQ(nodes_of({"GlobalLpPool", {image}, {integer("p", 1)}}), "@@27");
  EXPECT_EQ(nodes_of({"MaxUnpool", {image, tensor_type(i64, {1, 4, 8, 8})}, {kernel, integers("strides", {2, 2})}}),
            "@@28");
}

TEST(Pooling, OfRegions) {
  EXPECT_EQ(nodes_of({"MaxRoiPool", {image, tensor_type(f32, {3, 5})}, {integers("pooled_shape", {2, 2})}}), "@@29");
  const std::vector<Message> align = {image, tensor_type(f32, {3, 4}), tensor_type(i64, {3})};
  EXPECT_EQ(nodes_of({"RoiAlign", align, {integer("output_height", 2), word("mode", "max")}, 16}), "@@30");
  EXPECT_EQ(nodes_of({"RoiAlign", align, {}, 10}), "@@31");
  EXPECT_THAT(nodes_of({"MaxRoiPool", {image, tensor_type(f32, {3, 5})}, {integers("pooled_shape", {2})}}),
              HasSubstr("wants height and width"));
}

TEST(BatchNorm, AcrossItsVersions) {
  const std::vector<Message> types = {image, channels, channels, channels, channels};
  EXPECT_EQ(nodes_of({"BatchNormalization", types, {number("epsilon", 0.5f), integer("is_test", 1), integer("spatial", 1)}, 6}),
            "@@32");
  EXPECT_EQ(nodes_of({"BatchNormalization", types, {}, 9}), "@@33");
  EXPECT_EQ(nodes_of({.op = "BatchNormalization", .types = types, .attributes = {integer("training_mode", 1)},
                      .version = 15, .outputs = 3}),
            "@@34");
  EXPECT_THAT(nodes_of({.op = "BatchNormalization", .types = types, .version = 9, .outputs = 2}),
              HasSubstr("output 1 is not supported"));
}

TEST(BatchNorm, PerElementWhenNotSpatial) {
  const Message each = tensor_type(f32, {4, 8, 8});
  EXPECT_EQ(nodes_of({"BatchNormalization", {image, each, each, each, each}, {integer("spatial", 0)}, 7}),
            "@@35");
}

TEST(Norms, LayerGroupInstanceAndOthers) {
  const Message four = tensor_type(f32, {4});
  EXPECT_EQ(nodes_of({.op = "LayerNormalization", .types = {x, four, four}, .attributes = {number("epsilon", 0.5f)},
                      .outputs = 3}),
            "@@36");
  EXPECT_EQ(nodes_of({"LayerNormalization", {x, four}, {}, 11}), "@@37");
  EXPECT_EQ(nodes_of({.op = "RMSNormalization", .types = {x, four}, .version = 23}), "@@38");
  EXPECT_EQ(nodes_of({"SimplifiedLayerNormalization", {x, four}, {integer("axis", -1), integer("stash_type", 1)}}), "@@39");
  EXPECT_EQ(nodes_of({.op = "GroupNormalization", .types = {image, channels, channels},
                      .attributes = {integer("num_groups", 2)}, .version = 21}),
            "@@40");
  EXPECT_EQ(nodes_of({"InstanceNormalization", {image, channels, channels}}), "@@41");
  EXPECT_EQ(nodes_of({"LRN", {image}, {integer("size", 3)}}), "@@42");
  EXPECT_EQ(nodes_of({"LpNormalization", {image}, {integer("axis", 1), integer("p", 1)}}), "@@43");
  EXPECT_EQ(nodes_of({"MeanVarianceNormalization", {image}}), "@@44");
  EXPECT_THAT(nodes_of({.op = "GroupNormalization", .types = {image, channels, channels},
                        .attributes = {integer("num_groups", 0)}, .version = 18}),
              HasSubstr("'num_groups' must be positive"));
}

TEST(Norms, GroupNormalizationOfOpset18HadParametersPerGroup) {
  const Message groups = tensor_type(f32, {2});
  EXPECT_EQ(nodes_of({.op = "GroupNormalization", .types = {image, groups, groups},
                      .attributes = {integer("num_groups", 2)}, .version = 18}),
            "@@45");
}

TEST(Softmaxes, CoverAllDimensionsFromTheAxisOnBelowOpset13) {
  EXPECT_EQ(nodes_of({"Softmax", {x}, {}, 12}), "%1: f32[2,3,4] = Softmax(%0) kind=softmax axis=1 flatten=true\n");
  EXPECT_EQ(nodes_of({"Softmax", {x}, {}, 13}), "%1: f32[2,3,4] = Softmax(%0) kind=softmax\n");
  EXPECT_EQ(nodes_of({"LogSoftmax", {x}, {integer("axis", 0)}}),
            "%1: f32[2,3,4] = Softmax(%0) kind=log_softmax axis=0\n");
  EXPECT_EQ(nodes_of({"Hardmax", {x}, {}, 1}),
            "%1: f32[2,3,4] = Softmax(%0) kind=hardmax axis=1 flatten=true\n");
}

TEST(Quantised, QuantizeAndDequantize) {
  EXPECT_EQ(nodes_of({"QuantizeLinear", {x, scalar, tensor_type(i8, {})}}), "@@46");
  EXPECT_EQ(nodes_of({"QuantizeLinear", {x, scalar}}), "@@47");
  EXPECT_EQ(nodes_of({.op = "QuantizeLinear", .types = {x, tensor_type(f32, {3})},
                      .attributes = {integer("axis", 1), integer("output_dtype", 5), integer("precision", 1)},
                      .version = 23}),
            "@@48");
  EXPECT_THAT(nodes_of({.op = "QuantizeLinear", .types = {x, scalar, tensor_type(u8, {})},
                        .attributes = {integer("output_dtype", 3)}, .version = 21}),
              HasSubstr("'output_dtype' is not the type of the zero point"));
  EXPECT_EQ(nodes_of({"DequantizeLinear", {tensor_type(u8, {2, 3}), scalar, tensor_type(u8, {})}}), "@@49");
  EXPECT_EQ(nodes_of({.op = "DequantizeLinear", .types = {tensor_type(i4, {2, 4}), tensor_type(f32, {2, 2})},
                      .attributes = {integer("axis", 1), integer("block_size", 2)}, .version = 21}),
            "@@50");
  EXPECT_EQ(nodes_of({.op = "DequantizeLinear", .types = {tensor_type(u8, {2, 3}), scalar},
                      .attributes = {integer("output_dtype", 10)}, .version = 23}),
            "@@51");
  EXPECT_EQ(nodes_of({.op = "DynamicQuantizeLinear", .types = {x}, .outputs = 3}), "@@52");
}

TEST(Quantised, ConvolutionsAndProducts) {
  const Message q = tensor_type(u8, {1, 4, 8, 8});
  const Message w = tensor_type(u8, {6, 4, 3, 3});
  const Message zero = tensor_type(u8, {});
  EXPECT_EQ(nodes_of({"ConvInteger", {q, w, zero}, {integers("pads", {1, 1, 1, 1})}}), "@@53");
  EXPECT_EQ(nodes_of({"MatMulInteger", {tensor_type(u8, {2, 3}), tensor_type(i8, {3, 4})}}), "@@54");
  EXPECT_EQ(nodes_of({"QLinearConv", {q, scalar, zero, w, scalar, zero, scalar, zero, tensor_type(i32, {6})}}), "@@55");
  EXPECT_EQ(nodes_of({"QLinearMatMul", {tensor_type(u8, {2, 3}), scalar, zero, tensor_type(u8, {3, 4}), scalar,
                                        zero, scalar, zero}}),
            "@@56");
}

}  // namespace
}  // namespace quern::onnx_test
