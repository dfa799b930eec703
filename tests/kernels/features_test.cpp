// SPDX-License-Identifier: Apache-2.0
// Operators on features: keys, distances, couplings.
#include "graph/ops/features.h"

#include "tests/expect.h"
#include "tests/kernels/kernel_test.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

TEST(KeyIndex, FindsTheFirstOfEqualKeys) {
  const Tensor keys = tensor<std::int64_t>({4}, {5, -1, 7, 5});
  const Tensor x = tensor<std::int64_t>({2, 2}, {7, 5, 0, -1});
  EXPECT_ELEMENTS(values<std::int64_t>(run(KeyIndex{}, {x, keys})), 2, 0, 4, 1);
  EXPECT_ELEMENTS(values<std::int64_t>(run(KeyIndex{}, {x, ints({})})), 0, 0, 0, 0);
}

// As many elements as make it sort the keys.
TEST(KeyIndex, SortsTheKeysForManyElements) {
  const Tensor keys = tensor<std::int64_t>({5}, {9, 3, 9, int_max, 0});
  const Tensor x = tensor<std::int64_t>({10}, {0, 1, 2, 3, 4, 9, 9, int_max, -1, 3});
  EXPECT_ELEMENTS(values<std::int64_t>(run(KeyIndex{}, {x, keys})), 4, 5, 5, 1, 5, 0, 0, 3, 5, 1);
}

TEST(KeyIndex, NanIsAKey) {
  const Tensor keys = tensor<float>({4}, {1, nan, 0, inf});
  const Tensor few = tensor<float>({4}, {nan, -0.0f, -inf, inf});
  EXPECT_ELEMENTS(values<std::int64_t>(run(KeyIndex{}, {few, keys})), 1, 2, 4, 3);
  const Tensor many = tensor<float>({9}, {nan, -0.0f, -inf, inf, 1, 2, nan, 0, 1});
  EXPECT_ELEMENTS(values<std::int64_t>(run(KeyIndex{}, {many, keys})), 1, 2, 4, 3, 0, 4, 1, 2, 0);
}

TEST(KeyIndex, Strings) {
  const Tensor keys = strings({3}, {"b", "", "abc"});
  const Tensor x = strings({9}, {"abc", "ab", "", "b", "c", "abcd", "B", "b", ""});
  EXPECT_ELEMENTS(values<std::int64_t>(run(KeyIndex{}, {x, keys})), 2, 3, 1, 0, 3, 3, 3, 0, 1);
}

TEST(KeyIndex, Infer) {
  EXPECT_CONTAINS(error_of(KeyIndex{}, {ints({1}), tensor<float>({1}, {1})}), "input 1");
  EXPECT_CONTAINS(error_of(KeyIndex{}, {ints({1}), tensor<std::int64_t>({1, 1}, {1})}), "rank");
  EXPECT_CONTAINS(error_of(KeyIndex{}, {tensor<bool>({1}, {1}), tensor<bool>({1}, {1})}),
                  "must be of strings, integers, f32 or f64");
}

TEST(SquaredDistance, OfEachRowToEachRow) {
  const Tensor a = tensor<float>({2, 3}, {0, 0, 0, 1, 2, 3});
  const Tensor b = tensor<float>({3, 3}, {1, 0, 0, 1, 2, 3, 0, 3, 4});
  EXPECT_ELEMENTS(values<float>(run(SquaredDistance{}, {a, b})), 1, 14, 25, 13, 0, 3);
  // Rows of many digits in common: their squares have none left of the difference.
  const Tensor far = tensor<float>({1, 1}, {10000.001f});
  const Tensor near = tensor<float>({1, 1}, {10000});
  EXPECT_NEAR(values<float>(run(SquaredDistance{}, {far, near}))[0], 9.5367e-7f, 1e-11f);
}

TEST(SquaredDistance, RowsAreTheReferenceToTheBit) {
  RandomTensors random(3);
  for (const Shape& b : {Shape{1, 5}, Shape{4, 5}, Shape{7, 5}, Shape{33, 5}}) {
    const std::vector<Tensor> inputs = {random.floats({9, 5}), random.floats(b)};
    const auto got = run_selected(SquaredDistance{}, inputs);
    EXPECT_EQ(got.implementation, "rows");
    EXPECT_TRUE(same_bytes(got.outputs[0], run(SquaredDistance{}, inputs)));
  }
}

TEST(SquaredDistance, Infer) {
  const Tensor a = tensor<float>({2, 3}, {});
  EXPECT_CONTAINS(error_of(SquaredDistance{}, {a, tensor<float>({2, 2}, {})}), "as many columns");
  EXPECT_CONTAINS(error_of(SquaredDistance{}, {a, tensor<float>({3}, {})}), "rank 2");
  EXPECT_CONTAINS(error_of(SquaredDistance{}, {ints({1}), ints({1})}), "must be of f32 or f64");
}

// Two classes have the probability of their pair; probabilities that no pair contradicts come back.
TEST(PairwiseCoupling, ProbabilitiesThatAgree) {
  const auto two = values<float>(run(PairwiseCoupling{}, {tensor<float>({2, 1}, {0.25f, 0.75f})}));
  EXPECT_NEAR(two[0], 0.25f, 3e-3f);
  EXPECT_NEAR(two[3], 0.25f, 3e-3f);
  const float p[] = {0.5f, 0.3f, 0.2f};
  const Tensor pairs =
      tensor<float>({1, 3}, {p[0] / (p[0] + p[1]), p[0] / (p[0] + p[2]), p[1] / (p[1] + p[2])});
  const auto three = values<float>(run(PairwiseCoupling{.classes = 3}, {pairs}));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(three[i], p[i], 3e-3f);
  EXPECT_NEAR(three[0] + three[1] + three[2], 1, 1e-6f);
}

TEST(PairwiseCoupling, Infer) {
  const Tensor x = tensor<float>({1, 2}, {0.5f, 0.5f});
  EXPECT_CONTAINS(error_of(PairwiseCoupling{.classes = 3}, {x}), "must have 3 columns");
  EXPECT_CONTAINS(error_of(PairwiseCoupling{.classes = 1}, {x}), "classes is 1");
}

}  // namespace
}  // namespace quern::testing
