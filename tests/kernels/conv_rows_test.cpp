// SPDX-License-Identifier: Apache-2.0
// Convolutions by our own loops against the references.
#include "graph/ops/conv.h"
#include "kernels/cpu/conv_depthwise.h"
#include "tests/kernels/kernel_test.h"

namespace quern::testing {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;
using ::testing::StartsWith;

struct TransposeCase {
  Shape x, w;
  ConvTranspose op;
};

TEST(ConvTransposeKernel, WithoutOverlapIsCloseToTheReference) {
  const TransposeCase cases[] = {
      {{1, 5, 3, 4}, {5, 3, 2, 2}, {.window = {.strides = {2, 2}}}},
      {{2, 24, 7, 70}, {24, 1, 2, 2}, {.window = {.strides = {2, 2}}}},
      {{1, 9, 6, 5}, {9, 40, 3, 2}, {.window = {.strides = {3, 2}}}},
      {{3, 4, 60}, {4, 6, 4}, {.window = {.strides = {4}}}},
      {{1, 3, 2, 2}, {3, 2, 1, 1}, {}},
      {{1, 3, 4, 4},
       {3, 2, 2, 2},
       {.window = {.strides = {2, 2}, .auto_pad = AutoPad::same_upper}}},
  };
  RandomTensors random(1);
  for (const TransposeCase& c : cases)
    for (bool with_bias : {true, false}) {
      std::vector<Tensor> inputs = {random.floats(c.x), random.floats(c.w)};
      if (with_bias) inputs.push_back(random.floats({c.w[1]}));
      const SelectedRun got = run_selected(c.op, inputs, {1, 2});
      EXPECT_THAT(got.implementation, StartsWith("rows"));
      EXPECT_THAT(values<float>(got.outputs[0]),
                  Pointwise(FloatNear(5e-6f), values<float>(run(c.op, inputs))))
          << c.x.text() << " by " << c.w.text();
    }
}

TEST(ConvTransposeKernel, OverlapAndPadsAreForOthers) {
  RandomTensors random(1);
  const std::vector<Tensor> inputs = {random.floats({1, 16, 5, 5}), random.floats({16, 16, 3, 3})};
  for (const ConvTranspose& op :
       {ConvTranspose{.window = {.strides = {2, 2}}},
        ConvTranspose{.window = {.strides = {3, 3}, .pads = {1, 1, 1, 1}}},
        ConvTranspose{.window = {.strides = {3, 3}}, .output_padding = {1, 1}}}) {
    const SelectedRun got = run_selected(op, inputs, {1});
    EXPECT_THAT(got.implementation, ::testing::Not(StartsWith("rows")));
    EXPECT_THAT(values<float>(got.outputs[0]),
                Pointwise(FloatNear(5e-6f), values<float>(run(op, inputs))));
  }
}

// As at the end of a vocoder: one or two channels from overlapping windows.
TEST(ConvTransposeKernel, ByTapsIsCloseToTheReference) {
  const TransposeCase cases[] = {
      {{1, 18, 60}, {18, 1, 32}, {.window = {.strides = {8}}}},
      {{2, 18, 90}, {18, 2, 20}, {.window = {.strides = {6}, .pads = {7, 7}}}},
      {{1, 7, 33}, {7, 1, 16}, {.window = {.strides = {20}}}},  // with elements of no tap
      {{1, 7, 3}, {7, 1, 40}, {.window = {.strides = {3}, .pads = {39, 5}}}},
      {{1, 5, 200}, {5, 7, 5}, {.window = {.strides = {2}, .pads = {0, 3}}, .output_padding = {1}}},
      {{2, 6, 7, 50}, {6, 3, 4, 9}, {.window = {.strides = {3, 2}, .pads = {1, 4, 2, 0}}}},
      {{1, 6, 5, 9},
       {6, 2, 3, 12},
       {.window = {.strides = {1, 5}, .pads = {0, 0, 1, 1}, .dilations = {2, 1}}}},
      {{1, 9, 40, 30}, {9, 2, 2, 2}, {.window = {.strides = {1, 2}, .pads = {1, 0, 0, 1}}}},
      {{2, 11, 9, 40}, {11, 15, 4, 4}, {.window = {.strides = {2, 2}, .pads = {1, 1, 1, 1}}}},
      {{1, 4, 60, 3}, {4, 1, 9, 1}, {.window = {.strides = {2, 1}, .dilations = {3, 1}}}},
      {{1, 1, 1}, {1, 1, 64}, {.window = {.strides = {16}}}},
      {{1, 3, 40}, {3, 1, 5000}, {.window = {.strides = {100}}}},
  };
  RandomTensors random(1);
  for (const TransposeCase& c : cases)
    for (bool with_bias : {true, false}) {
      std::vector<Tensor> inputs = {random.floats(c.x), random.floats(c.w)};
      if (with_bias) inputs.push_back(random.floats({c.w[1]}));
      const auto reference = values<float>(run(c.op, inputs));
      const auto of_one = values<float>(run_selected(c.op, inputs, {1}, 1, 1).outputs[0]);
      for (int threads : {1, 2, 5}) {
        const SelectedRun got = run_selected(c.op, inputs, {1}, 1, threads);
        EXPECT_THAT(got.implementation, StartsWith("taps"));
        EXPECT_EQ(values<float>(got.outputs[0]), of_one) << threads << " threads";
        EXPECT_THAT(values<float>(got.outputs[0]), Pointwise(FloatNear(5e-5f), reference))
            << c.x.text() << " by " << c.w.text() << " with " << threads << " threads";
      }
    }
}

// Whatever oneDNN would take itself.
SelectedRun run_depthwise(const Conv& op, const std::vector<Tensor>& inputs) {
  return run_selected(op, inputs, {1}, 1, 2, {}, select_conv_depthwise);
}

TEST(ConvDepthwiseKernel, IsCloseToTheReference) {
  struct Case {
    Shape x, w;
    Window window;
  };
  const Case cases[] = {
      {{1, 128, 30, 1}, {128, 1, 20, 1}, {}},
      {{2, 5, 9, 8}, {5, 1, 3, 3}, {.strides = {2, 1}, .pads = {1, 2, 1, 0}}},
      {{1, 33, 40}, {33, 1, 5}, {.pads = {8, 8}, .dilations = {4}}},
      {{1, 16, 4, 4, 4}, {16, 1, 2, 3, 2}, {.pads = {1, 1, 1, 1, 1, 1}}},
      {{2, 24, 6, 14}, {24, 1, 3, 3}, {.pads = {1, 1, 1, 1}}},
      {{1, 7, 9, 21}, {7, 1, 5, 5}, {.strides = {2, 2}, .pads = {2, 2, 2, 2}}},
      {{1, 16, 3, 2}, {16, 1, 3, 3}, {.pads = {1, 1, 1, 1}}},
      {{1, 20, 2, 5}, {20, 1, 1, 5}, {.pads = {0, 4, 0, 4}}},
      {{1, 18, 40}, {18, 1, 3}, {.strides = {3}, .pads = {1, 1}}},
      {{1, 5, 1, 1}, {5, 1, 3, 3}, {.pads = {2, 2, 2, 2}}},
  };
  RandomTensors random(1);
  for (const Case& c : cases)
    for (bool with_bias : {true, false}) {
      const Conv op{.window = c.window, .group = c.w[0]};
      std::vector<Tensor> inputs = {random.floats(c.x), random.floats(c.w)};
      if (with_bias) inputs.push_back(random.floats({c.w[0]}));
      const SelectedRun got = run_depthwise(op, inputs);
      EXPECT_THAT(got.implementation, StartsWith("depthwise"));
      EXPECT_THAT(values<float>(got.outputs[0]),
                  Pointwise(FloatNear(5e-6f), values<float>(run(op, inputs))))
          << c.x.text() << " by " << c.w.text();
    }
}

}  // namespace
}  // namespace quern::testing
