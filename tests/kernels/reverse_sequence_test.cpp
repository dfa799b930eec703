// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/rearrange.h"
#include "tests/expect.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

const ReverseSequence batch_first{.batch_axis = 0, .time_axis = 1};

TEST(ReverseSequence, ReversesTheBeginningOfEach) {
  const Tensor y = run(batch_first, {counting({2, 4}), ints({1, 3})});
  EXPECT_ELEMENTS(values<float>(y), 0, 1, 2, 3, 6, 5, 4, 7);
  const Tensor z = run(ReverseSequence{}, {counting({3, 2}), ints({3, 0})});
  EXPECT_ELEMENTS(values<float>(z), 4, 1, 2, 3, 0, 5);
}

TEST(ReverseSequence, MovesWholeSlices) {
  const Tensor y = run(batch_first, {counting({1, 2, 2}), ints({2})});
  EXPECT_ELEMENTS(values<float>(y), 2, 3, 0, 1);
  EXPECT_EQ(run(batch_first, {counting({0, 2}), ints({})}).shape(), Shape({0, 2}));
}

TEST(ReverseSequence, Infer) {
  EXPECT_EQ(infer_text(batch_first, {f32({N, any}), i64({any})}), "f32[$0,?]");
}

TEST(ReverseSequence, Refuses) {
  const Tensor x = counting({2, 4});
  EXPECT_CONTAINS(error_of(batch_first, {x, ints({5, 0})}),
                  "sequence 0 has length 5, the time axis has 4");
  EXPECT_CONTAINS(error_of(batch_first, {x, ints({0, -1})}), "sequence 1 has length -1");
  EXPECT_CONTAINS(error_of(batch_first, {x, ints({1})}), "for each of 2 sequences");
  EXPECT_CONTAINS(error_of(batch_first, {counting({4}), ints({1})}), "rank 2 or more");
  EXPECT_CONTAINS(error_of(ReverseSequence{.batch_axis = 1, .time_axis = 1}, {x, ints({1})}),
                  "wants 0 and 1 in either order");
  EXPECT_CONTAINS(error_of(batch_first, {x, tensor<std::int64_t>({}, {1})}), "must have rank 1");
}

}  // namespace
}  // namespace quern::testing
