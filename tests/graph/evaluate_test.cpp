// SPDX-License-Identifier: Apache-2.0
// What it takes to evaluate a node, by the shapes of its operands.
#include "graph/evaluate.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/graph/named_op.h"

namespace quern {
namespace {

using testing::named;

TensorType floats(const Shape& shape) {
  return {DType::f32, shape};
}

double work_of(const Op& op, const std::vector<TensorType>& inputs, const TensorType& output) {
  return evaluation_work(op, op.def(), inputs, std::vector<TensorType>{output});
}

TEST(EvaluationWork, IsLinearWhereEachElementIsReadOnce) {
  EXPECT_EQ(work_of(named("Unary", ""), {floats({10, 10})}, floats({10, 10})), 200);
}

TEST(EvaluationWork, IsEachResultTimesEachOperandOtherwise) {
  EXPECT_EQ(work_of(named("MatMul", ""), {floats({4, 3}), floats({3, 2})}, floats({4, 2})), 18 * 8);
}

TEST(EvaluationWork, OfEinsumIsThatOfAllPairs) {
  EXPECT_EQ(work_of(named("Einsum", "equation=\"ij,jk->ik\""), {floats({4, 3}), floats({3, 2})},
                    floats({4, 2})),
            256 * 12 * 6);
}

TEST(EvaluationWork, OfRegionsIsTheirSamplesWhereTheirNumberIsGiven) {
  const std::vector<TensorType> inputs = {
      floats({1, 1, 8, 8}), floats({3, 4}), {DType::i64, Shape{3}}};
  const TensorType regions = floats({3, 1, 2, 2});
  EXPECT_EQ(work_of(named("RoiPool", "sampling_ratio=2"), inputs, regions), 79 + 12 * 4);
  EXPECT_EQ(work_of(named("RoiPool", ""), inputs, regions), 79 * 12)
      << "as many as a region has elements";
}

}  // namespace
}  // namespace quern
