// SPDX-License-Identifier: Apache-2.0
// The loop that applies the rules, and what all of them make of whole graphs.
#include "graph/passes/rewrite.h"

#include <array>
#include <cmath>
#include <ctime>
#include <random>

#include "engine/vocabulary/text_util.h"
#include "graph/ops/batch_norm.h"
#include "graph/ops/concat.h"
#include "graph/ops/reshape.h"
#include "graph/ops/shape_of.h"
#include "graph/ops/softmax.h"
#include "graph/verify.h"
#include "kernels/contract/kernel.h"
#include "tests/expect.h"
#include "tests/graph/named_op.h"
#include "tests/graph/passes/golden.h"

namespace quern::testing {
namespace {

constexpr std::string_view three_rewrites = R"(
    input %0 "x": f32[2]
    %1: f32[2] = Identity(%0)
    %2: f32[2] = Identity(%1)
    %3: f32[2] = Identity(%2)
    output %3 "y")";

std::size_t count_of(const std::vector<PassCount>& counts, std::string_view pass) {
  for (const PassCount& c : counts)
    if (c.pass == pass) return c.fired;
  return 0;
}

TEST(RunPasses, CountsWhatFired) {
  Graph g = graph_of(three_rewrites);
  const auto counts = apply(g);
  EXPECT_EQ(count_of(counts, "drop_movement"), 3U);
  EXPECT_EQ(counts.size(), pass_names().size());
}

// The Squeeze by axes 3 and 4 is refused once its axes are known; of its result only the rank is
// read.
TEST(RunPasses, RefusesWhatNoRunCouldCompute) {
  constexpr std::string_view statements = R"(
    input %0 "x": f32[3,4,5]
    %1: i64[2] = ShapeOf(%0) end=-1
    %2: f32[?] = Squeeze(%0, %1)
    %3: i64[0] = ShapeOf(%2) end=-1
    output )";
  Graph g = graph_of(cat(statements, R"(%3 "y")"));
  const Status s = run_passes(g);
  EXPECT_EQ(s.code(), Code::invalid_model);
  EXPECT_CONTAINS(s.message(), "axis 3 is outside of rank 3");
  // Nobody wants it: it does no harm.
  Graph without = graph_of(cat(statements, R"(%0 "y")"));
  EXPECT_TRUE(run_passes(without).ok());
}

// Graphs of every small number of nodes, so that one grows from each size of what the loop keeps.
TEST(RunPasses, GrowFromEverySize) {
  for (int n = 2; n < 140; ++n) {
    std::string statements = "input %0 \"x\": i32[2]\nconst %1: i32[] = {3}\n";
    for (int i = 0; i < n; ++i)
      statements += cat("%", i + 2, ": i32[2] = Binary(%", i == 0 ? 0 : i + 1, ", %1) kind=add\n");
    Graph g = graph_of(cat(statements, "output %", n + 1, " \"y\""));
    ASSERT_TRUE(run_passes(g).ok());
    EXPECT_EQ(g.node_count(), 1U);
  }
}

TEST(RunPasses, LeavesOutWhatIsDisabled) {
  Graph g = graph_of(three_rewrites);
  ASSERT_TRUE(run_passes(g, {.disabled = {"drop_movement"}}).ok());
  EXPECT_EQ(g.node_count(), 3U);
  EXPECT_CONTAINS(std::string(run_passes(g, {.disabled = {"no such pass"}}).message()),
                  "no pass is called 'no such pass'");
}

TEST(RunPasses, StopsAfterSoManyRewrites) {
  for (std::size_t n : {0, 1, 2, 3}) {
    Graph g = graph_of(three_rewrites);
    ASSERT_TRUE(run_passes(g, {.max_rewrites = n}).ok());
    EXPECT_EQ(g.node_count(), 3 - n);
  }
}

// softmax(x)  =>  softmax(softmax(x)), without end
Result<bool> grow(Graph& g, NodeId id) {
  const Op op = g.node(id).op;
  QUERN_ASSIGN(const ValueId x, g.add(Softmax{}, {g.node(id).inputs[0]}, "another"));
  QUERN_TRY(g.replace(id, op, {x}));
  return true;
}

TEST(Rewrite, ARuleThatNeverEndsIsEnded) {
  const std::array table = {
      passes::Pass{.name = "grow", .roots = passes::roots<Softmax>(), .at_node = grow}};
  constexpr std::string_view one = R"(
    input %0 "x": f32[2]
    %1: f32[2] = Softmax(%0)
    output %1 "y")";
  Graph g = graph_of(one);
  std::vector<PassCount> counts;
  ASSERT_TRUE(passes::rewrite(g, table, {.counts = &counts}).ok());
  EXPECT_LT(count_of(counts, "grow"), 64U * 18);
  Graph verified = graph_of(one);
  const Status s = passes::rewrite(verified, table, {.verify = true});
  EXPECT_EQ(s.code(), Code::internal);
  EXPECT_CONTAINS(s.message(), "undo each other");
}

TEST(RunPasses, KeepsElementwiseNodesApartOnRequest) {
  Graph g = graph_of(R"(
    input %0 "x": f32[2]
    %1: f32[2] = Unary(%0) kind=exp
    %2: f32[2] = Unary(%1) kind=neg
    output %2 "y")");
  apply(g, [] {
    Rules r;
    r.fuse = false;
    return r;
  }());
  EXPECT_EQ(g.node_count(), 2U);
}

// A second run finds nothing, and so does one after the text form.
TEST(RunPasses, IsAFixpoint) {
  Graph g = graph_of(R"(
    input %0 "x": f32[2,3,8]
    const %1: f32[] = {3}
    const %2: f32[] = {6}
    const %3: i64[2] = {6, 8}
    %4: f32[2,3,8] = Binary(%1, %0) kind=add
    %5: f32[2,3,8] = Unary(%4) kind=relu
    %6: f32[2,3,8] = Binary(%5, %2) kind=min
    %7: f32[2,3,8] = Binary(%6, %0) kind=mul
    %8: f32[2,3,8] = Binary(%7, %2) kind=div
    %9: f32[6,8] = Reshape(%8, %3)
    %10: f32[6,8] = Softmax(%9) kind=softmax
    output %10 "y")");
  apply(g);
  EXPECT_EQ(g.node_count(), 3U);
  for (const PassCount& c : apply(g)) EXPECT_EQ(c.fired, 0U) << c.pass;
}

// ---- size --------------------------------------------------------------------------------------

// Layers of a convolution with batch norm, hard swish and a residual, with shape arithmetic.
Graph large_graph(std::size_t layers) {
  Graph g(builtin_ops());
  ValueId x = g.add_input("x", ValueType(DType::f32, Dims{1, 4, 8, 8}));
  const auto number = [&](float v) { return g.add_constant(Tensor::scalar(DType::f32, v)); };
  const auto vector = [&](Shape shape, std::uint64_t seed) {
    Tensor t = random_tensor({DType::f32, shape}, seed);
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      auto* f = reinterpret_cast<float*>(t.mutable_data()) + i;
      *f = std::fabs(*f) / 16 + 0.0625f;
    }
    return g.add_constant(t);
  };
  const auto add = [&](Op op, std::vector<ValueId> inputs) {
    return g.add(std::move(op), std::move(inputs)).value();
  };
  for (std::size_t i = 0; i < layers; ++i) {
    ValueId y = add(named("Conv", ""), {x, vector({4, 4, 1, 1}, i)});
    y = add(BatchNorm{},
            {y, vector({4}, i), vector({4}, i + 1), vector({4}, i + 2), vector({4}, i + 3)});
    const ValueId gate =
        add(binary_op("min"),
            {add(unary_op("relu"), {add(binary_op("add"), {y, number(3)})}), number(6)});
    y = add(binary_op("mul"), {y, gate});
    y = add(binary_op("div"), {y, number(6)});
    const ValueId shape = add(ShapeOf{}, {x});
    y = add(Reshape{}, {add(Identity{}, {y}), shape});
    x = add(binary_op("add"), {x, y});
  }
  g.add_output(x, "y");
  return g;
}

// This measures processor time, because other processes may use the machine too.
double milliseconds_for(std::size_t layers, std::size_t& nodes, std::size_t& left) {
  Graph g = large_graph(layers);
  nodes = g.node_count();
  const std::clock_t start = std::clock();
  EXPECT_TRUE(run_passes(g).ok());
  const std::clock_t took = std::clock() - start;
  left = g.node_count();
  return 1e3 * static_cast<double>(took) / CLOCKS_PER_SEC;
}

TEST(RunPasses, OnALargeGraphTakesLinearTime) {
  std::size_t nodes = 0;
  std::size_t left = 0;
  const double small = milliseconds_for(200, nodes, left);
  EXPECT_EQ(left, 200U);
  RecordProperty("nodes", std::to_string(nodes) + " in " + std::to_string(small) + " ms");
  const double large = milliseconds_for(10000, nodes, left);
  EXPECT_EQ(left, 10000U);
  RecordProperty("large", std::to_string(nodes) + " in " + std::to_string(large) + " ms");
  // 50 times as large: linear with room for caches and a busy machine, far from quadratic.
  EXPECT_LT(large, 50 * 8 * small + 100);
}

// A value with very many readers, and a chain that goes one node after the other.
TEST(RunPasses, OnWideAndDeepGraphsTakesLinearTime) {
  Graph wide(builtin_ops());
  const ValueId x = wide.add_input("x", ValueType(DType::f32, Dims{4}));
  const ValueId same = wide.add(Identity{}, {x}).value();
  std::vector<ValueId> readers;
  for (int i = 0; i < 20000; ++i) {
    const ValueId c = wide.add_constant(Tensor::scalar(DType::f32, static_cast<float>(i)));
    readers.push_back(wide.add(binary_op("add"), {c, same}).value());
  }
  wide.add_output(wide.add(Concat{}, readers).value(), "y");
  ASSERT_TRUE(run_passes(wide).ok());
  EXPECT_EQ(wide.node_count(), 20000U);  // x + 0 is x

  Graph deep(builtin_ops());
  ValueId y = deep.add_input("x", ValueType(DType::f32, Dims{4}));
  for (int i = 0; i < 30000; ++i) y = deep.add(unary_op("neg"), {y}).value();
  deep.add_output(y, "y");
  ASSERT_TRUE(run_passes(deep).ok());
  EXPECT_EQ(deep.node_count(), 0U);
}

}  // namespace
}  // namespace quern::testing
