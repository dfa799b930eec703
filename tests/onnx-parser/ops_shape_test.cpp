// SPDX-License-Identifier: Apache-2.0
// Constants, shapes, movement, indexing.
#include "tests/onnx-parser/import_test.h"

namespace quern::onnx_test {
namespace {

using ::testing::HasSubstr;

const Message x = tensor_type(f32, {2, 3, 4});
const Message list = tensor_type(i64, {1});
const Message list2 = tensor_type(i64, {2});

// The line of a constant that a Constant node makes.
std::string constant_of(const Messages& attributes) {
  const std::string text = imported(make_model(
      GraphParts{.nodes = {node("Constant", {}, {"c"}, attributes)}, .outputs = {Message().text(1, "c")}}));
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
  EXPECT_THAT(constant_of({}), HasSubstr("has none of the attributes that give a value"));
  EXPECT_THAT(constant_of({integer("value_int", 1), integer("extra", 1)}),
              HasSubstr("attribute 'extra' is not known"));
  EXPECT_THAT(constant_of({tensor("value", floats("t", {2}, {1}))}),
              HasSubstr("tensor 't': has 4 bytes"));
  EXPECT_THAT(constant_of({attribute("value", 4)}), HasSubstr("UNDEFINED"));
}

TEST(Fill, ConstantOfShape) {
  EXPECT_EQ(nodes_of({"ConstantOfShape", {list2}}), "@@1");
  EXPECT_EQ(nodes_of({"ConstantOfShape", {list2}, {tensor("value", ints("", {1}, {3}))}}), "@@2");
  EXPECT_THAT(nodes_of({"ConstantOfShape", {list2}, {tensor("value", ints("", {2}, {3, 4}))}}),
              HasSubstr("'value' wants one element"));
}

TEST(Dropout, IsIdentityAtInference) {
  EXPECT_EQ(nodes_of({"Dropout", {x}}), "@@3");
  EXPECT_EQ(nodes_of({"Dropout", {x}, {number("ratio", 0.5f), integer("is_test", 1)}, 6}), "@@4");
  EXPECT_EQ(nodes_of({.op = "Dropout", .types = {x, tensor_type(f32, {})}, .outputs = 2}), "@@5");
  EXPECT_THAT(nodes_of({.op = "Dropout", .types = {x}, .version = 7, .outputs = 2}),
              HasSubstr("ConstantOfShape(%2) bits=1065353216"));
}

TEST(Dropout, InTrainingItDrawsAndScales) {
  EXPECT_EQ(nodes_of({.op = "Dropout",
                      .types = {x, tensor_type(f32, {}), tensor_type(boolean, {})},
                      .attributes = {integer("seed", 7)},
                      .outputs = 2}),
            "@@6");
}

TEST(Shapes, ViewsAndQueries) {
  EXPECT_EQ(nodes_of({"Identity", {x}}), "@@7");
  EXPECT_EQ(nodes_of({"Flatten", {x}, {integer("axis", 2)}}), "@@8");
  EXPECT_EQ(nodes_of({"Shape", {x}}), "@@9");
  EXPECT_EQ(nodes_of({"Shape", {x}, {integer("start", 1), integer("end", -1)}}), "@@10");
  EXPECT_EQ(nodes_of({"Size", {x}}), "@@11");
  EXPECT_EQ(nodes_of({"Reshape", {x, list2}, {integer("allowzero", 1)}}), "@@12");
  EXPECT_EQ(nodes_of({"Reshape", {x}, {integers("shape", {6, -1})}, 1}), "@@13");
  EXPECT_EQ(nodes_of({"Range", {tensor_type(i64, {}), tensor_type(i64, {}), tensor_type(i64, {})}}),
            "@@14");
}

TEST(Shapes, AxesBecameInputsAtOpset13) {
  const Message ones = tensor_type(f32, {1, 3, 1});
  EXPECT_EQ(nodes_of({"Squeeze", {ones}, {integers("axes", {0})}, 12}), "@@15");
  EXPECT_EQ(nodes_of({"Squeeze", {ones}, {}, 11}), "@@16");
  EXPECT_EQ(nodes_of({"Squeeze", {ones, list}}), "@@17");
  EXPECT_EQ(nodes_of({"Unsqueeze", {x}, {integers("axes", {0, -1})}, 11}), "@@18");
  EXPECT_EQ(nodes_of({"Unsqueeze", {x, list}}), "@@19");
  EXPECT_THAT(nodes_of({"Unsqueeze", {x}, {}, 11}), HasSubstr("'axes' is missing"));
  EXPECT_THAT(nodes_of({"Squeeze", {ones}, {integers("axes", {0})}, 13}),
              HasSubstr("'axes' is not known"));
}

TEST(Movement, Plain) {
  EXPECT_EQ(nodes_of({"Concat", {x, x}, {integer("axis", 1)}}), "@@20");
  EXPECT_EQ(nodes_of({"Concat", {x, x}, {}, 1}), "@@21");
  EXPECT_THAT(nodes_of({"Concat", {x, x}}), HasSubstr("attribute 'axis' is missing"));
  EXPECT_EQ(nodes_of({"Transpose", {x}, {integers("perm", {2, 0, 1})}}), "@@22");
  EXPECT_EQ(nodes_of({"Expand", {x, list}}), "@@23");
  EXPECT_EQ(nodes_of({"Trilu", {x, tensor_type(i64, {})}, {integer("upper", 0)}}), "@@24");
  EXPECT_EQ(nodes_of({"ReverseSequence", {x, tensor_type(i64, {3})}}), "@@25");
  EXPECT_EQ(nodes_of({"EyeLike", {tensor_type(f32, {2, 2})}, {integer("k", 1), integer("dtype", 7)}}),
            "@@26");
  EXPECT_EQ(nodes_of({"Tile", {x, tensor_type(i64, {3})}}), "@@27");
  const Message image = tensor_type(f32, {1, 8, 2, 2});
  EXPECT_EQ(nodes_of({"DepthToSpace", {image}, {integer("blocksize", 2), word("mode", "CRD")}}), "@@28");
  EXPECT_EQ(nodes_of({"SpaceToDepth", {image}, {integer("blocksize", 2)}}), "@@29");
}

TEST(Split, SizesAsAttributeInputOrByTheNumberOfOutputs) {
  const Message six = tensor_type(f32, {6});
  EXPECT_EQ(nodes_of({"Split", {six}, {integers("split", {2, 4})}, 2, 2}), "@@30");
  EXPECT_EQ(nodes_of({.op = "Split", .types = {six, list2}, .outputs = 2}), "@@31");
  EXPECT_EQ(nodes_of({.op = "Split", .types = {six}, .outputs = 3}), "@@32");
  EXPECT_EQ(nodes_of({.op = "Split", .types = {six}, .attributes = {integer("num_outputs", 2)},
                      .version = 18, .outputs = 2}),
            "@@33");
  EXPECT_THAT(nodes_of({.op = "Split", .types = {six}, .attributes = {integer("num_outputs", 3)},
                        .version = 18, .outputs = 2}),
              HasSubstr("'num_outputs' is not the number of outputs"));
}

TEST(Split, PartsThatNobodyWantsCount) {
  EXPECT_EQ(body_of(imported(make_model(GraphParts{.nodes = {node("Split", {"x"}, {"y", "", ""})},
                                                   .inputs = {value("x", f32, {6})},
                                                   .outputs = {Message().text(1, "y")}}))),
            "@@34");
}

TEST(Slice, AttributesBecameInputsAtOpset10) {
  EXPECT_EQ(nodes_of({"Slice", {x}, {integers("starts", {0, 1}), integers("ends", {1, 3})}, 9}), "@@35");
  EXPECT_EQ(nodes_of({"Slice", {x}, {integers("starts", {1}), integers("ends", {3}), integers("axes", {2})}, 1}),
            "@@36");
  EXPECT_EQ(nodes_of({"Slice", {x, list, list, {}, list}}), "@@37");
}

TEST(Pad, AttributesBecameInputsAtOpset11) {
  EXPECT_EQ(nodes_of({"Pad", {tensor_type(f32, {2})}, {integers("paddings", {1, 0}), number("value", 2)}, 1}),
            "@@38");
  EXPECT_EQ(nodes_of({"Pad", {tensor_type(f32, {2})}, {integers("pads", {1, 0}), word("mode", "edge")}, 2}),
            "@@39");
  EXPECT_EQ(nodes_of({.op = "Pad", .types = {x, list2, {}, list}, .version = 18}), "@@40");
}

TEST(Tile, OfOpset1RepeatsOneAxis) {
  const Message scalar = tensor_type(f32, {});
  EXPECT_EQ(nodes_of({.op = "Tile", .types = {x, scalar, scalar}, .version = 1,
                      .initializers = {floats("x2", {}, {1})}}),
            "@@41");
  EXPECT_THAT(nodes_of({"Tile", {x, scalar, scalar}, {}, 1}), HasSubstr("must be a constant"));
}

TEST(CenterCropPad, IsAPadThatMayCrop) {
  EXPECT_EQ(nodes_of({.op = "CenterCropPad", .types = {x, tensor_type(i32, {2})},
                      .attributes = {integers("axes", {0, 2})}, .version = 18}),
            "@@42");
}

TEST(Indexing, GatherAndScatter) {
  const Message index = tensor_type(i64, {2});
  EXPECT_EQ(nodes_of({"Gather", {x, index}, {integer("axis", 1)}}), "@@43");
  EXPECT_EQ(nodes_of({"GatherElements", {x, tensor_type(i64, {2, 3, 1})}, {integer("axis", -1)}}), "@@44");
  EXPECT_EQ(nodes_of({"GatherND", {x, tensor_type(i64, {2, 1})}, {integer("batch_dims", 1)}}), "@@45");
  EXPECT_EQ(nodes_of({"ScatterElements", {x, tensor_type(i64, {1, 1, 1}), tensor_type(f32, {1, 1, 1})},
                      {integer("axis", 1), word("reduction", "add")}}),
            "@@46");
  EXPECT_EQ(nodes_of({"Scatter", {x, tensor_type(i64, {1, 1, 1}), tensor_type(f32, {1, 1, 1})}, {}, 9}),
            "@@47");
  EXPECT_EQ(nodes_of({.op = "ScatterND", .types = {x, tensor_type(i64, {2, 1}), tensor_type(f32, {2, 3, 4})},
                      .attributes = {word("reduction", "max")}, .version = 18}),
            "@@48");
}

TEST(Indexing, OneHotTakesADepthOfAnyType) {
  EXPECT_EQ(nodes_of({"OneHot", {tensor_type(i64, {2}), tensor_type(f32, {}), tensor_type(f32, {2})}}),
            "@@49");
  EXPECT_EQ(nodes_of({"OneHot", {tensor_type(i64, {2}), tensor_type(i64, {}), tensor_type(f32, {2})},
                      {integer("axis", 0)}}),
            "@@50");
}

TEST(Indexing, TensorScatterWritesAtPositionsPerBatch) {
  const Message cache = tensor_type(f32, {2, 4, 8, 5});
  const Message update = tensor_type(f32, {2, 4, 1, 5});
  EXPECT_EQ(nodes_of({.op = "TensorScatter", .types = {cache, update, list2},
                      .attributes = {word("mode", "circular")}, .version = 24}),
            "@@51");
  EXPECT_THAT(nodes_of({.op = "TensorScatter", .types = {cache, update},
                        .attributes = {integer("axis", 0)}, .version = 24}),
              HasSubstr("'axis' is outside of the rank, or 0"));
}

}  // namespace
}  // namespace quern::onnx_test
