// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/data_dependent.h"
#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

TEST(Compress, SlicesAlongAnAxis) {
  const Tensor x = counting({3, 2});
  const Tensor y = run(Compress{.axis = 0}, {x, tensor<bool>({3}, {false, true, true})});
  EXPECT_EQ(y.shape(), Shape({2, 2}));
  EXPECT_ELEMENTS(values<float>(y), 2, 3, 4, 5);
  EXPECT_ELEMENTS(values<float>(run(Compress{.axis = -1}, {x, tensor<bool>({2}, {false, true})})),
                  1, 3, 5);
}

TEST(Compress, FlatWithoutAnAxis) {
  const Tensor y = run(Compress{}, {counting({2, 2}), tensor<bool>({3}, {true, false, true})});
  EXPECT_ELEMENTS(values<float>(y), 0, 2);
}

TEST(Compress, ShortAndLongConditions) {
  EXPECT_ELEMENTS(
      (values<float>(run(Compress{.axis = 0}, {counting({3}), tensor<bool>({1}, {true})}))), 0);
  EXPECT_ELEMENTS(
      (values<float>(run(Compress{}, {counting({1}), tensor<bool>({3}, {true, true, true})}))), 0);
  EXPECT_EQ(run(Compress{.axis = 0}, {counting({3, 2}), tensor<bool>({0}, {})}).shape(),
            Shape({0, 2}));
}

TEST(Compress, Infer) {
  const ValueType condition{DType::boolean, Dims{2}};
  EXPECT_EQ(infer_text(Compress{.axis = 1}, {f32({N, 5}), condition}), "f32[$0,?]");
  EXPECT_EQ(bound_text(Compress{.axis = 1}, {f32({3, 5}), condition}), "f32[3,2]");
  EXPECT_EQ(bound_text(Compress{}, {f32({1, 1}), condition}), "f32[1]");
  EXPECT_EQ(infer_text(Compress{}, {unranked(DType::f32), condition}), "f32[?]");
  EXPECT_EQ(infer_text(Compress{.axis = 1}, {unranked(DType::f32), condition}), "f32[*]");
}

TEST(Compress, Refuses) {
  EXPECT_CONTAINS(error_of(Compress{}, {counting({2}), ints({1})}), "must be bool");
  EXPECT_CONTAINS(error_of(Compress{}, {counting({2}), tensor<bool>({}, {true})}),
                  "must have rank 1");
  EXPECT_CONTAINS(error_of(Compress{.axis = 1}, {counting({2}), tensor<bool>({1}, {true})}),
                  "outside of rank 1");
}

}  // namespace
}  // namespace quern::testing
