// SPDX-License-Identifier: Apache-2.0
// Products with operands in half precision: by the matrices of a device that has them, by loops in
// their place (the same shaders otherwise) on any.
#include "tests/engine/vulkan/vulkan_test.h"

namespace quern {
namespace {

using quern::testing::compile;
using quern::testing::device_name;
using quern::testing::inputs_of;
using quern::testing::must;
using quern::testing::pattern;
using quern::testing::run;
using quern::testing::session_of;
using quern::testing::VulkanTest;

// Numbers that f16 has. Their products, and sums of two thousand of them in any order, f32 has.
Tensor exact(const Shape& shape, int seed) {
  Tensor t = must(Tensor::zeros({DType::f32, shape}));
  auto* data = reinterpret_cast<float*>(t.mutable_data());
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    data[i] = static_cast<float>((i * 37 + seed * 11) % 65 - 32) / 32.0F;
  return t;
}

// Products that steps follow, whose edges no tile meets, with weights that are and are not
// constant. One is of a convolution of so many `channels`.
Model products(std::int64_t channels) {
  GraphBuilder g("products");
  const auto weights = [&](const Shape& shape, int seed) { return g.constant(exact(shape, seed)); };
  const auto data = [&](const char* name, const Shape& shape) {
    return g.input(name, DType::f32, std::vector<Dimension>(shape.begin(), shape.end()));
  };
  const Operand x = data("x", {150, 72});
  g.output("constant", g.relu(g.add(g.matmul(x, weights({72, 130}, 1)), weights({130}, 2))));
  g.output("long", g.conv(data("l", {1, channels, 6, 7}), weights({40, channels, 3, 3}, 11)));
  g.output("odd", g.matmul(data("o", {37, 33}), weights({33, 41}, 3)));
  g.output("turned",
           g.matmul(data("t", {2, 3, 40, 17}), data("u", {3, 52, 17}), {.transpose_b = true}));
  g.output("labels",
           g.einsum("bihd,bjhd->bhij", {data("q", {2, 9, 3, 20}), data("k", {2, 11, 3, 20})}));
  const Operand image = data("image", {2, 12, 9, 11});
  const Operand y = g.conv(image, weights({40, 12, 3, 3}, 4), weights({40}, 5),
                           {.strides = {2, 1}, .pads = {1, 1, 1, 1}});
  g.output("conv", g.relu(g.add(y, data("z", {2, 40, 5, 11}))));
  g.output("points", g.conv(image, weights({37, 12, 1, 1}, 6)));
  g.output("first", g.conv(data("three", {1, 3, 9, 11}), weights({33, 3, 5, 4}, 7), {},
                           {.pads = {2, 0, 2, 3}}));
  g.output("groups", g.conv(data("twenty", {2, 20, 9, 11}), weights({36, 10, 2, 3}, 8),
                            weights({36}, 9), {.dilations = {3, 2}, .group = 2}));
  g.output("data", g.conv(data("eight", {2, 8, 9, 11}), data("w", {10, 8, 3, 3})));
  g.output("deep", g.conv(data("deep", {2, 4, 5, 6, 7}), weights({18, 4, 2, 3, 3}, 10), {},
                          {.strides = {1, 2, 1}, .pads = {1, 0, 1, 0, 1, 2}}));
  return must(g.build());
}

std::vector<Tensor> exact_inputs(const Executable& e) {
  std::vector<Tensor> inputs;
  for (const Tensor& t : inputs_of(e))
    inputs.push_back(exact(t.shape(), static_cast<int>(inputs.size())));
  return inputs;
}

// Steps of the plan whose kernel's name contains `part`.
std::size_t count(const Session& session, std::string_view part) {
  std::size_t n = 0;
  for (const StepInfo& s : session.plan_info().steps)
    n += s.implementation.find(part) != s.implementation.npos;
  return n;
}

bool has_matrices() {
  for (const auto& [key, value] : must(open_device("vulkan"))->info().properties)
    if (key == "features") return value.find("cooperative-matrix") != value.npos;
  return false;
}

// The same bytes as without rounding, by every candidate, of numbers that lose nothing by it.
void expect_exact(const std::string& options, std::string_view shader, std::size_t candidates,
                  std::int64_t channels) {
  const auto plain = session_of(compile(products(channels), device_name() + ",as-hardware"));
  const auto inputs = exact_inputs(plain->executable());
  const auto wanted = run(*plain, inputs);
  EXPECT_EQ(count(*plain, "cooperative"), 0U) << "nobody asked for it";
  for (std::size_t i = 0; i <= candidates; ++i) {
    const std::string device =
        device_name() + options + (i > 0 ? ",candidate=" + std::to_string(i) : std::string());
    SCOPED_TRACE(device);
    const auto session = session_of(compile(products(channels), device));
    const auto found = run(*session, inputs);
    EXPECT_EQ(count(*session, shader), 11U);
    for (std::size_t k = 0; k < wanted.size(); ++k)
      EXPECT_EQ(found[k], wanted[k]) << session->executable().outputs()[k].name;
  }
}

TEST_F(VulkanTest, MatricesInLoopsMultiplyExactly) {
  // Loops of lavapipe end after some 60,000 rounds.
  expect_exact(",as-hardware,emulate-matrices,f16", "cooperative_emulated", 1, 72);
}

TEST_F(VulkanTest, MatricesOfTheDeviceMultiplyExactly) {
  if (!has_matrices()) GTEST_SKIP() << "the device has no cooperative matrices";
  // In software each candidate takes minutes to be compiled for.
  const bool is_software = must(open_device("vulkan"))->info().build == DeviceInfo::Build::software;
  constexpr std::int64_t enough_to_split = 160;  // sums
  expect_exact(",as-hardware,f16", "cooperative", is_software ? 0 : 3, enough_to_split);
  const auto without = session_of(
      compile(products(enough_to_split), device_name() + ",as-hardware,f16,no-cooperative-matrix"));
  run(*without, exact_inputs(without->executable()));
  EXPECT_EQ(count(*without, "cooperative"), 0U);
}

// Few rows: what takes time is to read the weights, with or without matrices of the device.
TEST_F(VulkanTest, WeightsOfFewRowsAreHalves) {
  const auto few = [](const std::string& options) {
    GraphBuilder g("few");
    g.output("y",
             g.relu(g.matmul(g.input("x", DType::f32, {3, 200}), g.constant(exact({200, 42}, 1)))));
    g.output("z",
             g.conv(g.input("p", DType::f32, {1, 96, 1, 2}), g.constant(exact({24, 96, 1, 1}, 2))));
    return session_of(compile(must(g.build()), device_name() + ",as-hardware" + options));
  };
  const auto whole = few("");
  const auto halves = few(",f16,no-cooperative-matrix");
  const auto inputs = exact_inputs(whole->executable());
  const auto wanted = run(*whole, inputs);
  EXPECT_EQ(run(*halves, inputs), wanted) << "they lose nothing";
  for (const auto* s : {whole.get(), halves.get()}) EXPECT_EQ(count(*s, "few"), 2U);
  EXPECT_EQ(2 * halves->plan_info().weight_bytes, whole->plan_info().weight_bytes);
}

// x [80, 48] -> y [80, 40], computed in `type`.
Model dense(DType type) {
  GraphBuilder g("dense");
  const Operand x = g.cast(g.input("x", DType::f32, {80, 48}), type);
  const Operand w = g.cast(g.constant(pattern({48, 40}, 5)), type);
  g.output("y", g.cast(g.matmul(x, w), DType::f32));
  return must(g.build());
}

// Whether the model's one product is of matrices of halves.
bool rounds(DType type, const std::string& options) {
  const auto session = session_of(compile(dense(type), device_name() + options));
  run(*session, {pattern({80, 48})});
  return count(*session, "cooperative") == 1;
}

TEST_F(VulkanTest, RoundsWhereTheModelDoesOrTheUserWants) {
  const std::string matrices = ",as-hardware,emulate-matrices";
  EXPECT_TRUE(rounds(DType::f16, matrices));
  EXPECT_FALSE(rounds(DType::f32, matrices));
  EXPECT_FALSE(rounds(DType::bf16, matrices)) << "f16 has fewer powers";
  EXPECT_TRUE(rounds(DType::f32, matrices + ",f16"));
  EXPECT_FALSE(rounds(DType::f16, ",emulate-matrices")) << "slower, in software";
}

TEST_F(VulkanTest, RoundsOperandsAndNothingElse) {
  const Tensor x = pattern({80, 48});
  const auto on_cpu = session_of(compile(dense(DType::f32)));
  const auto wanted = run(*on_cpu, {x});
  const auto halves =
      session_of(compile(dense(DType::f32), device_name() + ",as-hardware,emulate-matrices,f16"));
  const auto found = run(*halves, {x});
  double most = 0;
  for (std::size_t i = 0; i < wanted[0].size(); i += 4) {
    float a = 0, b = 0;
    std::memcpy(&a, found[0].data() + i, 4);
    std::memcpy(&b, wanted[0].data() + i, 4);
    most = std::max(most, std::abs(double{a} - b));
  }
  // 48 products of at most a quarter, of two factors that are each off by 2^-11 of theirs.
  EXPECT_LT(most, 48 * 0.25 * 2 / 2048);
  EXPECT_GT(most, 1e-6) << "nothing was rounded";
}

}  // namespace
}  // namespace quern
