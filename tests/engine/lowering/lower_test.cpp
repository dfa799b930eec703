// SPDX-License-Identifier: Apache-2.0
// Whole graphs.
#include "engine/planning/lower.h"

#include <malloc.h>
#include <set>
#include <string>

#include "engine/compile/backend.h"
#include "engine/devices/cpu/weights.h"
#include "graph/passes/pipeline.h"
#include "tests/engine/engine_models.h"

namespace quern {
namespace {

using testing::must;
using testing::weights;

// The result of a convolution of which only the second image is read, added to another, so that
// oneDNN would sum in its place: a copy is made for it. Before them `more` convolutions.
Model sum_over_a_part(int more) {
  GraphBuilder g("sums");
  const ConvOptions same{.pads = {1, 1, 1, 1}};
  const Operand w = weights(g, {16, 16, 3, 3}, 1);
  Operand pair = g.input("pair", DType::f32, {2, 16, 8, 8});
  for (int k = 0; k < more; ++k)
    pair = g.named("one of a row of results " + std::to_string(k), g.conv(pair, w, {}, same));
  const Operand both = g.named("the result of two images", g.conv(pair, w, {}, same));
  const Operand one = g.conv(g.input("image", DType::f32, {1, 16, 8, 8}), w, {}, same);
  g.output("sum", g.named("sum", g.add(one, g.slice(both, {1}, {2}))));
  return must(g.build());
}

// Buffers move when there is no room for another, and with them their names, of which a copy's step
// has one: for some number of convolutions just then. What was freed is overwritten here.
TEST(Lower, StepsAreNamedByTheGraph) {
  ::mallopt(M_PERTURB, 0xa5);
  for (int more = 0; more < 40; ++more) {
    SCOPED_TRACE(more);
    Model model = sum_over_a_part(more);
    must(run_passes(model.graph()));
    const Graph& graph = model.graph();
    std::set<std::string> names;
    for (NodeId id : graph.order()) {
      names.insert(graph.node(id).name);
      for (ValueId v : graph.node(id).outputs) names.insert(graph.value(v).name);
    }
    for (ValueId v : graph.inputs()) names.insert(graph.value(v).name);
    cpu::SharedWeights packed;
    const auto program = must(lower(graph, {.weights = &packed}));
    for (const Step& s : program->steps)
      EXPECT_TRUE(names.contains(s.node)) << s.op << " " << s.node;
  }
  ::mallopt(M_PERTURB, 0);
}

// An operator that only views memory takes no step, and a step's `op` names the operator's kind.
TEST(Lower, ViewsAreNoSteps) {
  GraphBuilder g("views");
  const Operand x = g.input("x", DType::f32, {2, 3, 4});
  const Operand flat = g.reshape(x, {6, 4});
  const Operand part = g.reshape(g.slice(x, {1}, {2}), {3, 4});
  g.output("most", g.reduce("max", part, {1}));
  g.output("sums", g.add(flat, flat));
  Model model = must(g.build());
  cpu::SharedWeights packed;
  const auto program = must(lower(model.graph(), {.weights = &packed}));
  std::set<std::string> ops;
  for (const Step& s : program->steps) ops.insert(s.op);
  EXPECT_EQ(ops, (std::set<std::string>{"Reduce.max", "Binary.add"}));
}

TEST(Lower, PartsAreViewsWhereTheFirstIsUnused) {
  GraphBuilder g("parts");
  const Operand x = g.input("x", DType::f32, {2, 3, 4});
  g.output("most", g.reduce("max", g.split(x, {1, 1}, 0)[1], {1}));
  Model model = must(g.build());
  ASSERT_TRUE(run_passes(model.graph()).ok());
  cpu::SharedWeights packed;
  const auto program = must(lower(model.graph(), {.weights = &packed}));
  ASSERT_EQ(program->steps.size(), 1U);
  EXPECT_EQ(program->steps[0].op, "Reduce.max");
}

// Channels may lie in blocks, which no view shows in another order: one copy puts them in the order
// of the transpose.
TEST(Lower, ATransposeOfBlocksIsOneCopy) {
  for (const std::vector<std::int64_t>& order :
       {std::vector<std::int64_t>{0, 2, 3, 1}, std::vector<std::int64_t>{3, 1, 0, 2}}) {
    GraphBuilder g("transposed");
    const Operand x = g.input("x", DType::f32, {2, 16, 12, 12});
    const Operand maps = g.conv(x, weights(g, {20, 16, 3, 3}, 1));
    g.output("y", g.transpose(maps, order));
    const Model model = must(g.build());
    cpu::SharedWeights packed;
    const auto program = must(lower(model.graph(), {.weights = &packed}));
    std::vector<std::string> after;
    for (const Step& s : program->steps)
      if (s.op == "Conv")
        after.clear();
      else
        after.push_back(s.op);
    EXPECT_LE(after.size(), 1U);
    EXPECT_THAT(after, ::testing::Each("Reorder"));
  }
}

class NoCode final : public DeviceCode {};

// A device that takes everything, and says of each region that it holds the first operand.
class ForgetfulBackend final : public Backend {
 public:
  std::vector<Region> partition(const Graph& graph) const override {
    return convex_regions(graph, [](NodeId) { return true; });
  }
  Status compile(const Region& region, RegionCompiler& compiler) override {
    return compiler.add(region, {.implementation = "forgetful",
                                 .work = std::make_shared<NoCode>(),
                                 .packed_inputs = {true}});
  }
  std::uint64_t alignment() const override { return 64; }
  Result<std::shared_ptr<const void>> constant(const GpuConstant&) override {
    return Status(Code::internal, "none");
  }
  std::size_t constant_bytes() const override { return 0; }
  std::shared_ptr<DeviceArena> make_arena(DeviceArena::Growth) override { return nullptr; }
  Result<std::unique_ptr<ExecutionContext>> make_context(std::shared_ptr<const Program>,
                                                         std::shared_ptr<DeviceArena>,
                                                         const Stop*) override {
    return Status(Code::internal, "none");
  }
};

// What no kernel could hold is the data of a run: the program reads it nowhere.
// Channels that change places between two convolutions, from one image to the next.
Model shuffle(bool is_output) {
  GraphBuilder g("shuffle");
  const Operand x = g.input("x", DType::f32, {1, 32, 9, 9});
  const Operand before = g.relu(g.conv(x, weights(g, {32, 32, 1, 1}, 1)));
  const Operand parts = g.transpose(g.reshape(before, {1, 4, 8, 9, 9}), {0, 2, 1, 3, 4});
  const Operand shuffled = g.reshape(parts, {1, 32, 9, 9});
  if (is_output) g.output("shuffled", shuffled);
  g.output("y",
           g.conv(shuffled, weights(g, {32, 1, 3, 3}, 2), {}, {.pads = {1, 1, 1, 1}, .group = 32}));
  return must(g.build());
}

// The copy that a reshape needs lies as those read it who follow: kernels that have channels last
// on any CPU.
TEST(Lower, AShuffleOfChannelsIsOneCopy) {
  for (const bool is_output : {false, true}) {
    Model model = shuffle(is_output);
    must(run_passes(model.graph()));
    cpu::SharedWeights packed;
    const auto program = must(lower(model.graph(), {.use_onednn = false, .weights = &packed}));
    std::vector<std::string> ops;
    for (const Step& s : program->steps) ops.emplace_back(s.op);
    const auto first = std::ranges::find(ops, "Conv");
    const auto last = std::find(first + 1, ops.end(), "Conv");
    ASSERT_NE(last, ops.end());
    EXPECT_EQ(std::count(first, last, "Reorder"), is_output ? 2 : 1)
        << "as an output it is row-major";
  }
}

TEST(Lower, AProgramThatIsWrongIsNotHandedOut) {
  GraphBuilder g("relu");
  g.output("y", g.relu(g.input("x", DType::f32, {4, 4})));
  const Model model = must(g.build());
  cpu::SharedWeights packed;
  ForgetfulBackend backend;
  const auto program = lower(model.graph(), {.weights = &packed, .backend = &backend});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code(), Code::internal);
  EXPECT_THAT(std::string(program.error().message()),
              ::testing::HasSubstr("this plan is wrong, which is a defect of quern: step "));
}

}  // namespace
}  // namespace quern
