// SPDX-License-Identifier: Apache-2.0
// Model-local functions.
#include "tests/expect.h"
#include "tests/onnx-parser/import_test.h"

namespace quern::onnx_test {
namespace {

const Message any_y = Message().text(1, "y");
const Messages own_opsets = {opset("", 17), opset("own", 1)};

std::string model_with(const Messages& functions, const Messages& nodes) {
  return make_model(
      make_graph({.nodes = nodes, .inputs = {value("x", f32, {2})}, .outputs = {any_y}}),
      {.opsets = own_opsets, .functions = functions});
}
Message call(std::string_view function, const Names& inputs, const Names& outputs,
             const Messages& attributes = {}, std::string_view overload = "") {
  return node(function, inputs, outputs, attributes,
              {.name = "call", .domain = "own", .overload = overload});
}

const Message twice = make_function({.name = "Twice",
                                     .inputs = {"a"},
                                     .outputs = {"b"},
                                     .nodes = {node("Add", {"a", "a"}, {"b"})}});

TEST(Functions, TheirBodiesTakeThePlaceOfCalls) {
  EXPECT_EQ(body_of(imported_with_names(model_with({twice}, {call("Twice", {"x"}, {"y"})}))),
            "%1 \"call/b\": f32[2] = Binary(%0, %0) kind=add @\"call/b\"\n");
}

TEST(Functions, MayCallEachOther) {
  const Message four_times =
      make_function({.name = "Four",
                     .inputs = {"a"},
                     .outputs = {"c"},
                     .nodes = {node("Twice", {"b"}, {"c"}, {}, {.domain = "own"}),
                               node("Twice", {"a"}, {"b"}, {}, {.domain = "own"})},
                     .opsets = {opset("", 17), opset("own", 1)}});
  EXPECT_EQ(body_of(imported(model_with({twice, four_times}, {call("Four", {"x"}, {"y"})}))),
            "%1: f32[2] = Binary(%0, %0) kind=add\n%2: f32[2] = Binary(%1, %1) kind=add\n");
}

TEST(Functions, AreChosenByOverloadToo) {
  const Message thrice = make_function({.name = "Twice",
                                        .overload = "with mul",
                                        .inputs = {"a"},
                                        .outputs = {"b"},
                                        .nodes = {node("Mul", {"a", "a"}, {"b"})}});
  EXPECT_CONTAINS(
      imported(model_with({twice, thrice}, {call("Twice", {"x"}, {"y"}, {}, "with mul")})),
      "kind=mul");
  EXPECT_CONTAINS(imported(model_with({twice, thrice}, {call("Twice", {"x"}, {"y"})})), "kind=add");
}

TEST(Functions, AttributesComeFromTheCallOrAreDefaultsOrAbsent) {
  const Message leaky =
      make_function({.name = "Leaky",
                     .inputs = {"a"},
                     .outputs = {"b"},
                     .attributes = {"slope"},
                     .nodes = {node("LeakyRelu", {"a"}, {"b"}, {reference("alpha", 1, "slope")})}});
  EXPECT_CONTAINS(
      imported(model_with({leaky}, {call("Leaky", {"x"}, {"y"}, {number("slope", 0.5f)})})),
      "kind=leaky_relu alpha=0.5\n");
  EXPECT_CONTAINS(imported(model_with({leaky}, {call("Leaky", {"x"}, {"y"})})), "alpha=0.00999");
  const Message with_default =
      make_function({.name = "Leaky",
                     .inputs = {"a"},
                     .outputs = {"b"},
                     .default_attributes = {number("slope", 0.25f)},
                     .nodes = {node("LeakyRelu", {"a"}, {"b"}, {reference("alpha", 1, "slope")})}});
  EXPECT_CONTAINS(imported(model_with({with_default}, {call("Leaky", {"x"}, {"y"})})),
                  "alpha=0.25\n");
  EXPECT_CONTAINS(
      imported(model_with({with_default}, {call("Leaky", {"x"}, {"y"}, {number("slope", 2)})})),
      "alpha=2\n");
  EXPECT_CONTAINS(
      error_of(model_with({leaky}, {call("Leaky", {"x"}, {"y"}, {integer("slope", 2)})})),
      "node 'call/b' (LeakyRelu): attribute 'alpha' is an int, wants a float");
}

TEST(Functions, ReferencesReachIntoBodies) {
  const Message branch =
      make_graph({.name = "b",
                  .nodes = {node("LeakyRelu", {"a"}, {"t"}, {reference("alpha", 1, "slope")})},
                  .outputs = {Message().text(1, "t")}});
  const Message f = make_function(
      {.name = "F",
       .inputs = {"a", "p"},
       .outputs = {"b"},
       .attributes = {"slope"},
       .nodes = {node("If", {"p"}, {"b"},
                      {graph("then_branch", branch), graph("else_branch", branch)})}});
  const std::string text = imported(
      make_model(make_graph({.nodes = {call("F", {"x", "q"}, {"y"}, {number("slope", 0.5f)})},
                             .inputs = {value("x", f32, {2}), value("q", boolean, {})},
                             .outputs = {any_y}}),
                 {.opsets = own_opsets, .functions = {f}}));
  EXPECT_CONTAINS(text, "%2: f32[2] = If(%1, %0) {");
  EXPECT_CONTAINS(text, "      %1: f32[2] = Unary(%0) kind=leaky_relu alpha=0.5\n");
}

TEST(Functions, UseTheirOwnOpsets) {
  const Message old = make_function({.name = "Old",
                                     .inputs = {"a"},
                                     .outputs = {"b"},
                                     .nodes = {node("Softmax", {"a"}, {"b"})},
                                     .opsets = {opset("", 11)}});
  EXPECT_CONTAINS(imported(make_model(make_graph({.nodes = {call("Old", {"x"}, {"y"})},
                                                  .inputs = {value("x", f32, {2, 3})},
                                                  .outputs = {any_y}}),
                                      {.opsets = own_opsets, .functions = {old}})),
                  "axis=1 flatten=true");
}

TEST(Functions, InputsMayBeLeftOutByTheCall) {
  const Message clip = make_function({.name = "F",
                                      .inputs = {"a", "low", "high"},
                                      .outputs = {"b"},
                                      .nodes = {node("Clip", {"a", "low", "high"}, {"b"})}});
  EXPECT_CONTAINS(imported(model_with({clip}, {call("F", {"x"}, {"y"})})), "= Identity(%0)");
  EXPECT_CONTAINS(imported(model_with({clip}, {call("F", {"x", "", "x"}, {"y"})})), "kind=min");
}

TEST(Functions, SeeNothingAroundTheCall) {
  const Message f = make_function(
      {.name = "F", .inputs = {"a"}, .outputs = {"b"}, .nodes = {node("Add", {"a", "x"}, {"b"})}});
  EXPECT_CONTAINS(error_of(model_with({f}, {call("F", {"x"}, {"y"})})),
                  "node 'call/b' (Add): input 1 'x' is not defined");
}

TEST(Functions, RecursionIsRefused) {
  const auto function = [](std::string_view name, std::string_view calls) {
    return make_function({.name = name,
                          .inputs = {"a"},
                          .outputs = {"b"},
                          .nodes = {node(calls, {"a"}, {"b"}, {}, {.domain = "own"})},
                          .opsets = {opset("", 17), opset("own", 1)}});
  };
  EXPECT_CONTAINS(error_of(model_with({function("F", "F")}, {call("F", {"x"}, {"y"})})),
                  "the function calls itself");
  EXPECT_CONTAINS(
      error_of(model_with({function("F", "G"), function("G", "F")}, {call("F", {"x"}, {"y"})})),
      "the function calls itself");
}

TEST(Functions, CallsAreBoundedHoweverTheyMultiply) {
  // Ten calls of a function of ten calls ...: 10^12 nodes.
  Messages functions;
  static const std::string names[] = {"F0", "F1", "F2", "F3", "F4", "F5", "F6",
                                      "F7", "F8", "F9", "FA", "FB", "FC"};
  for (int i = 0; i < 12; ++i) {
    Messages nodes;
    static const std::string values[] = {"a",  "v1", "v2", "v3", "v4", "v5",
                                         "v6", "v7", "v8", "v9", "b"};
    for (int k = 0; k < 10; ++k)
      nodes.push_back(
          i == 0 ? node("Abs", {values[k]}, {values[k + 1]})
                 : node(names[i - 1], {values[k]}, {values[k + 1]}, {}, {.domain = "own"}));
    functions.push_back(make_function({.name = names[i],
                                       .inputs = {"a"},
                                       .outputs = {"b"},
                                       .nodes = nodes,
                                       .opsets = {opset("", 17), opset("own", 1)}}));
  }
  const auto m =
      import(model_with(functions, {call("FB", {"x"}, {"y"})}), {.max_import_bytes = 8 << 20});
  ASSERT_FALSE(m);
  EXPECT_EQ(m.error().code(), Code::out_of_memory);
}

TEST(Functions, MistakesAreNamed) {
  EXPECT_CONTAINS(error_of(model_with({twice, twice}, {call("Twice", {"x"}, {"y"})})),
                  "function 'Twice' is defined twice");
  EXPECT_CONTAINS(error_of(model_with({twice}, {call("Twice", {"x", "x"}, {"y"})})),
                  "has 2 inputs and 1 outputs, the function takes 1 and gives 1");
  const Message no_output = make_function({.name = "F", .inputs = {"a"}, .outputs = {"b"}});
  EXPECT_CONTAINS(error_of(model_with({no_output}, {call("F", {"x"}, {"y"})})),
                  "the function never computes its output 'b'");
}

TEST(Functions, OperatorsWeKnowAreNotReplacedByTheirBodies) {
  const Message gelu = make_function({.name = "Gelu",
                                      .domain = "com.microsoft",
                                      .inputs = {"a"},
                                      .outputs = {"b"},
                                      .nodes = {node("Erf", {"a"}, {"b"})}});
  const Message g =
      make_graph({.nodes = {node("Gelu", {"x"}, {"y"}, {}, {.domain = "com.microsoft"})},
                  .inputs = {value("x", f32, {2})},
                  .outputs = {any_y}});
  EXPECT_CONTAINS(imported(make_model(g, {.opsets = {opset("", 17), opset("com.microsoft", 1)},
                                          .functions = {gelu}})),
                  "kind=gelu");
}

}  // namespace
}  // namespace quern::onnx_test
