// SPDX-License-Identifier: Apache-2.0
// Unary, binary and cast operators, with their legacy versions.
#include "tests/expect.h"
#include "tests/onnx-parser/import_test.h"

namespace quern::onnx_test {
namespace {

const Message x = tensor_type(f32, {2, 3});
const Message int_x = tensor_type(i64, {2});

TEST(UnaryOps, WithoutAttributes) {
  for (const auto& [op, kind] : std::initializer_list<std::pair<std::string_view, std::string>>{
           {"Abs", "abs"},           {"Acos", "acos"},
           {"Acosh", "acosh"},       {"Asin", "asin"},
           {"Asinh", "asinh"},       {"Atan", "atan"},
           {"Atanh", "atanh"},       {"Ceil", "ceil"},
           {"Cos", "cos"},           {"Cosh", "cosh"},
           {"Erf", "erf"},           {"Exp", "exp"},
           {"Floor", "floor"},       {"HardSwish", "hard_swish"},
           {"Log", "log"},           {"Mish", "mish"},
           {"Neg", "neg"},           {"Reciprocal", "reciprocal"},
           {"Relu", "relu"},         {"Round", "round"},
           {"Sigmoid", "sigmoid"},   {"Sign", "sign"},
           {"Sin", "sin"},           {"Sinh", "sinh"},
           {"Softplus", "softplus"}, {"Softsign", "softsign"},
           {"Sqrt", "sqrt"},         {"Tan", "tan"},
           {"Tanh", "tanh"}})
    EXPECT_EQ(nodes_of({.op = op, .types = {x}, .version = 22}),
              "%1: f32[2,3] = Unary(%0) kind=" + kind + "\n");
  EXPECT_EQ(nodes_of({"IsNaN", {x}}), "%1: bool[2,3] = Unary(%0) kind=is_nan\n");
  EXPECT_EQ(nodes_of({"Not", {tensor_type(boolean, {2})}}),
            "%1: bool[2] = Unary(%0) kind=logical_not\n");
  EXPECT_EQ(nodes_of({.op = "BitwiseNot", .types = {int_x}, .version = 18}),
            "%1: i64[2] = Unary(%0) kind=bitwise_not\n");
}

TEST(UnaryOps, WithAttributesAndTheirDefaults) {
  const auto one = [](std::string_view op, const Messages& attributes = {}) {
    const std::string text =
        nodes_of({.op = op, .types = {x}, .attributes = attributes, .version = 24});
    return text.substr(text.find("kind=") + 5);
  };
  EXPECT_EQ(one("LeakyRelu", {number("alpha", 0.5f)}), "leaky_relu alpha=0.5\n");
  EXPECT_EQ(one("Elu"), "elu alpha=1\n");
  EXPECT_EQ(one("Celu", {number("alpha", 2)}), "celu alpha=2\n");
  EXPECT_EQ(one("Selu"), "selu alpha=1.6732631921768188 beta=1.0507010221481323\n");
  EXPECT_EQ(one("HardSigmoid", {number("alpha", 0.25f)}), "hard_sigmoid alpha=0.25 beta=0.5\n");
  EXPECT_EQ(one("ThresholdedRelu"), "thresholded_relu alpha=1\n");
  EXPECT_EQ(one("Shrink", {number("bias", 1.5f)}), "shrink alpha=0.5 beta=1.5\n");
  EXPECT_EQ(one("Swish"), "swish alpha=1\n");
  EXPECT_EQ(one("Gelu"), "gelu\n");
  EXPECT_EQ(one("Gelu", {word("approximate", "tanh")}), "gelu_tanh\n");
  EXPECT_EQ(one("IsInf", {integer("detect_positive", 0)}), "is_inf alpha=1\n");
  EXPECT_EQ(one("IsInf"), "is_inf alpha=1 beta=1\n");
}

TEST(UnaryOps, SeluOfOpset1HadShorterDefaults) {
  EXPECT_CONTAINS(nodes_of({.op = "Selu", .types = {x}, .version = 1}), "alpha=1.67320001");
}

TEST(Clip, BoundsWereAttributesUpToOpset10) {
  EXPECT_EQ(nodes_of({"Clip", {x}, {number("min", -1), number("max", 2)}, 6}),
            "%1: f32[2,3] = Unary(%0) kind=clip alpha=-1 beta=2\n");
  EXPECT_EQ(nodes_of({"Clip", {x}, {}, 10}),
            "%1: f32[2,3] = Unary(%0) kind=clip alpha=-3.4028234663852886e+38 "
            "beta=3.4028234663852886e+38\n");
}

TEST(Clip, ConstantBoundsAreAttributesOfOurs) {
  EXPECT_EQ(nodes_of({.op = "Clip",
                      .types = {x, tensor_type(f32, {}), tensor_type(f32, {})},
                      .initializers = {floats("x1", {}, {0}), floats("x2", {}, {6})}}),
            "%1: f32[2,3] = Unary(%0) kind=clip beta=6\n");
  EXPECT_EQ(nodes_of({.op = "Clip",
                      .types = {x, tensor_type(f32, {})},
                      .initializers = {floats("x1", {}, {0})}}),
            "%1: f32[2,3] = Unary(%0) kind=clip beta=inf\n");
  EXPECT_EQ(nodes_of({"Clip", {x}}), "%1: f32[2,3] = Identity(%0)\n");
}

TEST(Clip, OtherBoundsAreMaxAndMin) {
  EXPECT_EQ(nodes_of({"Clip", {x, tensor_type(f32, {}), tensor_type(f32, {})}}),
            "%3: f32[2,3] = Binary(%0, %1) kind=max\n%4: f32[2,3] = Binary(%3, %2) kind=min\n");
  // 2^53 + 1 is no double.
  EXPECT_EQ(nodes_of({.op = "Clip",
                      .types = {int_x, tensor_type(i64, {})},
                      .initializers = {ints("x1", {}, {9007199254740993})}}),
            "const %1: i64[] = {9007199254740993}\n%2: i64[2] = Binary(%0, %1) kind=max\n");
}

TEST(BinaryOps, Kinds) {
  for (const auto& [op, kind] :
       std::initializer_list<std::pair<std::string_view, std::string>>{{"Add", "add"},
                                                                       {"Sub", "sub"},
                                                                       {"Mul", "mul"},
                                                                       {"Div", "div"},
                                                                       {"Pow", "pow"},
                                                                       {"Max", "max"},
                                                                       {"Min", "min"},
                                                                       {"PRelu", "prelu"},
                                                                       {"Mod", "mod"}})
    EXPECT_EQ(nodes_of({op, {x, tensor_type(f32, {3})}}),
              "%2: f32[2,3] = Binary(%0, %1) kind=" + kind + "\n");
  for (const auto& [op, kind] : std::initializer_list<std::pair<std::string_view, std::string>>{
           {"Equal", "equal"},
           {"Greater", "greater"},
           {"GreaterOrEqual", "greater_equal"},
           {"Less", "less"},
           {"LessOrEqual", "less_equal"}})
    EXPECT_EQ(nodes_of({op, {x, x}}), "%2: bool[2,3] = Binary(%0, %1) kind=" + kind + "\n");
  const Message b = tensor_type(boolean, {2});
  EXPECT_EQ(nodes_of({"And", {b, b}}), "%2: bool[2] = Binary(%0, %1) kind=logical_and\n");
  EXPECT_EQ(nodes_of({"Or", {b, b}}), "%2: bool[2] = Binary(%0, %1) kind=logical_or\n");
  EXPECT_EQ(nodes_of({"Xor", {b, b}}), "%2: bool[2] = Binary(%0, %1) kind=logical_xor\n");
  for (const auto& [op, kind] : std::initializer_list<std::pair<std::string_view, std::string>>{
           {"BitwiseAnd", "bitwise_and"},
           {"BitwiseOr", "bitwise_or"},
           {"BitwiseXor", "bitwise_xor"}})
    EXPECT_EQ(nodes_of({.op = op, .types = {int_x, int_x}, .version = 18}),
              "%2: i64[2] = Binary(%0, %1) kind=" + kind + "\n");
}

TEST(BinaryOps, AttributesThatChooseTheKind) {
  EXPECT_CONTAINS(nodes_of({"Mod", {x, x}, {integer("fmod", 1)}}), "kind=fmod");
  const Message u = tensor_type(u8, {2});
  EXPECT_CONTAINS(nodes_of({"BitShift", {u, u}, {word("direction", "LEFT")}}), "shift_left");
  EXPECT_CONTAINS(nodes_of({"BitShift", {u, u}, {word("direction", "RIGHT")}}), "shift_right");
  EXPECT_CONTAINS(error_of(model_of({"BitShift", {u, u}})), "'direction' is missing");
}

TEST(BinaryOps, BelowOpset7AxisSaysWhereTheSecondOperandStands) {
  const Message big = tensor_type(f32, {2, 3, 4, 5});
  const auto add = [&](const Message& b, const Messages& attributes) {
    return nodes_of({"Add", {big, b}, attributes, 6});
  };
  EXPECT_EQ(add(tensor_type(f32, {3, 4}), {integer("broadcast", 1), integer("axis", 1)}),
            "const %2: i64[1] = {2}\n%3: f32[3,4,1] = Unsqueeze(%1, %2)\n"
            "%4: f32[2,3,4,5] = Binary(%0, %3) kind=add\n");
  EXPECT_EQ(add(tensor_type(f32, {4, 5}), {integer("broadcast", 1)}),
            "%2: f32[2,3,4,5] = Binary(%0, %1) kind=add\n");
  EXPECT_EQ(add(tensor_type(f32, {5}), {integer("broadcast", 1), integer("axis", -1)}),
            "%2: f32[2,3,4,5] = Binary(%0, %1) kind=add\n");
  EXPECT_EQ(add(big, {}), "%2: f32[2,3,4,5] = Binary(%0, %1) kind=add\n");
  EXPECT_CONTAINS(add(tensor_type(f32, {3, 4}), {integer("broadcast", 1), integer("axis", 3)}),
                  "axis and the second input's rank do not fit");
  EXPECT_CONTAINS(add(unranked_type(f32), {integer("broadcast", 1), integer("axis", 1)}),
                  "needs to know the rank");
  EXPECT_CONTAINS(nodes_of({"Add", {big, big}, {integer("broadcast", 1)}, 7}),
                  "attribute 'broadcast' is not known at opset 7");
}

TEST(BinaryOps, PReluOfOpset6HasASlopePerChannel) {
  EXPECT_EQ(nodes_of({"PRelu", {tensor_type(f32, {2, 3, 4, 5}), tensor_type(f32, {3})}, {}, 6}),
            "const %2: i64[2] = {1, 2}\n%3: f32[3,1,1] = Unsqueeze(%1, %2)\n"
            "%4: f32[2,3,4,5] = Binary(%0, %3) kind=prelu\n");
  EXPECT_EQ(nodes_of({"PRelu", {tensor_type(f32, {2, 3, 4, 5}), tensor_type(f32, {1})}, {}, 6}),
            "%2: f32[2,3,4,5] = Binary(%0, %1) kind=prelu\n");
}

TEST(BinaryOps, AnyNumberOfOperandsIsAChain) {
  EXPECT_EQ(nodes_of({"Sum", {x, x, x}}),
            "%3: f32[2,3] = Binary(%0, %1) kind=add\n%4: f32[2,3] = Binary(%3, %2) kind=add\n");
  EXPECT_EQ(nodes_of({"Mean", {x, x}}),
            "%2: f32[2,3] = Binary(%0, %1) kind=add\nconst %3: f32[] = {2}\n"
            "%4: f32[2,3] = Binary(%2, %3) kind=div\n");
  EXPECT_EQ(nodes_of({"Max", {x}}), "%1: f32[2,3] = Identity(%0)\n");
  EXPECT_EQ(nodes_of({"Mean", {x}}), "%1: f32[2,3] = Identity(%0)\n");
}

TEST(BinaryOps, WhereAndSwiGlu) {
  EXPECT_EQ(nodes_of({"Where", {tensor_type(boolean, {3}), x, x}}),
            "%3: f32[2,3] = Where(%0, %1, %2)\n");
  EXPECT_EQ(
      nodes_of({.op = "SwiGLU", .types = {x, x}, .version = 28}),
      "%2: f32[2,3] = Unary(%0) kind=swish alpha=1\n%3: f32[2,3] = Binary(%2, %1) kind=mul\n");
}

TEST(Casts, TargetsByNumberNameOrExample) {
  EXPECT_EQ(nodes_of({"Cast", {x}, {integer("to", 7)}}), "%1: i64[2,3] = Cast(%0) to=i64\n");
  EXPECT_EQ(nodes_of({"Cast", {x}, {word("to", "INT64")}, 1}), "%1: i64[2,3] = Cast(%0) to=i64\n");
  EXPECT_EQ(nodes_of({.op = "Cast",
                      .types = {x},
                      .attributes = {integer("to", 17), integer("saturate", 0)},
                      .version = 19}),
            "%1: f8e4m3fn[2,3] = Cast(%0) to=f8e4m3fn saturate=false\n");
  EXPECT_EQ(nodes_of({.op = "Cast",
                      .types = {x},
                      .attributes = {integer("to", 10), word("round_mode", "up")},
                      .version = 24}),
            "%1: f16[2,3] = Cast(%0) to=f16\n");
  EXPECT_EQ(nodes_of({.op = "Cast",
                      .types = {x},
                      .attributes = {integer("to", 24), word("round_mode", "nearest")},
                      .version = 25}),
            "%1: f8e8m0[2,3] = Cast(%0) to=f8e8m0 rounding=nearest\n");
  EXPECT_CONTAINS(nodes_of({.op = "Cast",
                            .types = {x},
                            .attributes = {integer("to", 24), word("round_mode", "even")},
                            .version = 25}),
                  "'round_mode' is 'even', wants 'up', 'nearest', 'down'");
  EXPECT_EQ(nodes_of({.op = "CastLike",
                      .types = {x, tensor_type(i2, {})},
                      .attributes = {word("round_mode", "down")},
                      .version = 25}),
            "%2: i2[2,3] = Cast(%0) to=i2 rounding=down\n");
  EXPECT_EQ(nodes_of({"CastLike", {x, tensor_type(boolean, {})}}),
            "%2: bool[2,3] = Cast(%0) to=bool\n");
  EXPECT_EQ(
      nodes_of({.op = "BitCast", .types = {x}, .attributes = {integer("to", 6)}, .version = 26}),
      "%1: i32[2,3] = BitCast(%0) to=i32\n");
}

}  // namespace
}  // namespace quern::onnx_test
