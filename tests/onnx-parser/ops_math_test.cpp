// SPDX-License-Identifier: Apache-2.0
// Reductions, products, convolutions, pooling, normalisation, quantised operators.
#include <type_traits>

#include "graph/op_fields.h"
#include "tests/expect.h"
#include "tests/onnx-parser/import_test.h"

namespace quern::onnx_test {
namespace {

const Message math_x = tensor_type(f32, {2, 3, 4});
const Message image = tensor_type(f32, {1, 4, 8, 8});
const Message channels = tensor_type(f32, {4});
const Message math_scalar = tensor_type(f32, {});

TEST(Reductions, Kinds) {
  for (const auto& [op, kind] : std::initializer_list<std::pair<std::string_view, std::string>>{
           {"ReduceL1", "l1"},
           {"ReduceL2", "l2"},
           {"ReduceLogSum", "log_sum"},
           {"ReduceLogSumExp", "log_sum_exp"},
           {"ReduceMax", "max"},
           {"ReduceMean", "mean"},
           {"ReduceMin", "min"},
           {"ReduceProd", "prod"},
           {"ReduceSum", "sum"},
           {"ReduceSumSquare", "sum_square"}}) {
    EXPECT_EQ(
        nodes_of({op, {math_x}, {integers("axes", {1}), integer("keepdims", 0)}, 11}),
        "const %1: i64[1] = {1}\n%2: f32[2,4] = Reduce(%0, %1) kind=" + kind + " keepdims=false\n");
    EXPECT_EQ(nodes_of({op, {math_x}, {}, 1}), "%1: f32[1,1,1] = Reduce(%0) kind=" + kind + "\n");
    EXPECT_EQ(
        nodes_of({op, {math_x, tensor_type(i64, {1})}, {integer("noop_with_empty_axes", 1)}, 18}),
        "%2: f32[?,?,?] = Reduce(%0, %1) kind=" + kind + " noop_with_empty_axes=true\n");
  }
}

TEST(Reductions, ReduceSumTookItsAxesAsAnInputFirst) {
  EXPECT_CONTAINS(nodes_of({"ReduceSum", {math_x, tensor_type(i64, {1})}, {}, 13}),
                  "Reduce(%0, %1)");
  EXPECT_CONTAINS(nodes_of({"ReduceMax", {math_x, tensor_type(i64, {1})}, {}, 13}),
                  "has 2 inputs, wants 1");
}

TEST(Reductions, ArgumentsAndRunningSums) {
  EXPECT_EQ(
      nodes_of({"ArgMax",
                {math_x},
                {integer("axis", 2), integer("keepdims", 0), integer("select_last_index", 1)}}),
      "%1: i64[2,3] = ArgReduce(%0) axis=2 keepdims=false select_last_index=true\n");
  EXPECT_EQ(nodes_of({"ArgMin", {math_x}}), "%1: i64[1,3,4] = ArgReduce(%0) is_max=false\n");
  EXPECT_EQ(nodes_of({"CumSum",
                      {math_x, tensor_type(i64, {})},
                      {integer("exclusive", 1), integer("reverse", 1)}}),
            "%2: f32[2,3,4] = Cumulative(%0, %1) kind=sum exclusive=true reverse=true\n");
  EXPECT_EQ(nodes_of({.op = "CumProd", .types = {math_x, tensor_type(i64, {})}, .version = 26}),
            "%2: f32[2,3,4] = Cumulative(%0, %1) kind=prod\n");
}

TEST(Products, MatMulEinsumDet) {
  EXPECT_EQ(nodes_of({"MatMul", {tensor_type(f32, {2, 3}), tensor_type(f32, {3, 4})}}),
            "%2: f32[2,4] = MatMul(%0, %1)\n");
  EXPECT_EQ(nodes_of({"Einsum",
                      {tensor_type(f32, {2, 3}), tensor_type(f32, {3, 4})},
                      {word("equation", "ij,jk->ik")}}),
            "%2: f32[2,4] = Einsum(%0, %1) equation=\"ij,jk->ik\"\n");
  EXPECT_EQ(nodes_of({"Det", {tensor_type(f32, {5, 2, 2})}}), "%1: f32[5] = Det(%0)\n");
}

// OpDef::onnx: the parser reads the fields of these types from attributes.
TEST(SameOperators, HaveFieldsThatAreAttributes) {
  std::size_t count = 0;
  for (const OpDef* def : all_ops()) {
    if (def->onnx.name.empty()) continue;
    ++count;
    for_each_field(default_op(*def), [&]<class T>(std::string_view name, const T&) {
      EXPECT_TRUE((std::is_same_v<T, bool> || std::is_same_v<T, std::int64_t> ||
                   std::is_same_v<T, float> || std::is_same_v<T, Ints>))
          << def->name << ": " << name;
    });
  }
  EXPECT_GE(count, 6u);
}

TEST(SameOperators, TakeTheirArityAndAttributesFromTheDefinition) {
  EXPECT_EQ(nodes_of({"Trilu", {math_x}, {integer("upper", 0)}}),
            "%1: f32[2,3,4] = Trilu(%0) upper=false\n");
  EXPECT_CONTAINS(nodes_of({"Trilu", {math_x}, {integer("lower", 1)}}), "'lower'");
  EXPECT_CONTAINS(nodes_of({"Det", {math_x, math_x}}), "has 2 inputs, wants 1");
  EXPECT_CONTAINS(nodes_of({.op = "Det", .types = {math_x}, .version = 10}), "Det");
}

TEST(Gemm, IsAProductAndASum) {
  const Message a = tensor_type(f32, {2, 3});
  const Message b = tensor_type(f32, {4, 3});
  EXPECT_EQ(nodes_of({"Gemm",
                      {a, b, tensor_type(f32, {4})},
                      {number("alpha", 0.5f), number("beta", 2), integer("transB", 1)}}),
            "const %3: f32[] = {2}\n"
            "%4: f32[4] = Binary(%2, %3) kind=mul\n"
            "%5: f32[2,4] = MatMul(%0, %1) transpose_b=true alpha=0.5\n"
            "%6: f32[2,4] = Binary(%5, %4) kind=add\n");
  EXPECT_EQ(nodes_of({"Gemm", {a, b, channels}, {integer("transB", 1)}}),
            "%3: f32[2,4] = MatMul(%0, %1) transpose_b=true\n"
            "%4: f32[2,4] = Binary(%3, %2) kind=add\n");
  EXPECT_EQ(nodes_of({"Gemm", {a, b}, {integer("transB", 1)}}),
            "%2: f32[2,4] = MatMul(%0, %1) transpose_b=true\n");
  EXPECT_EQ(nodes_of({"Gemm", {a, b, channels}, {integer("transB", 1), number("beta", 0)}}),
            "%3: f32[2,4] = MatMul(%0, %1) transpose_b=true\n");
  EXPECT_EQ(
      nodes_of({"Gemm", {a, b, channels}, {integer("transB", 1), integer("broadcast", 1)}, 6}),
      "%3: f32[2,4] = MatMul(%0, %1) transpose_b=true\n"
      "%4: f32[2,4] = Binary(%3, %2) kind=add\n");
  EXPECT_CONTAINS(nodes_of({"Gemm", {math_x, b, channels}}), "a and b must be matrices");
  EXPECT_CONTAINS(nodes_of({"Gemm", {a, tensor_type(f32, {4, 4}), channels}}), "node 'n' (Gemm): ");
}

TEST(Convolutions, WindowsAndGroups) {
  const Message w = tensor_type(f32, {6, 2, 3, 3});
  EXPECT_EQ(
      nodes_of({"Conv",
                {image, w, tensor_type(f32, {6})},
                {integer("group", 2), integers("kernel_shape", {3, 3}), integers("strides", {2, 2}),
                 integers("pads", {1, 1, 1, 1}), integers("dilations", {1, 1})}}),
      "%3: f32[1,6,4,4] = Conv(%0, %1, %2) kernel=[3,3] strides=[2,2] pads=[1,1,1,1] "
      "dilations=[1,1] group=2\n");
  EXPECT_EQ(nodes_of({"Conv",
                      {image, w},
                      {integer("group", 2), word("auto_pad", "SAME_UPPER"),
                       integers("pads", {0, 0, 0, 0})}}),
            "%2: f32[1,6,8,8] = Conv(%0, %1) auto_pad=same_upper group=2\n");
  EXPECT_EQ(nodes_of({"Conv", {image, w}, {integer("group", 2), word("auto_pad", "VALID")}}),
            "%2: f32[1,6,6,6] = Conv(%0, %1) group=2\n");
  EXPECT_CONTAINS(nodes_of({"Conv", {image, w}, {word("auto_pad", "SAME")}}),
                  "attribute 'auto_pad' is 'SAME'");
  EXPECT_EQ(nodes_of({"ConvTranspose",
                      {image, tensor_type(f32, {4, 2, 3, 3})},
                      {integers("strides", {2, 2}), integers("output_padding", {1, 1})}}),
            "%2: f32[1,2,18,18] = ConvTranspose(%0, %1) strides=[2,2] output_padding=[1,1]\n");
  EXPECT_EQ(
      nodes_of({.op = "DeformConv",
                .types = {image, tensor_type(f32, {6, 4, 3, 3}), tensor_type(f32, {1, 18, 6, 6})},
                .version = 19}),
      "%3: f32[1,6,6,6] = DeformConv(%0, %1, %2)\n");
  EXPECT_EQ(nodes_of({.op = "Col2Im",
                      .types = {tensor_type(f32, {1, 5, 5}), tensor_type(i64, {2}),
                                tensor_type(i64, {2})},
                      .attributes = {integers("dilations", {1, 5})},
                      .version = 18}),
            "%3: f32[1,?,?,?] = Col2Im(%0, %1, %2) dilations=[1,5]\n");
}

TEST(Convolutions, CausalConvWithStateKeepsTheLastElements) {
  EXPECT_EQ(nodes_of({.op = "CausalConvWithState",
                      .types = {tensor_type(f32, {2, 4, 8}), tensor_type(f32, {4, 1, 3}), channels},
                      .attributes = {word("activation", "silu")},
                      .version = 27,
                      .outputs = 2}),
            "const %3: i64[3] = {2, 4, 2}\n"
            "%4: f32[2,4,2] = ConstantOfShape(%3)\n"
            "%5: f32[2,4,10] = Concat(%4, %0) axis=2\n"
            "%6: f32[2,4,8] = Conv(%5, %1, %2) group=4\n"
            "%7: f32[2,4,8] = Unary(%6) kind=swish alpha=1\n"
            "const %8: i64[1] = {8}\n"
            "const %9: i64[1] = {10}\n"
            "const %10: i64[1] = {2}\n"
            "%11: f32[2,4,2] = Slice(%5, %8, %9, %10)\n");
}

TEST(Pooling, Windows) {
  const Message kernel = integers("kernel_shape", {2, 2});
  EXPECT_EQ(nodes_of({.op = "MaxPool",
                      .types = {image},
                      .attributes = {kernel, integer("storage_order", 1), integer("ceil_mode", 1)},
                      .outputs = 2}),
            "%1: f32[1,4,7,7], %2: i64[1,4,7,7] = Pool(%0) kind=max kernel=[2,2] ceil_mode=true "
            "column_major_indices=true\n");
  EXPECT_EQ(nodes_of({"MaxPool", {image}, {kernel, word("auto_pad", "SAME_LOWER")}, 1}),
            "%1: f32[1,4,8,8] = Pool(%0) kind=max kernel=[2,2] auto_pad=same_lower\n");
  EXPECT_EQ(nodes_of({"AveragePool", {image}, {kernel, integer("count_include_pad", 1)}}),
            "%1: f32[1,4,7,7] = Pool(%0) kind=average kernel=[2,2] count_include_pad=true\n");
  EXPECT_EQ(nodes_of({"LpPool", {image}, {kernel, integer("p", 3)}}),
            "%1: f32[1,4,7,7] = Pool(%0) kind=lp kernel=[2,2] p=3\n");
  EXPECT_EQ(nodes_of({"LpPool", {image}, {kernel, number("p", 3)}, 1}),
            "%1: f32[1,4,7,7] = Pool(%0) kind=lp kernel=[2,2] p=3\n");
  EXPECT_CONTAINS(nodes_of({"LpPool", {image}, {kernel, number("p", 2.5f)}, 1}),
                  "p is no positive integer");
  EXPECT_CONTAINS(nodes_of({"MaxPool", {image}}), "'kernel_shape' is missing");
  EXPECT_EQ(nodes_of({"GlobalAveragePool", {image}}),
            "%1: f32[1,4,1,1] = Pool(%0) kind=average global=true\n");
  EXPECT_EQ(nodes_of({"GlobalMaxPool", {image}}),
            "%1: f32[1,4,1,1] = Pool(%0) kind=max global=true\n");
  EXPECT_EQ(nodes_of({"GlobalLpPool", {image}, {integer("p", 1)}}),
            "%1: f32[1,4,1,1] = Pool(%0) kind=lp global=true p=1\n");
  EXPECT_EQ(nodes_of({"MaxUnpool",
                      {image, tensor_type(i64, {1, 4, 8, 8})},
                      {kernel, integers("strides", {2, 2})}}),
            "%2: f32[1,4,16,16] = MaxUnpool(%0, %1) kernel=[2,2] strides=[2,2]\n");
}

TEST(Pooling, OfRegions) {
  EXPECT_EQ(
      nodes_of(
          {"MaxRoiPool", {image, tensor_type(f32, {3, 5})}, {integers("pooled_shape", {2, 2})}}),
      "%2: f32[3,4,2,2] = RoiPool(%0, %1) kind=max height=2 width=2\n");
  const std::vector<Message> align = {image, tensor_type(f32, {3, 4}), tensor_type(i64, {3})};
  EXPECT_EQ(nodes_of({"RoiAlign", align, {integer("output_height", 2), word("mode", "max")}, 16}),
            "%3: f32[3,4,2,1] = RoiPool(%0, %1, %2) kind=align_max height=2\n");
  EXPECT_EQ(nodes_of({"RoiAlign", align, {}, 10}),
            "%3: f32[3,4,1,1] = RoiPool(%0, %1, %2) kind=align_average half_pixel=false\n");
  EXPECT_CONTAINS(
      nodes_of({"MaxRoiPool", {image, tensor_type(f32, {3, 5})}, {integers("pooled_shape", {2})}}),
      "wants height and width");
}

TEST(BatchNorm, AcrossItsVersions) {
  const std::vector<Message> types = {image, channels, channels, channels, channels};
  EXPECT_EQ(nodes_of({"BatchNormalization",
                      types,
                      {number("epsilon", 0.5f), integer("is_test", 1), integer("spatial", 1)},
                      6}),
            "%5: f32[1,4,8,8] = BatchNorm(%0, %1, %2, %3, %4) epsilon=0.5\n");
  EXPECT_EQ(nodes_of({"BatchNormalization", types, {}, 9}),
            "%5: f32[1,4,8,8] = BatchNorm(%0, %1, %2, %3, %4)\n");
  EXPECT_EQ(
      nodes_of({.op = "BatchNormalization",
                .types = types,
                .attributes = {integer("training_mode", 1)},
                .version = 15,
                .outputs = 3}),
      "%5: f32[1,4,8,8], %6: f32[4], %7: f32[4] = BatchNorm(%0, %1, %2, %3, %4) training=true\n");
  EXPECT_CONTAINS(
      nodes_of({.op = "BatchNormalization", .types = types, .version = 9, .outputs = 2}),
      "output 1 is not supported");
}

TEST(BatchNorm, PerElementWhenNotSpatial) {
  const Message each = tensor_type(f32, {4, 8, 8});
  EXPECT_EQ(
      nodes_of({"BatchNormalization", {image, each, each, each, each}, {integer("spatial", 0)}, 7}),
      "const %5: f32[] = {1e-05}\n"
      "%6: f32[4,8,8] = Binary(%4, %5) kind=add\n"
      "%7: f32[4,8,8] = Unary(%6) kind=sqrt\n"
      "%8: f32[1,4,8,8] = Binary(%0, %3) kind=sub\n"
      "%9: f32[1,4,8,8] = Binary(%8, %7) kind=div\n"
      "%10: f32[1,4,8,8] = Binary(%9, %1) kind=mul\n"
      "%11: f32[1,4,8,8] = Binary(%10, %2) kind=add\n");
}

TEST(Norms, LayerGroupInstanceAndOthers) {
  const Message four = tensor_type(f32, {4});
  EXPECT_EQ(nodes_of({.op = "LayerNormalization",
                      .types = {math_x, four, four},
                      .attributes = {number("epsilon", 0.5f)},
                      .outputs = 3}),
            "%3: f32[2,3,4], %4: f32[2,3,1], %5: f32[2,3,1] = LayerNorm(%0, %1, %2) epsilon=0.5\n");
  EXPECT_EQ(nodes_of({"LayerNormalization", {math_x, four}, {}, 11}),
            "%2: f32[2,3,4] = LayerNorm(%0, %1)\n");
  EXPECT_EQ(nodes_of({"LayerNormalization", {math_x, four}, {integer("stash_type", 0)}}),
            "%2: f32[2,3,4] = LayerNorm(%0, %1)\n");
  EXPECT_EQ(nodes_of({.op = "RMSNormalization", .types = {math_x, four}, .version = 23}),
            "%2: f32[2,3,4] = LayerNorm(%0, %1) center=false\n");
  EXPECT_EQ(nodes_of({"SimplifiedLayerNormalization",
                      {math_x, four},
                      {integer("axis", -1), integer("stash_type", 1)}}),
            "%2: f32[2,3,4] = LayerNorm(%0, %1) center=false\n");
  EXPECT_EQ(nodes_of({.op = "GroupNormalization",
                      .types = {image, channels, channels},
                      .attributes = {integer("num_groups", 2)},
                      .version = 21}),
            "%3: f32[1,4,8,8] = GroupNorm(%0, %1, %2) groups=2\n");
  EXPECT_EQ(nodes_of({"InstanceNormalization", {image, channels, channels}}),
            "%3: f32[1,4,8,8] = GroupNorm(%0, %1, %2)\n");
  EXPECT_EQ(nodes_of({"LRN", {image}, {integer("size", 3)}}),
            "%1: f32[1,4,8,8] = Lrn(%0) size=3\n");
  EXPECT_EQ(nodes_of({"LpNormalization", {image}, {integer("axis", 1), integer("p", 1)}}),
            "%1: f32[1,4,8,8] = LpNorm(%0) axis=1 p=1\n");
  EXPECT_EQ(nodes_of({"MeanVarianceNormalization", {image}}),
            "const %1: i64[3] = {0, 2, 3}\n"
            "%2: f32[1,4,1,1] = Reduce(%0, %1) kind=mean\n"
            "%3: f32[1,4,8,8] = Binary(%0, %2) kind=sub\n"
            "%4: f32[1,4,8,8] = Binary(%3, %3) kind=mul\n"
            "const %5: i64[3] = {0, 2, 3}\n"
            "%6: f32[1,4,1,1] = Reduce(%4, %5) kind=mean\n"
            "%7: f32[1,4,1,1] = Unary(%6) kind=sqrt\n"
            "const %8: f32[] = {1e-09}\n"
            "%9: f32[1,4,1,1] = Binary(%7, %8) kind=add\n"
            "%10: f32[1,4,8,8] = Binary(%3, %9) kind=div\n");
  EXPECT_CONTAINS(nodes_of({.op = "GroupNormalization",
                            .types = {image, channels, channels},
                            .attributes = {integer("num_groups", 0)},
                            .version = 18}),
                  "'num_groups' must be positive");
}

TEST(Norms, GroupNormalizationOfOpset18HadParametersPerGroup) {
  const Message groups = tensor_type(f32, {2});
  EXPECT_EQ(nodes_of({.op = "GroupNormalization",
                      .types = {image, groups, groups},
                      .attributes = {integer("num_groups", 2)},
                      .version = 18}),
            "const %3: i64[1] = {1}\n"
            "%4: f32[2,1] = Unsqueeze(%1, %3)\n"
            "const %5: i64[2] = {2, 2}\n"
            "%6: f32[2,2] = Expand(%4, %5)\n"
            "const %7: i64[1] = {-1}\n"
            "%8: f32[4] = Reshape(%6, %7)\n"
            "const %9: i64[1] = {1}\n"
            "%10: f32[2,1] = Unsqueeze(%2, %9)\n"
            "const %11: i64[2] = {2, 2}\n"
            "%12: f32[2,2] = Expand(%10, %11)\n"
            "const %13: i64[1] = {-1}\n"
            "%14: f32[4] = Reshape(%12, %13)\n"
            "%15: f32[1,4,8,8] = GroupNorm(%0, %8, %14) groups=2\n");
  EXPECT_EQ(nodes_of({.op = "GroupNormalization",
                      .types = {image, channels, channels},
                      .attributes = {integer("num_groups", 2)},
                      .version = 18}),
            "%3: f32[1,4,8,8] = GroupNorm(%0, %1, %2) groups=2\n");
}

TEST(Softmaxes, CoverAllDimensionsFromTheAxisOnBelowOpset13) {
  EXPECT_EQ(nodes_of({"Softmax", {math_x}, {}, 12}),
            "%1: f32[2,3,4] = Softmax(%0) kind=softmax axis=1 flatten=true\n");
  EXPECT_EQ(nodes_of({"Softmax", {math_x}, {}, 13}), "%1: f32[2,3,4] = Softmax(%0) kind=softmax\n");
  EXPECT_EQ(nodes_of({"LogSoftmax", {math_x}, {integer("axis", 0)}}),
            "%1: f32[2,3,4] = Softmax(%0) kind=log_softmax axis=0\n");
  EXPECT_EQ(nodes_of({"Hardmax", {math_x}, {}, 1}),
            "%1: f32[2,3,4] = Softmax(%0) kind=hardmax axis=1 flatten=true\n");
}

TEST(Quantised, QuantizeAndDequantize) {
  EXPECT_EQ(nodes_of({"QuantizeLinear", {math_x, math_scalar, tensor_type(i8, {})}}),
            "%3: i8[2,3,4] = Quantize(%0, %1, %2) to=i8\n");
  EXPECT_EQ(nodes_of({"QuantizeLinear", {math_x, math_scalar}}),
            "%2: u8[2,3,4] = Quantize(%0, %1)\n");
  EXPECT_EQ(nodes_of({.op = "QuantizeLinear",
                      .types = {math_x, tensor_type(f32, {3})},
                      .attributes = {integer("axis", 1), integer("output_dtype", 5),
                                     integer("precision", 1)},
                      .version = 23}),
            "%2: i16[2,3,4] = Quantize(%0, %1) to=i16\n");
  EXPECT_CONTAINS(nodes_of({.op = "QuantizeLinear",
                            .types = {math_x, math_scalar, tensor_type(u8, {})},
                            .attributes = {integer("output_dtype", 3)},
                            .version = 21}),
                  "'output_dtype' is not the type of the zero point");
  EXPECT_EQ(
      nodes_of({"DequantizeLinear", {tensor_type(u8, {2, 3}), math_scalar, tensor_type(u8, {})}}),
      "%3: f32[2,3] = Dequantize(%0, %1, %2)\n");
  EXPECT_EQ(nodes_of({.op = "DequantizeLinear",
                      .types = {tensor_type(i4, {2, 4}), tensor_type(f32, {2, 2})},
                      .attributes = {integer("axis", 1), integer("block_size", 2)},
                      .version = 21}),
            "%2: f32[2,4] = Dequantize(%0, %1) block_size=2\n");
  EXPECT_EQ(nodes_of({.op = "DequantizeLinear",
                      .types = {tensor_type(u8, {2, 3}), math_scalar},
                      .attributes = {integer("output_dtype", 10)},
                      .version = 23}),
            "%2: f32[2,3] = Dequantize(%0, %1)\n"
            "%3: f16[2,3] = Cast(%2) to=f16\n");
  EXPECT_EQ(nodes_of({.op = "QuantizeLinear",
                      .types = {math_x, math_scalar},
                      .attributes = {integer("output_dtype", 25)},
                      .version = 25}),
            "%2: u2[2,3,4] = Quantize(%0, %1) to=u2\n");
  EXPECT_CONTAINS(nodes_of({.op = "QuantizeLinear",
                            .types = {math_x, math_scalar},
                            .attributes = {integer("output_dtype", 24)},
                            .version = 25}),
                  "cannot quantize to f8e8m0");
  EXPECT_EQ(nodes_of({.op = "DynamicQuantizeLinear", .types = {math_x}, .outputs = 3}),
            "%1: u8[2,3,4], %2: f32[], %3: u8[] = DynamicQuantize(%0)\n");
}

TEST(Quantised, ScalesThatArePowersOfTwo) {
  const Message scale = tensor_type(f8e8m0, {2, 2});
  const Message f4 = tensor_type(f4e2m1, {2, 4});
  EXPECT_EQ(nodes_of({.op = "QuantizeLinear",
                      .types = {tensor_type(f16, {2, 4}), scale},
                      .attributes = {integer("block_size", 2), integer("output_dtype", 23)},
                      .version = 25}),
            "%2: f32[2,2] = Cast(%1)\n"
            "%3: f4e2m1[2,4] = Quantize(%0, %2) block_size=2 to=f4e2m1\n");
  EXPECT_EQ(nodes_of({.op = "DequantizeLinear",
                      .types = {f4, scale},
                      .attributes = {integer("block_size", 2), integer("output_dtype", 10)},
                      .version = 25}),
            "%2: f32[2,2] = Cast(%1)\n"
            "%3: f32[2,4] = Dequantize(%0, %2) block_size=2\n"
            "%4: f16[2,4] = Cast(%3) to=f16\n");
  EXPECT_CONTAINS(nodes_of({.op = "DequantizeLinear",
                            .types = {f4, scale},
                            .attributes = {integer("block_size", 2)},
                            .version = 25}),
                  "'output_dtype' is missing");
}

TEST(Quantised, ConvolutionsAndProducts) {
  const Message q = tensor_type(u8, {1, 4, 8, 8});
  const Message w = tensor_type(u8, {6, 4, 3, 3});
  const Message zero = tensor_type(u8, {});
  EXPECT_EQ(nodes_of({"ConvInteger", {q, w, zero}, {integers("pads", {1, 1, 1, 1})}}),
            "%3: i32[1,6,8,8] = ConvInteger(%0, %1, %2) pads=[1,1,1,1]\n");
  EXPECT_EQ(nodes_of({"MatMulInteger", {tensor_type(u8, {2, 3}), tensor_type(i8, {3, 4})}}),
            "%2: i32[2,4] = MatMulInteger(%0, %1)\n");
  EXPECT_EQ(nodes_of({"QLinearConv",
                      {q, math_scalar, zero, w, math_scalar, zero, math_scalar, zero,
                       tensor_type(i32, {6})}}),
            "%9: u8[1,6,6,6] = QLinearConv(%0, %1, %2, %3, %4, %5, %6, %7, %8)\n");
  EXPECT_EQ(nodes_of({"QLinearMatMul",
                      {tensor_type(u8, {2, 3}), math_scalar, zero, tensor_type(u8, {3, 4}),
                       math_scalar, zero, math_scalar, zero}}),
            "%8: u8[2,4] = QLinearMatMul(%0, %1, %2, %3, %4, %5, %6, %7)\n");
}

}  // namespace
}  // namespace quern::onnx_test
