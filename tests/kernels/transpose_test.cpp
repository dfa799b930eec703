// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/transpose.h"

#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

TEST(Transpose, WithoutPermTurnsTheOrder) {
  const Tensor y = run(Transpose{}, {counting({2, 3})});
  EXPECT_EQ(y.shape(), Shape({3, 2}));
  EXPECT_ELEMENTS(values<float>(y), 0, 3, 1, 4, 2, 5);
}

TEST(Transpose, PermNamesTheSource) {
  const Tensor y = run(Transpose{.perm = {1, 2, 0}}, {counting({2, 1, 3})});
  EXPECT_EQ(y.shape(), Shape({1, 3, 2}));
  EXPECT_ELEMENTS(values<float>(y), 0, 3, 1, 4, 2, 5);
}

TEST(Transpose, MovesAnyElement) {
  EXPECT_THAT(string_values(run(Transpose{}, {strings({2, 2}, {"a", "b", "c", "d"})})),
              ElementsAre("a", "c", "b", "d"));
  EXPECT_ELEMENTS(values<std::uint8_t>(run(Transpose{}, {tensor<std::uint8_t>({1, 2}, {7, 9})})), 7,
                  9);
}

TEST(Transpose, ScalarsEmptyAndHighRanks) {
  EXPECT_ELEMENTS(values<float>(run(Transpose{}, {tensor<float>({}, {3})})), 3);
  EXPECT_EQ(run(Transpose{}, {counting({2, 0, 3})}).shape(), Shape({3, 0, 2}));
  const Tensor y =
      run(Transpose{.perm = {7, 1, 2, 3, 4, 5, 6, 0}}, {counting({2, 1, 1, 1, 1, 1, 1, 2})});
  EXPECT_ELEMENTS(values<float>(y), 0, 2, 1, 3);
}

TEST(Transpose, Infer) {
  EXPECT_EQ(infer_text(Transpose{.perm = {1, 0}}, {f32({N, any})}), "f32[?,$0]");
  EXPECT_EQ(infer_text(Transpose{.perm = {1, 0}}, {unranked(DType::f32)}), "f32[?,?]");
  EXPECT_EQ(infer_text(Transpose{}, {unranked(DType::f32)}), "f32[*]");
  EXPECT_CONTAINS(error_of(Transpose{.perm = {0, 0}}, {counting({2, 3})}), "no permutation");
  EXPECT_CONTAINS(error_of(Transpose{.perm = {0, -1}}, {counting({2, 3})}), "no permutation");
  EXPECT_CONTAINS(error_of(Transpose{.perm = {0}}, {counting({2, 3})}), "does not suit");
}

}  // namespace
}  // namespace quern::testing
