// SPDX-License-Identifier: Apache-2.0
// Bodies: what they read of the scope around them becomes inputs of node and body.
#include "tests/expect.h"
#include "tests/onnx-parser/import_test.h"

namespace quern::onnx_test {
namespace {

const Message y_any = Message().text(1, "y");

Message branch(const Messages& nodes, std::string_view output, const Messages& initializers = {}) {
  return make_graph({.name = "b",
                     .nodes = nodes,
                     .outputs = {Message().text(1, output)},
                     .initializers = initializers});
}

TEST(If, BothBranchesTakeWhatEitherOfThemReads) {
  const Message then_branch = branch({node("Add", {"a", "b"}, {"t"})}, "t");
  const Message else_branch = branch({node("Mul", {"b", "c"}, {"e"})}, "e");
  EXPECT_EQ(
      imported(make_model(GraphParts{
          .nodes = {node("If", {"p"}, {"y"},
                         {graph("then_branch", then_branch), graph("else_branch", else_branch)})},
          .inputs = {value("p", boolean, {}), value("a", f32, {2}), value("b", f32, {2}),
                     value("c", f32, {2})},
          .outputs = {y_any}})),
      R"(graph "g" {
  input %0: bool[]
  input %1: f32[2]
  input %2: f32[2]
  input %3: f32[2]
  %4: f32[2] = If(%0, %1, %2, %3) {
    graph "b" {
      input %0: f32[2]
      input %1: f32[2]
      input %2: f32[2]
      %3: f32[2] = Binary(%0, %1) kind=add
      output %3 "t"
    }
    graph "b" {
      input %0: f32[2]
      input %1: f32[2]
      input %2: f32[2]
      %3: f32[2] = Binary(%1, %2) kind=mul
      output %3 "e"
    }
  }
  output %4 "y"
}
)");
}

TEST(If, ConstantsOfTheOuterScopeAreSharedNotCaptured) {
  const Message then_branch = branch({node("Add", {"x", "w"}, {"t"})}, "t");
  const Message else_branch =
      branch({node("Identity", {"k"}, {"e"})}, "e", {floats("k", {1}, {9})});
  const std::string text = imported(make_model(GraphParts{
      .nodes = {node("If", {"p"}, {"y"},
                     {graph("then_branch", then_branch), graph("else_branch", else_branch)})},
      .inputs = {value("p", boolean, {}), value("x", f32, {1})},
      .outputs = {y_any},
      .initializers = {floats("w", {1}, {3})}}));
  EXPECT_CONTAINS(text, "= If(%0, %1) {");
  EXPECT_CONTAINS(text, "      const %1: f32[1] = {3}\n");
  EXPECT_CONTAINS(text, "      const %1: f32[1] = {9}\n");
}

TEST(If, NestedBodiesPassCapturesThroughTheLevelsBetween) {
  const Message innermost = branch({node("Neg", {"x"}, {"i"})}, "i");
  const Message keep = branch({node("Identity", {"x"}, {"k"})}, "k");
  const Message middle = branch(
      {node("If", {"q"}, {"m"}, {graph("then_branch", innermost), graph("else_branch", keep)})},
      "m");
  const std::string text = imported(make_model(
      GraphParts{.nodes = {node("Relu", {"z"}, {"x"}),
                           node("If", {"p"}, {"y"},
                                {graph("then_branch", middle), graph("else_branch", keep)})},
                 .inputs = {value("p", boolean, {}), value("q", boolean, {}), value("z", f32, {2})},
                 .outputs = {y_any}}));
  EXPECT_CONTAINS(text, "%4: f32[2] = If(%0, %1, %3) {");
  EXPECT_CONTAINS(text, "%2: f32[2] = If(%0, %1) {");
}

TEST(If, ABranchMayHandOutAnOuterValueItself) {
  const Message as_it_is = branch({}, "x");
  EXPECT_CONTAINS(
      imported(make_model(GraphParts{
          .nodes = {node("If", {"p"}, {"y"},
                         {graph("then_branch", as_it_is), graph("else_branch", as_it_is)})},
          .inputs = {value("p", boolean, {}), value("x", f32, {2})},
          .outputs = {y_any}})),
      "    graph \"b\" {\n      input %0: f32[2]\n      output %0 \"x\"\n    }\n");
}

TEST(If, NodesThatOnlyABranchReadsStandBeforeIt) {
  const Message reads_late = branch({node("Identity", {"late"}, {"t"})}, "t");
  EXPECT_THAT(
      body_of(imported(make_model(GraphParts{
          .nodes = {node("If", {"p"}, {"y"},
                         {graph("then_branch", reads_late), graph("else_branch", reads_late)}),
                    node("Relu", {"x"}, {"late"})},
          .inputs = {value("p", boolean, {}), value("x", f32, {2})},
          .outputs = {y_any}}))),
      ::testing::StartsWith("%2: f32[2] = Unary(%1) kind=relu\n%3: f32[2] = If(%0, %2) {"));
}

TEST(If, ProblemsInBranchesAreToldWithTheirNodes) {
  std::vector<std::string> problems;
  const Message bad = branch({node("Foo", {"x"}, {"t"})}, "t");
  const Message worse = branch({node("Bar", {"x"}, {"t"})}, "t");
  EXPECT_FALSE(import(make_model(GraphParts{
                          .nodes = {node("If", {"p"}, {"y"},
                                         {graph("then_branch", bad), graph("else_branch", worse)})},
                          .inputs = {value("p", boolean, {}), value("x", f32, {2})},
                          .outputs = {y_any}}),
                      {.problems = &problems}));
  EXPECT_THAT(problems, ::testing::ElementsAre("node 't' (Foo): this operator is not supported",
                                               "node 't' (Bar): this operator is not supported"));
}

TEST(If, MistakesAreNamed) {
  const Message b = branch({node("Identity", {"x"}, {"t"})}, "t");
  const auto with = [](const Messages& attributes) {
    return error_of(make_model(GraphParts{.nodes = {node("If", {"p"}, {"y"}, attributes)},
                                          .inputs = {value("p", boolean, {}), value("x", f32, {2})},
                                          .outputs = {y_any}}));
  };
  EXPECT_CONTAINS(with({graph("then_branch", b)}), "attribute 'else_branch' is missing");
  EXPECT_CONTAINS(with({graph("then_branch", b), graph("else_branch", branch({}, "nothing"))}),
                  "output 'nothing' of body 'b' is never computed");
  EXPECT_CONTAINS(with({graph("then_branch", b), graph("else_branch", make_graph({}))}),
                  "body 1 hands out 0 values, wants 1");
  const Message two = make_graph({.name = "two", .inputs = {value("extra", f32, {})}});
  EXPECT_CONTAINS(with({graph("then_branch", two), graph("else_branch", b)}),
                  "body 'two' has 1 inputs, its node wants 0");
}

// ---- Loop

Message counter_body(const Messages& nodes = {}) {
  GraphParts g{
      .name = "body",
      .nodes = {node("Identity", {"c"}, {"c2"}), node("Add", {"v", "x"}, {"v2"})},
      .inputs = {value("i", i64, {}), value("c", boolean, {}), value("v", f32, {2})},
      .outputs = {Message().text(1, "c2"), Message().text(1, "v2"), Message().text(1, "v2")}};
  for (const Message& n : nodes) g.nodes.push_back(n);
  return make_graph(g);
}

TEST(Loop, CarriedValuesCapturesAndStackedOutputs) {
  EXPECT_EQ(
      imported(make_model(GraphParts{
          .nodes = {node("Loop", {"n", "", "v0"}, {"v", "all"}, {graph("body", counter_body())})},
          .inputs = {value("n", i64, {}), value("v0", f32, {2}), value("x", f32, {2})},
          .outputs = {Message().text(1, "v"), Message().text(1, "all")}})),
      R"(graph "g" {
  input %0: i64[]
  input %1: f32[2]
  input %2: f32[2]
  %3: f32[2], %4: f32[?,2] = Loop(%0, _, %1, %2) carried=1 {
    graph "body" {
      input %0: i64[]
      input %1: bool[]
      input %2: f32[2]
      input %3: f32[2]
      %4: bool[] = Identity(%1)
      %5: f32[2] = Binary(%2, %3) kind=add
      output %4 "c2"
      output %5 "v2"
      output %5 "v2"
    }
  }
  output %3 "v"
  output %4 "all"
}
)");
}

TEST(Loop, CarriedDimensionsAreOnlyWhatDeclarationAndStartAgreeOn) {
  EXPECT_CONTAINS(
      imported(make_model(GraphParts{
          .nodes = {node("Loop", {"n", "", "v0"}, {"v", "all"}, {graph("body", counter_body())})},
          .inputs = {value("n", i64, {}), value("v0", f32, {1}), value("x", f32, {2})},
          .outputs = {Message().text(1, "v")}})),
      "      input %2: f32[?]\n");
}

TEST(Loop, MistakesAreNamed) {
  const auto with = [](const Names& inputs, const Message& body) {
    return error_of(make_model(
        GraphParts{.nodes = {node("Loop", inputs, {"v", "all"}, {graph("body", body)})},
                   .inputs = {value("n", i64, {}), value("v0", i64, {2}), value("x", f32, {2})},
                   .outputs = {Message().text(1, "v")}}));
  };
  EXPECT_CONTAINS(with({"n", "", "v0"}, counter_body()),
                  "carried value 0 is i64, its body declares f32");
  EXPECT_CONTAINS(with({"n"}, counter_body()), "has 3 inputs, its node wants 2");
  EXPECT_CONTAINS(
      with({"n"},
           make_graph({.name = "b", .inputs = {value("i", i64, {}), value("c", boolean, {})}})),
      "its body hands out no condition");
}

// ---- Scan

Message sum_body() {
  return make_graph({.name = "body",
                     .nodes = {node("Add", {"s", "e"}, {"s2"}), node("Identity", {"s2"}, {"o"})},
                     .inputs = {value("s", f32, {2}), value("e", f32, {2})},
                     .outputs = {Message().text(1, "s2"), Message().text(1, "o")}});
}

TEST(Scan, StatesAndElements) {
  const std::string text = imported(make_model(GraphParts{
      .nodes = {node("Scan", {"s0", "x"}, {"s", "all"},
                     {graph("body", sum_body()), integer("num_scan_inputs", 1),
                      integers("scan_input_axes", {1}), integers("scan_output_directions", {1})})},
      .inputs = {value("s0", f32, {2}), value("x", f32, {2, "T"})},
      .outputs = {Message().text(1, "s"), Message().text(1, "all")}}));
  EXPECT_CONTAINS(text,
                  "%2: f32[2], %3: f32[T,2] = Scan(%0, %1) states=1 scanned_inputs=1 "
                  "input_axes=[1] output_directions=[1] {");
  EXPECT_CONTAINS(text, "      input %1: f32[2]\n");
}

TEST(Scan, OfOpset8IsAScanOverTheBatchAroundOne) {
  const std::string text = imported(make_model(
      GraphParts{.nodes = {node("Scan", {"", "s0", "x"}, {"s", "all"},
                                {graph("body", sum_body()), integer("num_scan_inputs", 1),
                                 integers("directions", {1})})},
                 .inputs = {value("s0", f32, {"B", 2}), value("x", f32, {"B", "T", 2})},
                 .outputs = {Message().text(1, "s"), Message().text(1, "all")}},
      8));
  EXPECT_EQ(text, R"(graph "g" {
  input %0: f32[B,2]
  input %1: f32[B_2,T,2]
  %2: f32[B,2], %3: f32[B,T,2] = Scan(%0, %1) scanned_inputs=2 {
    graph "" {
      input %0: f32[2]
      input %1: f32[T,2]
      %2: f32[2], %3: f32[T,2] = Scan(%0, %1) states=1 scanned_inputs=1 input_directions=[1] {
        graph "body" {
          input %0: f32[2]
          input %1: f32[2]
          %2: f32[2] = Binary(%0, %1) kind=add
          %3: f32[2] = Identity(%2)
          output %2 "s2"
          output %3 "o"
        }
      }
      output %2 ""
      output %3 ""
    }
  }
  output %2 "s"
  output %3 "all"
}
)");
}

TEST(Scan, MistakesAreNamed) {
  const auto with = [](const Messages& attributes, std::int64_t version) {
    return error_of(
        make_model(GraphParts{.nodes = {node("Scan", {"s0", "x"}, {"s", "all"}, attributes)},
                              .inputs = {value("s0", f32, {2}), value("x", f32, {2, "T"})},
                              .outputs = {Message().text(1, "s")}},
                   version));
  };
  EXPECT_CONTAINS(with({graph("body", sum_body()), integer("num_scan_inputs", 3)}, 17),
                  "attribute 'num_scan_inputs' is 3, wants 1 to 2");
  EXPECT_CONTAINS(with({graph("body", sum_body())}, 17), "'num_scan_inputs' is missing");
  EXPECT_CONTAINS(with({graph("body", sum_body()), integer("num_scan_inputs", 1),
                        integers("scan_input_axes", {2})},
                       17),
                  "scan axis 2 is outside of rank 2");
  EXPECT_CONTAINS(with({graph("body", sum_body()), integer("num_scan_inputs", 1),
                        integers("scan_input_axes", {-3})},
                       17),
                  "scan axis -3 is outside of rank 2");
  const Message three =
      make_graph({.name = "body",
                  .nodes = {node("Identity", {"c"}, {"o"})},
                  .inputs = {value("a", f32, {2}), value("b", f32, {2}), value("c", f32, {2})},
                  .outputs = {Message().text(1, "o")}});
  EXPECT_CONTAINS(error_of(make_model(GraphParts{
                      .nodes = {node("Scan", {"x", "", "x"}, {"all"},
                                     {graph("body", three), integer("num_scan_inputs", 3)})},
                      .inputs = {value("x", f32, {"T", 2})},
                      .outputs = {Message().text(1, "all")}})),
                  "input 1 is left out");
  EXPECT_CONTAINS(with({graph("body", sum_body()), integer("num_scan_inputs", 1)}, 8),
                  "sequence lengths are not supported");
}

TEST(SequenceMap, BodiesSeeElements) {
  const Message body = make_graph({.name = "body",
                                   .nodes = {node("Add", {"e", "t"}, {"o"})},
                                   .inputs = {value("e", f32, {2}), value("t", f32, {})},
                                   .outputs = {Message().text(1, "o")}});
  const std::string text = imported(make_model(
      GraphParts{.nodes = {node("SequenceMap", {"s", "k"}, {"y"}, {graph("body", body)})},
                 .inputs = {value("s", sequence_of(tensor_type(f32, {2}))), value("k", f32, {})},
                 .outputs = {y_any}}));
  EXPECT_CONTAINS(text, "%2: seq(f32[2]) = SequenceMap(%0, %1) inputs=2 {");
  EXPECT_CONTAINS(text, "      input %0: f32[2]\n      input %1: f32[]\n");
}

}  // namespace
}  // namespace quern::onnx_test
