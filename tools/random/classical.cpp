// SPDX-License-Identifier: Apache-2.0
// ai.onnx.ml. What chooses (labels, leaves of trees) sees numbers that are multiples of a quarter,
// and weights that are, too, so that every sum is exact.
#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "engine/vocabulary/text_util.h"
#include "tools/random/families.h"
#include "tools/random/fill.h"

namespace quern::tools {
namespace {

constexpr std::string_view ml_domain = "ai.onnx.ml";

using Words = std::vector<std::string_view>;

// The opset of the domain, of one that a model uses already or of this node on.
std::int64_t ml_opset(Builder& b) {
  b.use_domain(ml_domain, b.rng.chance(0.6) ? 5 : b.rng.between(1, 4));
  return *b.opset_of(ml_domain);
}

double quarter(Builder& b) {
  return static_cast<double>(b.rng.between(-8, 8)) / 4;
}
std::vector<float> quarters(Builder& b, std::int64_t n) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < n; ++i) values.push_back(static_cast<float>(quarter(b)));
  return values;
}
onnx::AttributeProto floats(std::string_view name, const std::vector<float>& values) {
  return onnx::numbers_attribute(name, values);
}

enum class Gaps : std::uint8_t { none, some };

// Rows of features, NaN among them where there may be gaps.
DrawnValue features(Builder& b, DType type, const Extent& rows, std::int64_t count,
                    Gaps gaps = Gaps::none) {
  return b.input_of(type, {rows, fixed(count)}, [&](std::size_t, const Shape& shape) {
    return tensor_of(type, shape, [&](std::int64_t) {
      if (gaps == Gaps::some && b.rng.chance(0.1)) return std::numeric_limits<double>::quiet_NaN();
      return quarter(b);
    });
  });
}

constexpr std::array<std::string_view, 4> class_names = {"north", "east", "", "west"};
constexpr std::array<std::int64_t, 4> class_numbers = {7, -3, 0, 12};

// The labels of `count` classes as an attribute; returns their type.
DType add_labels(Builder& b, std::string_view ints_name, std::int64_t count, Attributes& a) {
  const auto n = static_cast<std::size_t>(count);
  if (b.rng.chance(0.4)) {
    a.push_back(onnx::texts_attribute("classlabels_strings", std::span(class_names).first(n)));
    return DType::string;
  }
  a.push_back(onnx::integers_attribute(ints_name, std::span(class_numbers).first(n)));
  return DType::i64;
}

// What is done with scores: no probit, whose argument has to be a probability.
std::string_view some_transform(Builder& b) {
  return b.rng.pick(Words{"NONE", "NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"});
}

std::vector<Effect> classified(DType label, const Extent& rows, std::int64_t columns, double most) {
  return {{label, {rows}, 12, false, true}, {DType::f32, {rows, fixed(columns)}, most, true}};
}

// ---- trees

struct DrawnTrees {
  std::vector<std::int64_t> trees, ids, features, yes, no, missing;
  std::vector<float> splits;
  std::vector<std::string_view> modes;
  std::vector<std::int64_t> leaf_trees, leaf_ids, targets;
  std::vector<float> weights;
};

// A node and what is below it, depth first. Returns its id.
std::int64_t draw_node(Builder& b, DrawnTrees& t, std::int64_t tree, int depth,
                       std::int64_t feature_count, std::int64_t targets) {
  static const Words modes = {"BRANCH_LEQ", "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                              "BRANCH_GT",  "BRANCH_EQ",  "BRANCH_NEQ"};
  const std::size_t at = t.ids.size();
  const auto id = static_cast<std::int64_t>(std::count(t.trees.begin(), t.trees.end(), tree));
  const bool is_leaf = depth == 0 || b.rng.chance(0.2);
  t.trees.push_back(tree);
  t.ids.push_back(id);
  t.features.push_back(is_leaf ? 0 : b.rng.between(0, feature_count - 1));
  t.splits.push_back(static_cast<float>(quarter(b)));
  t.missing.push_back(b.rng.chance(0.4) ? 1 : 0);
  t.modes.push_back(is_leaf ? "LEAF" : b.rng.pick(modes));
  t.yes.push_back(0);
  t.no.push_back(0);
  if (is_leaf) {
    for (std::int64_t k = 0; k < targets; ++k) {
      t.leaf_trees.push_back(tree);
      t.leaf_ids.push_back(id);
      t.targets.push_back(k);
      t.weights.push_back(static_cast<float>(quarter(b)));
    }
    return id;
  }
  t.yes[at] = draw_node(b, t, tree, depth - 1, feature_count, targets);
  t.no[at] = draw_node(b, t, tree, depth - 1, feature_count, targets);
  return id;
}

DrawnTrees draw_trees(Builder& b, std::int64_t feature_count, std::int64_t targets) {
  DrawnTrees t;
  const std::int64_t count = b.rng.between(1, 12);
  for (std::int64_t tree = 0; tree < count; ++tree)
    draw_node(b, t, tree, static_cast<int>(b.rng.between(0, 5)), feature_count, targets);
  return t;
}

// `weights`: the prefix of the names of the attributes of leaves.
Attributes old_trees(Builder& b, const DrawnTrees& t, std::string_view weights) {
  const auto name = [&](std::string_view rest) { return b.keep(cat(weights, rest)); };
  Attributes a = {Builder::integers("nodes_treeids", t.trees),
                  Builder::integers("nodes_nodeids", t.ids),
                  Builder::integers("nodes_featureids", t.features),
                  Builder::integers("nodes_truenodeids", t.yes),
                  Builder::integers("nodes_falsenodeids", t.no),
                  onnx::texts_attribute("nodes_modes", t.modes),
                  floats("nodes_values", t.splits),
                  Builder::integers(name("_treeids"), t.leaf_trees),
                  Builder::integers(name("_nodeids"), t.leaf_ids),
                  Builder::integers(name("_ids"), t.targets),
                  floats(name("_weights"), t.weights)};
  if (b.rng.chance(0.5))
    a.push_back(Builder::integers("nodes_missing_value_tracks_true", t.missing));
  return a;
}

bool tree_regressor(Builder& b) {
  ml_opset(b);
  const Extent rows = b.random_extent();
  const std::int64_t count = b.rng.between(1, 6);
  const std::int64_t targets = b.rng.between(1, 3);
  const DType type = b.rng.chance(0.2) ? DType::f64 : DType::f32;
  if (!b.fits({rows, fixed(count)}) || !b.fits({rows, fixed(targets)})) return false;
  const DrawnValue x = features(b, type, rows, count, Gaps::some);
  Attributes a = old_trees(b, draw_trees(b, count, targets), "target");
  a.push_back(Builder::integer("n_targets", targets));
  a.push_back(Builder::text("aggregate_function",
                            b.rng.pick(Words{"SUM", "SUM", "AVERAGE", "MIN", "MAX"})));
  a.push_back(Builder::text("post_transform", some_transform(b)));
  if (b.rng.chance(0.4)) a.push_back(floats("base_values", quarters(b, targets)));
  b.add_of(ml_domain, "TreeEnsembleRegressor", {x}, a,
           {DType::f32, {rows, fixed(targets)}, 30, true, true});
  return true;
}

bool tree_classifier(Builder& b) {
  ml_opset(b);
  const Extent rows = b.random_extent();
  const std::int64_t count = b.rng.between(1, 6);
  const std::int64_t classes = b.rng.between(2, 4);
  if (!b.fits({rows, fixed(count)}) || !b.fits({rows, fixed(classes)})) return false;
  const DrawnValue x = features(b, DType::f32, rows, count, Gaps::some);
  const std::int64_t targets = classes == 2 && b.rng.chance(0.5) ? 1 : classes;
  Attributes a = old_trees(b, draw_trees(b, count, targets), "class");
  const DType label = add_labels(b, "classlabels_int64s", classes, a);
  a.push_back(Builder::text("post_transform", some_transform(b)));
  if (b.rng.chance(0.4)) a.push_back(floats("base_values", quarters(b, targets)));
  auto effects = classified(label, rows, classes, 30);
  effects[1].jumps = true;
  b.add_many("TreeEnsembleClassifier", {x}, a, effects, ml_domain);
  return true;
}

onnx::AttributeProto raw_tensor(Builder& b, std::string_view name, DType type,
                                const std::vector<double>& values) {
  onnx::TensorProto t;
  t.data_type = type == DType::u8 ? 2 : type == DType::f64 ? 11 : 1;
  t.dims = {static_cast<std::int64_t>(values.size())};
  t.has_raw = true;
  const Tensor made =
      tensor_of(type, {static_cast<std::int64_t>(values.size())},
                [&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
  t.raw = b.keep(std::string(reinterpret_cast<const char*>(made.data()), made.bytes()));
  return onnx::tensor_attribute(name, t);
}

// A tree of opset 5: chains of nodes whose other child is a leaf, with tests of membership.
struct Chains {
  std::vector<std::int64_t> features, yes, no, yes_leaf, no_leaf, missing, roots, targets;
  std::vector<double> modes, splits, weights, members;
};

void add_chain(Builder& b, Chains& c, std::int64_t feature_count, std::int64_t targets) {
  const auto leaf = [&] {
    c.targets.push_back(b.rng.between(0, targets - 1));
    c.weights.push_back(quarter(b));
    return static_cast<std::int64_t>(c.targets.size()) - 1;
  };
  const std::int64_t length = b.rng.between(1, 6);
  c.roots.push_back(static_cast<std::int64_t>(c.features.size()));
  for (std::int64_t i = 0; i < length; ++i) {
    const auto next = static_cast<std::int64_t>(c.features.size()) + 1;
    const bool ends = i + 1 == length;
    const bool yes_is_leaf = ends || b.rng.chance(0.5);
    const bool no_is_leaf = ends || !yes_is_leaf;
    const std::int64_t mode = b.rng.between(0, 6);
    c.features.push_back(b.rng.between(0, feature_count - 1));
    c.modes.push_back(static_cast<double>(mode));
    c.splits.push_back(mode == 6 ? 0 : quarter(b));
    c.missing.push_back(b.rng.chance(0.4) ? 1 : 0);
    c.yes_leaf.push_back(yes_is_leaf ? 1 : 0);
    c.no_leaf.push_back(no_is_leaf ? 1 : 0);
    c.yes.push_back(yes_is_leaf ? leaf() : next);
    c.no.push_back(no_is_leaf ? leaf() : next);
    if (mode != 6) continue;
    for (std::int64_t k = b.rng.between(1, 4); k > 0; --k) c.members.push_back(quarter(b));
    c.members.push_back(std::numeric_limits<double>::quiet_NaN());
  }
}

bool tree_ensemble(Builder& b) {
  if (ml_opset(b) < 5) return false;
  const Extent rows = b.random_extent();
  const std::int64_t count = b.rng.between(1, 6);
  const std::int64_t targets = b.rng.between(1, 3);
  const DType type = b.rng.chance(0.3) ? DType::f64 : DType::f32;
  if (!b.fits({rows, fixed(count)}) || !b.fits({rows, fixed(targets)})) return false;
  const DrawnValue x = features(b, type, rows, count, Gaps::some);
  Chains c;
  for (std::int64_t tree = b.rng.between(1, 10); tree > 0; --tree) add_chain(b, c, count, targets);
  Attributes a = {Builder::integer("n_targets", targets),
                  Builder::integer("aggregate_function", b.rng.between(0, 3)),
                  Builder::integer("post_transform", b.rng.between(0, 3)),
                  Builder::integers("tree_roots", c.roots),
                  Builder::integers("nodes_featureids", c.features),
                  Builder::integers("nodes_truenodeids", c.yes),
                  Builder::integers("nodes_falsenodeids", c.no),
                  Builder::integers("nodes_trueleafs", c.yes_leaf),
                  Builder::integers("nodes_falseleafs", c.no_leaf),
                  Builder::integers("nodes_missing_value_tracks_true", c.missing),
                  Builder::integers("leaf_targetids", c.targets),
                  raw_tensor(b, "nodes_modes", DType::u8, c.modes),
                  raw_tensor(b, "nodes_splits", type, c.splits),
                  raw_tensor(b, "leaf_weights", type, c.weights)};
  if (!c.members.empty()) a.push_back(raw_tensor(b, "membership_values", type, c.members));
  b.add_of(ml_domain, "TreeEnsemble", {x}, a, {type, {rows, fixed(targets)}, 30, true, true});
  return true;
}

// ---- linear models, support vectors

bool linear_regressor(Builder& b) {
  ml_opset(b);
  const DrawnValue x = b.take({.types = {DType::f32}, .least_rank = 2, .most_rank = 2});
  if (!is_fixed(x.dims[1]) || x.dims[1][0] == 0) return false;
  const std::int64_t targets = b.rng.between(1, 4);
  if (!b.fits({x.dims[0], fixed(targets)})) return false;
  Attributes a = {
      floats("coefficients", quarters(b, targets * x.dims[1][0])),
      Builder::integer("targets", targets),
      Builder::text("post_transform", b.rng.pick(Words{"NONE", "LOGISTIC", "SOFTMAX"}))};
  if (b.rng.chance(0.6)) a.push_back(floats("intercepts", quarters(b, targets)));
  b.add_of(ml_domain, "LinearRegressor", {x}, a,
           {DType::f32,
            {x.dims[0], fixed(targets)},
            2 * x.most * static_cast<double>(x.dims[1][0]) + 2});
  return true;
}

bool linear_classifier(Builder& b) {
  ml_opset(b);
  const Extent rows = b.random_extent();
  const std::int64_t count = b.rng.between(1, 6);
  const std::int64_t classes = b.rng.between(2, 4);
  const std::int64_t scores = classes == 2 && b.rng.chance(0.5) ? 1 : classes;
  if (!b.fits({rows, fixed(count)}) || !b.fits({rows, fixed(classes)})) return false;
  const DrawnValue x = features(b, DType::f32, rows, count);
  Attributes a = {floats("coefficients", quarters(b, scores * count)),
                  floats("intercepts", quarters(b, scores)),
                  Builder::text("post_transform", some_transform(b))};
  const DType label = add_labels(b, "classlabels_ints", classes, a);
  auto effects = classified(label, rows, classes, 30);
  effects[1].jumps = true;
  b.add_many("LinearClassifier", {x}, a, effects, ml_domain);
  return true;
}

Attributes support_vectors(Builder& b, std::int64_t vectors, std::int64_t count,
                           std::int64_t coefficients, std::int64_t offsets) {
  return {Builder::text("kernel_type", b.rng.pick(Words{"LINEAR", "POLY", "RBF", "SIGMOID"})),
          floats("kernel_params", {0.25F, 0.5F, b.rng.chance(0.5) ? 2.0F : 3.0F}),
          floats("support_vectors", quarters(b, vectors * count)),
          floats("coefficients", quarters(b, coefficients)), floats("rho", quarters(b, offsets))};
}

bool svm_regressor(Builder& b) {
  ml_opset(b);
  const Extent rows = b.random_extent();
  const std::int64_t count = b.rng.between(1, 5);
  const std::int64_t vectors = b.rng.between(1, 6);
  if (!b.fits({rows, fixed(count)}) || !b.fits({rows, fixed(vectors)})) return false;
  const DrawnValue x = features(b, DType::f32, rows, count);
  Attributes a = support_vectors(b, vectors, count, vectors, 1);
  a.push_back(Builder::integer("n_supports", vectors));
  b.add_of(ml_domain, "SVMRegressor", {x}, a, {DType::f32, {rows, fixed(1)}, 300});
  return true;
}

// Of a linear kernel: the votes for classes are then exact.
bool svm_classifier(Builder& b) {
  ml_opset(b);
  const Extent rows = b.random_extent();
  const std::int64_t count = b.rng.between(1, 5);
  const std::int64_t classes = b.rng.between(2, 4);
  const std::int64_t pairs = classes * (classes - 1) / 2;
  std::vector<std::int64_t> each;
  std::int64_t vectors = 0;
  for (std::int64_t k = 0; k < classes; ++k) vectors += each.emplace_back(b.rng.between(1, 3));
  if (!b.fits({rows, fixed(count)}) || !b.fits({rows, fixed(vectors)})) return false;
  const DrawnValue x = features(b, DType::f32, rows, count);
  Attributes a = support_vectors(b, vectors, count, (classes - 1) * vectors, pairs);
  a[0] = Builder::text("kernel_type", "LINEAR");
  a.push_back(Builder::integers("vectors_per_class", each));
  const DType label = add_labels(b, "classlabels_ints", classes, a);
  const bool probable = b.rng.chance(0.4);
  if (probable) {
    a.push_back(floats("prob_a", std::vector<float>(static_cast<std::size_t>(pairs), -0.125F)));
    a.push_back(floats("prob_b", quarters(b, pairs)));
  }
  auto effects = classified(label, rows, probable || classes == 2 ? classes : pairs, 100);
  effects[1].jumps = true;
  b.add_many("SVMClassifier", {x}, a, effects, ml_domain);
  return true;
}

// ---- features

bool scaler(Builder& b) {
  ml_opset(b);
  const DrawnValue x = b.take(
      {.types = {DType::f32, DType::f64}, .least_rank = 2, .most_rank = 2, .nonempty = true});
  const bool one = !is_fixed(x.dims[1]) || b.rng.chance(0.3);
  const std::int64_t n = one ? 1 : x.dims[1][0];
  b.add_of(ml_domain, "Scaler", {x},
           {floats("offset", quarters(b, n)), floats("scale", quarters(b, n))},
           {DType::f32, x.dims, 2 * x.most + 4});
  return true;
}

bool row_normalizer(Builder& b) {
  ml_opset(b);
  const DrawnValue x = b.take(
      {.types = {DType::f32}, .least_rank = 1, .most_rank = 2, .nonempty = true, .positive = true});
  b.add_of(ml_domain, "Normalizer", {x},
           {Builder::text("norm", b.rng.pick(Words{"MAX", "L1", "L2"}))}, {DType::f32, x.dims, 1});
  return true;
}

bool imputer(Builder& b) {
  ml_opset(b);
  const Extent rows = b.random_extent();
  const std::int64_t count = b.rng.between(1, 5);
  if (!b.fits({rows, fixed(count)})) return false;
  const std::int64_t n = b.rng.chance(0.5) ? 1 : count;
  if (b.rng.chance(0.3)) {
    const DrawnValue x = b.indices(DType::i64, {rows, fixed(count)}, fixed(0), fixed(4));
    b.add_of(ml_domain, "Imputer", {x},
             {Builder::integers("imputed_value_int64s",
                                std::vector<std::int64_t>(static_cast<std::size_t>(n), 9)),
              Builder::integer("replaced_value_int64", 2)},
             {DType::i64, x.dims, 9, false});
    return true;
  }
  const bool nan = b.rng.chance(0.6);
  const DrawnValue x = features(b, DType::f32, rows, count, nan ? Gaps::some : Gaps::none);
  b.add_of(ml_domain, "Imputer", {x},
           {floats("imputed_value_floats", quarters(b, n)),
            b.number("replaced_value_float", nan ? std::numeric_limits<double>::quiet_NaN() : 0.5)},
           {DType::f32, x.dims, 2, false, true});
  return true;
}

bool binarizer(Builder& b) {
  ml_opset(b);
  const DrawnValue x = b.take({.types = {DType::f32}, .exact = true});
  b.add_of(ml_domain, "Binarizer", {x}, {b.number("threshold", b.rng.real(-0.5, 0.5))},
           {DType::f32, x.dims, 1, false, true});
  return true;
}

bool extractor(Builder& b) {
  ml_opset(b);
  const DrawnValue x = b.take({.types = {DType::f32, DType::f64, DType::i64, DType::string},
                               .least_rank = 1,
                               .tame = false,
                               .nonempty = true});
  if (!is_fixed(x.dims.back())) return false;
  const std::int64_t n = b.rng.between(1, 4);
  Extents dims = x.dims;
  dims.back() = fixed(n);
  if (x.rank() == 1) dims.insert(dims.begin(), fixed(1));
  if (!b.fits(dims)) return false;
  const DrawnValue y = b.indices(DType::i64, {fixed(1), fixed(n)}, fixed(0), x.dims.back());
  b.add_of(ml_domain, "ArrayFeatureExtractor", {x, y}, {}, {x.dtype, dims, x.most, false});
  return true;
}

bool vectorizer(Builder& b) {
  ml_opset(b);
  const Extent rows = b.random_extent();
  Values in;
  std::vector<std::int64_t> widths;
  for (std::int64_t i = b.rng.between(1, 3); i > 0; --i) {
    const std::int64_t columns = b.rng.between(1, 4);
    in.push_back(b.take_like(b.rng.chance(0.3) ? DType::i64 : DType::f32, {rows, fixed(columns)}));
    widths.push_back(std::max<std::int64_t>(1, columns + b.rng.between(-1, 1)));
  }
  std::int64_t width = 0;
  double most = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    width += widths[i];
    most = std::max(most, in[i].most);
  }
  if (!b.fits({rows, fixed(width)})) return false;
  b.add_of(ml_domain, "FeatureVectorizer", in, {Builder::integers("inputdimensions", widths)},
           {DType::f32, {rows, fixed(width)}, most, false});
  return true;
}

// ---- tables

constexpr std::array<std::string_view, 3> table_words = {"north", "", "east"};

DrawnValue some_words(Builder& b) {
  return b.input_of(DType::string, b.random_dims(2), [&](std::size_t, const Shape& shape) {
    std::vector<std::string> texts;
    for (std::int64_t i = 0; i < shape.elements(); ++i)
      texts.emplace_back(b.rng.pick(Words{"north", "", "east", "south"}));
    return string_tensor(shape, std::move(texts));
  });
}

bool label_encoder(Builder& b) {
  const bool texts = b.rng.chance(0.5);
  const std::int64_t version = ml_opset(b);
  const DrawnValue x =
      texts ? some_words(b) : b.indices(DType::i64, b.random_dims(2), fixed(-1), fixed(5));
  const Effect numbers = {DType::i64, x.dims, 9, false};
  const Effect names = {DType::string, x.dims, 1, false};
  if (version < 2) {
    b.add_of(ml_domain, "LabelEncoder", {x},
             {onnx::texts_attribute("classes_strings", table_words)}, texts ? numbers : names);
    return true;
  }
  const auto keys = texts ? onnx::texts_attribute("keys_strings", table_words)
                          : Builder::integers("keys_int64s", {3, 1, -1});
  const bool to_floats = b.rng.chance(0.4);
  const auto values = to_floats ? floats("values_floats", {0.5F, -1, 2})
                                : Builder::integers("values_int64s", {4, -9, 0});
  b.add_of(ml_domain, "LabelEncoder", {x}, {keys, values},
           to_floats ? Effect{DType::f32, x.dims, 2, false} : numbers);
  return true;
}

bool category_mapper(Builder& b) {
  ml_opset(b);
  const bool texts = b.rng.chance(0.5);
  const DrawnValue x =
      texts ? some_words(b) : b.indices(DType::i64, b.random_dims(2), fixed(-1), fixed(5));
  b.add_of(ml_domain, "CategoryMapper", {x},
           {onnx::texts_attribute("cats_strings", table_words),
            Builder::integers("cats_int64s", {3, 1, -1}), Builder::integer("default_int64", 8),
            Builder::text("default_string", "none")},
           texts ? Effect{DType::i64, x.dims, 8, false} : Effect{DType::string, x.dims, 1, false});
  return true;
}

bool one_hot_encoder(Builder& b) {
  ml_opset(b);
  const bool texts = b.rng.chance(0.4);
  const DrawnValue x =
      texts ? some_words(b) : b.indices(DType::i64, b.random_dims(2), fixed(-1), fixed(5));
  Extents dims = x.dims;
  dims.push_back(fixed(3));
  if (!b.fits(dims)) return false;
  b.add_of(ml_domain, "OneHotEncoder", {x},
           {texts ? onnx::texts_attribute("cats_strings", table_words)
                  : Builder::integers("cats_int64s", {3, 1, -1})},
           {DType::f32, dims, 1, false});
  return true;
}

bool zip_map(Builder& b) {
  ml_opset(b);
  const std::int64_t classes = b.rng.between(1, 4);
  const DrawnValue x = b.take_like(DType::f32, {b.random_extent(), fixed(classes)});
  Attributes a;
  add_labels(b, "classlabels_int64s", classes, a);
  b.add_of(ml_domain, "ZipMap", {x}, a, {DType::f32, x.dims, x.most, false});
  return true;
}

constexpr std::array classical_table = {
    Family{"ml-tree-regressor", 0.6, tree_regressor},
    Family{"ml-tree-classifier", 0.6, tree_classifier},
    Family{"ml-tree-ensemble", 0.6, tree_ensemble},
    Family{"ml-linear-regressor", 0.4, linear_regressor},
    Family{"ml-linear-classifier", 0.4, linear_classifier},
    Family{"ml-svm-regressor", 0.4, svm_regressor},
    Family{"ml-svm-classifier", 0.4, svm_classifier},
    Family{"ml-scaler", 0.3, scaler},
    Family{"ml-normalizer", 0.3, row_normalizer},
    Family{"ml-imputer", 0.3, imputer},
    Family{"ml-binarizer", 0.3, binarizer},
    Family{"ml-array-feature-extractor", 0.3, extractor},
    Family{"ml-feature-vectorizer", 0.3, vectorizer},
    Family{"ml-label-encoder", 0.3, label_encoder},
    Family{"ml-category-mapper", 0.3, category_mapper},
    Family{"ml-one-hot-encoder", 0.3, one_hot_encoder},
    Family{"ml-zip-map", 0.3, zip_map},
};

}  // namespace

std::span<const Family> classical_families() {
  return classical_table;
}

}  // namespace quern::tools
