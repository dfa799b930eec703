// SPDX-License-Identifier: Apache-2.0
// Kernels made of the engine's own product: against the references, and the product itself against
// Eigen's.
#include <Eigen/Core>

#include "engine/vocabulary/text_util.h"
#include "graph/ops/conv.h"
#include "graph/ops/matmul.h"
#include "kernels/cpu/conv_rows.h"
#include "kernels/cpu/conv_transpose_direct.h"
#include "kernels/cpu/conv_winograd.h"
#include "kernels/cpu/matmul_rows.h"
#include "kernels/simd/simd.h"
#include "tests/kernels/kernel_test.h"

namespace quern::testing {
namespace {

void expect_close(const Tensor& got, const Tensor& want, float tolerance, const std::string& what) {
  ASSERT_EQ(got.type(), want.type()) << what;
  const auto a = got.span<float>();
  const auto b = want.span<float>();
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], tolerance) << what << ", element " << i;
}

using Select = Selection (*)(const KernelRequest&);

void expect_as_reference(const Op& op, const std::vector<Tensor>& inputs,
                         const std::vector<std::size_t>& constants, Select select, float tolerance,
                         const std::string& what) {
  for (const int threads : {1, 2}) {
    const SelectedRun run = run_selected(op, inputs, constants, 1, threads, {}, select);
    const auto want = run_reference(op, inputs);
    ASSERT_TRUE(want) << what << ": " << want.error().message();
    expect_close(run.outputs[0], (*want)[0], tolerance, what);
  }
}

struct ProductWindow {
  Shape x, w;
  Window window;
  std::int64_t group = 1;
};

std::string text_of(const ProductWindow& c) {
  return cat(c.x.text(), " by ", c.w.text(), ", group ", c.group);
}

TEST(ConvRows, AsTheReference) {
  RandomTensors random(1);
  const std::vector<ProductWindow> cases = {
      {{1, 3, 9, 11}, {8, 3, 3, 3}, {.pads = {1, 1, 1, 1}}},
      {{2, 16, 7, 7}, {70, 16, 1, 1}, {}},
      {{1, 8, 12, 5}, {4, 8, 3, 2}, {.strides = {2, 3}, .pads = {0, 2, 1, 0}}},
      {{1, 6, 10, 10}, {9, 2, 3, 3}, {.pads = {2, 2, 2, 2}, .dilations = {2, 2}}, 3},
      {{3, 5, 40}, {7, 5, 4}, {.strides = {3}, .pads = {3, 2}}},
      {{1, 4, 1, 6}, {1, 4, 1, 9}, {.pads = {0, 8, 0, 8}}},
  };
  for (const ProductWindow& c : cases)
    for (const bool bias : {false, true}) {
      const Tensor b = bias ? random.floats({c.w[0]}) : absent();
      expect_as_reference(Conv{.window = c.window, .group = c.group},
                          {random.floats(c.x), random.floats(c.w), b}, {1}, select_conv_rows, 2e-5F,
                          text_of(c));
    }
}

// Weights that are read a part at a time, and columns that threads share.
TEST(ConvRows, LargeWeights) {
  RandomTensors random(4);
  const std::vector<ProductWindow> cases = {
      {{2, 70, 6, 9}, {250, 70, 3, 3}, {.pads = {1, 1, 1, 1}}},
      {{1, 300, 1, 1}, {500, 300, 1, 1}, {}},
      {{1, 60, 7, 7}, {300, 60, 7, 7}, {}},
      {{1, 400, 5}, {400, 400, 1}, {}},
  };
  for (const ProductWindow& c : cases)
    expect_as_reference(Conv{.window = c.window, .group = c.group},
                        {random.floats(c.x), random.floats(c.w), random.floats({c.w[0]})}, {1},
                        select_conv_rows, 2e-4F, text_of(c));
}

// Sums along the depth, of every number of output channels that has them.
TEST(ConvRows, FewOutputs) {
  RandomTensors random(5);
  for (std::int64_t outputs = 1; outputs <= 9; ++outputs) {
    const std::vector<ProductWindow> cases = {
        {{2, 40, 5, 13}, {outputs, 40, 3, 3}, {.pads = {1, 1, 1, 1}}},
        {{1, 1, 700}, {outputs, 1, 256}, {.strides = {2}}},
        {{1, 90, 3, 9}, {outputs, 90, 1, 2}, {.dilations = {1, 3}}},
    };
    for (const ProductWindow& c : cases)
      expect_as_reference(Conv{.window = c.window, .group = c.group},
                          {random.floats(c.x), random.floats(c.w), random.floats({outputs})}, {1},
                          select_conv_rows, 5e-5F, text_of(c));
  }
}

// Maps that whole tiles do not fill, images that share a block of tiles, and pads wider than a tap.
TEST(ConvWinograd, AsTheReference) {
  RandomTensors random(6);
  const std::vector<ProductWindow> cases = {
      {{1, 5, 4, 4}, {7, 5, 3, 3}, {.pads = {1, 1, 1, 1}}},
      {{3, 16, 9, 13}, {20, 16, 3, 3}, {.pads = {1, 1, 1, 1}}},
      {{2, 33, 3, 70}, {65, 33, 3, 3}, {}},
      {{1, 8, 1, 1}, {4, 8, 3, 3}, {.pads = {2, 2, 2, 2}}},
      {{1, 3, 6, 5}, {2, 3, 3, 3}, {.pads = {0, 5, 7, 0}}},
  };
  for (const ProductWindow& c : cases)
    for (const bool bias : {false, true}) {
      const Tensor b = bias ? random.floats({c.w[0]}) : absent();
      expect_as_reference(Conv{.window = c.window}, {random.floats(c.x), random.floats(c.w), b},
                          {1}, select_conv_winograd, 2e-4F, text_of(c));
    }
}

TEST(ConvTransposeDirect, AsTheReference) {
  RandomTensors random(2);
  const std::vector<ProductWindow> cases = {
      {{1, 16, 5, 6}, {16, 24, 2, 2}, {.strides = {2, 2}}},
      {{2, 12, 4, 7}, {12, 3, 3, 3}, {.strides = {2, 2}, .pads = {1, 1, 0, 1}}},
      {{1, 16, 3, 9}, {16, 8, 3, 3}, {.pads = {2, 1, 2, 1}, .dilations = {2, 1}}, 2},
      {{1, 6, 8, 8}, {6, 1, 4, 4}, {.strides = {2, 2}, .pads = {1, 1, 1, 1}}, 6},
      {{2, 9, 30}, {9, 11, 5}, {.strides = {3}}},
      {{1, 4, 1, 700}, {4, 1, 1, 3}, {.strides = {1, 2}}},
  };
  for (const ProductWindow& c : cases)
    for (const bool bias : {false, true}) {
      const Tensor b = bias ? random.floats({c.w[1] * c.group}) : absent();
      expect_as_reference(ConvTranspose{.window = c.window, .group = c.group},
                          {random.floats(c.x), random.floats(c.w), b}, {1},
                          select_conv_transpose_direct, 2e-5F, text_of(c));
    }
}

TEST(MatMulRows, AsTheReference) {
  RandomTensors random(3);
  struct Case {
    Shape a, b;
    bool transpose_b = false;
    bool transpose_a = false;
  };
  const std::vector<Case> cases = {
      {{1, 8}, {8, 5}},
      {{7, 64}, {64, 64}},
      {{50, 33}, {33, 131}},
      {{3, 4, 16}, {16, 70}},
      {{3, 1, 1, 16}, {1, 16, 70}},
      {{2, 3, 4, 16}, {3, 16, 70}},
      {{2, 3, 5, 8}, {3, 8, 9}},
      {{6, 12}, {40, 12}, true},
      {{2, 6, 12}, {2, 1, 12}, true},
      {{4, 6}, {6}},
      {{6}, {6, 3}},
      {{33, 50}, {33, 131}, false, true},
      {{2, 12, 6}, {2, 40, 12}, true, true},
      {{1, 70}, {1, 3}, false, true},
      {{50, 300}, {300, 1}},
      {{2, 9, 700}, {7, 700}, true},
  };
  for (const Case& c : cases)
    for (const float alpha : {1.0F, 0.5F})
      for (const std::vector<std::size_t>& constants : {std::vector<std::size_t>{}, {1}})
        expect_as_reference(
            MatMul{.transpose_a = c.transpose_a, .transpose_b = c.transpose_b, .alpha = alpha},
            {random.floats(c.a), random.floats(c.b)}, constants, select_matmul_rows, 2e-5F,
            cat(c.a.text(), " by ", c.b.text()));
}

TEST(MatMulRows, AreChosenForFewRowsAndForFewColumns) {
  RandomTensors random(5);
  const auto chosen = [&](const Shape& a, const Shape& b,
                          const std::vector<std::size_t>& constants) {
    const MatMul op;
    const std::vector<Tensor> inputs{random.floats(a), random.floats(b)};
    const SelectedRun run = run_selected(
        {.op = op, .inputs = inputs, .constants = constants, .select = select_matmul_of_few_rows});
    if (run.implementation.empty()) return false;
    expect_close(run.outputs[0], (*run_reference(op, inputs))[0], 2e-4F, a.text());
    return true;
  };
  const Shape large = {400, 512}, small = {64, 64}, narrow = {4096, 40};
  const bool wide = simd().name == std::string_view("avx512");
  EXPECT_TRUE(chosen({1, 400}, large, {1}));
  EXPECT_TRUE(chosen({1, 64}, small, {1}));
  EXPECT_EQ(chosen({32, 400}, large, {1}), wide);
  EXPECT_EQ(chosen({4, 8, 400}, large, {1}), wide);
  EXPECT_FALSE(chosen({33, 400}, large, {1}));
  EXPECT_FALSE(chosen({4, 9, 400}, large, {1}));
  EXPECT_FALSE(chosen({8, 400}, large, {}));
  EXPECT_FALSE(chosen({8, 64}, small, {1}));
  EXPECT_FALSE(chosen({8, 4096}, narrow, {1}));
  EXPECT_TRUE(chosen({50, 4096}, {4096, 1}, {1}));
  EXPECT_EQ(chosen({50, 4096}, {4096, 8}, {1}), wide);
  EXPECT_FALSE(chosen({50, 4096}, {4096, 9}, {1}));
}

// A slice of rows or columns of each matrix, from all implementations in their order.
TEST(MatMul, ReadsBatchesThatAreParts) {
  RandomTensors random(7);
  for (const std::int64_t batch : {1, 2, 3})
    for (const std::int64_t columns : {1, 2, 16})
      for (const std::int64_t skipped : {0, 2, 74})
        for (const bool transposed : {false, true})
          for (const bool wide : {false, true})
            for (const std::vector<std::size_t>& constants : {std::vector<std::size_t>{}, {1}}) {
              const Shape x = transposed ? Shape{batch, 11, 4} : Shape{batch, 4, 11};
              // Whole rows are left out, or a part of each.
              const std::int64_t row = x[2] + (wide ? skipped : 0);
              const Layout layout{.strides = {x[1] * row + (wide ? 0 : skipped), row, 1}};
              const std::vector<Tensor> inputs = {random.floats(x), random.floats({11, columns})};
              const MatMul op{.transpose_a = transposed};
              const SelectedRun run = run_selected(op, inputs, constants, 1, 2, layout);
              expect_close(run.outputs[0], (*run_reference(op, inputs))[0], 1e-5F,
                           cat(x.text(), " lies as ", layout.text(), ", transposed ", transposed,
                               ", ", columns, " columns, by ", run.implementation));
            }
}

// Every instruction set, adding and not.
TEST(SimdProduct, AsEigens) {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  std::srand(4);
  for (const Simd* s : simd_sets()) {
    for (const auto& [m, n, k] : {std::array{1, 1, 1},
                                  {1, 200, 31},
                                  {5, 17, 9},
                                  {13, 64, 100},
                                  {48, 131, 64},
                                  {6, 15, 0}}) {
      const Matrix a = Matrix::Random(m, k);
      const Matrix b = Matrix::Random(k, n);
      for (const bool accumulate : {false, true}) {
        Matrix c = Matrix::Random(m, n);
        const Matrix want = a * b + (accumulate ? c : Matrix::Zero(m, n));
        s->multiply({a.data(), k, b.data(), n, simd_panel, c.data(), n, m, k, n, accumulate});
        EXPECT_TRUE(c.isApprox(want, 1e-5F) || (c - want).norm() < 1e-5F)
            << s->name << ' ' << m << 'x' << n << 'x' << k;
      }
    }
  }
}

}  // namespace
}  // namespace quern::testing
