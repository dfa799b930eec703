// SPDX-License-Identifier: Apache-2.0
// Work is cut into pieces so that a deadline is seen. The result is that of uncut work: of products
// and copies to the last bit, of rows of more than row_piece elements within rounding.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/ops/layer_norm.h"
#include "graph/ops/softmax.h"
#include "kernels/contract/copy.h"
#include "kernels/contract/rows.h"
#include "kernels/contract/sorting.h"
#include "kernels/cpu/product_pieces.h"
#include "tests/kernels/kernel_test.h"

namespace quern::testing {
namespace {

StopCheck no_deadline(nullptr);

TEST(LongRows, ProductsInPiecesAreTheSameToTheLastBit) {
  struct Case {
    std::int64_t rows, depth, columns;
  };
  RandomTensors random(11);
  for (const Case& size :
       {Case{1, 90'000, 200}, Case{53, 7000, 130}, Case{101, 520, 700}, Case{7000, 64, 64}})
    for (const bool adds : {false, true}) {
      const std::int64_t rows = size.rows, depth = size.depth, columns = size.columns;
      const Tensor a = random.floats({rows, depth});
      const Tensor b = random.floats({depth, columns});
      const Tensor before = random.floats({rows, columns});
      const auto multiplied = [&](const auto& multiply) {
        Tensor c = Tensor::copy_of(before.type(), {before.data(), before.bytes()}).value();
        multiply(SimdProduct{a.view().as<float>(), depth, b.view().as<float>(), columns, simd_panel,
                             reinterpret_cast<float*>(c.mutable_data()), columns, rows, depth,
                             columns, adds});
        return c;
      };
      const Tensor whole = multiplied([](const SimdProduct& p) { simd().multiply(p); });
      const Tensor pieces =
          multiplied([](const SimdProduct& p) { multiply_until(p, no_deadline); });
      EXPECT_TRUE(same_bytes(pieces, whole)) << rows << " x " << depth << " x " << columns;
    }
}

TEST(LongRows, CopiesInPiecesAreWhole) {
  const Shape shapes[] = {{3, 1'500'001}, {2, 1200, 1300}, {1, 3, 900, 1500}};
  RandomTensors random(12);
  for (const Shape& shape : shapes) {
    const Tensor x = random.floats(shape);
    std::vector<std::int64_t> order(shape.rank());
    std::iota(order.begin(), order.end(), 0);
    std::reverse(order.begin(), order.end());
    const Layout turned = Layout::permuted(shape, order);
    Tensor there = Tensor::zeros(x.type()).value();
    Tensor back = Tensor::zeros(x.type()).value();
    const TensorDesc dense = TensorDesc::row_major(DType::f32, shape);
    copy_elements(dense, x.data(), {DType::f32, shape, turned}, there.mutable_data());
    copy_elements({DType::f32, shape, turned}, there.data(), dense, back.mutable_data());
    EXPECT_TRUE(same_bytes(back, x)) << shape.text();
    EXPECT_FALSE(same_bytes(there, x)) << shape.text();
  }
}

TEST(LongRows, SumsInPiecesAreTheReference) {
  RandomTensors random(13);
  const std::vector<Tensor> inputs = {random.floats({1, 2 * row_piece + 77})};
  const auto expect_near = [&](const Op& op, double tolerance) {
    const SelectedRun found = run_selected(op, inputs);
    EXPECT_TRUE(found.implementation.starts_with("rows")) << found.implementation;
    const Tensor wanted = run(op, inputs);
    const auto y = found.outputs[0].span<float>();
    const auto z = wanted.view().span<float>();
    double worst = 0;
    for (std::size_t i = 0; i < y.size(); ++i)
      worst = std::max(worst, std::fabs(static_cast<double>(y[i]) - static_cast<double>(z[i])) /
                                  (1e-3 + std::fabs(static_cast<double>(z[i]))));
    EXPECT_LT(worst, tolerance);
  };
  expect_near(LayerNorm{}, 1e-4);
  // A reference in float loses what so long a row sums up to.
  const SelectedRun shares = run_selected(Softmax{}, inputs);
  const auto y = shares.outputs[0].span<float>();
  EXPECT_NEAR(std::accumulate(y.begin(), y.end(), 0.0), 1, 1e-5);
}

TEST(LongRows, AreSorted) {
  for (const std::int64_t n : {0, 1, 7, 8, 9, 100, 4097, 100'000}) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<std::int64_t>(i * 2'654'435'761 % 1'000'003);
    std::vector<std::int64_t> wanted = numbers;
    std::sort(wanted.begin(), wanted.end());
    std::vector<std::int64_t> spare(numbers.size());
    sort_until(numbers.data(), n, spare.data(), std::less<>(), 1, no_deadline);
    EXPECT_EQ(numbers, wanted) << n;
  }
}

}  // namespace
}  // namespace quern::testing
