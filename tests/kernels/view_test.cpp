// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/reshape.h"
#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

TEST(Identity, KeepsTypeAndElements) {
  const Tensor y = run(Identity{}, {strings({2}, {"a", ""})});
  EXPECT_THAT(string_values(y), ElementsAre("a", ""));
  EXPECT_EQ(infer_text(Identity{}, {sequence_of(DType::i64, Dims{N})}), "seq(i64[$0])");
}

// The rank that a model declares is checked, and known from there on.
TEST(Identity, HoldsAValueToItsRank) {
  const ValueType open{DType::f32, std::nullopt};
  EXPECT_EQ(infer_text(Identity{.rank = 2}, {open}), "f32[?,?]");
  EXPECT_EQ(infer_text(Identity{.rank = 0}, {open}), "f32[]");
  EXPECT_EQ(infer_text(Identity{}, {open}), "f32[*]");
  EXPECT_EQ(infer_text(Identity{.rank = 1}, {f32({N})}), "f32[$0]");
  EXPECT_CONTAINS(error_of(Identity{.rank = 0}, {counting({1})}), "of rank 0");
  EXPECT_CONTAINS(error_of(Identity{.rank = 17}, {counting({1})}), "of rank 17");
}

TEST(Reshape, KeepsTheOrderOfElements) {
  const Tensor y = run(Reshape{}, {counting({2, 3}), ints({3, -1})});
  EXPECT_EQ(y.shape(), Shape({3, 2}));
  EXPECT_ELEMENTS(values<float>(y), 0, 1, 2, 3, 4, 5);
}

TEST(Reshape, ToAndFromAScalar) {
  EXPECT_EQ(run(Reshape{}, {counting({1, 1}), ints({})}).shape(), Shape());
  EXPECT_EQ(run(Reshape{}, {counting({}), ints({1, -1})}).shape(), Shape({1, 1}));
}

TEST(Reshape, ZeroCopiesTheDimension) {
  EXPECT_EQ(run(Reshape{}, {counting({2, 3, 4}), ints({0, 0, 2, 2})}).shape(), Shape({2, 3, 2, 2}));
}

TEST(Reshape, EmptyTensors) {
  EXPECT_EQ(run(Reshape{}, {counting({0, 3, 4}), ints({0, -1})}).shape(), Shape({0, 12}));
  EXPECT_EQ(run(Reshape{}, {counting({0, 4}), ints({-1, 4})}).shape(), Shape({0, 4}));
  EXPECT_EQ(run(Reshape{.allow_zero = true}, {counting({0, 3}), ints({5, 0})}).shape(),
            Shape({5, 0}));
}

TEST(Reshape, SymbolsCancel) {
  EXPECT_EQ(infer_text(Reshape{}, {f32({N, 4, 5}), ints({0, -1})}), "f32[$0,20]");
  EXPECT_EQ(infer_text(Reshape{}, {f32({N, 4, 5}), ints({-1, 20})}), "f32[$0,20]");
  EXPECT_EQ(infer_text(Reshape{}, {f32({N, 4, 5}), ints({-1, 10})}), "f32[?,10]");
  EXPECT_EQ(infer_text(Reshape{}, {f32({N, M, 5}), ints({-1, 5})}), "f32[?,5]");
  EXPECT_EQ(infer_text(Reshape{}, {f32({N, M, 5}), ints({0, 0, -1})}), "f32[$0,$1,5]");
  EXPECT_EQ(infer_text(Reshape{}, {f32({any, 5}), ints({-1, 5})}), "f32[?,5]");
}

TEST(Reshape, SaysTheRankBeforeTheShapeIsKnown) {
  EXPECT_EQ(infer_text(Reshape{}, {f32({2, 3}), i64({3})}), "f32[?,?,?]");
  EXPECT_EQ(infer_text(Reshape{}, {f32({2, 3}), i64({1})}), "f32[6]");
  EXPECT_EQ(infer_text(Reshape{}, {f32({2, 3}), i64({N})}), "f32[*]");
  EXPECT_EQ(infer_text(Reshape{}, {unranked(DType::f32), ints({0, 7, -1})}), "f32[?,7,?]");
}

TEST(Reshape, Refuses) {
  const Tensor x = counting({2, 3});
  EXPECT_CONTAINS(error_of(Reshape{}, {x, ints({4, 2})}),
                  "cannot reshape [2,3] (6 elements) to [4,2]");
  EXPECT_CONTAINS(error_of(Reshape{}, {x, ints({4, -1})}),
                  "cannot reshape [2,3] (6 elements) to [4,-1]");
  EXPECT_CONTAINS(error_of(Reshape{}, {x, ints({-1, -1})}), "two entries of -1");
  EXPECT_CONTAINS(error_of(Reshape{}, {x, ints({-2, 3})}), "below -1");
  EXPECT_CONTAINS(error_of(Reshape{}, {x, ints({2, 3, 0})}),
                  "entry 2 of the shape is 0 and copies a dimension");
  EXPECT_CONTAINS(error_of(Reshape{.allow_zero = true}, {x, ints({0, -1})}), "both 0 and -1");
  EXPECT_CONTAINS(
      error_of(Reshape{}, {x, ints({6, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})}),
      "rank 17");
  EXPECT_CONTAINS(error_of(Reshape{}, {x, tensor<float>({1}, {6})}), "must be i64 or i32");
  EXPECT_CONTAINS(error_of(Reshape{}, {x, tensor<std::int64_t>({1, 1}, {6})}), "must be a list");
}

TEST(Reshape, HugeProductsDoNotOverflow) {
  const std::int64_t big = std::int64_t{1} << 40;
  EXPECT_CONTAINS(error_of(Reshape{}, {counting({2}), ints({big, big})}), "cannot reshape");
  EXPECT_CONTAINS(infer_text(Reshape{}, {f32({big, big}), ints({-1})}), "f32[9223372036854775807]");
}

TEST(Squeeze, TakesTheAxesOrAllOnes) {
  EXPECT_EQ(run(Squeeze{}, {counting({1, 3, 1}), ints({-1})}).shape(), Shape({1, 3}));
  EXPECT_EQ(run(Squeeze{}, {counting({1, 3, 1})}).shape(), Shape({3}));
  EXPECT_EQ(run(Squeeze{}, {counting({1, 1})}).shape(), Shape());
  EXPECT_EQ(run(Squeeze{}, {counting({1, 3}), ints({})}).shape(), Shape({1, 3}));
}

TEST(Squeeze, OnWhatIsNotKnownYet) {
  EXPECT_EQ(infer_text(Squeeze{}, {f32({N, 1, any}), ints({1, 2})}), "f32[$0]");
  EXPECT_EQ(infer_text(Squeeze{}, {f32({N, 1})}), "f32[*]");
  EXPECT_EQ(infer_text(Squeeze{}, {f32({N, 1, 2}), i64({1})}), "f32[?,?]");
  EXPECT_EQ(infer_text(Squeeze{}, {unranked(DType::f32), ints({1})}), "f32[*]");
}

TEST(Squeeze, Refuses) {
  EXPECT_CONTAINS(error_of(Squeeze{}, {counting({2, 3}), ints({1})}),
                  "dimension 1 of input 0 (f32[2,3]) is not 1");
  EXPECT_CONTAINS(error_of(Squeeze{}, {counting({1, 3}), ints({2})}), "outside of rank 2");
  EXPECT_CONTAINS(error_of(Squeeze{}, {counting({1, 3}), ints({0, -2})}), "given twice");
  EXPECT_CONTAINS(infer_text(Squeeze{}, {f32({1}), i64({2})}), "2 axes");
}

TEST(Unsqueeze, AxesSpeakOfTheResult) {
  EXPECT_EQ(run(Unsqueeze{}, {counting({2, 3}), ints({3, 0})}).shape(), Shape({1, 2, 3, 1}));
  EXPECT_EQ(run(Unsqueeze{}, {counting({2, 3}), ints({-1, -3})}).shape(), Shape({2, 1, 3, 1}));
  EXPECT_EQ(run(Unsqueeze{}, {counting({}), ints32({0})}).shape(), Shape({1}));
  EXPECT_EQ(infer_text(Unsqueeze{}, {f32({N, M}), ints({1})}), "f32[$0,1,$1]");
  EXPECT_EQ(infer_text(Unsqueeze{}, {f32({N, M}), i64({2})}), "f32[?,?,?,?]");
  EXPECT_EQ(infer_text(Unsqueeze{}, {unranked(DType::f32), ints({1})}), "f32[*]");
}

TEST(Unsqueeze, Refuses) {
  EXPECT_CONTAINS(error_of(Unsqueeze{}, {counting({2}), ints({2})}), "outside of rank 2");
  EXPECT_CONTAINS(error_of(Unsqueeze{}, {counting({2}), ints({1, 1})}), "given twice");
  EXPECT_CONTAINS(
      infer_text(Unsqueeze{}, {f32({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}), ints({0})}),
      "rank 17");
}

TEST(Flatten, CutsBeforeTheAxis) {
  EXPECT_EQ(run(Flatten{.axis = 2}, {counting({2, 3, 4})}).shape(), Shape({6, 4}));
  EXPECT_EQ(run(Flatten{.axis = 0}, {counting({2, 3})}).shape(), Shape({1, 6}));
  EXPECT_EQ(run(Flatten{.axis = 2}, {counting({2, 3})}).shape(), Shape({6, 1}));
  EXPECT_EQ(run(Flatten{.axis = -1}, {counting({2, 3, 4})}).shape(), Shape({6, 4}));
  EXPECT_EQ(run(Flatten{.axis = 0}, {counting({})}).shape(), Shape({1, 1}));
  EXPECT_EQ(infer_text(Flatten{}, {f32({N, 3, 4})}), "f32[$0,12]");
  EXPECT_EQ(infer_text(Flatten{}, {f32({N, M, 4})}), "f32[$0,?]");
  EXPECT_EQ(infer_text(Flatten{}, {unranked(DType::f32)}), "f32[?,?]");
  EXPECT_CONTAINS(error_of(Flatten{.axis = 3}, {counting({2, 3})}), "outside of rank 2");
}

}  // namespace
}  // namespace quern::testing
