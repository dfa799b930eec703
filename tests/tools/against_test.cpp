// SPDX-License-Identifier: Apache-2.0
#include "tools/against/against.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontends/onnx-parser/proto.h"
#include "frontends/onnx-parser/write.h"
#include "tests/expect.h"
#include "tools/opened.h"
#include "tools/verify_case.h"

namespace quern::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

namespace fs = std::filesystem;
using onnx::NodeProto;

// ---- models

NodeProto node(std::string_view op, std::vector<std::string_view> inputs,
               std::vector<std::string_view> outputs) {
  return {.inputs = std::move(inputs), .outputs = std::move(outputs), .op_type = op};
}

onnx::ValueInfo value(std::string_view name) {
  InputValue v{.tensors = {*Tensor::zeros({DType::f32, {2, 3}})}};
  return {name, type_message(v)};
}

onnx::ModelProto model_of(std::vector<NodeProto> nodes, std::vector<std::string_view> outputs) {
  onnx::ModelProto m{.ir_version = 8};
  m.opsets.push_back({"", 17});
  onnx::GraphProto g{.name = "g", .nodes = std::move(nodes)};
  g.inputs.push_back(value("x"));
  for (std::string_view name : outputs) g.outputs.push_back(value(name));
  m.graph.push_back(std::move(g));
  return m;
}

SourceModel source(const onnx::ModelProto& m) {
  auto model = SourceModel::parse(std::make_shared<std::string>(onnx::write_model(m)), "");
  EXPECT_TRUE(model) << model.error().message();
  return *std::move(model);
}

// x -> a -> b -> c -> d -> y, with a second reader of b.
SourceModel chain() {
  return source(
      model_of({node("Neg", {"x"}, {"a"}), node("Relu", {"a"}, {"b"}), node("Exp", {"b"}, {"c"}),
                node("Sqrt", {"c"}, {"d"}), node("Add", {"d", "b"}, {"y"})},
               {"y"}));
}

std::vector<InputValue> inputs() {
  const std::vector<float> v = {-2, -1, 0, 1, 2, 3};
  return {{.tensors = {Tensor::from_values<float>(DType::f32, Shape{2, 3}, v)}}};
}

// ---- devices, some of which are wrong

Evaluator reference() {
  return device_evaluator(*device_named("reference"), options_of_judge("reference"));
}

bool is_output(const onnx::GraphProto& g, std::string_view name) {
  return std::ranges::count(g.outputs, name, &onnx::ValueInfo::name) > 0;
}

// A device that computes `wrong` where the model has `op`: always, or only when it is made of what
// a `before` makes that nobody else sees, as a fusion would be.
Evaluator planted(std::string_view op, std::string_view wrong, std::string_view before = "") {
  return [=](const std::string& bytes, const std::string& folder,
             std::span<const InputValue> given) -> Result<RunResult> {
    QUERN_ASSIGN(onnx::ModelProto m, onnx::read_model(bytes, {std::size_t{1} << 24}));
    onnx::GraphProto& g = m.graph[0];
    for (NodeProto& n : g.nodes) {
      const auto maker = std::ranges::find_if(
          g.nodes, [&](const NodeProto& b) { return b.outputs[0] == n.inputs[0]; });
      const bool fused =
          maker != g.nodes.end() && maker->op_type == before && !is_output(g, maker->outputs[0]);
      if (n.op_type == op && (before.empty() || fused)) n.op_type = wrong;
    }
    return reference()(onnx::write_model(m), folder, given);
  };
}

Finding investigated(const SourceModel& model, Evaluator tested, std::string write = "") {
  const Investigation what{
      model,           {"mine", std::move(tested)}, {"reference", reference()}, {}, Bisect::yes,
      std::move(write)};
  auto finding = investigate(what, inputs());
  EXPECT_TRUE(finding) << finding.error().message();
  const std::string text = finding_text(what, *finding, {});
  EXPECT_CONTAINS(text, "mine against reference");
  EXPECT_EQ(finding->cut.has_value(), text.find("bisect") != std::string::npos);
  return *std::move(finding);
}

class Folder {
 public:
  Folder()
      : path_(fs::path(::testing::TempDir()) / ("quern_against_" + std::to_string(getpid()))) {}
  ~Folder() { fs::remove_all(path_); }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

TEST(Against, SaysThatTwoAgree) {
  const Finding f = investigated(chain(), reference());
  EXPECT_FALSE(f.parts());
  EXPECT_THAT(f.values.values, SizeIs(5));
  EXPECT_FALSE(f.cut);
}

TEST(Against, NamesTheFirstNodeThatParts) {
  const SourceModel model = chain();
  const Finding f = investigated(model, planted("Exp", "Cos"));
  ASSERT_TRUE(f.values.first());
  EXPECT_EQ(f.values.first()->name, "c");
  EXPECT_EQ(f.values.parted(), 3U) << "what follows is wrong, too";
  const Divergence& d = f.values.first()->difference;
  EXPECT_EQ(d.elements, 6);
  EXPECT_EQ(d.outside, 2) << "Exp and Cos agree at 0";
  EXPECT_EQ(d.largest.at, "[0,0]");
  EXPECT_NEAR(d.largest.by, std::exp(2) - std::cos(2), 1e-5);
  EXPECT_NEAR(d.relative.by, 1 - std::cos(2) / std::exp(2), 1e-5);
}

TEST(Against, WritesOneNodeThatShowsItAlone) {
  const SourceModel model = chain();
  const Folder folder;
  const Finding f = investigated(model, planted("Exp", "Cos"), folder.path());
  ASSERT_TRUE(f.cut);
  ASSERT_THAT(f.cut->nodes, SizeIs(1));
  EXPECT_EQ(model.node(f.cut->nodes[0]).op_type, "Exp");
  EXPECT_EQ(f.written, folder.path());
  const auto written = SourceModel::open(folder.path());
  ASSERT_TRUE(written) << written.error().message();
  EXPECT_EQ(written->node_count(), 1U);
  EXPECT_THAT(written->inputs(), ElementsAre("b"));
  // It is a case like any other, and what it expects is right.
  const Case c{"part", folder.path(), {folder.path() + "/test_data_set_0"}};
  const CaseResult right = run_case(c, {.device = *device_named("cpu")});
  EXPECT_EQ(right.outcome, CaseResult::Outcome::passed) << right.reason;
}

TEST(Against, FindsWhatOnlyNodesTogetherShow) {
  const SourceModel model = chain();
  const Finding f = investigated(model, planted("Sqrt", "Abs", "Exp"));
  EXPECT_TRUE(f.outputs.first());
  EXPECT_FALSE(f.values.first()) << "handing out every value hides it";
  ASSERT_TRUE(f.cut);
  ASSERT_THAT(f.cut->nodes, ElementsAre(2, 3));
  EXPECT_THAT(f.cut->outputs, ElementsAre("d"));
  EXPECT_THAT(f.cut_inputs, ElementsAre("b"));
}

TEST(Against, CutsALongModelInFewRuns) {
  std::vector<std::string> names = {"x"};
  for (int i = 0; i < 300; ++i) names.push_back("v" + std::to_string(i));
  std::vector<NodeProto> nodes;
  for (std::size_t i = 0; i < 300; ++i)
    nodes.push_back(node(i == 200 ? "Exp" : i == 201 ? "Sqrt" : "Neg", {names[i]}, {names[i + 1]}));
  const Finding f =
      investigated(source(model_of(nodes, {names.back()})), planted("Sqrt", "Neg", "Exp"));
  EXPECT_FALSE(f.values.first());
  ASSERT_TRUE(f.cut);
  EXPECT_THAT(f.cut->nodes, ElementsAre(200, 201));
  EXPECT_LT(f.runs, 40U);
}

TEST(Against, GivesShapesAsConstants) {
  // The shape of b is known to who plans the whole model, so the part knows it too.
  onnx::ModelProto m = model_of({node("Neg", {"x"}, {"a"}), node("Shape", {"a"}, {"s"}),
                                 node("Reshape", {"a", "s"}, {"b"}), node("Exp", {"b"}, {"y"})},
                                {"y"});
  const SourceModel model = source(m);
  const Cut cut{{2, 3}, {"y"}};
  KnownValues known{{"a", inputs()[0]}};
  const std::vector<std::int64_t> shape = {2, 3};
  known["s"] = {.tensors = {Tensor::from_values<std::int64_t>(DType::i64, Shape{2}, shape)}};
  EXPECT_THAT(model.inputs_of(cut, known), ElementsAre("a"));
  Cut dynamic = cut;
  dynamic.given = Cut::Given::as_inputs;
  EXPECT_THAT(model.inputs_of(dynamic, known), ElementsAre("a", "s"));
  for (const Cut& c : {cut, dynamic}) {
    const auto bytes = model.bytes(c, known);
    ASSERT_TRUE(bytes);
    std::vector<InputValue> given;
    for (const std::string& name : model.inputs_of(c, known)) given.push_back(known.at(name));
    const auto evaluated = reference()(*bytes, "", given);
    ASSERT_TRUE(evaluated) << evaluated.error().message();
    EXPECT_EQ(evaluated->outputs[0].text(), "f32[2,3]");
  }
}

TEST(Against, BodiesTakeAlongWhatTheyReadFromOutside) {
  onnx::GraphProto then{.name = "then", .nodes = {node("Neg", {"a"}, {"r"})}};
  then.outputs.push_back(value("r"));
  onnx::GraphProto other{.name = "else", .nodes = {node("Exp", {"b"}, {"q"})}};
  other.outputs.push_back(value("q"));
  NodeProto choice = node("If", {"c"}, {"y"});
  choice.attributes = {onnx::graph_attribute("then_branch", then),
                       onnx::graph_attribute("else_branch", other)};
  onnx::ModelProto m =
      model_of({node("Neg", {"x"}, {"a"}), node("Abs", {"x"}, {"b"}), choice}, {"y"});
  const Tensor no = Tensor::scalar<bool>(DType::boolean, false);
  onnx::TextPool pool;
  m.graph[0].initializers.push_back(onnx::tensor_message(no, "c", pool));
  const SourceModel model = source(m);
  EXPECT_THAT(model.reads(2), ElementsAre("a", "b")) << "c is a constant";
  const Cut cut{{2}, {"y"}};
  KnownValues known{{"a", inputs()[0]}, {"b", inputs()[0]}};
  const auto bytes = model.bytes(cut, known);
  ASSERT_TRUE(bytes);
  EXPECT_TRUE(reference()(*bytes, "", {{inputs()[0], inputs()[0]}}));
}

TEST(Against, SaysWhoRefuses) {
  const SourceModel model = chain();
  const Investigation what{
      model, {"mine", planted("Exp", "NoSuchOp")}, {"reference", reference()}, {}, Bisect::no, ""};
  const auto finding = investigate(what, inputs());
  ASSERT_FALSE(finding);
  EXPECT_CONTAINS(std::string(finding.error().message()), "mine");
  EXPECT_CONTAINS(std::string(finding.error().message()), "NoSuchOp");
}

TEST(Against, SequencesAreValuesToo) {
  NodeProto join = node("ConcatFromSequence", {"s"}, {"j"});
  join.attributes = {onnx::integer_attribute("axis", 0)};
  onnx::ModelProto m = model_of(
      {node("SequenceConstruct", {"x", "x"}, {"s"}), join, node("Exp", {"j"}, {"y"})}, {"y"});
  m.graph[0].outputs[0].type.has_shape = false;
  const Finding f = investigated(source(m), planted("Exp", "Cos"));
  ASSERT_TRUE(f.cut);
  EXPECT_THAT(f.cut->nodes, ElementsAre(2));
  EXPECT_EQ(f.types.at("s"), "sequence of 2");
}

TEST(Differences, TypesThatDifferAreNotMeasured) {
  InputValue wanted = inputs()[0];
  InputValue got{.tensors = {*Tensor::zeros({DType::f32, {3, 2}})}};
  const Divergence d = difference_of(got, wanted, {});
  EXPECT_TRUE(d.parts);
  EXPECT_CONTAINS(d.mismatch, "f32[3,2]");
  got.kind = InputValue::Kind::none;
  got.tensors.clear();
  EXPECT_CONTAINS(difference_of(got, wanted, {}).mismatch, "nothing");
}

TEST(Differences, RoundingBesideLargeNumbersIsNone) {
  const std::vector<float> w = {1000, 1e-3F};
  const std::vector<float> g = {1000, 1.1e-3F};
  const InputValue wanted{.tensors = {Tensor::from_values<float>(DType::f32, Shape{2}, w)}};
  const InputValue got{.tensors = {Tensor::from_values<float>(DType::f32, Shape{2}, g)}};
  EXPECT_TRUE(difference_of(got, wanted, {}).parts);
  EXPECT_FALSE(difference_of(got, wanted, {.of_largest = 1e-6}).parts);
  EXPECT_TRUE(difference_of(got, wanted, {.of_largest = 1e-8}).parts);
}

}  // namespace
}  // namespace quern::tools
