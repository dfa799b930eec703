// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/gather.h"

#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

Gather along(std::int64_t axis) {
  return {.kind = GatherKind::axis, .axis = axis};
}
Gather elements(std::int64_t axis) {
  return {.kind = GatherKind::elements, .axis = axis};
}
Gather nd(std::int64_t batch_dims = 0) {
  return {.kind = GatherKind::nd, .batch_dims = batch_dims};
}

TEST(Gather, PutsTheIndexInPlaceOfTheAxis) {
  const Tensor x = counting({3, 2});
  const Tensor rows = run(along(0), {x, tensor<std::int64_t>({1, 2}, {2, 0})});
  EXPECT_EQ(rows.shape(), Shape({1, 2, 2}));
  EXPECT_ELEMENTS(values<float>(rows), 4, 5, 0, 1);
  const Tensor column = run(along(-1), {x, tensor<std::int32_t>({}, {1})});
  EXPECT_EQ(column.shape(), Shape({3}));
  EXPECT_ELEMENTS(values<float>(column), 1, 3, 5);
}

TEST(Gather, NegativeIndicesCountFromTheEnd) {
  EXPECT_ELEMENTS(values<float>(run(along(0), {counting({3}), ints({-1, -3})})), 2, 0);
  EXPECT_THAT(string_values(run(along(0), {strings({2}, {"a", "b"}), ints({-1, 0, -1})})),
              ElementsAre("b", "a", "b"));
}

TEST(Gather, NothingToGather) {
  EXPECT_EQ(run(along(0), {counting({3}), ints({})}).shape(), Shape({0}));
  EXPECT_EQ(run(along(1), {counting({0, 3}), ints({7})}).shape(), Shape({0, 1}));
}

TEST(Gather, RefusesWhatIsOutOfRange) {
  for (std::int64_t bad : {std::int64_t{3}, std::int64_t{-4}, int_min, int_max})
    EXPECT_CONTAINS(error_of(along(0), {counting({3}), ints({bad})}),
                    "outside of a dimension of 3 elements");
  EXPECT_CONTAINS(error_of(along(0), {counting({0}), ints({0})}), "of 0 elements");
}

TEST(Gather, Infer) {
  EXPECT_EQ(infer_text(along(1), {f32({N, 5, 3}), i64({any, M})}), "f32[$0,?,$1,3]");
  EXPECT_EQ(infer_text(along(1), {unranked(DType::f32), i64({2})}), "f32[*]");
  EXPECT_EQ(infer_text(along(0), {f32({2}), unranked(DType::i64)}), "f32[*]");
  EXPECT_CONTAINS(error_of(along(0), {counting({}), ints({0})}), "outside of rank 0");
  EXPECT_CONTAINS(error_of(along(0), {counting({2}), counting({1})}), "i64 or i32");
}

TEST(GatherElements, ReplacesOneCoordinate) {
  const Tensor x = tensor<float>({2, 2}, {1, 2, 3, 4});
  const Tensor at = tensor<std::int64_t>({2, 2}, {0, 0, 1, 0});
  EXPECT_ELEMENTS(values<float>(run(elements(1), {x, at})), 1, 1, 4, 3);
  EXPECT_ELEMENTS(values<float>(run(elements(0), {x, at})), 1, 2, 3, 2);
  // Fewer rows than the data, and more along the axis.
  const Tensor y = run(elements(1), {x, tensor<std::int64_t>({1, 3}, {-1, 0, -2})});
  EXPECT_ELEMENTS(values<float>(y), 2, 1, 1);
}

TEST(GatherElements, Refuses) {
  const Tensor x = counting({2, 2});
  EXPECT_CONTAINS(error_of(elements(0), {x, tensor<std::int64_t>({1, 2}, {0, 2})}),
                  "index 2 is outside of a dimension of 2 elements");
  EXPECT_CONTAINS(error_of(elements(0), {x, tensor<std::int64_t>({1, 3}, {0, 0, 0})}),
                  "reaches beyond input 0 (f32[2,2]) in dimension 1");
  EXPECT_CONTAINS(error_of(elements(0), {x, ints({0})}), "must have rank 2");
  EXPECT_CONTAINS(error_of(elements(0), {counting({}), tensor<std::int64_t>({}, {0})}),
                  "outside of rank 0");
}

TEST(GatherElements, Infer) {
  EXPECT_EQ(infer_text(elements(0), {f32({N, 2}), i64({any, M})}), "f32[?,$1]");
  EXPECT_EQ(infer_text(elements(0), {f32({N, 2}), unranked(DType::i64)}), "f32[?,?]");
  EXPECT_EQ(infer_text(elements(0), {unranked(DType::f32), unranked(DType::i64)}), "f32[*]");
}

TEST(GatherNd, CoordinatesOfElementsAndOfSlices) {
  const Tensor x = counting({2, 2});
  EXPECT_ELEMENTS(values<float>(run(nd(), {x, tensor<std::int64_t>({2, 2}, {0, 0, 1, -1})})), 0, 3);
  const Tensor y = run(nd(), {x, tensor<std::int64_t>({2, 1}, {1, 0})});
  EXPECT_EQ(y.shape(), Shape({2, 2}));
  EXPECT_ELEMENTS(values<float>(y), 2, 3, 0, 1);
  EXPECT_EQ(run(nd(), {x, ints({1, 1})}).shape(), Shape());
}

TEST(GatherNd, BatchDimensionsRunAlong) {
  const Tensor y = run(nd(1), {counting({2, 2, 2}), tensor<std::int64_t>({2, 1}, {1, 0})});
  EXPECT_EQ(y.shape(), Shape({2, 2}));
  EXPECT_ELEMENTS(values<float>(y), 2, 3, 4, 5);
}

TEST(GatherNd, Refuses) {
  const Tensor x = counting({2, 2});
  EXPECT_CONTAINS(error_of(nd(), {x, ints({0, 2})}), "index 2 is outside");
  EXPECT_CONTAINS(error_of(nd(), {x, ints({0, 0, 0})}), "coordinates of 3 numbers");
  EXPECT_CONTAINS(error_of(nd(), {x, tensor<std::int64_t>({2, 0}, {})}),
                  "coordinates of 0 numbers");
  EXPECT_CONTAINS(error_of(nd(-1), {x, ints({0})}), "batch_dims is -1");
  EXPECT_CONTAINS(error_of(nd(1), {x, ints({0})}), "does not leave a dimension of input 1");
  EXPECT_CONTAINS(error_of(nd(1), {x, tensor<std::int64_t>({3, 1}, {0, 0, 0})}),
                  "differ in batch dimension 0");
  EXPECT_CONTAINS(error_of(nd(), {x, tensor<std::int64_t>({}, {0})}), "does not leave");
}

TEST(GatherNd, Infer) {
  EXPECT_EQ(infer_text(nd(), {f32({N, 4, M}), i64({any, 2})}), "f32[?,$1]");
  EXPECT_EQ(infer_text(nd(), {f32({N, 4}), i64({3, any})}), "f32[*]");
}

}  // namespace
}  // namespace quern::testing
