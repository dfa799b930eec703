// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/trees.h"

#include <random>
#include <vector>

#include "tests/expect.h"
#include "tests/kernels/kernel_test.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

constexpr auto le = static_cast<std::int32_t>(TreeTest::less_equal);

Tensor ints_of(Shape shape, const std::vector<std::int32_t>& values) {
  return Tensor::from_values<std::int32_t>(DType::i32, shape, values);
}
Tensor list(const std::vector<std::int32_t>& values) {
  return ints_of({static_cast<std::int64_t>(values.size())}, values);
}
Tensor floats_of(const std::vector<float>& values) {
  return Tensor::from_values<float>(DType::f32, {static_cast<std::int64_t>(values.size())}, values);
}

// Two trees over two features: node 0 asks whether x0 <= 1, then node 1 whether x1 <= 2; node 2
// whether x1 <= 0. Leaf 0 has weights for both targets, leaf 4 none.
struct Small {
  TreeEnsemble op{.targets = 2};
  Tensor x = tensor<float>({3, 2}, {1, 3, 2, 0, 0, 2});
  std::vector<std::int32_t> nodes = {0, le, 1, -3, 1, le, -1, -2, 1, le, -4, -5};
  std::vector<float> splits = {1, 2, 0};
  std::vector<std::int32_t> roots = {0, 2};
  std::vector<std::int32_t> leaves = {0, 2, 3, 4, 5, 5};
  std::vector<std::int32_t> targets = {0, 1, 0, 1, 0};
  std::vector<float> weights = {1, 10, 2, 20, 0.5f};

  std::vector<Tensor> inputs() const {
    return {x,
            ints_of({static_cast<std::int64_t>(splits.size()), 4}, nodes),
            floats_of(splits),
            list(roots),
            list(leaves),
            list(targets),
            floats_of(weights)};
  }
};

TEST(TreeEnsemble, SumsTheLeavesThatARowReaches) {
  const Small s;
  // (1, 3): leaf 1 and leaf 4; (2, 0): leaf 2 and leaf 3; (0, 2): leaf 0 and leaf 4.
  EXPECT_ELEMENTS(values<float>(run(s.op, s.inputs())), 2, 0, 0.5f, 20, 1, 10);
}

TEST(TreeEnsemble, Aggregates) {
  Small s;
  s.op.aggregate = TreeAggregate::average;
  EXPECT_ELEMENTS(values<float>(run(s.op, s.inputs())), 1, 0, 0.25f, 10, 0.5f, 5);
  s.op.targets = 1;
  s.targets.assign(5, 0);
  s.op.aggregate = TreeAggregate::min;
  EXPECT_ELEMENTS(values<float>(run(s.op, s.inputs())), 2, 0.5f, 1);
  s.op.aggregate = TreeAggregate::max;
  EXPECT_ELEMENTS(values<float>(run(s.op, s.inputs())), 2, 20, 10);
}

TEST(TreeEnsemble, OneLeafIsATree) {
  Small s;
  s.nodes.clear();
  s.splits.clear();
  s.roots = {-2, -1};
  EXPECT_ELEMENTS(values<float>(run(s.op, s.inputs())), 3, 10, 3, 10, 3, 10);
}

// Each test for a smaller, an equal and a greater number and for NaN, without and with missing
// values as a yes.
TEST(TreeEnsemble, Tests) {
  Small s;
  s.op.targets = 1;
  s.x = tensor<float>({5, 1}, {0, 1, 2, nan, -inf});
  s.splits = {1};
  s.roots = {0};
  s.leaves = {0, 1, 2};
  s.targets = {0, 0};
  s.weights = {1, 0};
  const auto with = [&](std::int32_t test) {
    s.nodes = {0, test, -1, -2};
    return values<float>(run(s.op, s.inputs()));
  };
  const auto number = [](TreeTest t) { return static_cast<std::int32_t>(t); };
  EXPECT_ELEMENTS(with(number(TreeTest::less_equal)), 1, 1, 0, 0, 1);
  EXPECT_ELEMENTS(with(number(TreeTest::less)), 1, 0, 0, 0, 1);
  EXPECT_ELEMENTS(with(number(TreeTest::greater_equal)), 0, 1, 1, 0, 0);
  EXPECT_ELEMENTS(with(number(TreeTest::greater)), 0, 0, 1, 0, 0);
  EXPECT_ELEMENTS(with(number(TreeTest::equal)), 0, 1, 0, 0, 0);
  EXPECT_ELEMENTS(with(number(TreeTest::not_equal)), 1, 0, 1, 1, 1);
  EXPECT_ELEMENTS(with(tree_missing_is_yes + number(TreeTest::greater)), 0, 0, 1, 1, 0);
}

TEST(TreeEnsemble, WhatIsOutOfRangeIsRefused) {
  const auto error = [](const auto& change) {
    Small s;
    change(s);
    return error_of(s.op, s.inputs());
  };
  EXPECT_CONTAINS(error([](Small& s) { s.nodes[8] = 2; }), "node 2 of the trees reads feature 2");
  EXPECT_CONTAINS(error([](Small& s) { s.nodes[1] = 6; }), "has test 6, which is none");
  EXPECT_CONTAINS(error([](Small& s) { s.nodes[6] = 1; }), "node 1 of the trees leads to 1");
  EXPECT_CONTAINS(error([](Small& s) { s.nodes[6] = 3; }), "node 1 of the trees leads to 3");
  EXPECT_CONTAINS(error([](Small& s) { s.nodes[6] = -6; }), "leads to -6, which is neither");
  EXPECT_CONTAINS(error([](Small& s) { s.roots[1] = 3; }), "tree 1 begins at 3");
  EXPECT_CONTAINS(error([](Small& s) { s.leaves[2] = 1; }), "the entries of leaf 2 begin at 1");
  EXPECT_CONTAINS(error([](Small& s) { s.leaves[5] = 6; }), "begin at 6");
  EXPECT_CONTAINS(error([](Small& s) { s.targets[0] = 2; }), "is for target 2 of 2");
  EXPECT_CONTAINS(error([](Small& s) { s.weights.pop_back(); }), "must have 5 elements");
  EXPECT_CONTAINS(error([](Small& s) { s.leaves.clear(); }), "behind the last leaf");
  EXPECT_CONTAINS(error([](Small& s) { s.op.targets = 0; }), "targets is 0");
}

// ---- the kernel against the reference

// Random forests: trees that lean, trees of one leaf, nodes that two others lead to, splits that
// are numbers of x, infinite or NaN.
class RandomForest {
 public:
  explicit RandomForest(unsigned seed) : engine_(seed) {}

  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(engine_); }

  std::vector<Tensor> inputs(DType dtype, int trees, int targets, int tests) {
    const int features = 1 + below(5);
    std::vector<std::int32_t> nodes, roots, leaves = {0}, of;
    std::vector<double> splits, weights;
    const int most = below(3) == 0 ? 0 : 1 + below(60);
    const int count = trees == 0 ? 0 : most;
    const int leaf_count = 1 + below(20);
    for (int i = 0; i < count; ++i) {
      // Children lie some steps further, or are leaves.
      const auto child = [&] {
        const int next = i + 1 + below(1 + below(8));
        return next < count && below(6) > 0 ? next : -1 - below(leaf_count);
      };
      const int missing = below(2) * tree_missing_is_yes;
      nodes.insert(nodes.end(), {below(features), below(tests) + missing, child(), child()});
      splits.push_back(some_split());
    }
    for (int t = 0; t < trees; ++t)
      roots.push_back(count > 0 && below(5) > 0 ? below(count) : -1 - below(leaf_count));
    for (int l = 0; l < leaf_count; ++l) {
      for (int e = targets == 1 && single_ ? 1 : below(4); e > 0; --e) {
        of.push_back(below(targets));
        weights.push_back((below(33) - 16) / 8.0);
      }
      leaves.push_back(static_cast<std::int32_t>(of.size()));
    }
    const int rows = below(3) == 0 ? below(4) : below(300);
    std::vector<double> x;
    const bool has_nan = below(2) == 0;
    for (int i = 0; i < rows * features; ++i)
      x.push_back(has_nan && below(9) == 0 ? double{nan} : (below(17) - 8) / 2.0);
    return {floats(dtype, {rows, features}, x),
            ints_of({count, 4}, nodes),
            floats(dtype, {count}, splits),
            list(roots),
            list(leaves),
            list(of),
            floats(dtype, {static_cast<std::int64_t>(of.size())}, weights)};
  }
  void set_single(bool single) { single_ = single; }

 private:
  double some_split() {
    switch (below(12)) {
      case 0: return inf;
      case 1: return -inf;
      case 2: return nan;
      default: return (below(17) - 8) / 2.0;
    }
  }
  static Tensor floats(DType dtype, Shape shape, const std::vector<double>& values) {
    if (dtype == DType::f64) return Tensor::from_values<double>(dtype, shape, values);
    return Tensor::from_values<float>(dtype, shape,
                                      std::vector<float>(values.begin(), values.end()));
  }

  std::mt19937 engine_;
  bool single_ = false;
};

TEST(TreeRows, AreTheReferenceToTheBit) {
  int fast = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    RandomForest random(seed);
    random.set_single(seed % 2 == 0);
    const DType dtype = seed % 3 == 0 ? DType::f64 : DType::f32;
    const int targets = seed % 4 == 3 ? 1 + random.below(5) : 1;
    const int tests = seed % 5 < 2 ? tree_tests : 4;  // with and without intervals
    const TreeEnsemble op{.aggregate = static_cast<TreeAggregate>(random.below(4)),
                          .targets = targets};
    const auto inputs = random.inputs(dtype, random.below(40), targets, tests);
    const auto want = run_reference(op, inputs);
    ASSERT_TRUE(want) << want.error().message();
    const auto got = run_selected(op, inputs, {1, 2, 3, 4, 5, 6}, 1, 1 + random.below(3));
    ASSERT_TRUE(got.status.ok()) << got.status.message();
    fast += got.implementation == "rows";
    EXPECT_TRUE(same_bytes(got.outputs[0], (*want)[0])) << seed;
  }
  EXPECT_GT(fast, 400);
}

}  // namespace
}  // namespace quern::testing
