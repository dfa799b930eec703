// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/scatter.h"

#include <cmath>

#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

using Reduction = ScatterReduction;

Scatter elements(std::int64_t axis, Reduction r = Reduction::none) {
  return {.kind = ScatterKind::elements, .axis = axis, .reduction = r};
}
Scatter nd(Reduction r = Reduction::none) {
  return {.kind = ScatterKind::nd, .reduction = r};
}

TEST(ScatterElements, WritesAtTheReplacedCoordinate) {
  const Tensor y = run(elements(0), {counting({2, 2}), tensor<std::int64_t>({1, 2}, {1, -2}),
                                     tensor<float>({1, 2}, {8, 9})});
  EXPECT_ELEMENTS(values<float>(y), 0, 9, 8, 3);
}

TEST(ScatterElements, TheLastOfDuplicatesStays) {
  const Tensor y =
      run(elements(0), {strings({2}, {"a", "b"}), ints32({1, 1}), strings({2}, {"c", "d"})});
  EXPECT_THAT(string_values(y), ElementsAre("a", "d"));
}

template <class T>
std::vector<T> reduced(Reduction r, std::initializer_list<std::type_identity_t<T>> updates) {
  Tensor u = tensor<T>({static_cast<std::int64_t>(updates.size())}, updates);
  Tensor at = Tensor::zeros({DType::i64, u.shape()}).value();  // all to the first element
  return values<T>(run(elements(0, r), {tensor<T>({2}, {T(2.0f), T(5.0f)}), at, u}));
}

TEST(ScatterElements, ReducesDuplicates) {
  EXPECT_THAT(reduced<float>(Reduction::add, {1, 2}), ElementsAre(5, 5));
  EXPECT_THAT(reduced<float>(Reduction::mul, {3, 4}), ElementsAre(24, 5));
  EXPECT_THAT(reduced<float>(Reduction::max, {1, 7, 3}), ElementsAre(7, 5));
  EXPECT_THAT(reduced<float>(Reduction::min, {3, -1}), ElementsAre(-1, 5));
  EXPECT_THAT(reduced<std::uint8_t>(Reduction::add, {200, 100}), ElementsAre(46, 5));
  EXPECT_THAT(reduced<std::int64_t>(Reduction::add, {int_max}), ElementsAre(int_min + 1, 5));
}

TEST(ScatterElements, NaNGoesThrough) {
  for (Reduction r : {Reduction::add, Reduction::mul, Reduction::max, Reduction::min})
    EXPECT_TRUE(std::isnan(reduced<float>(r, {NAN, 1})[0]));
}

TEST(ScatterElements, HalvesAreSummedInFloat) {
  // 2048 + 1 rounds back to 2048 in binary16; two of them must not get lost.
  const auto y = reduced<Half>(Reduction::add, {Half(2046.f), Half(1.f), Half(1.f)});
  EXPECT_EQ(static_cast<float>(y[0]), 2050);
}

TEST(ScatterElements, BoolsByOrAndAnd) {
  const Tensor x = tensor<bool>({2}, {false, true});
  const auto run_bool = [&](Reduction r, bool u) {
    return values<bool>(run(elements(0, r), {x, ints({0, 1}), tensor<bool>({2}, {u, u})}));
  };
  EXPECT_ELEMENTS(run_bool(Reduction::add, true), true, true);
  EXPECT_ELEMENTS(run_bool(Reduction::max, false), false, true);
  EXPECT_ELEMENTS(run_bool(Reduction::mul, true), false, true);
  EXPECT_ELEMENTS(run_bool(Reduction::min, false), false, false);
}

TEST(ScatterElements, Refuses) {
  const Tensor x = counting({2, 2});
  const Tensor at = tensor<std::int64_t>({1, 2}, {0, 2});
  EXPECT_CONTAINS(error_of(elements(0), {x, at, counting({1, 2})}), "index 2 is outside");
  EXPECT_CONTAINS(error_of(elements(0), {x, at, counting({2, 1})}), "must have one shape");
  EXPECT_CONTAINS(error_of(elements(0), {x, ints({0}), counting({1})}), "must have rank 2");
  EXPECT_CONTAINS(
      error_of(elements(1), {x, tensor<std::int64_t>({3, 1}, {0, 0, 0}), counting({3, 1})}),
      "reaches beyond input 0 (f32[2,2]) in dimension 0");
  EXPECT_CONTAINS(error_of(elements(2), {x, at, counting({1, 2})}), "outside of rank 2");
  EXPECT_CONTAINS(error_of(elements(0), {x, at, tensor<std::int64_t>({1, 2}, {0, 0})}),
                  "one element type");
  EXPECT_CONTAINS(
      error_of(elements(0, Reduction::add), {strings({1}, {"a"}), ints({0}), strings({1}, {"b"})}),
      "reduction add does not take string");
}

TEST(ScatterNd, ElementsAndSlices) {
  const Tensor x = counting({4});
  EXPECT_ELEMENTS(values<float>(run(nd(), {x, tensor<std::int64_t>({2, 1}, {3, -4}),
                                           tensor<float>({2}, {8, 9})})),
                  9, 1, 2, 8);
  EXPECT_ELEMENTS(values<float>(run(nd(), {counting({2, 2}), tensor<std::int64_t>({1, 1}, {1}),
                                           tensor<float>({1, 2}, {7, 8})})),
                  0, 1, 7, 8);
  EXPECT_ELEMENTS(values<float>(run(nd(Reduction::add), {x, tensor<std::int64_t>({2, 1}, {1, 1}),
                                                         tensor<float>({2}, {10, 20})})),
                  0, 31, 2, 3);
}

TEST(ScatterNd, Refuses) {
  const Tensor x = counting({2, 2});
  EXPECT_CONTAINS(error_of(nd(), {x, ints({0, 2}), tensor<float>({}, {1})}), "index 2");
  EXPECT_CONTAINS(error_of(nd(), {x, ints({0, 0, 0}), tensor<float>({}, {1})}),
                  "coordinates of 3 numbers");
  EXPECT_CONTAINS(error_of(nd(), {x, ints({0}), counting({1})}), "input 2 (f32[1]) does not suit");
  EXPECT_CONTAINS(error_of(nd(), {counting({}), ints({0}), counting({})}), "is a scalar");
  EXPECT_CONTAINS(error_of(nd(), {x, tensor<std::int64_t>({}, {0}), x}), "is a scalar");
}

TEST(Scatter, InferKeepsTheType) {
  EXPECT_EQ(infer_text(nd(), {f32({N, 2}), i64({any, 1}), f32({any, 2})}), "f32[$0,2]");
  EXPECT_EQ(infer_text(elements(0), {unranked(DType::f32), i64({2}), f32({2})}), "f32[*]");
}

}  // namespace
}  // namespace quern::testing
