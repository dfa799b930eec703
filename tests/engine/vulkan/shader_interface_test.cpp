// SPDX-License-Identifier: Apache-2.0
// The dispatches of kernels must fit what the shaders declare: bindings, push constants,
// specialisation constants. They come from lowering whole models for a device that does not exist.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "engine/devices/cpu/weights.h"
#include "engine/devices/vulkan/roof.h"
#include "engine/devices/vulkan/spirv_interface.h"
#include "engine/planning/lower.h"
#include "graph/passes/pipeline.h"
#include "tests/engine/all_families.h"
#include "tests/engine/paper_device.h"

#include "shaders/shaders.h"

namespace quern {
namespace {

using testing::PaperBackend;
using vulkan::SpirvInterface;

// Calls f with the operation and the words of every instruction of a SPIR-V module.
template <class F>
void each_instruction(std::span<const std::uint32_t> words, const F& f) {
  for (std::size_t at = 5; at < words.size();) {
    const std::uint32_t count = words[at] >> 16;
    ASSERT_GT(count, 0U);
    f(words[at] & 0xffff, words.subspan(at, count));
    at += count;
  }
}

// A kind of device has a name and the ending of the shaders that only this kind runs.
struct Kind {
  const char* name;
  std::string_view ending;

  GpuTarget target() const {
    GpuTarget t;
    t.software = ending.empty();
    t.subgroup_size = t.software ? 8 : 32;
    t.shared_bytes = 32 << 10;
    t.storage_8bit = t.storage_16bit = t.int64 = t.float64 = t.integer_dot = true;
    t.half_products = name != std::string_view("Hardware");
    t.units = t.half_products ? 1 : 8;  // of one, no product is too small
    if (t.half_products) t.matrices = {16, 16, 16, ending.ends_with("emulated")};
    return t;
  }
};
void PrintTo(const Kind& kind, std::ostream* to) {
  *to << kind.name;
}
constexpr std::array kinds = {Kind{"Software", ""}, Kind{"Hardware", "_tiled"},
                              Kind{"Matrices", "_cooperative"},
                              Kind{"Emulation", "_cooperative_emulated"}};

bool runs(const Kind& kind, std::string_view shader) {
  if (shader == "matmul_few") return !kind.ending.empty();
  // The families' sums are too short for matrices to be faster in parts.
  if (shader == "product_sum") return kind.ending == "_tiled";
  return std::ranges::none_of(kinds, [&](const Kind& k) {
    return !k.ending.empty() && k.ending != kind.ending && shader.ends_with(k.ending);
  });
}

void expect_fit(const Dispatch& d, const SpirvInterface& i, const GpuTarget& target) {
  SCOPED_TRACE(d.shader);
  // Every binding has its buffer.
  EXPECT_EQ(d.buffers.size(), i.bindings.size());
  ASSERT_EQ(*i.bindings.rbegin() + 1, d.buffers.size());
  // Barriers and validation go by what may be written, also where nothing is.
  for (std::uint32_t b = 0; b < d.buffers.size(); ++b)
    EXPECT_EQ(d.buffers[b].written, i.written.contains(b)) << "binding " << b;
  EXPECT_EQ(d.push.size() * 4, i.push_bytes);
  EXPECT_LE(d.push.size(), 32U);
  ASSERT_FALSE(i.constants.empty());
  EXPECT_LE(d.constants.size(), *i.constants.rbegin() + 1);
  for (std::uint32_t g : d.groups) EXPECT_GT(g, 0U);
  for (std::uint32_t g : d.groups) EXPECT_LE(g, target.max_groups);
  EXPECT_LE(d.constants.at(i.width_constant), target.max_invocations);
}

// With those that may run in their place.
std::vector<Dispatch> forms_of(const std::vector<Dispatch>& dispatches) {
  std::vector<Dispatch> all;
  for (const Dispatch& d : dispatches) {
    all.push_back(d);
    all.insert(all.end(), d.candidates.begin(), d.candidates.end());
  }
  return all;
}

std::map<std::string_view, SpirvInterface> interfaces_of_all() {
  std::map<std::string_view, SpirvInterface> interfaces;
  for (const Shader& s : shaders()) interfaces[s.name] = vulkan::read_spirv(s.words()).value();
  return interfaces;
}

auto lowered(const quern::testing::Family& family, cpu::SharedWeights& weights,
             PaperBackend& backend) {
  Model model = family.make();
  EXPECT_TRUE(run_passes(model.graph()).ok());
  return lower(model.graph(), {.weights = &weights, .backend = &backend});
}

// Vulkan leaves remainders of negative numbers undefined, and NVIDIA's driver takes another sign
// than lavapipe does: shaders divide unsigned numbers.
TEST(Shaders, TakeNoRemainderOfSignedNumbers) {
  enum : std::uint32_t { op_signed_remainder = 138, op_signed_modulo = 139 };
  for (const Shader& s : shaders())
    each_instruction(s.words(), [&](std::uint32_t op, auto) {
      EXPECT_NE(op, op_signed_remainder) << s.name;
      EXPECT_NE(op, op_signed_modulo) << s.name;
    });
}

class ShaderInterface : public ::testing::TestWithParam<Kind> {};

TEST_P(ShaderInterface, FitsEveryDispatch) {
  auto interfaces = interfaces_of_all();
  PaperBackend backend(GetParam().target());
  cpu::SharedWeights weights;
  std::set<std::string_view> used;
  for (const quern::testing::Family& family : testing::all_families()) {
    SCOPED_TRACE(family.name);
    const auto program = lowered(family, weights, backend);
    ASSERT_TRUE(program) << program.error().message();
    EXPECT_TRUE((*program)->fallbacks.empty()) << (*program)->fallbacks.front();
    for (const Step& step : (*program)->steps) {
      for (const Dispatch& d : forms_of(step.dispatches)) {
        ASSERT_TRUE(interfaces.contains(d.shader)) << d.shader;
        used.insert(d.shader);
        expect_fit(d, interfaces[d.shader], backend.target());
      }
    }
  }
  const Dispatch roof = vulkan::roof_dispatch(64, backend.target());
  used.insert(roof.shader);
  expect_fit(roof, interfaces[roof.shader], backend.target());
  for (const Shader& s : shaders())
    EXPECT_EQ(used.contains(s.name), runs(GetParam(), s.name)) << s.name;
}

// A recurrent layer of more units than a workgroup has invocations, and a product with one row and
// more columns than these workgroups have.
void wide_layer(GraphBuilder& g) {
  g.output("product",
           g.matmul(testing::floats(g, "row", {1, 64}), testing::weights(g, {64, 4000}, 3)));
  const Operand x = testing::floats(g, "x", {3, 1, 8});
  g.output("y", g.rnn(x, testing::weights(g, {1, 136, 8}, 1), testing::weights(g, {1, 136, 136}, 2),
                      136)[0]);
}

// Devices whose limits the families' small tensors reach: what does not fit is left to the CPU.
TEST_P(ShaderInterface, KeepsToSmallLimits) {
  auto interfaces = interfaces_of_all();
  for (const std::uint32_t most : {24U, 32U, 48U}) {
    SCOPED_TRACE(most);
    GpuTarget target = GetParam().target();
    target.max_groups = most;
    target.max_invocations = 128;  // the least that Vulkan allows
    target.max_iterations = 10 * most;
    PaperBackend backend(target);
    cpu::SharedWeights weights;
    std::vector<quern::testing::Family> families = testing::all_families();
    families.push_back({"wide layer", wide_layer});
    for (const quern::testing::Family& family : families) {
      SCOPED_TRACE(family.name);
      const auto program = lowered(family, weights, backend);
      ASSERT_TRUE(program) << program.error().message();
      for (const Step& step : (*program)->steps)
        for (const Dispatch& d : forms_of(step.dispatches))
          expect_fit(d, interfaces[d.shader], target);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ShaderInterface, ::testing::ValuesIn(kinds),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace quern
