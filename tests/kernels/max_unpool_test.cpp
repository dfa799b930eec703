// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/pool.h"
#include "graph/ops/windows.h"
#include "tests/expect.h"
#include "tests/kernels/spatial_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;

const MaxUnpool halves{.window = {.kernel = {2, 2}, .strides = {2, 2}}};

// The examples of ONNX's page.
TEST(MaxUnpool, PutsElementsBack) {
  const Tensor x = tensor<float>({1, 1, 2, 2}, {1, 2, 3, 4});
  const Tensor indices = tensor<std::int64_t>({1, 1, 2, 2}, {5, 7, 13, 15});
  const Tensor y = run(halves, {x, indices});
  EXPECT_EQ(y.shape(), (Shape{1, 1, 4, 4}));
  EXPECT_ELEMENTS(values<float>(y), 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4);
}

TEST(MaxUnpool, IndicesCountInWhatWasPooledWhateverTheOutputShape) {
  const Tensor x = tensor<float>({1, 1, 2, 2}, {5, 6, 7, 8});
  const Tensor indices = tensor<std::int64_t>({1, 1, 2, 2}, {5, 7, 13, 15});
  const Tensor y = run(halves, {x, indices, tensor<std::int64_t>({4}, {1, 1, 5, 5})});
  EXPECT_ELEMENTS(values<float>(y), 0, 0, 0, 0, 0, 0, 5, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7, 0, 8, 0, 0,
                  0, 0, 0, 0);
}

TEST(MaxUnpool, ChannelsAndPads) {
  const MaxUnpool op{.window = {.kernel = {2}, .strides = {2}, .pads = {1, 0}}};
  const Tensor y = run(op, {tensor<std::int32_t>({1, 2, 2}, {1, 2, 3, 4}),
                            tensor<std::int64_t>({1, 2, 2}, {0, 2, 3, 5})});
  EXPECT_EQ(y.shape(), (Shape{1, 2, 3}));
  EXPECT_ELEMENTS(values<std::int32_t>(y), 1, 0, 2, 3, 0, 4);
}

TEST(MaxUnpool, UndoesMaxPool) {
  const Pool pool{.window = {.kernel = {2, 2}, .strides = {2, 2}}};
  const auto pooled = run_reference(pool, {counting<float>({1, 2, 4, 4})}, 2);
  const Tensor y = run(halves, {(*pooled)[0], (*pooled)[1]});
  EXPECT_EQ(values<float>(run(pool, {y})), values<float>((*pooled)[0]));
}

TEST(MaxUnpool, RefusesWhatLiesOutside) {
  const Tensor x = tensor<float>({1, 1, 1, 1}, {1});
  const auto at = [&](std::int64_t i, std::int64_t rows) {
    return error_of(halves, {x, tensor<std::int64_t>({1, 1, 1, 1}, {i}),
                             tensor<std::int64_t>({4}, {1, 1, rows, 2})});
  };
  EXPECT_CONTAINS(at(4, 2), "index 4 lies outside of the output [1,1,2,2]");
  EXPECT_CONTAINS(at(-1, 2), "index -1 lies outside");
  EXPECT_CONTAINS(at(3, 1), "index 3 lies outside of the output [1,1,1,2]");
  EXPECT_CONTAINS(at(std::numeric_limits<std::int64_t>::min(), 1), "lies outside");
}

TEST(MaxUnpool, AbsurdWindowsAreNoIndices) {
  const std::int64_t huge = max_extent;
  const MaxUnpool op{.window = {.kernel = {huge, huge}, .strides = {huge, huge}}};
  EXPECT_CONTAINS(error_of(op, {counting<float>({1, 1, 3, 3}), counting<std::int64_t>({1, 1, 3, 3}),
                                tensor<std::int64_t>({4}, {1, 1, 1, 1})}),
                  "lies outside");
}

TEST(MaxUnpool, InfersWhatItCan) {
  EXPECT_EQ(dims_of(halves, {f32({2, 3, 4, Dim()}), i64({2, 3, 4, 5})}), (Dims{2, 3, 8, Dim()}));
  EXPECT_EQ(dims_of(halves, {f32({2, 3, 4, 5}), i64({2, 3, 4, 5}), i64({4})}),
            (Dims{2, 3, Dim(), Dim()}));
}

TEST(MaxUnpool, RefusesWhatDoesNotFit) {
  const Tensor x = counting<float>({1, 1, 2, 2});
  EXPECT_CONTAINS(error_of(halves, {x, counting<std::int64_t>({1, 1, 2, 3})}),
                  "must have one shape");
  EXPECT_CONTAINS(error_of(halves, {x, counting<std::int32_t>({1, 1, 2, 2})}), "must be i64");
  EXPECT_CONTAINS(error_of(MaxUnpool{}, {x, counting<std::int64_t>({1, 1, 2, 2})}),
                  "kernel_shape has 0 entries");
  EXPECT_CONTAINS(error_of(halves, {x, counting<std::int64_t>({1, 1, 2, 2}),
                                    tensor<std::int64_t>({4}, {1, 2, 4, 4})}),
                  "output_shape does not have");
}

}  // namespace
}  // namespace quern::testing
