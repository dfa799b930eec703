// SPDX-License-Identifier: Apache-2.0
// CompileOptions::math: products in bf16 where the CPU has units for that, else the same as f32.
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/contract/bf16.h"
#include "tests/engine/every_device.h"

namespace quern::testing {
namespace {

std::size_t steps_in_bf16(const Session& session) {
  std::size_t n = 0;
  for (const StepInfo& s : session.plan_info().steps)
    n += s.op != "Cast" && s.op != "Bf16Parts" && s.shapes.find("bf16") != s.shapes.npos;
  return n;
}

// The root of the mean square of the difference, by that of the numbers.
double relative_difference(const std::vector<std::byte>& got,
                           const std::vector<std::byte>& wanted) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < wanted.size(); i += sizeof(float)) {
    float g = 0;
    float w = 0;
    std::memcpy(&g, got.data() + i, sizeof g);
    std::memcpy(&w, wanted.data() + i, sizeof w);
    difference += std::pow(g - w, 2);
    size += std::pow(w, 2);
  }
  return std::sqrt(difference / size);
}

Model layers() {
  GraphBuilder g("layers");
  const Operand x = floats(g, "x", {1, 3, 32, 32});
  const Operand a =
      g.relu(g.conv(x, weights(g, {32, 3, 3, 3}, 1), weights(g, {32}, 2), {.pads = {1, 1, 1, 1}}));
  const Operand b =
      g.conv(a, weights(g, {32, 32, 3, 3}, 3), weights(g, {32}, 4), {.pads = {1, 1, 1, 1}});
  const Operand c = g.relu(g.add(b, a));
  const Operand d = g.conv(c, weights(g, {32, 1, 3, 3}, 5), {}, {.group = 32});
  g.output("pixels", g.conv(d, weights(g, {48, 32, 1, 1}, 6)));
  const Operand rows = g.reshape(c, {32, 1024});
  g.output("rows", g.matmul(rows, weights(g, {1024, 64}, 7)));
  return must(g.build());
}

TEST(Math, Bf16RoundsProductsWhereTheCpuHasUnitsForThem) {
  const auto exact = must(Executable::compile(layers(), nullptr));
  const auto rounded = must(Executable::compile(layers(), nullptr, {.math = Math::bf16}));
  const auto inputs = inputs_of(*exact);
  const auto session = session_of(rounded);
  const auto got = run(*session, inputs);
  const auto wanted = run(*session_of(exact), inputs);
  ASSERT_EQ(got.size(), wanted.size());
  // Two convolutions, the 1x1 and the product; depthwise ones stay f32.
  EXPECT_EQ(steps_in_bf16(*session), has_bf16_units() ? 4U : 0U);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(got[i].size(), wanted[i].size());
    const double difference = relative_difference(got[i], wanted[i]);
    EXPECT_LT(difference, 0.02);
    if (has_bf16_units())
      EXPECT_GT(difference, 0);
    else
      EXPECT_EQ(got[i], wanted[i]);
  }
}

// Large enough for three products of bf16: 1x1 by many channels, 3x3 with a residual, and rows.
Model wide_layers() {
  GraphBuilder g("wide");
  const Operand x = floats(g, "x", {1, 64, 24, 24});
  const Operand a = g.relu(g.conv(x, weights(g, {128, 64, 1, 1}, 1), weights(g, {128}, 2)));
  const Operand b = g.conv(a, weights(g, {128, 128, 3, 3}, 3), {}, {.pads = {1, 1, 1, 1}});
  g.output("pixels", g.relu(g.add(b, a)));
  g.output("rows", g.gelu(g.matmul(g.reshape(x, {64, 576}), weights(g, {576, 128}, 7))));
  return must(g.build());
}

TEST(Math, Bf16x3KeepsSixteenBits) {
  const auto exact = must(Executable::compile(wide_layers(), nullptr));
  const auto inputs = inputs_of(*exact);
  const auto wanted = run(*session_of(exact), inputs);
  for (const Math math : {Math::bf16x3, Math::automatic}) {
    const auto session =
        session_of(must(Executable::compile(wide_layers(), nullptr, {.math = math})));
    const auto got = run(*session, inputs);
    EXPECT_EQ(steps_in_bf16(*session), has_bf16_units() ? 3U : 0U);
    for (const StepInfo& s : session->plan_info().steps)
      EXPECT_NE(s.implementation, "reference") << s.node << " " << s.op << " " << s.shapes;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_LT(relative_difference(got[i], wanted[i]), 3e-5) << exact->outputs()[i].name;
      EXPECT_EQ(got[i] == wanted[i], !has_bf16_units());
    }
  }
}

// Deep sums of few numbers are what a library may split among threads.
TEST(Math, BitsAreTheSameForAnyNumberOfThreads) {
  const auto answers = [](Math math, int threads) {
    GraphBuilder g("deep");
    if (math == Math::f32) {  // in bf16 the bits of a MatMul may depend on it
      const Operand x = floats(g, "x", {2, 16384});
      g.output("few", g.matmul(x, weights(g, {16384, 48}, 1)));
    }
    const Operand pixels = floats(g, "pixels", {1, 512, 4, 4});
    g.output("deep", g.conv(pixels, weights(g, {32, 512, 3, 3}, 2), {}, {.pads = {1, 1, 1, 1}}));
    const auto executable =
        must(Executable::compile(must(g.build()), nullptr, {.threads = threads, .math = math}));
    const auto session = session_of(executable);
    auto outputs = run(*session, inputs_of(*executable));
    EXPECT_EQ(steps_in_bf16(*session), math == Math::bf16 && has_bf16_units() ? 1U : 0U);
    return outputs;
  };
  for (const Math math : {Math::f32, Math::bf16}) {
    const auto one = answers(math, 1);
    const auto two = answers(math, 2);
    for (std::size_t i = 0; i < one.size(); ++i)
      EXPECT_TRUE(one[i] == two[i]) << "math " << static_cast<int>(math) << ", output " << i;
  }
}

// The families that every device is held to, with the precision that is left.
TEST(Math, EveryFamilyInBf16IsCloseToItselfInF32) {
  for (const Family& family : all_families()) {
    SCOPED_TRACE(family.name);
    const auto exact = must(Executable::compile(family.make(), nullptr));
    const auto rounded = must(Executable::compile(family.make(), nullptr, {.math = Math::bf16}));
    const auto inputs = inputs_of(*exact);
    const auto session = session_of(rounded);
    const auto got = run(*session, inputs);
    if (steps_in_bf16(*session) == 0) continue;
    const auto wanted = run(*session_of(exact), inputs);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (exact->outputs()[i].dtype == DType::f32) {
        EXPECT_LT(relative_difference(got[i], wanted[i]), 0.03) << exact->outputs()[i].name;
      }
    }
    for (const StepInfo& s : session->plan_info().steps)
      EXPECT_NE(s.implementation, "reference") << s.node << " " << s.op << " " << s.shapes;
  }
}

TEST(Math, IsOfTheCpuAndOfRewritesAlone) {
  const auto count = [](std::shared_ptr<Device> device, const CompileOptions& options) {
    const auto executable = must(Executable::compile(layers(), std::move(device), options));
    const auto session = session_of(executable);
    run(*session, inputs_of(*executable));
    return steps_in_bf16(*session);
  };
  EXPECT_EQ(count(nullptr, {.optimize = false, .math = Math::bf16}), 0U);
  EXPECT_EQ(count(must(open_device("reference")), {.math = Math::bf16}), 0U);
}

TEST(Math, HasFourNames) {
  EXPECT_EQ(must(math_named("f32")), Math::f32);
  EXPECT_EQ(must(math_named("bf16")), Math::bf16);
  EXPECT_EQ(must(math_named("bf16x3")), Math::bf16x3);
  EXPECT_EQ(must(math_named("auto")), Math::automatic);
  EXPECT_EQ(math_named("f16").error().message(),
            "no math 'f16', there is f32, bf16, bf16x3 and auto");
  EXPECT_EQ(math_named("").error().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace quern::testing
