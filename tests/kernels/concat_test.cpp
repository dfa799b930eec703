// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/concat.h"

#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

TEST(Concat, AlongEitherAxis) {
  const Tensor a = tensor<float>({1, 2}, {1, 2});
  const Tensor b = tensor<float>({1, 2}, {3, 4});
  EXPECT_ELEMENTS(values<float>(run(Concat{.axis = 0}, {a, b})), 1, 2, 3, 4);
  const Tensor c = tensor<float>({2, 1}, {5, 6});
  const Tensor y = run(Concat{.axis = -1}, {tensor<float>({2, 2}, {1, 2, 3, 4}), c});
  EXPECT_ELEMENTS(values<float>(y), 1, 2, 5, 3, 4, 6);
}

TEST(Concat, EmptyPartsAndOneInput) {
  EXPECT_ELEMENTS(values<float>(run(Concat{}, {counting({0}), counting({2}), counting({0})})), 0,
                  1);
  EXPECT_THAT(string_values(run(Concat{}, {strings({1}, {"x"})})), ElementsAre("x"));
}

TEST(Concat, KeepsEqualSymbols) {
  EXPECT_EQ(infer_text(Concat{.axis = 1}, {f32({N, 2}), f32({N, 3})}), "f32[$0,5]");
  EXPECT_EQ(infer_text(Concat{.axis = 1}, {f32({any, 2}), f32({4, N})}), "f32[4,?]");
  EXPECT_EQ(infer_text(Concat{.axis = 1}, {unranked(DType::f32), f32({N, 3})}), "f32[$0,?]");
  EXPECT_EQ(infer_text(Concat{.axis = 1}, {unranked(DType::f32), unranked(DType::f32)}), "f32[*]");
}

TEST(Concat, Refuses) {
  EXPECT_CONTAINS(error_of(Concat{.axis = 0}, {counting({1, 2}), counting({1, 3})}),
                  "input 1 (f32[1,3]) differs from the other inputs in more than axis 0");
  EXPECT_CONTAINS(error_of(Concat{}, {counting({1, 2}), counting({2})}), "rank");
  EXPECT_CONTAINS(error_of(Concat{.axis = 2}, {counting({1, 2})}), "outside of rank 2");
  EXPECT_CONTAINS(error_of(Concat{}, {counting({})}), "outside of rank 0");
  EXPECT_CONTAINS(error_of(Concat{}, {counting({1}), ints({1})}), "one element type");
  EXPECT_CONTAINS(error_of(Concat{}, {counting({1}), absent()}), "input 1 is left out");
  EXPECT_EQ(infer_text(Concat{}, {f32({int_max}), f32({1})}), "f32[9223372036854775807]");
}

}  // namespace
}  // namespace quern::testing
