// SPDX-License-Identifier: Apache-2.0
// Convolutions with memory to work in and without, against the reference.
#include <cmath>
#include <limits>

#include "engine/vocabulary/text_util.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/conv.h"
#include "kernels/contract/cuts.h"
#include "tests/graph/named_op.h"
#include "tests/kernels/kernel_test.h"

namespace quern::testing {
namespace {

using ::testing::AllOf;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pointwise;
using ::testing::StartsWith;

struct ConvChoice {
  const char* what;
  Shape x, w;
  Conv op;
};

const ConvChoice conv_choices[] = {
    {"what Winograd wins", {1, 64, 28, 28}, {64, 64, 3, 3}, {.window = {.pads = {1, 1, 1, 1}}}},
    {"1x1 with strides, whose source is gathered",
     {1, 96, 28, 28},
     {64, 96, 1, 1},
     {.window = {.strides = {2, 2}}}},
    {"depthwise", {1, 32, 20, 20}, {32, 1, 3, 3}, {.window = {.pads = {1, 1, 1, 1}}, .group = 32}},
};

TEST(ConvOneDnn, NoScratchWhereItIsNotWanted) {
  RandomTensors random(1);
  for (const ConvChoice& c : conv_choices) {
    const std::vector<Tensor> inputs = {random.floats(c.x), random.floats(c.w),
                                        random.floats({c.w[0]})};
    const auto reference = values<float>(run(c.op, inputs));
    for (const bool scratch : {true, false}) {
      const SelectedRun got = run_selected(c.op, inputs, {1, 2}, 1, 2, {}, nullptr, scratch);
      EXPECT_THAT(values<float>(got.outputs[0]), Pointwise(FloatNear(1e-4F), reference))
          << c.what << " by " << got.implementation;
      EXPECT_THAT(got.implementation, Not(StartsWith("reference"))) << c.what;
      if (scratch) continue;
      EXPECT_THAT(got.implementation, AllOf(Not(HasSubstr("wino")), Not(HasSubstr("gemm:"))));
      // Work that is cut into parts has its parts there.
      if (cuts_are_small()) continue;
      EXPECT_EQ(got.scratch_bytes, 0U) << c.what << " by " << got.implementation;
    }
  }
}

// Fused operators let NaN through. This test leaves out relu, clip and the hard sigmoid, which
// docs/adding-an-operator.md exempts.
// One product of matrices for each group is slow where they are small. Weights that are no
// constants have no other kernel.
TEST(ConvOneDnn, SmallGroupsAreNoProductsEach) {
  RandomTensors random(2);
  const ConvChoice choices[] = {
      {"points", {1, 24, 20, 20}, {112, 6, 1, 1}, {.group = 4}},
      {"windows", {2, 15, 9, 11}, {25, 3, 3, 3}, {.window = {.pads = {1, 1, 1, 1}}, .group = 5}},
      {"a row", {1, 21, 50}, {35, 3, 5}, {.window = {.strides = {2}}, .group = 7}}};
  for (const ConvChoice& c : choices)
    for (const bool are_constants : {true, false}) {
      const std::vector<Tensor> inputs = {random.floats(c.x), random.floats(c.w),
                                          random.floats({c.w[0]})};
      const auto reference = values<float>(run(c.op, inputs));
      const std::vector<std::size_t> constants =
          are_constants ? std::vector<std::size_t>{1, 2} : std::vector<std::size_t>{};
      const SelectedRun got = run_selected(c.op, inputs, constants);
      EXPECT_THAT(values<float>(got.outputs[0]), Pointwise(FloatNear(1e-4F), reference))
          << c.what << " by " << got.implementation;
      if (are_constants) {
        EXPECT_THAT(got.implementation, Not(HasSubstr("gemm"))) << c.what;
      }
    }
}

TEST(ConvOneDnn, PostOpsKeepNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Op op = Conv{};
  const std::vector<Tensor> inputs = {tensor<float>({1, 1, 1, 4}, {nan, nan, nan, nan}),
                                      tensor<float>({2, 1, 1, 1}, {1, 1})};
  const std::vector<Tensor> operands = {tensor<float>({1}, {2})};
  const auto expect_nan = [&](const PostOp& p, const std::string& text) {
    const SelectedRun got = run_selected(
        {.op = op, .inputs = inputs, .post_ops = {p}, .operands = operands, .constants = {1}});
    for (const float v : got.outputs[0].span<float>()) EXPECT_TRUE(std::isnan(v)) << text;
  };
  for (const std::string_view kind :
       {"leaky_relu", "elu", "tanh", "sigmoid", "abs", "sqrt", "exp", "gelu", "gelu_tanh", "swish",
        "neg", "affine", "mish", "hard_swish"})
    expect_nan(named("Unary", cat("kind=", kind, " alpha=0.5 beta=0.25")), std::string(kind));
  for (const BinaryKind kind : {BinaryKind::add, BinaryKind::sub, BinaryKind::mul, BinaryKind::div,
                                BinaryKind::min, BinaryKind::max})
    expect_nan(BinaryPostOp{kind, 0, false}, cat("binary ", static_cast<int>(kind)));
}

// Its code grows with what a window reaches, with padding and with the length of lines.
TEST(ConvOneDnn, OfShortCode) {
  const auto onednn = implementation_of(Conv::def(), "onednn-direct");
  if (!onednn) GTEST_SKIP() << "there is no oneDNN";
  RandomTensors random(7);
  const auto takes = [&](const Shape& x, const Shape& w, const Window& window) {
    const Op op = Conv{.window = window};
    const std::vector<Tensor> inputs = {random.floats(x), random.floats(w)};
    return !run_selected({.op = op, .inputs = inputs, .constants = {1}, .select = onednn})
                .implementation.empty();
  };
  EXPECT_TRUE(takes({1, 16, 50}, {16, 16, 3}, {.pads = {1, 1}}));
  EXPECT_FALSE(takes({1, 16, 50}, {16, 16, 3}, {.pads = {513, 1}}));
  EXPECT_FALSE(takes({1, 16, 50}, {16, 16, 3}, {.pads = {1, 513}}));
  EXPECT_FALSE(takes({1, 16, 5000}, {16, 16, 2}, {.dilations = {4096}}));
  EXPECT_TRUE(takes({1, 16, 4, 8192}, {16, 16, 3, 3}, {}));
  EXPECT_FALSE(takes({1, 16, 4, 8193}, {16, 16, 3, 3}, {}));
  EXPECT_TRUE(takes({1, 16, 4, 4, 60}, {16, 16, 3, 3, 3}, {}));
  EXPECT_FALSE(takes({1, 16, 4, 4, 1025}, {16, 16, 3, 3, 3}, {}));
}

// What would take long in one call, in which no deadline is seen, is left to kernels that ask.
TEST(ConvTransposeOneDnn, OfLittleWorkInOneCall) {
  const auto onednn = implementation_of(ConvTranspose::def(), "onednn");
  if (!onednn) GTEST_SKIP() << "there is no oneDNN";
  RandomTensors random(6);
  const auto takes = [&](const Shape& x, const Shape& w, std::int64_t group) {
    const Op op = ConvTranspose{.window = {.strides = {2, 2, 2}}, .group = group};
    const std::vector<Tensor> inputs = {random.floats(x), random.floats(w)};
    return !run_selected({.op = op, .inputs = inputs, .select = onednn}).implementation.empty();
  };
  EXPECT_TRUE(takes({1, 256, 9, 9, 9}, {256, 256, 3, 3, 3}, 1));  // 2.6e9 operations
  EXPECT_FALSE(takes({2, 256, 9, 9, 9}, {256, 256, 3, 3, 3}, 1));
  EXPECT_TRUE(takes({1, 8, 60, 60, 60}, {8, 1, 3, 3, 3}, 8));  // 4.7e7 columns
  EXPECT_FALSE(takes({1, 8, 64, 64, 64}, {8, 1, 3, 3, 3}, 8));
}

// The weights of each group lie apart; oneDNN gets them as they are, by strides.
TEST(ConvTransposeOneDnn, OfGroups) {
  const auto onednn = implementation_of(ConvTranspose::def(), "onednn");
  if (!onednn) GTEST_SKIP() << "there is no oneDNN";
  RandomTensors random(5);
  for (const std::int64_t group : {1, 2, 4}) {
    const Op op = ConvTranspose{.window = {.strides = {2, 2}}, .group = group};
    const std::vector<Tensor> inputs = {random.floats({2, 32, 9, 11}),
                                        random.floats({32, 64 / group, 3, 3})};
    const SelectedRun found = run_selected(
        {.op = op, .inputs = inputs, .constants = {1}, .threads = 1, .select = onednn});
    // 3.x has "brg_deconv:ISA+brgconv_strided:ISA" for one group, a name that no sweep has proved.
    if (group > 1 || !found.outputs.empty()) {
      EXPECT_THAT(found.implementation, StartsWith("onednn")) << group << " groups";
    }
    if (found.outputs.empty()) continue;
    EXPECT_THAT(values<float>(found.outputs[0]),
                Pointwise(FloatNear(1e-4F), values<float>(run(op, inputs))));
  }
}

}  // namespace
}  // namespace quern::testing
