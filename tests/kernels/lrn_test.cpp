// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/lp_norm.h"
#include "kernels/cpu/lrn_rows.h"
#include "tests/expect.h"
#include "tests/kernels/kernel_test.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;

TEST(Lrn, SumsOverNeighbouringChannels) {
  // With alpha = size and beta = 1: x / (1 + sum of squares of the channel and its neighbours).
  const Tensor x = tensor<float>({1, 3, 2}, {1, 0, 2, 1, 3, 1});
  const Tensor y = run(Lrn{.size = 3, .alpha = 3, .beta = 1}, {x});
  EXPECT_ELEMENTS(values<float>(y), 1.0f / 6, 0, 2.0f / 15, 1.0f / 3, 3.0f / 14, 1.0f / 3);
}

TEST(Lrn, AnEvenWindowReachesFurtherBehind) {
  const Tensor x = tensor<float>({1, 3}, {1, 2, 3});
  const Tensor y = run(Lrn{.size = 2, .alpha = 2, .beta = 1, .bias = 0}, {x});
  EXPECT_ELEMENTS(values<float>(y), 1.0f / 5, 2.0f / 13, 3.0f / 9);
}

TEST(Lrn, BetaIsAPower) {
  const Tensor y =
      run(Lrn{.size = 1, .alpha = 1, .beta = 0.5f, .bias = 7}, {tensor<float>({1, 1}, {3})});
  EXPECT_ELEMENTS(values<float>(y), 0.75f);
}

TEST(Lrn, WindowsWiderThanTheTensorAndEmptyTensors) {
  const Tensor y = run(Lrn{.size = INT64_MAX, .alpha = 0, .beta = 1, .bias = 2},
                       {tensor<double>({1, 2}, {4, 6})});
  EXPECT_ELEMENTS(values<double>(y), 2, 3);
  EXPECT_EQ(run(Lrn{}, {tensor<float>({1, 0, 2}, {})}).shape(), Shape({1, 0, 2}));
}

TEST(Lrn, RefusesWhatDoesNotFit) {
  const Tensor x = tensor<float>({1, 1}, {1});
  EXPECT_CONTAINS(error_of(Lrn{.size = 0}, {x}), "size is 0, wants at least 1");
  EXPECT_CONTAINS(error_of(Lrn{}, {tensor<float>({1}, {1})}), "must have batch and channels");
  EXPECT_CONTAINS(error_of(Lrn{}, {tensor<std::int8_t>({1, 1}, {1})}), "must be of f32");
}

// Within the rounding of a logarithm and a power; numbers whose squares no float holds, and those
// that are none, as well.
TEST(LrnRows, AreAsTheReference) {
  const Lrn ops[] = {{.size = 5, .alpha = 1e-4f, .beta = 0.75f, .bias = 1},
                     {.size = 3, .alpha = 2, .beta = 0.5f, .bias = 2},
                     {.size = 4, .alpha = 0.5f, .beta = -1.25f, .bias = 0.125f},
                     {.size = 32, .alpha = 1, .beta = 3, .bias = 1e-6f},
                     {.size = 1, .alpha = 0, .beta = 0, .bias = 1},
                     {.size = 3, .alpha = 1, .beta = 0, .bias = 1},
                     {.size = 3, .alpha = 1, .beta = 1e-4f, .bias = 1}};
  RandomTensors random(8);
  for (const Lrn& op : ops)
    for (const Shape& shape : {Shape{2, 7, 5, 9}, Shape{1, 3, 1200}, Shape{3, 40}}) {
      Tensor x = random.floats(shape, -4, 4);
      auto* p = reinterpret_cast<float*>(x.mutable_data());
      if (shape[0] == 3) p[5] = 1e25f, p[50] = nan, p[90] = -1e-30f;
      const Tensor wanted = run(op, {x});
      for (const int threads : {1, 2}) {
        const SelectedRun got =
            run_selected(op, {x}, {}, 1, threads, std::nullopt, select_lrn_rows);
        ASSERT_FALSE(got.implementation.empty());
        const auto y = got.outputs[0].span<float>();
        const auto z = wanted.span<float>();
        for (std::size_t i = 0; i < z.size(); ++i)
          if (!(y[i] == z[i] || (std::isnan(y[i]) && std::isnan(z[i])))) {
            ASSERT_NEAR(y[i], z[i], 1.2e-6f * std::fabs(z[i])) << shape.text() << " at " << i;
          }
      }
    }
}

// A base below 0 has powers with whole exponents alone.
TEST(LrnRows, LeaveBasesBelowZeroToTheReference) {
  const std::vector<Tensor> inputs = {tensor<float>({1, 1}, {1})};
  for (const Lrn& lrn : {Lrn{.alpha = -1}, Lrn{.bias = 0}, Lrn{.bias = -1}, Lrn{.size = 33}}) {
    const Op op = lrn;
    const SelectedCase c{.op = op, .inputs = inputs, .select = select_lrn_rows};
    EXPECT_EQ(run_selected(c).implementation, "");
  }
}

}  // namespace
}  // namespace quern::testing
