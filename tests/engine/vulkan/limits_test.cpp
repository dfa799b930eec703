// SPDX-License-Identifier: Apache-2.0
// Devices that give less in one piece, or bind less, than whole tensors take: rows of chains at a
// time, with the numbers of the CPU, under the validation layer where it is installed.
#include <string>
#include <vector>

#include "tests/engine/engine_models.h"
#include "tests/engine/vulkan/vulkan_test.h"
#include "tests/expect.h"

namespace quern::testing {
namespace {

Operand conv3(GraphBuilder& g, Operand x, std::int64_t in, std::int64_t out, int seed) {
  return g.relu(g.conv(x, weights(g, {out, in, 3, 3}, seed), weights(g, {out}, seed + 1),
                       {.pads = {1, 1, 1, 1}}));
}

// Images [batch, 3, 48, 40], of which the last results are as large as themselves: wide in the
// middle (16 channels: 122,880 bytes an image), with a branch that is joined by channels.
Model wide_model(std::int64_t batch = 1) {
  GraphBuilder g("wide");
  const Operand x = g.input("x", DType::f32, {batch, 3, 48, 40});
  Operand y = conv3(g, x, 3, 16, 1);
  y = g.concat({conv3(g, y, 16, 8, 3), g.sigmoid(conv3(g, y, 16, 8, 5))}, 1);
  y = g.max_pool(conv3(g, y, 16, 16, 7), {3, 3}, {.pads = {1, 1, 1, 1}});
  g.output("y", conv3(g, y, 16, 3, 9));
  return must(g.build());
}

// The same in front of what reads all of the map at once.
Model pooled_model() {
  GraphBuilder g("pooled");
  Operand y = conv3(g, g.input("x", DType::f32, {1, 3, 48, 40}), 3, 16, 1);
  y = conv3(g, conv3(g, y, 16, 16, 3), 16, 16, 5);
  g.output("y", g.matmul(g.flatten(g.global_average_pool(y)), weights(g, {16, 10}, 7)));
  return must(g.build());
}

class VulkanLimits : public VulkanTest {
 protected:
  // Runs on the device with these options, and expects the numbers of the CPU.
  static PlanInfo expect_like_cpu(const Model& model, const std::string& options) {
    SCOPED_TRACE(options);
    const auto session = session_of(compile(model.clone(), device_name() + options));
    const auto cpu = session_of(compile(model.clone()));
    const auto inputs = inputs_of(cpu->executable());
    const auto found = run(*session, inputs);
    const auto wanted = run(*cpu, inputs);
    for (std::size_t i = 0; i < wanted.size(); ++i) expect_close(found[i], wanted[i], DType::f32);
    EXPECT_EQ(run(*session, inputs), found);
    return session->plan_info();
  }
};

// Input and output are as small as a fifth of the largest value, and larger than a binding.
TEST_F(VulkanLimits, NothingThatIsBoundIsLargerThanABinding) {
  const PlanInfo whole = expect_like_cpu(wide_model(), ",strict");
  for (const char* range : {"100000", "40000", "16000"}) {
    const PlanInfo cut = expect_like_cpu(wide_model(), std::string(",strict,max-range=") + range);
    EXPECT_GT(cut.steps.size(), whole.steps.size());
    EXPECT_TRUE(cut.fallbacks.empty());
  }
}

TEST_F(VulkanLimits, AnArenaIsNoLargerThanAnAllocation) {
  const std::size_t whole = expect_like_cpu(wide_model(), ",strict").arena_bytes;
  for (const std::size_t most : {whole - 256, whole * 3 / 4, whole / 2}) {
    const PlanInfo cut =
        expect_like_cpu(wide_model(), ",strict,max-allocation=" + std::to_string(most));
    EXPECT_LE(cut.arena_bytes, most);
  }
  EXPECT_EQ(expect_like_cpu(wide_model(), ",max-allocation=" + std::to_string(whole)).steps.size(),
            expect_like_cpu(wide_model(), "").steps.size());
}

TEST_F(VulkanLimits, BothAtOnce) {
  const std::size_t whole = expect_like_cpu(wide_model(), "").arena_bytes;
  const std::string both = ",max-range=40000,max-allocation=" + std::to_string(whole / 2);
  const PlanInfo cut = expect_like_cpu(wide_model(), ",strict" + both);
  EXPECT_LE(cut.arena_bytes, whole / 2);
  EXPECT_TRUE(cut.fallbacks.empty());
  expect_like_cpu(wide_model(), ",no-host-visible" + both);
}

// Rows of several images are not in one range of memory.
TEST_F(VulkanLimits, OfBatches) {
  expect_like_cpu(wide_model(3), ",max-range=100000");
  expect_like_cpu(wide_model(3), ",max-allocation=600000");
}

// All but what reads a whole map runs on the device: before, whatever read or made one did not.
TEST_F(VulkanLimits, WhatNoStripesMakeSmallerIsTheCpus) {
  const auto device = device_name() + ",max-range=16000";
  const PlanInfo cut = expect_like_cpu(pooled_model(), ",max-range=16000");
  ASSERT_EQ(cut.fallbacks.size(), 1U);
  EXPECT_CONTAINS(cut.fallbacks[0], "(Pool)");
  const auto strict = Executable::compile(pooled_model(), must(open_device(device + ",strict")));
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().code(), Code::unsupported);
  EXPECT_CONTAINS(std::string(strict.error().message()), "1 nodes have no kernel for the device");
}

// A weight is as large in stripes.
TEST_F(VulkanLimits, AreNotMetForTheSakeOfWeights) {
  GraphBuilder g("weights");
  const Operand x = g.input("x", DType::f32, {8, 64});
  g.output("y", g.relu(g.matmul(g.tanh(x), weights(g, {64, 64}, 1))));
  const Model model = must(g.build());
  const PlanInfo cut = expect_like_cpu(model, ",max-range=8000");
  EXPECT_EQ(cut.fallbacks.size(), 1U);
  EXPECT_EQ(cut.steps.size(), expect_like_cpu(model, ",cpu=MatMul").steps.size());
}

TEST_F(VulkanLimits, AreInTheErrorOfWhatCannotMeetThem) {
  const auto device = must(open_device(device_name() + ",max-allocation=20000"));
  const auto refused = Executable::compile(wide_model(), device);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::out_of_memory);
  const std::string text(refused.error().message());
  EXPECT_CONTAINS(text, "of arena on the device, which gives at most 19968 in one piece");
  EXPECT_CONTAINS(text, "the smallest arena, in stripes of rows, has ");
}

// An input that goes up as it is, and an output that comes down so, where the host changes the
// layout of what is too large to be bound.
TEST_F(VulkanLimits, LayoutsOfLargeTensorsAreTheHosts) {
  GraphBuilder g("turned");
  const Operand x = g.input("x", DType::f32, {1, 6, 32, 20});
  Operand y = g.conv(x, weights(g, {6, 6, 1, 1}, 1));
  g.output("y", y);
  g.output("turned", g.transpose(y, {0, 3, 2, 1}));
  expect_like_cpu(must(g.build()), ",max-range=9000");
}

// Many elements at one place: they come down as they lie.
TEST_F(VulkanLimits, AnExpandedTensorComesDownAsItIs) {
  GraphBuilder g("expanded");
  const Operand x = g.input("x", DType::f32, {4, 1, 5});
  const Operand wide = g.expand(g.tanh(x), {4, 200, 5});
  g.output("y", g.transpose(wide, {2, 0, 1}));
  g.output("sum", g.reduce("sum", wide, {0, 1}));
  expect_like_cpu(must(g.build()), ",max-range=2000");
}

// A join along rows that is larger than a binding, read by rows again.
TEST_F(VulkanLimits, JoinsBindTheirParts) {
  GraphBuilder g("join");
  const Operand x = g.input("x", DType::f32, {1, 4, 30, 10});
  const Operand z = g.input("z", DType::f32, {1, 4, 34, 10});
  const auto one = [&](Operand v, int seed) { return conv3(g, v, 4, 5, seed); };
  g.output("y", g.concat({one(x, 1), one(z, 3)}, 2));
  const Model model = must(g.build());
  const PlanInfo cut = expect_like_cpu(model, ",max-range=7000,strict");
  EXPECT_TRUE(cut.fallbacks.empty());
}

}  // namespace
}  // namespace quern::testing
