// SPDX-License-Identifier: Apache-2.0
// Constants, shapes, movement, indexing.
#include "tests/expect.h"
#include "tests/onnx-parser/import_test.h"

namespace quern::onnx_test {
namespace {

const Message shape_x = tensor_type(f32, {2, 3, 4});
const Message list = tensor_type(i64, {1});
const Message list2 = tensor_type(i64, {2});

// The line of a constant that a Constant node makes.
std::string constant_of(const Messages& attributes) {
  const std::string text = imported(make_model(GraphParts{
      .nodes = {node("Constant", {}, {"c"}, attributes)}, .outputs = {Message().text(1, "c")}}));
  return text.substr(0, 5) == "error" ? text : body_of(text);
}

TEST(Constant, OfEveryAttribute) {
  EXPECT_EQ(constant_of({tensor("value", floats("", {2}, {1, 2}))}), "const %0: f32[2] = {1, 2}\n");
  EXPECT_EQ(constant_of({number("value_float", 0.5f)}), "const %0: f32[] = {0.5}\n");
  EXPECT_EQ(constant_of({numbers("value_floats", {1, 2})}), "const %0: f32[2] = {1, 2}\n");
  EXPECT_EQ(constant_of({integer("value_int", -7)}), "const %0: i64[] = {-7}\n");
  EXPECT_EQ(constant_of({integers("value_ints", {1, 2})}), "const %0: i64[2] = {1, 2}\n");
  EXPECT_EQ(constant_of({word("value_string", "a")}), "const %0: string[] = {\"a\"}\n");
  EXPECT_EQ(constant_of({words("value_strings", {"a", "b"})}),
            "const %0: string[2] = {\"a\", \"b\"}\n");
  EXPECT_EQ(constant_of({integers("value_ints", {})}), "const %0: i64[0] = {}\n");
  EXPECT_EQ(constant_of({words("value_strings", {})}), "const %0: string[0] = {}\n");
}

TEST(Constant, Mistakes) {
  EXPECT_CONTAINS(constant_of({}), "has none of the attributes that give a value");
  EXPECT_CONTAINS(constant_of({integer("value_int", 1), integer("extra", 1)}),
                  "attribute 'extra' is not known");
  EXPECT_CONTAINS(constant_of({tensor("value", floats("t", {2}, {1}))}), "tensor 't': has 4 bytes");
  EXPECT_CONTAINS(constant_of({attribute("value", 4)}), "UNDEFINED");
}

TEST(Fill, ConstantOfShape) {
  EXPECT_EQ(nodes_of({"ConstantOfShape", {list2}}), "%1: f32[?,?] = ConstantOfShape(%0)\n");
  EXPECT_EQ(nodes_of({"ConstantOfShape", {list2}, {tensor("value", ints("", {1}, {3}))}}),
            "%1: i64[?,?] = ConstantOfShape(%0) dtype=i64 bits=3\n");
  EXPECT_CONTAINS(nodes_of({"ConstantOfShape", {list2}, {tensor("value", ints("", {2}, {3, 4}))}}),
                  "'value' wants one element");
}

TEST(Dropout, IsIdentityAtInference) {
  EXPECT_EQ(nodes_of({"Dropout", {shape_x}}), "%1: f32[2,3,4] = Identity(%0)\n");
  EXPECT_EQ(nodes_of({"Dropout", {shape_x}, {number("ratio", 0.5f), integer("is_test", 1)}, 6}),
            "%1: f32[2,3,4] = Identity(%0)\n");
  EXPECT_EQ(nodes_of({.op = "Dropout", .types = {shape_x, tensor_type(f32, {})}, .outputs = 2}),
            "%2: f32[2,3,4] = Identity(%0)\n"
            "const %3: i64[3] = {2, 3, 4}\n"
            "%4: bool[2,3,4] = ConstantOfShape(%3) dtype=bool bits=1\n");
  EXPECT_CONTAINS(nodes_of({.op = "Dropout", .types = {shape_x}, .version = 7, .outputs = 2}),
                  "ConstantOfShape(%2) bits=1065353216");
}

TEST(Dropout, InTrainingItDrawsAndScales) {
  EXPECT_EQ(nodes_of({.op = "Dropout",
                      .types = {shape_x, tensor_type(f32, {}), tensor_type(boolean, {})},
                      .attributes = {integer("seed", 7)},
                      .outputs = 2}),
            "const %3: i64[3] = {2, 3, 4}\n"
            "%4: f64[2,3,4] = Random(%3) kind=uniform generator=mersenne dtype=f64 seed=7\n"
            "%5: f64[] = Cast(%1) to=f64\n"
            "%6: bool[2,3,4] = Binary(%4, %5) kind=greater_equal\n"
            "%7: bool[] = Unary(%2) kind=logical_not\n"
            "%8: bool[2,3,4] = Binary(%6, %7) kind=logical_or\n"
            "const %9: f32[] = {1}\n"
            "%10: f32[] = Binary(%9, %1) kind=sub\n"
            "%11: f32[] = Binary(%9, %10) kind=div\n"
            "%12: f32[] = Where(%2, %11, %9)\n"
            "%13: f32[2,3,4] = Binary(%0, %12) kind=mul\n"
            "const %14: f32[] = {0}\n"
            "%15: f32[2,3,4] = Where(%8, %13, %14)\n");
}

TEST(Shapes, ViewsAndQueries) {
  EXPECT_EQ(nodes_of({"Identity", {shape_x}}), "%1: f32[2,3,4] = Identity(%0)\n");
  EXPECT_EQ(nodes_of({"Flatten", {shape_x}, {integer("axis", 2)}}),
            "%1: f32[6,4] = Flatten(%0) axis=2\n");
  EXPECT_EQ(nodes_of({"Shape", {shape_x}}), "%1: i64[3] = ShapeOf(%0)\n");
  EXPECT_EQ(nodes_of({"Shape", {shape_x}, {integer("start", 1), integer("end", -1)}}),
            "%1: i64[1] = ShapeOf(%0) start=1 end=-1\n");
  EXPECT_EQ(nodes_of({"Size", {shape_x}}), "%1: i64[] = SizeOf(%0)\n");
  EXPECT_EQ(nodes_of({"Reshape", {shape_x, list2}, {integer("allowzero", 1)}}),
            "%2: f32[?,?] = Reshape(%0, %1) allow_zero=true\n");
  EXPECT_EQ(nodes_of({"Reshape", {shape_x}, {integers("shape", {6, -1})}, 1}),
            "const %1: i64[2] = {6, -1}\n"
            "%2: f32[6,4] = Reshape(%0, %1)\n");
  EXPECT_EQ(nodes_of({"Range", {tensor_type(i64, {}), tensor_type(i64, {}), tensor_type(i64, {})}}),
            "%3: i64[?] = Range(%0, %1, %2)\n");
}

TEST(Shapes, AxesBecameInputsAtOpset13) {
  const Message ones = tensor_type(f32, {1, 3, 1});
  EXPECT_EQ(nodes_of({"Squeeze", {ones}, {integers("axes", {0})}, 12}),
            "const %1: i64[1] = {0}\n"
            "%2: f32[3,1] = Squeeze(%0, %1)\n");
  EXPECT_EQ(nodes_of({"Squeeze", {ones}, {}, 11}), "%1: f32[3] = Squeeze(%0)\n");
  EXPECT_EQ(nodes_of({"Squeeze", {ones, list}}), "%2: f32[?,?] = Squeeze(%0, %1)\n");
  EXPECT_EQ(nodes_of({"Unsqueeze", {shape_x}, {integers("axes", {0, -1})}, 11}),
            "const %1: i64[2] = {0, -1}\n"
            "%2: f32[1,2,3,4,1] = Unsqueeze(%0, %1)\n");
  EXPECT_EQ(nodes_of({"Unsqueeze", {shape_x, list}}), "%2: f32[?,?,?,?] = Unsqueeze(%0, %1)\n");
  EXPECT_CONTAINS(nodes_of({"Unsqueeze", {shape_x}, {}, 11}), "'axes' is missing");
  EXPECT_CONTAINS(nodes_of({"Squeeze", {ones}, {integers("axes", {0})}, 13}),
                  "'axes' is not known");
}

TEST(Movement, Plain) {
  EXPECT_EQ(nodes_of({"Concat", {shape_x, shape_x}, {integer("axis", 1)}}),
            "%2: f32[2,6,4] = Concat(%0, %1) axis=1\n");
  EXPECT_EQ(nodes_of({"Concat", {shape_x, shape_x}, {}, 1}),
            "%2: f32[2,6,4] = Concat(%0, %1) axis=1\n");
  EXPECT_CONTAINS(nodes_of({"Concat", {shape_x, shape_x}}), "attribute 'axis' is missing");
  EXPECT_EQ(nodes_of({"Transpose", {shape_x}, {integers("perm", {2, 0, 1})}}),
            "%1: f32[4,2,3] = Transpose(%0) perm=[2,0,1]\n");
  EXPECT_EQ(nodes_of({"Expand", {shape_x, list}}), "%2: f32[2,3,4] = Expand(%0, %1)\n");
  EXPECT_EQ(nodes_of({"Trilu", {shape_x, tensor_type(i64, {})}, {integer("upper", 0)}}),
            "%2: f32[2,3,4] = Trilu(%0, %1) upper=false\n");
  EXPECT_EQ(nodes_of({"ReverseSequence", {shape_x, tensor_type(i64, {3})}}),
            "%2: f32[2,3,4] = ReverseSequence(%0, %1)\n");
  EXPECT_EQ(
      nodes_of({"EyeLike", {tensor_type(f32, {2, 2})}, {integer("k", 1), integer("dtype", 7)}}),
      "%1: i64[2,2] = EyeLike(%0) k=1 dtype=i64\n");
  EXPECT_EQ(nodes_of({"Tile", {shape_x, tensor_type(i64, {3})}}),
            "%2: f32[?,?,?] = Tile(%0, %1)\n");
  const Message image = tensor_type(f32, {1, 8, 2, 2});
  EXPECT_EQ(nodes_of({"DepthToSpace", {image}, {integer("blocksize", 2), word("mode", "CRD")}}),
            "%1: f32[1,2,4,4] = DepthSpace(%0) kind=depth_to_space_crd block=2\n");
  EXPECT_EQ(nodes_of({"SpaceToDepth", {image}, {integer("blocksize", 2)}}),
            "%1: f32[1,32,1,1] = DepthSpace(%0) kind=space_to_depth block=2\n");
}

TEST(Split, SizesAsAttributeInputOrByTheNumberOfOutputs) {
  const Message six = tensor_type(f32, {6});
  EXPECT_EQ(nodes_of({"Split", {six}, {integers("split", {2, 4})}, 2, 2}),
            "const %1: i64[2] = {2, 4}\n"
            "%2: f32[2], %3: f32[4] = Split(%0, %1)\n");
  EXPECT_EQ(nodes_of({.op = "Split", .types = {six, list2}, .outputs = 2}),
            "%2: f32[?], %3: f32[?] = Split(%0, %1)\n");
  EXPECT_EQ(nodes_of({.op = "Split", .types = {six}, .outputs = 3}),
            "%1: f32[2], %2: f32[2], %3: f32[2] = Split(%0)\n");
  EXPECT_EQ(nodes_of({.op = "Split",
                      .types = {six},
                      .attributes = {integer("num_outputs", 2)},
                      .version = 18,
                      .outputs = 2}),
            "%1: f32[3], %2: f32[3] = Split(%0)\n");
  EXPECT_CONTAINS(nodes_of({.op = "Split",
                            .types = {six},
                            .attributes = {integer("num_outputs", 3)},
                            .version = 18,
                            .outputs = 2}),
                  "'num_outputs' is not the number of outputs");
}

TEST(Split, PartsThatNobodyWantsCount) {
  EXPECT_EQ(body_of(imported(make_model(GraphParts{.nodes = {node("Split", {"x"}, {"y", "", ""})},
                                                   .inputs = {value("x", f32, {6})},
                                                   .outputs = {Message().text(1, "y")}}))),
            "%1: f32[2], %2: f32[2], %3: f32[2] = Split(%0)\n");
}

TEST(Slice, AttributesBecameInputsAtOpset10) {
  EXPECT_EQ(
      nodes_of({"Slice", {shape_x}, {integers("starts", {0, 1}), integers("ends", {1, 3})}, 9}),
      "const %1: i64[2] = {0, 1}\n"
      "const %2: i64[2] = {1, 3}\n"
      "%3: f32[1,2,4] = Slice(%0, %1, %2)\n");
  EXPECT_EQ(nodes_of({"Slice",
                      {shape_x},
                      {integers("starts", {1}), integers("ends", {3}), integers("axes", {2})},
                      1}),
            "const %1: i64[1] = {1}\n"
            "const %2: i64[1] = {3}\n"
            "const %3: i64[1] = {2}\n"
            "%4: f32[2,3,2] = Slice(%0, %1, %2, %3)\n");
  EXPECT_EQ(nodes_of({"Slice", {shape_x, list, list, {}, list}}),
            "%4: f32[?,3,4] = Slice(%0, %1, %2, _, %3)\n");
}

TEST(Pad, AttributesBecameInputsAtOpset11) {
  EXPECT_EQ(
      nodes_of(
          {"Pad", {tensor_type(f32, {2})}, {integers("paddings", {1, 0}), number("value", 2)}, 1}),
      "const %1: i64[2] = {1, 0}\n"
      "const %2: f32[] = {2}\n"
      "%3: f32[3] = Pad(%0, %1, %2)\n");
  EXPECT_EQ(
      nodes_of(
          {"Pad", {tensor_type(f32, {2})}, {integers("pads", {1, 0}), word("mode", "edge")}, 2}),
      "const %1: i64[2] = {1, 0}\n"
      "%2: f32[3] = Pad(%0, %1) mode=edge\n");
  EXPECT_EQ(nodes_of({.op = "Pad", .types = {shape_x, list2, {}, list}, .version = 18}),
            "%3: f32[?,?,?] = Pad(%0, %1, _, %2)\n");
}

TEST(Tile, OfOpset1RepeatsOneAxis) {
  const Message scalar = tensor_type(f32, {});
  EXPECT_EQ(nodes_of({.op = "Tile",
                      .types = {shape_x, scalar, scalar},
                      .version = 1,
                      .initializers = {floats("x2", {}, {1})}}),
            "%2: i64[] = Cast(%1) to=i64\n"
            "const %3: i64[1] = {1}\n"
            "%4: i64[1] = Reshape(%2, %3)\n"
            "const %5: i64[1] = {1}\n"
            "const %6: i64[1] = {1}\n"
            "%7: i64[3] = Concat(%5, %4, %6)\n"
            "%8: f32[?,?,?] = Tile(%0, %7)\n");
  EXPECT_CONTAINS(nodes_of({"Tile", {shape_x, scalar, scalar}, {}, 1}), "must be a constant");
  for (const float axis : {3.0F, -1.0F})
    EXPECT_CONTAINS(nodes_of({.op = "Tile",
                              .types = {shape_x, scalar, scalar},
                              .version = 1,
                              .initializers = {floats("x2", {}, {axis})}}),
                    "below the rank");
}

TEST(CenterCropPad, IsAPadThatMayCrop) {
  EXPECT_EQ(nodes_of({.op = "CenterCropPad",
                      .types = {shape_x, tensor_type(i32, {2})},
                      .attributes = {integers("axes", {0, 2})},
                      .version = 18}),
            "const %2: i64[3] = {2, 3, 4}\n"
            "const %3: i64[2] = {0, 2}\n"
            "%4: i64[2] = Gather(%2, %3) kind=axis\n"
            "%5: i64[2] = Cast(%1) to=i64\n"
            "%6: i64[2] = Binary(%5, %4) kind=sub\n"
            "const %7: i64[1] = {2}\n"
            "%8: i64[2] = Binary(%6, %7) kind=div\n"
            "%9: i64[2] = Binary(%6, %8) kind=sub\n"
            "%10: i64[4] = Concat(%8, %9)\n"
            "%11: f32[?,?,?] = Pad(%0, %10, _, %3)\n");
}

TEST(Indexing, GatherAndScatter) {
  const Message index = tensor_type(i64, {2});
  EXPECT_EQ(nodes_of({"Gather", {shape_x, index}, {integer("axis", 1)}}),
            "%2: f32[2,2,4] = Gather(%0, %1) kind=axis axis=1\n");
  EXPECT_EQ(
      nodes_of({"GatherElements", {shape_x, tensor_type(i64, {2, 3, 1})}, {integer("axis", -1)}}),
      "%2: f32[2,3,1] = Gather(%0, %1) kind=elements axis=-1\n");
  EXPECT_EQ(nodes_of({"GatherND", {shape_x, tensor_type(i64, {2, 1})}, {integer("batch_dims", 1)}}),
            "%2: f32[2,4] = Gather(%0, %1) kind=nd batch_dims=1\n");
  EXPECT_EQ(nodes_of({"ScatterElements",
                      {shape_x, tensor_type(i64, {1, 1, 1}), tensor_type(f32, {1, 1, 1})},
                      {integer("axis", 1), word("reduction", "add")}}),
            "%3: f32[2,3,4] = Scatter(%0, %1, %2) kind=elements axis=1 reduction=add\n");
  EXPECT_EQ(
      nodes_of(
          {"Scatter", {shape_x, tensor_type(i64, {1, 1, 1}), tensor_type(f32, {1, 1, 1})}, {}, 9}),
      "%3: f32[2,3,4] = Scatter(%0, %1, %2) kind=elements\n");
  EXPECT_EQ(nodes_of({.op = "ScatterND",
                      .types = {shape_x, tensor_type(i64, {2, 1}), tensor_type(f32, {2, 3, 4})},
                      .attributes = {word("reduction", "max")},
                      .version = 18}),
            "%3: f32[2,3,4] = Scatter(%0, %1, %2) kind=nd reduction=max\n");
}

TEST(Indexing, OneHotTakesADepthOfAnyType) {
  EXPECT_EQ(
      nodes_of({"OneHot", {tensor_type(i64, {2}), tensor_type(f32, {}), tensor_type(f32, {2})}}),
      "%3: i64[] = Cast(%1) to=i64\n"
      "%4: f32[2,?] = OneHot(%0, %3, %2)\n");
  EXPECT_EQ(nodes_of({"OneHot",
                      {tensor_type(i64, {2}), tensor_type(i64, {}), tensor_type(f32, {2})},
                      {integer("axis", 0)}}),
            "%3: f32[?,2] = OneHot(%0, %1, %2) axis=0\n");
}

TEST(Indexing, TensorScatterWritesAtPositionsPerBatch) {
  const Message cache = tensor_type(f32, {2, 4, 8, 5});
  const Message update = tensor_type(f32, {2, 4, 1, 5});
  EXPECT_EQ(nodes_of({.op = "TensorScatter",
                      .types = {cache, update, list2},
                      .attributes = {word("mode", "circular")},
                      .version = 24}),
            "const %3: i64[] = {0}\n"
            "const %4: i64[] = {1}\n"
            "const %5: i64[] = {1}\n"
            "%6: i64[1] = Range(%3, %4, %5)\n"
            "const %7: i64[3] = {0, 1, 3}\n"
            "%8: i64[1,1,1,1] = Unsqueeze(%6, %7)\n"
            "const %9: i64[3] = {1, 2, 3}\n"
            "%10: i64[2,1,1,1] = Unsqueeze(%2, %9)\n"
            "%11: i64[2,1,1,1] = Binary(%8, %10) kind=add\n"
            "const %12: i64[1] = {8}\n"
            "%13: i64[2,1,1,1] = Binary(%11, %12) kind=mod\n"
            "const %14: i64[4] = {2, 4, 1, 5}\n"
            "%15: i64[2,4,1,5] = Expand(%13, %14)\n"
            "%16: f32[2,4,8,5] = Scatter(%0, %15, %1) kind=elements axis=2\n");
  EXPECT_CONTAINS(nodes_of({.op = "TensorScatter",
                            .types = {cache, update},
                            .attributes = {integer("axis", 0)},
                            .version = 24}),
                  "'axis' is outside of the rank, or 0");
}

}  // namespace
}  // namespace quern::onnx_test
