// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "graph/ops/data_dependent.h"
#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

// Three boxes: the second overlaps the first by 9/11, the third neither.
Tensor boxes() {
  return tensor<float>({1, 3, 4}, {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, 10, 1, 11});
}
Tensor scores(float a, float b, float c) {
  return tensor<float>({1, 1, 3}, {a, b, c});
}
Tensor number(float v) {
  return tensor<float>({}, {v});
}

std::vector<std::int64_t> kept(const Tensor& score, std::int64_t most, float overlap,
                               const Tensor& threshold = absent()) {
  const Tensor y =
      run(NonMaxSuppression{}, {boxes(), score, ints({most}), number(overlap), threshold});
  EXPECT_EQ(y.shape()[1], 3);
  std::vector<std::int64_t> indices;
  const auto all = values<std::int64_t>(y);
  for (std::size_t i = 2; i < all.size(); i += 3) indices.push_back(all[i]);
  return indices;
}

TEST(NonMaxSuppression, DropsWhatOverlapsABetterBox) {
  EXPECT_ELEMENTS(kept(scores(0.8f, 0.9f, 0.5f), 3, 0.5f), 1, 2);
  EXPECT_ELEMENTS(kept(scores(0.8f, 0.9f, 0.5f), 3, 0.9f), 1, 0, 2);
  EXPECT_ELEMENTS(kept(scores(0.8f, 0.9f, 0.5f), 1, 0.5f), 1);
  EXPECT_THAT(kept(scores(0.8f, 0.9f, 0.5f), 0, 0.5f), IsEmpty());
  EXPECT_THAT(kept(scores(0.8f, 0.9f, 0.5f), -1, 0.5f), IsEmpty());
}

TEST(NonMaxSuppression, OfEqualScoresTheLowerIndexIsFirst) {
  EXPECT_ELEMENTS(kept(scores(0.5f, 0.5f, 0.5f), 3, 0.5f), 0, 2);
}

TEST(NonMaxSuppression, TheScoreThresholdIsExclusive) {
  EXPECT_ELEMENTS(kept(scores(0.4f, 0.9f, 0.5f), 3, 0.5f, number(0.5f)), 1);
  EXPECT_ELEMENTS(kept(scores(0.4f, NAN, 0.5f), 3, 0.5f), 2, 0);
}

TEST(NonMaxSuppression, BatchesAndClassesAreApart) {
  const Tensor b = tensor<float>({2, 1, 4}, {0, 0, 1, 1, 0, 0, 1, 1});
  const Tensor s = tensor<float>({2, 2, 1}, {1, 2, 3, 4});
  const Tensor y = run(NonMaxSuppression{}, {b, s, ints({5})});
  EXPECT_ELEMENTS(values<std::int64_t>(y), 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0);
}

TEST(NonMaxSuppression, CornersInAnyOrderOrACentre) {
  const Tensor s = tensor<float>({1, 1, 2}, {1, 2});
  const Tensor flipped = tensor<float>({1, 2, 4}, {1, 1, 0, 0, 0, 1, 1, 0});
  EXPECT_EQ(run(NonMaxSuppression{}, {flipped, s, ints({2}), number(0.9f)}).shape(), Shape({1, 3}));
  // The centres are 1 apart, the boxes 2 wide: a third of the union is common.
  const Tensor centre = tensor<float>({1, 2, 4}, {0, 0, 2, 2, 1, 0, 2, 2});
  const NonMaxSuppression op{.center_point_box = true};
  EXPECT_EQ(run(op, {centre, s, ints({2}), number(0.3f)}).shape(), Shape({1, 3}));
  EXPECT_EQ(run(op, {centre, s, ints({2}), number(0.4f)}).shape(), Shape({2, 3}));
}

TEST(NonMaxSuppression, DegenerateBoxesSuppressNothing) {
  const Tensor same = tensor<float>({1, 2, 4}, {1, 1, 1, 1, 1, 1, 1, 1});
  const Tensor s = tensor<float>({1, 1, 2}, {1, 2});
  EXPECT_EQ(run(NonMaxSuppression{}, {same, s, ints({2}), number(0)}).shape(), Shape({2, 3}));
  const Tensor none = Tensor::zeros({DType::f32, {1, 0, 4}}).value();
  EXPECT_EQ(run(NonMaxSuppression{}, {none, tensor<float>({1, 1, 0}, {}), ints({2})}).shape(),
            Shape({0, 3}));
}

TEST(NonMaxSuppression, Infer) {
  const ValueType b = f32({2, 6, 4}), s = f32({2, 3, 6});
  EXPECT_EQ(infer_text(NonMaxSuppression{}, {b, s, i64({})}), "i64[?,3]");
  EXPECT_EQ(bound_text(NonMaxSuppression{}, {b, s, i64({})}), "i64[36,3]");
  EXPECT_EQ(bound_text(NonMaxSuppression{}, {b, s, ints({4})}), "i64[24,3]");
  EXPECT_EQ(bound_text(NonMaxSuppression{}, {b, s, ints({int_max})}), "i64[36,3]");
  EXPECT_EQ(bound_text(NonMaxSuppression{}, {b, s}), "i64[0,3]");
  EXPECT_EQ(bound_text(NonMaxSuppression{}, {f32({N, M, 4}), f32({N, 3, M}), ints({4})}),
            "i64[?,3]");
}

TEST(NonMaxSuppression, Refuses) {
  const NonMaxSuppression op;
  EXPECT_CONTAINS(error_of(op, {counting({1, 3, 5}), counting({1, 1, 3})}), "4 numbers");
  EXPECT_CONTAINS(error_of(op, {boxes(), counting({1, 1, 2})}), "differ in batch or boxes");
  EXPECT_CONTAINS(error_of(op, {boxes(), counting({2, 1, 3})}), "differ in batch or boxes");
  EXPECT_CONTAINS(error_of(op, {boxes(), counting({3})}), "must have rank 3");
  EXPECT_CONTAINS(error_of(op, {boxes(), scores(1, 2, 3), ints({1, 2})}), "one element");
  EXPECT_CONTAINS(error_of(op, {boxes(), scores(1, 2, 3), ints({1}), ints({0})}), "must be f32");
}

}  // namespace
}  // namespace quern::testing
