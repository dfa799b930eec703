// SPDX-License-Identifier: Apache-2.0
// These tests cover all but the operators: inputs, initialisers, order, names, types, problems.
#include "tests/expect.h"
#include "tests/onnx-parser/import_test.h"

namespace quern::onnx_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

const Message x_f32 = value("x", f32, {2});
const Message any_type_y = Message().text(1, "y");

std::string one_relu(const Message& input, const Message& output) {
  return make_model(
      GraphParts{.nodes = {node("Relu", {"x"}, {"y"})}, .inputs = {input}, .outputs = {output}});
}

TEST(Import, AWholeModel) {
  const std::string bytes = make_model(GraphParts{
      .name = "net",
      .nodes = {node("MatMul", {"x", "w"}, {"h"}, {}, {.name = "fc"}), node("Relu", {"h"}, {"y"})},
      .inputs = {value("x", f32, {"N", 2})},
      .outputs = {value("y", f32, {"N", 1})},
      .initializers = {floats("w", {2, 1}, {1, 2})}});
  EXPECT_EQ(imported_with_names(bytes), R"(graph "net" {
  input %0 "x": f32[N,2]
  const %1 "w": f32[2,1] = {1, 2}
  %2 "h": f32[N,1] = MatMul(%0, %1) @"fc"
  %3 "y": f32[N,1] = Unary(%2) kind=relu @"y"
  output %3 "y"
}
)");
}

TEST(Import, MetadataIsKept) {
  const std::string bytes = Message()
                                .number(1, 7)
                                .text(2, "exporter")
                                .text(3, "2.0")
                                .text(6, "doc")
                                .message(7, make_graph({}))
                                .message(8, opset("", 13))
                                .message(14, Message().text(1, "k").text(2, "v"))
                                .bytes();
  const auto m = import(bytes);
  ASSERT_TRUE(m) << m.error().message();
  EXPECT_EQ(m->ir_version, 7);
  EXPECT_EQ(m->producer_name, "exporter");
  EXPECT_EQ(m->producer_version, "2.0");
  EXPECT_EQ(m->doc_string, "doc");
  EXPECT_THAT(m->opsets, ElementsAre(Pair("", 13)));
  EXPECT_THAT(m->metadata, ElementsAre(Pair("k", "v")));
}

TEST(Import, DimensionsAreNumbersNamesOrUnknown) {
  EXPECT_CONTAINS(
      imported(one_relu(value("x", f32, {"N", 3, "", "odd name:0", "N", -1, 0}), any_type_y)),
      "input %0: f32[N,3,?,\"odd name:0\",N_3,?,0]\n");
  EXPECT_CONTAINS(imported(one_relu(value("x", unranked_type(f32)), any_type_y)), "f32[*]");
}

TEST(Import, SequencesAndOptionalsAreTypesToo) {
  const auto type_of_input = [](const Message& type) {
    return imported(make_model(GraphParts{.inputs = {value("x", type)}}));
  };
  EXPECT_CONTAINS(type_of_input(sequence_of(tensor_type(f32, {"N"}))), "seq(f32[?])");
  EXPECT_CONTAINS(type_of_input(optional_of(tensor_type(i64, {}))), "opt(i64[])");
  EXPECT_CONTAINS(type_of_input(optional_of(sequence_of(unranked_type(f32)))), "opt(seq(f32[*]))");
  EXPECT_CONTAINS(type_of_input(sequence_of(sequence_of(unranked_type(f32)))),
                  "error: input 'x': its type is neither");
  EXPECT_CONTAINS(type_of_input(Message().message(5, Message())), "element type UNDEFINED");
  EXPECT_CONTAINS(type_of_input(Message().message(5, Message().number(1, 7))),
                  "a map whose values are no numbers or strings");
  EXPECT_CONTAINS(type_of_input(Message()), "its type is not given");
  EXPECT_CONTAINS(type_of_input(tensor_type(complex64, {1})), "COMPLEX64");
  EXPECT_CONTAINS(type_of_input(tensor_type(f32, Dimensions(17, 1))), "rank 17");
}

TEST(Import, InitialisersListedAsInputsAreDefaultsAndNoInputs) {
  const std::string text =
      imported(make_model(GraphParts{.nodes = {node("Add", {"x", "w"}, {"y"})},
                                     .inputs = {value("w", f32, {2}), x_f32},
                                     .outputs = {any_type_y},
                                     .initializers = {floats("w", {2}, {1, 2})}}));
  EXPECT_CONTAINS(text, "input %0: f32[2]\n  const %1: f32[2] = {1, 2}");
}

TEST(Import, InputsAndConstantsMayBeOutputs) {
  EXPECT_EQ(
      imported(make_model(GraphParts{.inputs = {x_f32},
                                     .outputs = {Message().text(1, "x"), Message().text(1, "w")},
                                     .initializers = {floats("w", {}, {1})}})),
      "graph \"g\" {\n  input %0: f32[2]\n  output %0 \"x\"\n  const %1: f32[] = {1}\n"
      "  output %1 \"w\"\n}\n");
}

TEST(Import, NodesAreSortedAndOtherwiseStayInOrder) {
  const std::string text = body_of(imported_with_names(
      make_model(GraphParts{.nodes = {node("Abs", {"b"}, {"y"}), node("Neg", {"a"}, {"b"}),
                                      node("Exp", {"x"}, {"z"}), node("Relu", {"x"}, {"a"})},
                            .inputs = {x_f32},
                            .outputs = {any_type_y, Message().text(1, "z")}})));
  EXPECT_EQ(text,
            "%1 \"z\": f32[2] = Unary(%0) kind=exp @\"z\"\n"
            "%2 \"a\": f32[2] = Unary(%0) kind=relu @\"a\"\n"
            "%3 \"b\": f32[2] = Unary(%2) kind=neg @\"b\"\n"
            "%4 \"y\": f32[2] = Unary(%3) kind=abs @\"y\"\n");
}

TEST(Import, CirclesAreRefusedAndTheirNodesNamed) {
  const auto circle = error_of(
      make_model(GraphParts{.nodes = {node("Abs", {"b"}, {"a"}, {}, {.name = "one"}),
                                      node("Abs", {"a"}, {"b"}), node("Abs", {"x"}, {"c"})},
                            .inputs = {x_f32}}));
  EXPECT_CONTAINS(circle, "2 nodes depend on each other in a circle");
  EXPECT_CONTAINS(circle, "'one' (Abs), 'b' (Abs)");
  EXPECT_CONTAINS(error_of(make_model(GraphParts{.nodes = {node("Abs", {"a"}, {"a"})}})),
                  "1 nodes depend");
}

TEST(Import, NamesAreDefinedOnce) {
  EXPECT_CONTAINS(
      error_of(make_model(GraphParts{
          .nodes = {node("Abs", {"x"}, {"y"}), node("Neg", {"x"}, {"y"})}, .inputs = {x_f32}})),
      "output 'y' is defined twice");
  EXPECT_CONTAINS(
      error_of(make_model(GraphParts{.nodes = {node("Abs", {"x"}, {"x"})}, .inputs = {x_f32}})),
      "circle");
  EXPECT_CONTAINS(error_of(make_model(GraphParts{.nodes = {node("Abs", {"x"}, {"w"})},
                                                 .inputs = {x_f32},
                                                 .initializers = {floats("w", {}, {1})}})),
                  "value 'w' is defined twice");
  EXPECT_CONTAINS(error_of(make_model(GraphParts{.inputs = {x_f32, x_f32}})),
                  "value 'x' is defined twice");
  EXPECT_CONTAINS(error_of(make_model(
                      GraphParts{.initializers = {floats("w", {}, {1}), floats("w", {}, {1})}})),
                  "value 'w' is defined twice");
  EXPECT_CONTAINS(error_of(make_model(GraphParts{.initializers = {floats("", {}, {1})}})),
                  "has no name");
}

TEST(Import, NamesMayBeAnyBytes) {
  const std::string odd("a\0:\xff\"{}", 7);
  const std::string text =
      imported_with_names(make_model(GraphParts{.nodes = {node("Relu", {odd}, {"y"})},
                                                .inputs = {value(odd, f32, {})},
                                                .outputs = {any_type_y}}));
  EXPECT_CONTAINS(text, "input %0 \"a\\x00:\\xff\\\"{}\": f32[]");
}

TEST(Import, ValuesMustBeDefinedBeforeTheyAreUsed) {
  EXPECT_CONTAINS(error_of(make_model(GraphParts{.nodes = {node("Relu", {"nowhere"}, {"y"})}})),
                  "node 'y' (Relu): input 0 'nowhere' is not defined");
  EXPECT_CONTAINS(error_of(make_model(GraphParts{.outputs = {any_type_y}})),
                  "output 'y' is never computed");
}

TEST(Import, InputsMayBeLeftOutAnywhereButWhereTheyAreNeeded) {
  EXPECT_EQ(nodes_of({"Clip", {tensor_type(f32, {2}), {}, tensor_type(f32, {})}}),
            "%2: f32[2] = Binary(%0, %1) kind=min\n");
  EXPECT_CONTAINS(error_of(model_of({"Add", {{}, tensor_type(f32, {2})}})),
                  "node 'n' (Add): input 0 is left out, but it is not optional");
  EXPECT_CONTAINS(error_of(model_of({"Add", {tensor_type(f32, {2})}})),
                  "node 'n' (Add): has 1 inputs, wants 2");
  EXPECT_CONTAINS(error_of(model_of({"Relu", {tensor_type(f32, {2}), tensor_type(f32, {2})}})),
                  "has 2 inputs, wants 1");
  EXPECT_CONTAINS(
      error_of(model_of({.op = "Relu", .types = {tensor_type(f32, {2})}, .outputs = 2})),
      "has 2 outputs, wants 1");
}

TEST(Import, OutputsMayBeLeftOut) {
  EXPECT_CONTAINS(imported(make_model(GraphParts{.nodes = {node("TopK", {"x", "k"}, {"", "i"})},
                                                 .inputs = {x_f32, value("k", i64, {1})},
                                                 .outputs = {Message().text(1, "i")}})),
                  "_, %2: i64[?] = TopK(%0, %1)");
}

TEST(Import, DeclaredOutputsMustAgreeAndTellWhatIsUnknown) {
  EXPECT_CONTAINS(error_of(one_relu(x_f32, value("y", i64, {2}))),
                  "output 'y' is declared i64[2], but is f32[2]");
  EXPECT_CONTAINS(error_of(one_relu(x_f32, value("y", sequence_of(tensor_type(f32, {2}))))),
                  "output 'y' is declared seq(f32[2]), but is f32[2]");
}

TEST(Import, DeclaredDimensionsOfOutputsAreNotBelieved) {
  EXPECT_CONTAINS(imported(one_relu(value("x", f32, {"", 3}), value("y", f32, {"M", 3}))),
                  "%1: f32[?,3] =");
  EXPECT_CONTAINS(imported(one_relu(value("x", f32, {"", 3}), value("y", f32, {"M", 4}))),
                  "%1: f32[?,3] =");
  EXPECT_CONTAINS(imported(one_relu(value("x", unranked_type(f32)), value("y", f32, {"M"}))),
                  "%1: f32[*] =");
}

TEST(Import, NamesOfDimensionsDoNotMakeThemEqual) {
  EXPECT_CONTAINS(imported(make_model(GraphParts{
                      .nodes = {node("Add", {"a", "b"}, {"y"})},
                      .inputs = {value("a", f32, {"N", "N_2"}), value("b", f32, {"N", "N_2"})},
                      .outputs = {value("y", f32, {"N", "N_2"})}})),
                  "input %0: f32[N,N_2]\n  input %1: f32[N_3,N_2_4]\n"
                  "  %2: f32[?,?] = Binary(%0, %1)");
}

TEST(Import, BothNamesOfTheDefaultDomainAreOne) {
  const Message g = make_graph(
      {.nodes = {node("Relu", {"x"}, {"h"}, {}, {.domain = "ai.onnx"}), node("Relu", {"h"}, {"y"})},
       .inputs = {x_f32},
       .outputs = {any_type_y}});
  EXPECT_CONTAINS(imported(make_model(g, {.opsets = {opset("ai.onnx", 17)}})), "kind=relu");
  EXPECT_CONTAINS(imported(make_model(g, {.opsets = {opset("", 17), opset("unused", 3)}})),
                  "kind=relu");
}

TEST(Import, VersionsThatAreNotKnownAreRefused) {
  const Message g = make_graph({});
  EXPECT_CONTAINS(error_of(make_model(g, {.ir_version = 2})),
                  "ONNX IR version 2 is not known, only 3 to 14");
  EXPECT_CONTAINS(error_of(make_model(g, {.ir_version = 15})), "IR version 15");
  EXPECT_CONTAINS(error_of(make_model(g, {.opsets = {opset("", 29)}})),
                  "opset 29 of ai.onnx is not known, only 1 to 28");
  EXPECT_CONTAINS(error_of(make_model(g, {.opsets = {opset("", 0)}})), "opset 0");
  EXPECT_TRUE(import(make_model(g, {.ir_version = 14, .opsets = {opset("", 28)}})));
  EXPECT_TRUE(import(make_model(g, {.ir_version = 3, .opsets = {opset("whatever", 99)}})));
}

TEST(Import, OperatorsThatAreNotKnownAreNamed) {
  EXPECT_CONTAINS(error_of(model_of({"Frobnicate", {tensor_type(f32, {2})}})),
                  "node 'n' (Frobnicate): this operator is not supported");
  EXPECT_CONTAINS(
      error_of(model_of({.op = "Relu", .types = {tensor_type(f32, {2})}, .domain = "my.domain"})),
      "node 'n' (my.domain.Relu): this operator is not supported");
  EXPECT_CONTAINS(error_of(model_of({"Gelu", {tensor_type(f32, {2})}})),
                  "node 'n' (Gelu): exists since opset 20, the model uses opset 17");
  const Message g = make_graph({.nodes = {node("Relu", {"x"}, {"y"})}, .inputs = {x_f32}});
  EXPECT_CONTAINS(error_of(make_model(g, {.opsets = {opset("com.microsoft", 1)}})),
                  "the model does not say which opset of ai.onnx it uses");
}

TEST(Import, AttributesAreCheckedForKindAndName) {
  const auto leaky = [](const Message& a) {
    return model_of({"LeakyRelu", {tensor_type(f32, {2})}, {a}});
  };
  EXPECT_CONTAINS(error_of(leaky(integer("alpha", 1))),
                  "node 'n' (LeakyRelu): attribute 'alpha' is an int, wants a float");
  EXPECT_CONTAINS(error_of(leaky(number("beta", 1))), "attribute 'beta' is not known at opset 17");
  EXPECT_CONTAINS(
      error_of(model_of(
          {"LeakyRelu", {tensor_type(f32, {2})}, {number("alpha", 1), number("alpha", 2)}})),
      "attribute 'alpha' is given twice");
  EXPECT_CONTAINS(error_of(model_of({"Cast", {tensor_type(f32, {2})}})),
                  "attribute 'to' is missing");
  EXPECT_CONTAINS(error_of(model_of({"Cast", {tensor_type(f32, {2})}, {integer("to", 14)}})),
                  "attribute 'to': element type COMPLEX64 is not supported");
  EXPECT_CONTAINS(error_of(model_of({.op = "Pad",
                                     .types = {tensor_type(f32, {2}), tensor_type(i64, {2})},
                                     .attributes = {word("mode", "blur")}})),
                  "attribute 'mode' is 'blur', wants 'constant', 'reflect', 'edge', 'wrap'");
  EXPECT_CONTAINS(
      error_of(model_of({"ArgMax", {tensor_type(f32, {2})}, {integer("keepdims", -1)}})),
      "attribute 'keepdims' is -1, wants 0 or 1");
  EXPECT_TRUE(
      import(model_of({"Relu", {tensor_type(f32, {2})}, {integers("consumed_inputs", {0})}, 1})));
}

TEST(Import, AllProblemsAreToldAtOnce) {
  const std::string bytes = make_model(GraphParts{
      .nodes = {node("Foo", {"x"}, {"a"}), node("Relu", {"a"}, {"b"}), node("Bar", {"b"}, {"c"}),
                node("Relu", {"x"}, {"d"}), node("Add", {"d"}, {"e"})},
      .inputs = {x_f32},
      .outputs = {Message().text(1, "c")}});
  std::vector<std::string> problems;
  const auto m = import(bytes, {.problems = &problems});
  ASSERT_FALSE(m);
  EXPECT_EQ(m.error().code(), Code::unsupported);
  EXPECT_EQ(m.error().message(),
            "node 'a' (Foo): this operator is not supported (and 2 more problems)");
  EXPECT_THAT(problems, ElementsAre("node 'a' (Foo): this operator is not supported",
                                    "node 'c' (Bar): this operator is not supported",
                                    "node 'e' (Add): has 1 inputs, wants 2"));
  problems.clear();
  EXPECT_FALSE(import(bytes, {.problems = &problems, .max_problems = 2}));
  EXPECT_THAT(problems, SizeIs(2));
}

TEST(Import, ProblemsOfTheFileAreOnTheListToo) {
  std::vector<std::string> problems;
  EXPECT_FALSE(import("\x08", {.problems = &problems}));
  EXPECT_THAT(problems, ElementsAre("not a valid ONNX model: byte 1: a number is cut off"));
}

// y = op(Reshape(x, s), x), of which value_info alone says a rank.
std::string of_open_rank(std::string_view op, const Messages& attributes = {}) {
  return imported(make_model(
      GraphParts{
          .nodes = {node("Reshape", {"x", "s"}, {"r"}), node(op, {"r", "x"}, {"y"}, attributes)},
          .inputs = {value("x", f32, {2}), value("s", unranked_type(i64))},
          .outputs = {any_type_y},
          .value_info = {value("r", f32, {"A", 7})}},
      6));
}

TEST(Import, RanksOfValueInfoAreCheckedWhereTheyAreNeeded) {
  EXPECT_CONTAINS(of_open_rank("Add"), "Binary(%2, %0)");
  EXPECT_THAT(of_open_rank("Add", {integer("broadcast", 1), integer("axis", 0)}),
              AllOf(HasSubstr("%3: f32[?,?] = Identity(%2) rank=2"), HasSubstr("Binary(%3,")));
}

// The import checks only inputs whose rank is declared but not known.
TEST(Import, RanksOfWhatIsLeftOutAreNotChecked) {
  const std::string text = imported(make_model(
      GraphParts{.nodes = {node("Reshape", {"x", "s"}, {"q"}),
                           node("Attention", {"q", "k", "k", "", "p", "p"}, {"y"})},
                 .inputs = {value("x", f32, {48}), value("s", unranked_type(i64)),
                            value("k", f32, {2, 2, 3, 4}), value("p", f32, {2, 2, 5, 4})},
                 .outputs = {any_type_y},
                 .value_info = {value("q", f32, {2, 2, 3, 4})}},
      23));
  EXPECT_CONTAINS(text, "Identity(%4) rank=4");
  EXPECT_EQ(text.find("Identity"), text.rfind("Identity")) << text;
}

}  // namespace
}  // namespace quern::onnx_test
