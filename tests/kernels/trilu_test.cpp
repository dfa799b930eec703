// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/rearrange.h"
#include "kernels/cpu/trilu_copy.h"
#include "tests/expect.h"
#include "tests/kernels/kernel_test.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

std::vector<float> triangle(bool upper, std::int64_t k) {
  const Tensor x = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  return values<float>(run(Trilu{.upper = upper}, {x, tensor<std::int64_t>({}, {k})}));
}

TEST(Trilu, UpperAndLower) {
  EXPECT_ELEMENTS(triangle(true, 0), 1, 2, 3, 0, 5, 6);
  EXPECT_ELEMENTS(triangle(true, 1), 0, 2, 3, 0, 0, 6);
  EXPECT_ELEMENTS(triangle(true, -1), 1, 2, 3, 4, 5, 6);
  EXPECT_ELEMENTS(triangle(false, 0), 1, 0, 0, 4, 5, 0);
  EXPECT_ELEMENTS(triangle(false, -1), 0, 0, 0, 4, 0, 0);
}

TEST(Trilu, AnyK) {
  EXPECT_ELEMENTS(triangle(true, int_max), 0, 0, 0, 0, 0, 0);
  EXPECT_ELEMENTS(triangle(true, int_min), 1, 2, 3, 4, 5, 6);
  EXPECT_ELEMENTS(triangle(false, int_max), 1, 2, 3, 4, 5, 6);
  EXPECT_ELEMENTS(triangle(false, int_min), 0, 0, 0, 0, 0, 0);
}

TEST(Trilu, BatchesAndEmptyOnes) {
  const Tensor y = run(Trilu{}, {tensor<std::int8_t>({2, 1, 1, 2}, {1, 2, 3, 4})});
  EXPECT_ELEMENTS(values<std::int8_t>(y), 1, 2, 3, 4);
  EXPECT_EQ(run(Trilu{}, {counting({0, 3})}).shape(), Shape({0, 3}));
  EXPECT_EQ(run(Trilu{}, {counting({2, 3, 0})}).shape(), Shape({2, 3, 0}));
}

TEST(Trilu, Infer) {
  EXPECT_EQ(infer_text(Trilu{}, {f32({N, any})}), "f32[$0,?]");
  EXPECT_CONTAINS(error_of(Trilu{}, {counting({3})}), "rank 2 or more");
  EXPECT_CONTAINS(error_of(Trilu{}, {counting({1, 1}), ints({1, 2})}), "one element");
  EXPECT_CONTAINS(error_of(Trilu{}, {counting({1, 1}), counting({})}), "i64 or i32");
}

TEST(TriluCopy, IsTheReference) {
  RandomTensors random(12);
  for (const Shape& shape : {Shape{2, 3, 5, 7}, Shape{6, 4}, Shape{3, 1, 9}, Shape{2, 70, 70}})
    for (const bool upper : {true, false})
      for (const std::int64_t k : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-2},
                                   std::int64_t{6}, std::int64_t{-9}, int_min, int_max})
        for (const Tensor& x : {random.floats(shape), random.bytes<std::uint8_t>(shape)})
          for (const int threads : {1, 2}) {
            const Trilu op{.upper = upper};
            const std::vector<Tensor> inputs = {x, tensor<std::int64_t>({}, {k})};
            const SelectedRun got =
                run_selected(op, inputs, {}, 1, threads, std::nullopt, select_trilu_copy);
            EXPECT_TRUE(same_bytes(got.outputs[0], run(op, inputs)))
                << shape.text() << " from " << k << ", upper " << upper;
          }
}

}  // namespace
}  // namespace quern::testing
