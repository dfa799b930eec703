// SPDX-License-Identifier: Apache-2.0
// Programs that lowering made pass; the same programs with one thing changed do not.
#include "engine/compile/program_check.h"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/compile/element_source.h"
#include "engine/devices/cpu/weights.h"
#include "engine/planning/lower.h"
#include "graph/passes/pipeline.h"
#include "tests/engine/engine_models.h"
#include "tests/engine/paper_device.h"
#include "tests/expect.h"

namespace quern {
namespace {

using quern::testing::must;
using quern::testing::weights;
using Base = Step::Operand::Base;

// A graph, its program and what the steps are for.
struct Lowered {
  explicit Lowered(Model m) : model(std::move(m)) {
    must(run_passes(model.graph()));
    program = must(lower(model.graph(), {.weights = &packed, .meanings = &meanings}));
  }
  Status check() const { return check_program(model.graph(), *program, meanings); }

  Model model;
  cpu::SharedWeights packed;
  std::vector<StepMeaning> meanings;
  std::unique_ptr<Program> program;
};

// Convolutions in blocks of channels, a sum in place, and a result that is handed out.
Model residual() {
  GraphBuilder g("residual");
  const ConvOptions same{.pads = {1, 1, 1, 1}};
  const Operand w = weights(g, {16, 16, 3, 3}, 1);
  const Operand x = g.input("x", DType::f32, {1, 16, 12, 12});
  const Operand a = g.relu(g.conv(x, w, {}, same));
  const Operand b = g.conv(a, w, {}, same);
  g.output("sum", g.relu(g.add(b, a)));
  g.output("a", a);
  return must(g.build());
}

// Parts that are made in their places, a view of one of them, and one that is handed out.
Model concatenation() {
  GraphBuilder g("concat");
  const Operand x = g.input("x", DType::f32, {1, 8, 6, 6});
  const Operand y = g.input("y", DType::f32, {1, 8, 6, 6});
  const Operand a = g.tanh(x);
  const Operand b = g.exp(y);
  const Operand c = g.sigmoid(g.add(x, y));
  const Operand all = g.concat({a, b, c}, 1);
  g.output("b", b);
  g.output("turned", g.exp(g.transpose(all, {0, 2, 3, 1})));
  g.output("part", g.tanh(g.slice(all, {1}, {7}, {.axes = {1}, .steps = {2}})));
  return must(g.build());
}

// A part that is joined with itself: it is made in one place and copied to the other.
Model joined_with_itself() {
  GraphBuilder g("twice");
  const Operand x = g.input("x", DType::f32, {2, 24});
  const Operand a = g.tanh(x);
  g.output("twice", g.concat({a, a}, 0));
  g.output("both", g.concat({g.exp(a), a}, 0));
  const Operand b = g.exp(x);
  g.output("parts", g.concat({b, g.slice(b, {1}, {2}, {.axes = {0}})}, 0));
  return must(g.build());
}

std::vector<Model> models() {
  std::vector<Model> all;
  all.push_back(residual());
  all.push_back(concatenation());
  all.push_back(joined_with_itself());
  return all;
}

bool is_in_memory(const Step::Operand& o) {
  return o.base != Base::none && o.base != Base::constant;
}

// Changes each step of each model in turn. A change answers whether it has changed anything.
void expect_each_is_seen(const std::function<bool(Lowered&, std::size_t step)>& change) {
  std::size_t changes = 0;
  for (std::size_t m = 0; m < models().size(); ++m) {
    const std::size_t steps = Lowered(std::move(models()[m])).program->steps.size();
    for (std::size_t step = 0; step < steps; ++step) {
      Lowered l(std::move(models()[m]));
      ASSERT_TRUE(l.check().ok());
      const std::string name = l.program->steps[step].op + " " + l.program->steps[step].node;
      if (!change(l, step)) continue;
      ++changes;
      EXPECT_EQ(l.check().code(), Code::internal)
          << "model " << m << ", step " << step << " " << name;
    }
  }
  EXPECT_GT(changes, 2U);
}

TEST(ProgramCheck, SeesInputsAndOutputsThatAreLargerThanMemory) {
  const Shape large = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  Lowered in(residual());
  in.program->inputs[0].shape = large;
  EXPECT_EQ(in.check().code(), Code::out_of_memory);
  Lowered out(residual());
  out.program->outputs[1].shape = large;
  EXPECT_EQ(out.check().code(), Code::out_of_memory);
}

TEST(ProgramCheck, SeesAnOperandThatLiesElsewhere) {
  for (const std::int64_t shift : {4, 64, -4})
    expect_each_is_seen([&](Lowered& l, std::size_t step) {
      for (Step::Operand& o : l.program->steps[step].inputs) {
        if (!is_in_memory(o)) continue;
        o.offset += static_cast<std::uint64_t>(shift);
        return true;
      }
      return false;
    });
}

TEST(ProgramCheck, SeesAResultThatLiesElsewhere) {
  expect_each_is_seen([](Lowered& l, std::size_t step) {
    l.program->steps[step].outputs[0].offset += 64;
    return true;
  });
}

TEST(ProgramCheck, SeesAStepThatIsMissing) {
  expect_each_is_seen([](Lowered& l, std::size_t step) {
    l.program->steps.erase(l.program->steps.begin() + static_cast<std::ptrdiff_t>(step));
    l.meanings.erase(l.meanings.begin() + static_cast<std::ptrdiff_t>(step));
    return true;
  });
}

TEST(ProgramCheck, SeesAnotherLayout) {
  expect_each_is_seen([](Lowered& l, std::size_t step) {
    TensorDesc& desc = l.meanings[step].outputs[0];
    const Layout other =
        is_row_major(desc) ? Layout::channels_last(desc.shape) : Layout::row_major(desc.shape);
    if (desc.shape.rank() < 3) return false;
    desc.layout = other;
    return true;
  });
}

TEST(ProgramCheck, SeesScratchOverAnOperand) {
  expect_each_is_seen([](Lowered& l, std::size_t step) {
    Step& s = l.program->steps[step];
    if (s.outputs[0].base != Base::arena) return false;
    s.scratch_bytes = 64;
    s.scratch_offset = s.outputs[0].offset;
    return true;
  });
}

// Whoever comes later still reads what the scratch was put over.
TEST(ProgramCheck, SeesScratchOverWhatIsStillRead) {
  Lowered l(concatenation());
  std::vector<Step>& steps = l.program->steps;
  const std::uint64_t b = l.program->output_offsets[0];
  ASSERT_GT(steps.back().inputs.size(), 0U);
  steps.back().scratch_bytes = 64;
  steps.back().scratch_offset = b;
  const Status status = l.check();
  EXPECT_EQ(status.code(), Code::internal);
  EXPECT_CONTAINS(std::string(status.message()), "the end of the program reads output 0");
}

// The kernel does not say that it may work in place.
TEST(ProgramCheck, SeesAResultOverAnOperand) {
  GraphBuilder g("in place");
  const Operand x = g.input("x", DType::f32, {64});
  g.output("y", g.cumsum(g.softmax(g.tanh(x)), 0));
  Lowered l(must(g.build()));
  ASSERT_TRUE(l.check().ok());
  for (StepMeaning& meaning : l.meanings) meaning.sharing.clear();
  EXPECT_CONTAINS(std::string(l.check().message()), "where its operand");
}

// An output that would lie in the result of a Concat while a run has bound it elsewhere.
// A view of a part of nothing may begin within the result.
TEST(ProgramCheck, LetsOperandsWithoutElementsLieAnywhere) {
  GraphBuilder g("rows");
  const Operand x = g.input("x", DType::f32, {0, 9, 3});
  const Operand row = g.input("row", DType::f32, {1, 9, 3});
  g.output("y", g.exp(g.concat({row, g.tanh(x), row}, 0)));
  const Model model = must(g.build());  // passes would leave the operand out
  cpu::SharedWeights packed;
  std::vector<StepMeaning> meanings;
  const auto program = must(lower(model.graph(), {.weights = &packed, .meanings = &meanings}));
  std::size_t moved = 0;
  for (Step& s : program->steps) {
    if (s.op != "Concat") continue;
    ASSERT_EQ(s.inputs.size(), 3U);
    s.inputs[1] = s.outputs[0];
    s.inputs[1].offset += 48;
    ++moved;
  }
  EXPECT_EQ(moved, 1U);
  const Status status = check_program(model.graph(), *program, meanings);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(ProgramCheck, SeesAnOutputThatIsOnlyInTheArena) {
  Lowered l(concatenation());
  std::uint64_t offset = 0;
  bool changed = false;
  for (Step& s : l.program->steps)
    for (Step::Operand& o : s.outputs) {
      if (o.base != Base::output || o.index != 0) continue;
      offset = l.program->output_offsets[0];
      o = {Base::arena, 0, offset, nullptr};
      changed = true;
    }
  ASSERT_TRUE(changed);
  const std::string message(l.check().message());
  EXPECT_CONTAINS(message, "output 0");
}

// A shader writes whole vectors: what lies directly behind a result is no more what it was.
TEST(ProgramCheck, SeesAValueInTheVectorThatAResultEndsIn) {
  GraphBuilder g("ends");
  const Operand x = g.input("x", DType::f32, {3});
  g.output("first", g.neg(x));
  g.output("then", g.relu(x));
  Model model = must(g.build());
  testing::PaperBackend backend(*testing::paper_targets()[1].target);
  cpu::SharedWeights packed;
  std::vector<StepMeaning> meanings;
  const auto program =
      must(lower(model.graph(), {.weights = &packed, .backend = &backend, .meanings = &meanings}));
  const auto step = [&](std::size_t i) -> Step& { return program->steps.at(i); };
  ASSERT_EQ(program->steps.size(), 5U) << "up, two kernels, down twice";
  ASSERT_EQ(step(1).kind, Step::Kind::device);
  ASSERT_EQ(step(2).kind, Step::Kind::device);
  program->device_plan.size = 2048;
  const auto check_with = [&](std::uint64_t first, std::uint64_t second) {
    step(1).outputs[0].offset = first;
    step(2).outputs[0].offset = second;
    for (const std::size_t down : {3, 4})
      step(down).inputs[0].offset = step(down).outputs[0].index == 0 ? first : second;
    return check_program(model.graph(), *program, meanings);
  };
  ASSERT_TRUE(check_with(1024, 512).ok());
  EXPECT_TRUE(check_with(528, 512).ok()) << "behind the vector";
  EXPECT_EQ(check_with(524, 512).code(), Code::internal) << "behind the result, and in its vector";
}

TEST(ElementSource, ElementsOfLayoutsAreFoundAgain) {
  const Shape shape{2, 5, 3, 4};
  for (const Layout& layout : {Layout::row_major(shape), Layout::channels_last(shape),
                               Layout::channel_blocked(shape, 4)}) {
    const TensorDesc desc{DType::f32, shape, layout};
    for (std::int64_t i = 0; i < shape.elements(); ++i)
      EXPECT_EQ(element_at(desc, byte_of(desc, i)), i);
  }
  const TensorDesc blocked{DType::f32, shape, Layout::channel_blocked(shape, 4)};
  EXPECT_EQ(element_at(blocked, byte_of(blocked, 4 * 12) + 4), std::nullopt) << "padding";
  EXPECT_EQ(element_at(blocked, 2), std::nullopt) << "the middle of an element";
}

TEST(ElementSource, FollowsCopies) {
  GraphBuilder g("copies");
  const Operand x = g.input("x", DType::f32, {2, 3});
  const Operand y = g.input("y", DType::f32, {2, 1});
  const Operand all = g.concat({x, y}, 1);                                        // [2,4]
  const Operand turned = g.transpose(all, {1, 0});                                // [4,2]
  const Operand back = g.slice(turned, {3}, {-5}, {.axes = {0}, .steps = {-2}});  // rows 3 and 1
  g.output("out", back);
  Model m = must(g.build());
  ElementSources sources(m.graph());
  const ValueId out = m.graph().outputs()[0];
  EXPECT_EQ(sources.origin({out, 0}), (Element{m.graph().inputs()[1], 0}));
  EXPECT_EQ(sources.origin({out, 1}), (Element{m.graph().inputs()[1], 1}));
  EXPECT_EQ(sources.origin({out, 2}), (Element{m.graph().inputs()[0], 1}));
  EXPECT_EQ(sources.origin({out, 3}), (Element{m.graph().inputs()[0], 4}));
}

// Of the greatest rank that there is.
TEST(ElementSource, FollowsAnExpand) {
  GraphBuilder g("expanded");
  const Operand x = g.input("x", DType::f32, {1, 1, 1, 1, 2, 1, 1, 3});
  g.output("out", g.op("Expand", {x, g.integers({1, 1, 1, 2, 2, 1, 2, 3})}));
  Model m = must(g.build());
  ElementSources sources(m.graph());
  const ValueId out = m.graph().outputs()[0];
  for (std::int64_t i = 0; i < 24; ++i)
    EXPECT_EQ(sources.origin({out, i}), (Element{m.graph().inputs()[0], i / 6 % 2 * 3 + i % 3}));
}

TEST(ElementSource, EndsWhereOnlyTheDataSaysMore) {
  GraphBuilder g("cut");
  const Operand x = g.input("x", DType::f32, {6});
  const Operand begin = g.input("begin", DType::i64, {1});
  g.output("out", g.op("Slice", {x, begin, g.integers({6})}));
  Model m = must(g.build());
  ElementSources sources(m.graph());
  const Element e{m.graph().outputs()[0], 0};
  for (int time = 0; time < 2; ++time) EXPECT_EQ(sources.source(e), std::nullopt);
}

}  // namespace
}  // namespace quern
