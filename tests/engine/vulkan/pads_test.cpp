// SPDX-License-Identifier: Apache-2.0
// Every way to cut and extend a short dimension, in each mode: a shader gives what the reference
// gives, also where nothing is left of a dimension of 1.
#include <string>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "tests/engine/vulkan/vulkan_test.h"

namespace quern {
namespace {

using quern::testing::compile;
using quern::testing::device_name;
using quern::testing::must;
using quern::testing::pattern;
using quern::testing::run;
using quern::testing::session_of;

struct PadCase {
  std::string name;
  std::int64_t size, begin, end;
};

std::vector<PadCase> pads_in(const std::string& mode) {
  std::vector<PadCase> cases;
  for (const std::int64_t size : {1, 2, 4})
    for (std::int64_t begin = -2; begin <= 3; ++begin)
      for (std::int64_t end = -2; end <= 3; ++end) {
        const std::int64_t kept =
            size + std::min<std::int64_t>(begin, 0) + std::min<std::int64_t>(end, 0);
        const bool is_empty = size + begin + end <= 0;
        if (is_empty || kept < (mode == "constant" ? 0 : 1)) continue;
        cases.push_back({cat(mode, " of ", size, ", ", begin, ", ", end), size, begin, end});
      }
  return cases;
}

class Pads : public quern::testing::VulkanTest,
             public ::testing::WithParamInterface<const char*> {};

TEST_P(Pads, CutFirstAndExtendWhatIsLeft) {
  const std::string mode = GetParam();
  GraphBuilder g("pads");
  std::vector<Operand> inputs;
  for (const std::int64_t size : {1, 2, 4})
    inputs.push_back(g.input(cat("x", size), DType::f32, {2, size, 3}));
  const auto cases = pads_in(mode);
  for (const PadCase& c : cases)
    g.output(c.name, g.op("Pad",
                          {inputs[static_cast<std::size_t>(c.size / 2)],
                           g.integers({1, c.begin, 0, 0, c.end, 0})},
                          "mode=" + mode));
  const Model model = must(g.build());
  std::vector<Tensor> tensors;
  for (const std::int64_t size : {1, 2, 4}) tensors.push_back(pattern({2, size, 3}));
  const auto on = [&](const std::string& device) {
    return run(*session_of(compile(model.clone(), device)), tensors);
  };
  const auto wanted = on("reference");
  const auto got = on(device_name());
  for (std::size_t i = 0; i < cases.size(); ++i) EXPECT_EQ(got[i], wanted[i]) << cases[i].name;
}

INSTANTIATE_TEST_SUITE_P(Modes, Pads, ::testing::Values("constant", "edge", "wrap", "reflect"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace quern
