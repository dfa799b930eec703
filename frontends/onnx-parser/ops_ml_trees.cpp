// SPDX-License-Identifier: Apache-2.0
// ai.onnx.ml: ensembles of trees, in the form of opset 5 and in the older ones.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/forest.h"
#include "frontends/onnx-parser/ml_scores.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/operands.h"
#include "graph/ops/binary_kind.h"

namespace quern::onnx {
namespace {

// ---- attributes that come as lists or as tensors -----------------------------------------------

// The numbers of a tensor of f64, f32 or f16.
std::vector<double> floats_of(NodeImport& n, std::string_view name, const Tensor& t) {
  std::vector<double> values;
  if (!is_number_float(t.dtype())) n.fail(cat("attribute '", name, "' is not a tensor of floats"));
  if (!n.charge(static_cast<std::size_t>(t.shape().elements()) * sizeof(double))) return values;
  for (std::int64_t i = 0; i < t.shape().elements(); ++i)
    values.push_back(float_element(t.view(), i));
  return values;
}

struct Floats {
  std::vector<double> values;
  DType dtype = DType::f32;
};
Floats tensor_floats(NodeImport& n, std::string_view name) {
  const auto t = n.tensor(name);
  if (!t) return {};
  return {floats_of(n, name, *t), t->dtype()};
}
// `name`, a list of f32, or `name`_as_tensor.
Floats list_or_tensor(NodeImport& n, const std::string& name) {
  const std::vector<float> list = n.numbers(name);
  Floats tensor = tensor_floats(n, name + "_as_tensor");
  if (list.empty()) return tensor;
  if (!tensor.values.empty()) n.fail(cat("has both '", name, "' and '", name, "_as_tensor'"));
  return {{list.begin(), list.end()}, DType::f32};
}

bool want_length(NodeImport& n, std::string_view name, std::size_t found, std::size_t wanted) {
  if (found != wanted)
    n.fail(cat("attribute '", name, "' has ", found, " elements, wants ", wanted));
  return found == wanted;
}

// Trees compute in f64 if x or a number of theirs has it, else in f32.
DType tree_type(NodeImport& n, ValueId x, std::initializer_list<DType> others) {
  const bool wide = n.dtype(x) == DType::f64 || std::ranges::count(others, DType::f64) > 0;
  return wide ? DType::f64 : DType::f32;
}

// ---- the older form ----------------------------------------------------------------------------

using TreeNodeId = std::pair<std::int64_t, std::int64_t>;  // of the tree, of the node in it

struct OldNodes {
  Ints trees, ids, features, yes, no, missing;
  std::vector<std::string> modes;
  Floats values;
  std::vector<std::pair<TreeNodeId, std::int64_t>> sorted;

  std::string name(std::int64_t i) const {
    const auto at = static_cast<std::size_t>(i);
    return cat("node ", ids[at], " of tree ", trees[at]);
  }
  // -1: there is none.
  std::int64_t find(const TreeNodeId& id) const {
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), std::pair(id, std::int64_t{0}));
    return at != sorted.end() && at->first == id ? at->second : -1;
  }
};

OldNodes read_old_nodes(NodeImport& n) {
  OldNodes o{.trees = n.ints("nodes_treeids"),
             .ids = n.ints("nodes_nodeids"),
             .features = n.ints("nodes_featureids"),
             .yes = n.ints("nodes_truenodeids"),
             .no = n.ints("nodes_falsenodeids"),
             .missing = n.ints("nodes_missing_value_tracks_true"),
             .modes = n.texts("nodes_modes"),
             .values = list_or_tensor(n, "nodes_values"),
             .sorted = {}};
  n.ignore("nodes_hitrates");
  n.ignore("nodes_hitrates_as_tensor");
  const std::size_t count = o.ids.size();
  if (o.missing.empty()) o.missing.resize(count);
  want_length(n, "nodes_treeids", o.trees.size(), count);
  want_length(n, "nodes_featureids", o.features.size(), count);
  want_length(n, "nodes_truenodeids", o.yes.size(), count);
  want_length(n, "nodes_falsenodeids", o.no.size(), count);
  want_length(n, "nodes_missing_value_tracks_true", o.missing.size(), count);
  want_length(n, "nodes_modes", o.modes.size(), count);
  want_length(n, "nodes_values", o.values.values.size(), count);
  if (count == 0) n.fail("has no nodes");
  if (!n.charge(count * sizeof(o.sorted[0]))) return o;
  for (std::size_t i = 0; i < count; ++i)
    o.sorted.push_back({{o.trees[i], o.ids[i]}, static_cast<std::int64_t>(i)});
  std::sort(o.sorted.begin(), o.sorted.end());
  for (std::size_t i = 1; i < count && n.ok(); ++i)
    if (o.sorted[i].first == o.sorted[i - 1].first)
      n.fail(cat(o.name(o.sorted[i].second), " is given twice"));
  return o;
}

std::optional<TreeTest> test_named(std::string_view mode) {
  constexpr std::array<std::string_view, tree_tests> names = {
      "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};
  const auto at = std::find(names.begin(), names.end(), mode);
  if (at == names.end()) return std::nullopt;
  return static_cast<TreeTest>(at - names.begin());
}

// What nodes of the file are in the forest; 0 for a leaf at first, of which there is none.
struct OldForest {
  Forest forest;
  std::vector<TreeChild> children;  // by the node of the file
};

// An entry of a leaf, before they are in the order of the leaves.
struct Entry {
  std::int64_t leaf, target;
  double weight;
};

void read_entries(NodeImport& n, const OldNodes& o, const std::string& prefix, OldForest& f,
                  DType& dtype) {
  const Ints trees = n.ints(prefix + "_treeids");
  const Ints ids = n.ints(prefix + "_nodeids");
  const Ints targets = n.ints(prefix + "_ids");
  const Floats weights = list_or_tensor(n, prefix + "_weights");
  dtype = weights.dtype;
  want_length(n, prefix + "_treeids", trees.size(), targets.size());
  want_length(n, prefix + "_nodeids", ids.size(), targets.size());
  want_length(n, prefix + "_weights", weights.values.size(), targets.size());
  if (!n.charge(targets.size() * sizeof(Entry))) return;
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::int64_t node = o.find({trees[i], ids[i]});
    if (node < 0)
      return n.fail(cat("weight ", i, " is for node ", ids[i], " of tree ", trees[i],
                        ", which is not there"));
    const TreeChild child = f.children[static_cast<std::size_t>(node)];
    // Old exporters gave weights to nodes that are no leaves, too.
    if (child < 0) entries.push_back({-1 - child, targets[i], weights.values[i]});
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.leaf < b.leaf; });
  std::size_t at = 0;
  for (std::size_t l = 0; l < f.forest.leaves.size(); ++l) {
    f.forest.leaves[l] = static_cast<std::int64_t>(at);
    while (at < entries.size() && entries[at].leaf == static_cast<std::int64_t>(l)) ++at;
  }
  for (const Entry& e : entries) {
    f.forest.targets.push_back(e.target);
    f.forest.weights.push_back(e.weight);
  }
}

void number_nodes(NodeImport& n, const OldNodes& o, OldForest& f) {
  std::set<std::int64_t> trees;
  for (std::size_t i = 0; i < o.ids.size() && n.ok(); ++i) {
    const auto node = static_cast<std::int64_t>(i);
    const bool is_leaf = o.modes[i] == "LEAF";
    if (is_leaf) f.forest.leaves.push_back(0);
    f.children.push_back(is_leaf ? -static_cast<TreeChild>(f.forest.leaves.size()) : node);
    // The first node of a tree is its root.
    if (trees.insert(o.trees[i]).second) f.forest.roots.push_back(f.children.back());
  }
}

TreeChild child_of(NodeImport& n, const OldNodes& o, const OldForest& f, std::size_t node,
                   std::int64_t id) {
  const std::int64_t child = o.find({o.trees[node], id});
  if (child >= 0) return f.children[static_cast<std::size_t>(child)];
  n.fail(cat(o.name(static_cast<std::int64_t>(node)), " leads to node ", id,
             ", which the tree does not have"));
  return 0;
}

// Leaves are nodes of the forest, too, which nothing leads to.
OldForest old_forest(NodeImport& n, const OldNodes& o) {
  OldForest f;
  if (!n.charge(o.ids.size() * (sizeof(ForestNode) + 2 * sizeof(std::int64_t)))) return f;
  number_nodes(n, o, f);
  for (std::size_t i = 0; i < o.ids.size() && n.ok(); ++i) {
    ForestNode node;
    if (f.children[i] >= 0) {
      const auto test = test_named(o.modes[i]);
      if (!test)
        n.fail(cat(o.name(static_cast<std::int64_t>(i)), " has mode '", printable(o.modes[i]),
                   "', which is none"));
      if (o.features[i] < 0)
        n.fail(cat(o.name(static_cast<std::int64_t>(i)), " reads feature ", o.features[i]));
      if (!n.ok()) break;
      node = {o.features[i],
              *test,
              o.missing[i] != 0,
              o.values.values[i],
              child_of(n, o, f, i, o.yes[i]),
              child_of(n, o, f, i, o.no[i])};
    }
    f.forest.nodes.push_back(node);
  }
  f.forest.node_name = [&o](std::int64_t i) { return o.name(i); };
  return f;
}

bool want_targets(NodeImport& n, const Forest& forest, std::int64_t targets) {
  for (std::int64_t t : forest.targets)
    if (t < 0 || t >= targets) n.fail(cat("a weight is for number ", t, " of ", targets));
  return n.ok();
}

// scores + the base values, one for each column; a single one goes to a single column.
ValueId with_base(NodeImport& n, ValueId scores, const Floats& base, std::int64_t columns) {
  if (base.values.empty() || !n.ok()) return scores;
  if (static_cast<std::int64_t>(base.values.size()) != columns) {
    n.fail(cat("has ", base.values.size(), " base values for ", columns, " columns"));
    return no_value;
  }
  const std::vector<double>& values = base.values;
  const DType dtype = n.dtype(scores);
  const ValueId list =
      dtype == DType::f64
          ? n.constant(list_tensor(dtype, values))
          : n.constant(list_tensor(dtype, std::vector<float>(values.begin(), values.end())));
  return add(n, scores, list);
}

TreeAggregate read_aggregate(NodeImport& n) {
  return n.choice<TreeAggregate>("aggregate_function", "SUM",
                                 {{"SUM", TreeAggregate::sum},
                                  {"AVERAGE", TreeAggregate::average},
                                  {"MIN", TreeAggregate::min},
                                  {"MAX", TreeAggregate::max}});
}

void import_regressor(NodeImport& n) {
  const ValueId x = wide_feature_rows(n);
  const OldNodes nodes = read_old_nodes(n);
  if (!n.ok()) return;
  OldForest f = old_forest(n, nodes);
  DType weights = DType::f32;
  if (n.ok()) read_entries(n, nodes, "target", f, weights);
  const TreeEnsemble op{.aggregate = read_aggregate(n), .targets = n.integer("n_targets")};
  const Floats base = list_or_tensor(n, "base_values");
  const PostTransform post = read_post_transform(n);
  if (!n.ok() || !want_targets(n, f.forest, op.targets)) return;
  const DType type = tree_type(n, x, {nodes.values.dtype, weights});
  const ValueId sums = add_trees(n, cast(n, x, type), f.forest, op);
  const ValueId scores = with_base(n, sums, base, op.targets);
  if (n.ok()) n.set(0, transformed(n, post, cast(n, scores, DType::f32), op.targets));
}

// ---- classes -----------------------------------------------------------------------------------

// What the weights of the trees say of their classes.
struct ClassWeights {
  std::set<std::int64_t> classes;
  bool all_positive = true;

  explicit ClassWeights(const Forest& forest)
      : classes(forest.targets.begin(), forest.targets.end()),
        all_positive(std::ranges::none_of(forest.weights, [](double w) { return w < 0; })) {}
};

struct Classified {
  ValueId labels = no_value;
  ValueId scores = no_value;
};

ValueId is_above(NodeImport& n, ValueId column, double threshold) {
  const ValueId list = squeeze(n, column, {1});
  return binary(n, BinaryKind::greater, list, n.scalar_like(list, threshold));
}

// Two classes. Weights for the first class only: its score is that of the second label, and the
// first one gets the complement of a probability (no weight is negative), or the negative of a
// score. Weights for both, or for the second one: the second label where its score is positive.
// Base values go where ONNX Runtime puts them: a column without weights stays 0, and with two of
// them the score of the second class comes from the first column.
ValueId two_scores(NodeImport& n, const ClassWeights& w, const std::vector<double>& base,
                   ValueId first, ValueId second) {
  const bool has_first = w.classes.contains(0);
  if (!w.classes.contains(1)) return concat(n, {add(n, first, base[0]), second}, 1);
  if (base.size() == 2) {
    const ValueId positive = add(n, first, base[1]);
    return concat(n, {has_first ? mul(n, positive, -1) : first, positive}, 1);
  }
  if (base.size() == 1 && has_first) first = add(n, first, base[0]);
  return concat(n, {first, second}, 1);
}

Classified classify_two(NodeImport& n, const ClassLabels& labels, const ClassWeights& w,
                        const Floats& base, PostTransform post, ValueId sums) {
  if (base.values.size() > 2) n.fail(cat("has ", base.values.size(), " base values for 2 classes"));
  if (!n.ok()) return {};
  const double threshold = w.classes.size() == 1 && w.all_positive ? 0.5 : 0;
  const ValueId first = slice(n, sums, 0, 1, 1);
  if (w.classes.contains(1) || base.values.size() == 2) {
    const ValueId scores = two_scores(n, w, base.values, first, slice(n, sums, 1, 2, 1));
    const std::int64_t decides = w.classes.contains(1) ? 1 : 0;
    const ValueId column = slice(n, scores, decides, decides + 1, 1);
    if (!n.ok()) return {};
    return {binary_labels(n, labels, is_above(n, column, threshold)),
            transformed(n, post, scores, 2)};
  }
  const ValueId score = with_base(n, first, base, 1);
  if (!n.ok()) return {};
  const SecondClass second = w.all_positive ? SecondClass::complement : SecondClass::negative;
  return {binary_labels(n, labels, is_above(n, score, threshold)),
          with_second_class(n, post, second, score)};
}

// Three classes and more: the label of the greatest score, of classes that have weights or base
// values.
Classified classify_many(NodeImport& n, const ClassLabels& labels, const ClassWeights& w,
                         const Floats& base, PostTransform post, ValueId sums) {
  const auto count = static_cast<std::int64_t>(labels.size());
  const ValueId scores = with_base(n, sums, base, count);
  ValueId compared = scores;
  if (base.values.empty() && w.classes.size() < labels.size()) {
    std::vector<double> bars(labels.size(), -std::numeric_limits<double>::infinity());
    for (std::int64_t c : w.classes) bars[static_cast<std::size_t>(c)] = 0;
    compared = with_base(n, scores, {std::move(bars), DType::f64}, count);
  }
  return {labels_of(n, labels, best_class(n, compared)), transformed(n, post, scores, count)};
}

Classified classify(NodeImport& n, const ClassLabels& labels, const ClassWeights& w,
                    const Floats& base, PostTransform post, ValueId sums) {
  if (w.classes.empty()) n.fail("has no weights of classes");
  if (!n.ok()) return {};
  if (labels.size() == 2) return classify_two(n, labels, w, base, post, sums);
  if (labels.size() > 2) return classify_many(n, labels, w, base, post, sums);
  const ValueId score = with_base(n, sums, base, 1);
  return {binary_labels(n, labels, is_above(n, score, 0)), transformed(n, post, score, 1)};
}

void import_classifier(NodeImport& n) {
  const ValueId x = wide_feature_rows(n);
  const OldNodes nodes = read_old_nodes(n);
  if (!n.ok()) return;
  OldForest f = old_forest(n, nodes);
  DType weights = DType::f32;
  if (n.ok()) read_entries(n, nodes, "class", f, weights);
  const ClassLabels labels = read_labels(n, "classlabels_int64s");
  const Floats base = list_or_tensor(n, "base_values");
  const PostTransform post = read_post_transform(n);
  const TreeEnsemble op{.targets = static_cast<std::int64_t>(labels.size())};
  if (!n.ok() || !want_targets(n, f.forest, op.targets)) return;
  const DType type = tree_type(n, x, {nodes.values.dtype, weights});
  const ValueId sums = add_trees(n, cast(n, x, type), f.forest, op);
  const Classified c = classify(n, labels, ClassWeights(f.forest), base, post, sums);
  if (!n.ok()) return;
  n.set(0, c.labels);
  n.set(1, cast(n, c.scores, DType::f32));
}

// ---- opset 5 -----------------------------------------------------------------------------------

constexpr std::uint8_t member_mode = 6;  // behind those of TreeTest, in its order

struct NewNodes {
  Ints features, yes, no, yes_is_leaf, no_is_leaf, missing, roots;
  std::vector<std::uint8_t> modes;
  Floats splits;
  std::vector<double> members;  // sets, with NaN between them
};

std::vector<std::uint8_t> read_modes(NodeImport& n) {
  const auto t = n.tensor("nodes_modes");
  if (!t) {
    n.fail("attribute 'nodes_modes' is missing");
    return {};
  }
  if (t->dtype() != DType::u8) n.fail("attribute 'nodes_modes' is not a tensor of u8");
  if (!n.ok()) return {};
  const auto modes = t->span<std::uint8_t>();
  return {modes.begin(), modes.end()};
}

NewNodes read_new_nodes(NodeImport& n) {
  NewNodes w{.features = n.ints("nodes_featureids"),
             .yes = n.ints("nodes_truenodeids"),
             .no = n.ints("nodes_falsenodeids"),
             .yes_is_leaf = n.ints("nodes_trueleafs"),
             .no_is_leaf = n.ints("nodes_falseleafs"),
             .missing = n.ints("nodes_missing_value_tracks_true"),
             .roots = n.ints("tree_roots"),
             .modes = read_modes(n),
             .splits = tensor_floats(n, "nodes_splits"),
             .members = tensor_floats(n, "membership_values").values};
  n.ignore("nodes_hitrates");
  const std::size_t count = w.features.size();
  if (w.missing.empty()) w.missing.resize(count);
  want_length(n, "nodes_truenodeids", w.yes.size(), count);
  want_length(n, "nodes_falsenodeids", w.no.size(), count);
  want_length(n, "nodes_trueleafs", w.yes_is_leaf.size(), count);
  want_length(n, "nodes_falseleafs", w.no_is_leaf.size(), count);
  want_length(n, "nodes_missing_value_tracks_true", w.missing.size(), count);
  want_length(n, "nodes_modes", w.modes.size(), count);
  want_length(n, "nodes_splits", w.splits.values.size(), count);
  if (count == 0) n.fail("has no nodes");
  return w;
}

// What a child is, and the number of those.
struct ChildKind {
  bool is_leaf;
  std::size_t count;
};

TreeChild new_child(NodeImport& n, std::size_t node, std::int64_t id, ChildKind kind) {
  if (id >= 0 && id < static_cast<std::int64_t>(kind.count)) return kind.is_leaf ? -1 - id : id;
  n.fail(
      cat("node ", node, " leads to ", kind.is_leaf ? "leaf " : "node ", id, " of ", kind.count));
  return 0;
}

// Replaces a node by one for each member of its set, from `at` on up to a NaN: the first that is
// equal says yes.
void add_members(const NewNodes& w, std::size_t& at, std::size_t node, Forest& f) {
  ForestNode member = f.nodes[node];
  member.test = TreeTest::equal;
  member.split = std::numeric_limits<double>::quiet_NaN();  // of no member
  std::size_t place = node;
  for (bool first = true; at < w.members.size() && !std::isnan(w.members[at]); ++at) {
    if (!first) {
      f.nodes[place].no = static_cast<TreeChild>(f.nodes.size());
      place = f.nodes.size();
      f.nodes.push_back(member);
    }
    member.split = w.members[at];
    f.nodes[place] = member;
    first = false;
  }
  if (f.nodes[place].test != TreeTest::equal) f.nodes[place] = member;
  if (at < w.members.size()) ++at;  // the NaN
}

void add_nodes(NodeImport& n, const NewNodes& w, std::size_t leaves, Forest& f) {
  const std::size_t count = w.features.size();
  for (std::size_t i = 0; i < count && n.ok(); ++i) {
    if (w.modes[i] > member_mode) n.fail(cat("node ", i, " has mode ", int{w.modes[i]}));
    if (w.features[i] < 0) n.fail(cat("node ", i, " reads feature ", w.features[i]));
    const bool yes = w.yes_is_leaf[i] != 0;
    const bool no = w.no_is_leaf[i] != 0;
    f.nodes.push_back(
        {w.features[i],
         w.modes[i] < member_mode ? static_cast<TreeTest>(w.modes[i]) : TreeTest::less_equal,
         w.missing[i] != 0, w.splits.values[i],
         new_child(n, i, w.yes[i], {yes, yes ? leaves : count}),
         new_child(n, i, w.no[i], {no, no ? leaves : count})});
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < count && n.ok(); ++i)
    if (w.modes[i] == member_mode) add_members(w, at, i, f);
  if (n.ok() && at < w.members.size())
    n.fail("attribute 'membership_values' has more sets than there are nodes with BRANCH_MEMBER");
  f.node_name = [](std::int64_t i) { return cat("node ", i); };
}

Forest new_forest(NodeImport& n, const NewNodes& w, const Floats& weights) {
  Forest f;
  f.targets = n.ints("leaf_targetids");
  f.weights = weights.values;
  const std::size_t leaves = f.targets.size();
  want_length(n, "leaf_weights", f.weights.size(), leaves);
  if (!n.charge((w.features.size() + w.members.size()) * sizeof(ForestNode))) return f;
  for (std::size_t l = 0; l < leaves; ++l) f.leaves.push_back(static_cast<std::int64_t>(l));
  add_nodes(n, w, leaves, f);
  for (std::int64_t root : w.roots) {
    if (root < 0 || root >= static_cast<std::int64_t>(w.features.size()))
      n.fail(cat("a tree begins at node ", root, " of ", w.features.size()));
    f.roots.push_back(root);
  }
  return f;
}

template <class E, std::size_t N>
E numbered(NodeImport& n, std::string_view name, std::int64_t fallback,
           const std::array<E, N>& choices) {
  const std::int64_t i = n.integer(name, fallback);
  if (i >= 0 && i < static_cast<std::int64_t>(N)) return choices[static_cast<std::size_t>(i)];
  n.fail(cat("attribute '", name, "' is ", i, ", wants 0 to ", N - 1));
  return choices[0];
}

void import_ensemble(NodeImport& n) {
  using A = TreeAggregate;
  using P = PostTransform;
  const DType given = n.dtype(n.in(0));
  if (!is_number_float(given)) n.fail("takes features of a float type");
  const ValueId x = wide_feature_rows(n);
  const NewNodes nodes = read_new_nodes(n);
  const Floats weights = tensor_floats(n, "leaf_weights");
  if (!n.ok()) return;
  const Forest forest = new_forest(n, nodes, weights);
  const TreeEnsemble op{
      .aggregate = numbered<A, 4>(n, "aggregate_function", 1, {A::average, A::sum, A::min, A::max}),
      .targets = n.integer("n_targets")};
  const auto post = numbered<P, 5>(n, "post_transform", 0,
                                   {P::none, P::softmax, P::logistic, P::softmax_zero, P::probit});
  if (!n.ok() || !want_targets(n, forest, op.targets)) return;
  const DType type = tree_type(n, x, {nodes.splits.dtype, weights.dtype});
  const ValueId sums = add_trees(n, cast(n, x, type), forest, op);
  if (n.ok()) n.set(0, cast(n, transformed(n, post, sums, op.targets), given));
}

constexpr OpRow ml_tree_rows[] = {
    {"TreeEnsemble", 5, import_ensemble},
    {"TreeEnsembleClassifier", 1, import_classifier, {1, 1}, two},
    {"TreeEnsembleRegressor", 1, import_regressor},
};

}  // namespace

OpRows ml_tree_ops() {
  return ml_tree_rows;
}

}  // namespace quern::onnx
