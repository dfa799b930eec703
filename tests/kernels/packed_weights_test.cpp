// SPDX-License-Identifier: Apache-2.0
// One constant that many operators read, as tied embeddings are: the store of a test fails where
// one key names two packings.
#include "engine/vocabulary/text_util.h"
#include "graph/ops/conv.h"
#include "graph/ops/matmul.h"
#include "graph/ops/quantised_products.h"
#include "tests/kernels/kernel_test.h"

namespace quern::testing {
namespace {

void expect_as_reference(const Op& op, const std::vector<Tensor>& inputs, const std::string& what) {
  for (const bool use_onednn : {false, true}) {
    const SelectedRun run = run_selected(
        SelectedCase{.op = op, .inputs = inputs, .constants = {1}, .use_onednn = use_onednn});
    const auto want = run_reference(op, inputs);
    ASSERT_TRUE(want) << what << ": " << want.error().message();
    ASSERT_FALSE(run.outputs.empty()) << what;
    ASSERT_EQ(run.outputs[0].type(), (*want)[0].type()) << what;
    if (run.outputs[0].dtype() != DType::f32) {
      ASSERT_TRUE(same_bytes(run.outputs[0], (*want)[0])) << what;
      continue;
    }
    const auto got = run.outputs[0].span<float>();
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], (*want)[0].span<float>()[i], 2e-5F) << what << ", element " << i;
  }
}

TEST(PackedWeights, OfProductsFromBothSides) {
  RandomTensors random(1);
  for (const std::int64_t rows : {1, 2, 3, 17})
    for (const std::int64_t columns : {1, 2, 3, 17}) {
      const Tensor w = random.floats({rows, columns});
      const std::string what = w.shape().text();
      expect_as_reference(MatMul{}, {random.floats({5, rows}), w}, what);
      expect_as_reference(MatMul{.transpose_b = true}, {random.floats({5, columns}), w},
                          what + " transposed");
      const Tensor bytes = random.integers<std::int8_t>({rows, columns}, -128, 127);
      expect_as_reference(MatMulInteger{},
                          {random.integers<std::uint8_t>({5, rows}, 0, 255), bytes},
                          what + " of bytes");
    }
}

// [4, 2, ...]: two groups of two channels, or one of as many; forwards and transposed.
TEST(PackedWeights, OfConvolutionsInGroups) {
  RandomTensors random(2);
  for (const Shape& taps : {Shape{1}, Shape{3}, Shape{2, 2}, Shape{1, 4}})
    for (const std::int64_t in : {1, 2, 4}) {
      Shape w_shape = {4, in};
      for (const std::int64_t t : taps) w_shape.push_back(t);
      const Tensor w = random.floats(w_shape);
      const Tensor bytes = random.integers<std::int8_t>(w_shape, -128, 127);
      for (const std::int64_t groups : {1, 2, 4}) {
        const auto x_shape = [&](std::int64_t channels) {
          Shape x = {2, channels};
          for (std::size_t d = 0; d < taps.rank(); ++d) x.push_back(6);
          return x;
        };
        const std::string what = cat(w_shape.text(), " in ", groups, " groups");
        expect_as_reference(Conv{.group = groups}, {random.floats(x_shape(in * groups)), w}, what);
        expect_as_reference(ConvTranspose{.group = groups}, {random.floats(x_shape(4)), w},
                            what + ", transposed");
        expect_as_reference(ConvInteger{.group = groups},
                            {random.integers<std::uint8_t>(x_shape(in * groups), 0, 255), bytes},
                            what + ", of bytes");
      }
    }
}

}  // namespace
}  // namespace quern::testing
