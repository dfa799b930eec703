// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/tile.h"
#include "kernels/cpu/tile_copy.h"
#include "tests/expect.h"
#include "tests/kernels/kernel_test.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

TEST(Expand, BroadcastsBothWays) {
  const Tensor y = run(Expand{}, {tensor<float>({2, 1}, {1, 2}), ints({2, 1, 3})});
  EXPECT_EQ(y.shape(), Shape({2, 2, 3}));
  EXPECT_ELEMENTS(values<float>(y), 1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2);
  EXPECT_EQ(run(Expand{}, {counting({3, 4}), ints({1})}).shape(), Shape({3, 4}));
  EXPECT_THAT(string_values(run(Expand{}, {strings({}, {"s"}), ints({2})})), ElementsAre("s", "s"));
}

TEST(Expand, ToNothing) {
  EXPECT_EQ(run(Expand{}, {counting({1, 3}), ints({0, 3})}).shape(), Shape({0, 3}));
  EXPECT_EQ(run(Expand{}, {counting({}), ints({})}).shape(), Shape());
}

TEST(Expand, Infer) {
  EXPECT_EQ(infer_text(Expand{}, {f32({N, 1}), ints({1, 5})}), "f32[$0,5]");
  EXPECT_EQ(infer_text(Expand{}, {f32({3, 1}), i64({3})}), "f32[?,3,?]");
  EXPECT_EQ(infer_text(Expand{}, {f32({3, 1}), i64({N})}), "f32[*]");
  EXPECT_EQ(infer_text(Expand{}, {unranked(DType::f32), ints({2})}), "f32[*]");
}

TEST(Expand, Refuses) {
  EXPECT_CONTAINS(error_of(Expand{}, {counting({2}), ints({3})}),
                  "input 0 (f32[2]) does not broadcast to [3]");
  EXPECT_CONTAINS(error_of(Expand{}, {counting({2}), ints({-1})}), "negative entry");
  EXPECT_CONTAINS(infer_text(Expand{}, {f32({2}), i64({17})}), "rank 17");
  EXPECT_CONTAINS(error_of(Expand{}, {counting({1}), ints({int_max})}),
                  "not a size that a tensor can have");
}

TEST(Tile, RepeatsEachDimension) {
  const Tensor y = run(Tile{}, {tensor<float>({2, 2}, {1, 2, 3, 4}), ints({2, 2})});
  EXPECT_ELEMENTS(values<float>(y), 1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4);
  EXPECT_EQ(run(Tile{}, {counting({2}), ints({0})}).shape(), Shape({0}));
  EXPECT_EQ(run(Tile{}, {counting({0, 2}), ints({3, 2})}).shape(), Shape({0, 4}));
  EXPECT_ELEMENTS(values<float>(run(Tile{}, {tensor<float>({}, {3}), ints({})})), 3);
}

TEST(Tile, Infer) {
  EXPECT_EQ(infer_text(Tile{}, {f32({N, 3, any}), ints({1, 2, 2})}), "f32[$0,6,?]");
  EXPECT_EQ(infer_text(Tile{}, {f32({N, 3}), i64({2})}), "f32[?,?]");
  EXPECT_EQ(infer_text(Tile{}, {unranked(DType::f32), i64({2})}), "f32[?,?]");
  EXPECT_EQ(infer_text(Tile{}, {f32({4}), ints({int_max})}), "f32[9223372036854775807]");
  EXPECT_CONTAINS(error_of(Tile{}, {counting({2}), ints({1, 1})}), "2 repeats");
  EXPECT_CONTAINS(error_of(Tile{}, {counting({2}), ints({-1})}), "negative entry");
}

TEST(TileCopy, IsTheReference) {
  struct Case {
    Shape x;
    std::vector<std::int64_t> repeats;
  };
  const Case cases[] = {{{3, 5}, {2, 3}},
                        {{1, 7, 4}, {6, 1, 1}},
                        {{2, 3, 4, 5}, {1, 1, 2, 2}},
                        {{4, 1, 3}, {1, 50, 1}},
                        {{9}, {1}},
                        {{}, {}},
                        {{64, 33}, {1, 20}},
                        {{2, 1, 1, 1, 2}, {2, 2, 2, 1, 1}}};
  RandomTensors random(13);
  for (const Case& c : cases)
    for (const Tensor& x : {random.floats(c.x), random.bytes<std::uint8_t>(c.x)})
      for (const int threads : {1, 2}) {
        Tensor repeats =
            Tensor::zeros({DType::i64, {static_cast<std::int64_t>(c.repeats.size())}}).value();
        std::copy(c.repeats.begin(), c.repeats.end(),
                  reinterpret_cast<std::int64_t*>(repeats.mutable_data()));
        const std::vector<Tensor> inputs = {x, repeats};
        const SelectedRun got =
            run_selected(Tile{}, inputs, {}, 1, threads, std::nullopt, select_tile_copy);
        EXPECT_TRUE(same_bytes(got.outputs[0], run(Tile{}, inputs))) << c.x.text();
      }
}

}  // namespace
}  // namespace quern::testing
