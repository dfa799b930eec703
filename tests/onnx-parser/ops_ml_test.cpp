// SPDX-License-Identifier: Apache-2.0
// ai.onnx.ml: trees, linear models, tables, maps.
#include "tests/expect.h"
#include "tests/onnx-parser/import_test.h"

namespace quern::onnx_test {
namespace {

constexpr std::string_view ml = "ai.onnx.ml";
const Message feature_rows = tensor_type(f32, {5, 3});
const Message four_texts = tensor_type(8, {4});

std::string ml_node(std::string_view op, const Message& type, const Messages& attributes,
                    std::size_t outputs = 1, std::int64_t version = 1) {
  return nodes_of({.op = op,
                   .types = {type},
                   .attributes = attributes,
                   .outputs = outputs,
                   .domain = ml,
                   .domain_version = version});
}

Message every(std::string_view name, const std::vector<std::int64_t>& values) {
  Message m = attribute(name, 7);
  for (std::int64_t v : values) m.number(8, v);
  return m;
}
Message every(std::string_view name, const std::vector<float>& values) {
  Message m = attribute(name, 6);
  for (float v : values) m.real(7, v);
  return m;
}
Message every(std::string_view name, const std::vector<std::string_view>& values) {
  Message m = attribute(name, 8);
  for (std::string_view v : values) m.text(9, v);
  return m;
}

// ---- trees of the older form

// One tree: node 0 asks for feature 2, its children are leaves 1 and 2.
struct OldTree {
  std::vector<std::int64_t> trees = {0, 0, 0}, ids = {0, 1, 2}, features = {2, 0, 0},
                            yes = {1, 0, 0}, no = {2, 0, 0};
  std::vector<std::string_view> modes = {"BRANCH_LEQ", "LEAF", "LEAF"};
  std::vector<float> values = {0.5f, 0, 0};
  std::vector<std::int64_t> leaf_ids = {1, 2};
  Messages more = {integer("n_targets", 1)};

  std::string imported() const {
    Messages a = {every("nodes_treeids", trees),       every("nodes_nodeids", ids),
                  every("nodes_featureids", features), every("nodes_truenodeids", yes),
                  every("nodes_falsenodeids", no),     every("nodes_modes", modes),
                  every("nodes_values", values),       integers("target_treeids", {0, 0}),
                  every("target_nodeids", leaf_ids),   integers("target_ids", {0, 0}),
                  numbers("target_weights", {1, 2})};
    a.insert(a.end(), more.begin(), more.end());
    return ml_node("TreeEnsembleRegressor", feature_rows, a);
  }
};

TEST(Trees, BecomeListsOfNodesAndLeaves) {
  EXPECT_EQ(OldTree().imported(),
            "const %1: i32[1,4] = {2, 0, -1, -2}\n"
            "const %2: f32[1] = {0.5}\n"
            "const %3: i32[1] = {0}\n"
            "const %4: i32[3] = {0, 1, 2}\n"
            "const %5: i32[2] = {0, 0}\n"
            "const %6: f32[2] = {1, 2}\n"
            "%7: f32[5,1] = TreeEnsemble(%0, %1, %2, %3, %4, %5, %6)\n");
}

TEST(Trees, WhatIsWrongIsNamed) {
  EXPECT_CONTAINS((OldTree{.yes = {0, 0, 0}}).imported(),
                  "the nodes of a tree form a cycle: node 0 of tree 0 leads back to itself");
  EXPECT_CONTAINS((OldTree{.yes = {7, 0, 0}}).imported(),
                  "node 0 of tree 0 leads to node 7, which the tree does not have");
  EXPECT_CONTAINS((OldTree{.trees = {0, 0, 1}}).imported(), "leads to node 2, which the tree");
  EXPECT_CONTAINS((OldTree{.ids = {0, 1, 1}}).imported(), "node 1 of tree 0 is given twice");
  EXPECT_CONTAINS((OldTree{.modes = {"BRANCH_MAYBE", "LEAF", "LEAF"}}).imported(),
                  "node 0 of tree 0 has mode 'BRANCH_MAYBE', which is none");
  EXPECT_CONTAINS((OldTree{.features = {3, 0, 0}}).imported(), "reads feature 3, x has 3 features");
  EXPECT_CONTAINS((OldTree{.features = {-1, 0, 0}}).imported(), "reads feature -1");
  EXPECT_CONTAINS((OldTree{.values = {0.5f}}).imported(), "'nodes_values' has 1 elements, wants 3");
  EXPECT_CONTAINS((OldTree{.leaf_ids = {1, 9}}).imported(),
                  "weight 1 is for node 9 of tree 0, which is not there");
  EXPECT_CONTAINS((OldTree{.more = {integer("n_targets", 0)}}).imported(), "number 0 of 0");
  EXPECT_CONTAINS(
      (OldTree{.more = {integer("n_targets", 1), numbers("base_values", {1, 2})}}).imported(),
      "has 2 base values for 1 columns");
  EXPECT_CONTAINS(
      (OldTree{.more = {integer("n_targets", 1), word("aggregate_function", "MODE")}}).imported(),
      "wants 'SUM', 'AVERAGE', 'MIN', 'MAX'");
}

// Nodes 0 -> 1 -> 2 -> 0: no node is its own child.
TEST(Trees, ALongerCycleIsOneToo) {
  EXPECT_CONTAINS(
      (OldTree{.yes = {1, 2, 0}, .no = {1, 2, 0}, .modes = {"BRANCH_LT", "BRANCH_LT", "BRANCH_LT"}})
          .imported(),
      "the nodes of a tree form a cycle: node 0 of tree 0");
}

TEST(Trees, TwoNodesMayLeadToOneChild) {
  EXPECT_CONTAINS(
      (OldTree{.yes = {1, 2, 0}, .no = {2, 2, 0}, .modes = {"BRANCH_LT", "BRANCH_EQ", "LEAF"}})
          .imported(),
      "const %1: i32[2,4] = {2, 1, 1, -1, 0, 4, -1, -1}");
}

// A chain of so many nodes takes no recursion.
TEST(Trees, MayBeDeep) {
  constexpr std::int64_t depth = 200000;
  Message trees = attribute("nodes_treeids", 7), ids = attribute("nodes_nodeids", 7);
  Message features = attribute("nodes_featureids", 7), yes = attribute("nodes_truenodeids", 7);
  Message no = attribute("nodes_falsenodeids", 7), modes = attribute("nodes_modes", 8);
  Message values = attribute("nodes_values", 6);
  for (std::int64_t i = 0; i <= depth; ++i) {
    trees.number(8, 0), ids.number(8, i), features.number(8, 0), values.real(7, 0.0f);
    yes.number(8, i + 1), no.number(8, i + 1), modes.text(9, i < depth ? "BRANCH_LT" : "LEAF");
  }
  const auto model = import(model_of(
      {.op = "TreeEnsembleRegressor",
       .types = {feature_rows},
       .attributes = {trees, ids, features, yes, no, modes, values, integers("target_treeids", {0}),
                      integers("target_nodeids", {depth}), integers("target_ids", {0}),
                      numbers("target_weights", {1}), integer("n_targets", 1)},
       .domain = ml}));
  ASSERT_TRUE(model) << model.error().message();
  EXPECT_EQ(model->graph.node_count(), 1u);
}

// ---- trees of opset 5

Message modes_of(std::string_view bytes) {
  return tensor(
      "nodes_modes",
      Message().number(1, static_cast<std::int64_t>(bytes.size())).number(2, 2).text(9, bytes));
}
Message float_tensor(std::string_view name, std::initializer_list<std::int64_t> dims,
                     std::initializer_list<float> values) {
  return tensor(name, floats("", dims, values));
}

struct NewTree {
  std::string_view modes{"\6", 1};
  std::vector<std::int64_t> yes = {0}, yes_leafs = {1};
  std::int64_t root = 0;
  std::int64_t aggregate = 1;

  std::string imported() const {
    return ml_node("TreeEnsemble", feature_rows,
                   {integer("n_targets", 1), integer("aggregate_function", aggregate),
                    integers("tree_roots", {root}), integers("nodes_featureids", {1}),
                    every("nodes_truenodeids", yes), integers("nodes_falsenodeids", {1}),
                    every("nodes_trueleafs", yes_leafs), integers("nodes_falseleafs", {1}),
                    modes_of(modes), float_tensor("nodes_splits", {1}, {0}),
                    integers("leaf_targetids", {0, 0}), float_tensor("leaf_weights", {2}, {1, 2}),
                    float_tensor("membership_values", {3}, {4, 6, std::nanf("")})},
                   1, 5);
  }
};

TEST(Trees, ATestOfMembershipIsOneOfEachMember) {
  EXPECT_CONTAINS(NewTree().imported(), "i32[2,4] = {1, 4, -1, 1, 1, 4, -1, -2}");
  EXPECT_CONTAINS(NewTree().imported(), "f32[2] = {4, 6}");
}

TEST(Trees, WhatIsWrongInOpset5IsNamed) {
  EXPECT_CONTAINS((NewTree{.modes = std::string_view("\7", 1)}).imported(), "node 0 has mode 7");
  EXPECT_CONTAINS((NewTree{.modes = std::string_view("\0", 1)}).imported(), "has more sets than");
  EXPECT_CONTAINS((NewTree{.yes = {2}}).imported(), "node 0 leads to leaf 2 of 2");
  EXPECT_CONTAINS((NewTree{.yes = {1}, .yes_leafs = {0}}).imported(),
                  "node 0 leads to node 1 of 1");
  EXPECT_CONTAINS((NewTree{.yes = {0}, .yes_leafs = {0}}).imported(), "form a cycle: node 0");
  EXPECT_CONTAINS((NewTree{.root = 1}).imported(), "a tree begins at node 1 of 1");
  EXPECT_CONTAINS((NewTree{.aggregate = 4}).imported(), "'aggregate_function' is 4, wants 0 to 3");
}

// ---- linear models, support vectors

TEST(LinearModels, AreProducts) {
  EXPECT_EQ(ml_node("LinearRegressor", feature_rows,
                    {numbers("coefficients", {1, 2, 3}), numbers("intercepts", {4})}),
            "const %1: f32[1,3] = {1, 2, 3}\n"
            "%2: f32[5,1] = MatMul(%0, %1) transpose_b=true\n"
            "const %3: f32[1] = {4}\n"
            "%4: f32[5,1] = Binary(%2, %3) kind=add\n");
  EXPECT_CONTAINS(ml_node("LinearRegressor", feature_rows,
                          {numbers("coefficients", {1, 2, 3}), integer("targets", 2)}),
                  "'coefficients' has 3 numbers, wants a multiple of 2");
  EXPECT_CONTAINS(
      ml_node("LinearClassifier", feature_rows, {numbers("coefficients", {1, 2, 3})}, 2),
      "has no labels of classes");
}

TEST(SupportVectors, WantWhatTheirSizesSay) {
  const auto error = [](const Messages& changed) {
    Messages a = {numbers("support_vectors", {1, 2, 3, 4, 5, 6}),
                  integers("classlabels_ints", {0, 1}), integers("vectors_per_class", {1, 1}),
                  numbers("coefficients", {1, -1}), numbers("rho", {0})};
    a.insert(a.end(), changed.begin(), changed.end());
    return ml_node("SVMClassifier", feature_rows, a, 2);
  };
  EXPECT_CONTAINS(error({}), "MatMul(%0, %1) transpose_b=true");
  EXPECT_CONTAINS(error({numbers("kernel_params", {1})}), "has 1 numbers, wants 3");
  EXPECT_CONTAINS(error({numbers("prob_a", {1})}), "has 1 numbers for 'prob_a' and 0 for 'prob_b'");
  EXPECT_CONTAINS(error({word("post_transform", "PROBIT")}), "is not defined");
  EXPECT_CONTAINS(error({word("kernel_type", "COSINE")}), "wants 'LINEAR', 'POLY', 'RBF'");
}

// ---- features and tables

TEST(Tables, KeysHaveValuesAndADefault) {
  EXPECT_EQ(ml_node("LabelEncoder", four_texts,
                    {words("keys_strings", {"a", "b"}), integers("values_int64s", {7, 8})}, 1, 2),
            "const %1: string[2] = {\"a\", \"b\"}\n"
            "%2: i64[4] = KeyIndex(%0, %1)\n"
            "const %3: i64[3] = {7, 8, -1}\n"
            "%4: i64[4] = Gather(%3, %2) kind=axis\n");
  EXPECT_CONTAINS(
      ml_node("LabelEncoder", four_texts,
              {words("keys_strings", {"a", "b"}), integers("values_int64s", {7})}, 1, 2),
      "has 2 keys and 1 values");
  EXPECT_CONTAINS(ml_node("LabelEncoder", four_texts, {words("keys_strings", {"a"})}, 1, 2),
                  "has 0 lists of values, wants one");
  EXPECT_CONTAINS(ml_node("LabelEncoder", four_texts,
                          {integers("keys_int64s", {1}), integers("values_int64s", {7})}, 1, 2),
                  "(string[4])");
}

TEST(Tables, CategoriesAreRowsOfOneHot) {
  EXPECT_CONTAINS(ml_node("OneHotEncoder", four_texts, {words("cats_strings", {"a", "b"})}),
                  "f32[4,2] = OneHot(");
  EXPECT_CONTAINS(ml_node("OneHotEncoder", four_texts, {words("cats_strings", {"a", "a"})}),
                  "a category is given twice");
  EXPECT_CONTAINS(ml_node("OneHotEncoder", four_texts, {integers("cats_int64s", {1})}),
                  "not of its input's type");
}

TEST(Features, ParametersAreOneOrAsManyAsFeatures) {
  EXPECT_CONTAINS(
      ml_node("Scaler", feature_rows, {numbers("offset", {1, 2}), numbers("scale", {1, 2})}),
      "'scale' has 2 numbers for 3 features");
  EXPECT_CONTAINS(ml_node("Scaler", feature_rows, {numbers("scale", {1})}), "wants as many");
  EXPECT_CONTAINS(ml_node("Imputer", feature_rows, {integers("imputed_value_int64s", {1})}),
                  "no values to impute of its input's type");
  EXPECT_CONTAINS(ml_node("FeatureVectorizer", feature_rows, {integers("inputdimensions", {3, 1})}),
                  "has 2 numbers for 1 inputs");
}

TEST(Ml, PutsZerosBehindColumnsThatOnlyTheDataCounts) {
  const Message open_rows = tensor_type(f32, {5, -1});
  const std::string text =
      ml_node("FeatureVectorizer", open_rows, {integers("inputdimensions", {3})});
  EXPECT_CONTAINS(text, "Pad(%0, ");
  EXPECT_CONTAINS(text, "{0, 0, 0, 3}");
  EXPECT_LT(text.find("= Pad("), text.find("= Slice("));
}

TEST(Ml, MakesAMatrixOfFeaturesWhoseRankOnlyTheDataTells) {
  const Message open_rank = Message().message(1, Message().number(1, f32));
  const std::string text =
      ml_node("LinearRegressor", open_rank, {numbers("coefficients", {1, 2, 3})});
  EXPECT_CONTAINS(text, "f32[?,?] = Reshape(%0, ");
}

// ---- maps

Message map_type(std::int64_t key, std::int64_t element) {
  return Message().message(
      5, Message().number(1, key).message(2, Message().message(1, Message().number(1, element))));
}

// A model of one node of ai.onnx.ml, x -> y, whose domain is not in the list of opsets, as in files
// of old exporters.
std::string map_model(std::string_view op, const Message& x, const Messages& attributes,
                      const Message& y) {
  GraphParts g;
  g.inputs = {value("x", x)};
  g.nodes = {node(op, {"x"}, {"y"}, attributes, {.domain = ml})};
  g.outputs = {y.bytes().empty() ? Message().text(1, "y") : value("y", y)};
  return make_model(g);
}

TEST(Maps, OfZipMapAreItsScoresAndTheLabels) {
  const Messages labels = {every("classlabels_int64s", std::vector<std::int64_t>{7, 0, 2})};
  const std::string text =
      imported(map_model("ZipMap", feature_rows, labels, sequence_of(map_type(i64, f32))));
  EXPECT_CONTAINS(text, "%1: f32[5,3] = Identity(%0)\n");
  EXPECT_CONTAINS(text, "= {7, 0, 2}\n");
  EXPECT_CONTAINS(text, "output %2 \"y.keys\"\n  output_map 0 1\n");
  const auto model =
      import(map_model("ZipMap", feature_rows, labels, sequence_of(map_type(i64, f32))));
  ASSERT_TRUE(model);
  ASSERT_EQ(model->graph.output_maps().size(), 1u);
  EXPECT_CONTAINS(ml_node("ZipMap", feature_rows, {words("classlabels_strings", {"a"})}),
                  "has 1 labels for 3 columns");
}

// As in ONNX Runtime, where a later entry of a map replaces an earlier one.
TEST(Maps, OfEqualLabelsTheLastCounts) {
  const std::string text =
      imported(map_model("ZipMap", feature_rows, {words("classlabels_strings", {"a", "b", "a"})},
                         sequence_of(map_type(8, f32))));
  EXPECT_CONTAINS(text, "{1, 2}");
  EXPECT_CONTAINS(text, "f32[5,2] = Gather");
  EXPECT_CONTAINS(text, "string[2] = Gather");
}

TEST(Maps, AreHeldToWhatTheModelDeclares) {
  const Messages labels = {every("classlabels_int64s", std::vector<std::int64_t>{0, 1, 2})};
  const auto declared = [&](const Message& y) {
    return imported(map_model("ZipMap", feature_rows, labels, y));
  };
  EXPECT_CONTAINS(declared(sequence_of(map_type(i64, f32))), "output_map 0 1");
  EXPECT_CONTAINS(declared(sequence_of(map_type(8, f32))),
                  "output 'y': is declared a map from string to f32, but is one from i64 to f32");
  EXPECT_CONTAINS(declared(sequence_of(map_type(f32, f32))), "keys of f32, wants string or i64");
  // A tensor is the scores alone, and so is what nothing is said of.
  EXPECT_EQ(declared(feature_rows).find("output_map"), std::string::npos);
  EXPECT_EQ(declared({}).find("output_map"), std::string::npos);
  EXPECT_CONTAINS(imported(map_model("Binarizer", feature_rows, {}, map_type(i64, f32))),
                  "is declared a map, but is f32[5,3]");
}

TEST(Maps, AsInputsAreValuesAndKeys) {
  const std::string text = imported(
      map_model("DictVectorizer", map_type(8, f32), {words("string_vocabulary", {"a", "b"})}, {}));
  EXPECT_CONTAINS(text, "input %0: f32[x_size_1]\n  input %1: string[x_size_1]\n");
  EXPECT_CONTAINS(text, "KeyIndex(");
  EXPECT_CONTAINS(text, ": f32[1,2] = Unsqueeze(");
  EXPECT_CONTAINS(text, "input_map 0 1\n");
  EXPECT_CONTAINS(imported(map_model("DictVectorizer", map_type(i64, f32),
                                     {words("string_vocabulary", {"a"})}, {})),
                  "its vocabulary is not of the type of the map's keys");
  EXPECT_CONTAINS(ml_node("DictVectorizer", feature_rows, {words("string_vocabulary", {"a"})}),
                  "input 0 is no map that is an input of the model");
  EXPECT_CONTAINS(imported(map_model("CastMap", map_type(i64, f32),
                                     {word("map_form", "SPARSE"), integer("max_map", 0)}, {})),
                  "'max_map' is 0, wants 1 to");
  EXPECT_CONTAINS(imported(map_model("CastMap", map_type(8, f32), {}, {})),
                  "takes a map whose keys are integers");
}

}  // namespace
}  // namespace quern::onnx_test
