// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/rearrange.h"
#include "kernels/cpu/depth_space_copy.h"
#include "tests/expect.h"
#include "tests/kernels/kernel_test.h"
#include "tests/kernels/movement_test.h"

namespace quern::testing {
namespace {

constexpr auto dcr = DepthSpaceKind::depth_to_space_dcr;
constexpr auto crd = DepthSpaceKind::depth_to_space_crd;
constexpr auto s2d = DepthSpaceKind::space_to_depth;

TEST(DepthSpace, OneChannelInEitherOrderIsTheSame) {
  for (DepthSpaceKind kind : {dcr, crd}) {
    const Tensor y = run(DepthSpace{.kind = kind, .block = 2}, {counting({1, 4, 1, 2})});
    EXPECT_EQ(y.shape(), Shape({1, 1, 2, 4}));
    EXPECT_ELEMENTS(values<float>(y), 0, 2, 1, 3, 4, 6, 5, 7);
  }
}

TEST(DepthSpace, TwoChannelsTellTheOrdersApart) {
  const Tensor x = counting({1, 8, 1, 1});
  EXPECT_ELEMENTS(values<float>(run(DepthSpace{.kind = dcr, .block = 2}, {x})), 0, 2, 4, 6, 1, 3, 5,
                  7);
  EXPECT_ELEMENTS(values<float>(run(DepthSpace{.kind = crd, .block = 2}, {x})), 0, 1, 2, 3, 4, 5, 6,
                  7);
}

TEST(DepthSpace, SpaceToDepthUndoesDcr) {
  const Tensor x = counting({2, 2, 4, 2});
  const Tensor deep = run(DepthSpace{.kind = s2d, .block = 2}, {x});
  EXPECT_EQ(deep.shape(), Shape({2, 8, 2, 1}));
  EXPECT_EQ(values<float>(run(DepthSpace{.kind = dcr, .block = 2}, {deep})), values<float>(x));
}

TEST(DepthSpace, Infer) {
  EXPECT_EQ(infer_text(DepthSpace{.kind = dcr, .block = 2}, {f32({N, 8, any, 3})}),
            "f32[$0,2,?,6]");
  EXPECT_EQ(infer_text(DepthSpace{.kind = s2d, .block = 2}, {f32({N, 3, any, 6})}),
            "f32[$0,12,?,3]");
  EXPECT_EQ(infer_text(DepthSpace{.kind = crd, .block = 1}, {f32({N, M, 2, 2})}), "f32[$0,$1,2,2]");
  EXPECT_EQ(infer_text(DepthSpace{}, {unranked(DType::f32)}), "f32[?,?,?,?]");
}

TEST(DepthSpace, Refuses) {
  EXPECT_CONTAINS(error_of(DepthSpace{.block = 2}, {counting({1, 6, 1, 1})}),
                  "channels are no multiple of 4");
  EXPECT_CONTAINS(error_of(DepthSpace{.kind = s2d, .block = 2}, {counting({1, 1, 2, 3})}),
                  "height or width is no multiple of 2");
  EXPECT_CONTAINS(error_of(DepthSpace{.block = 0}, {counting({1, 1, 1, 1})}), "blocksize");
  EXPECT_CONTAINS(error_of(DepthSpace{.block = int_max}, {counting({1, 1, 1, 1})}), "blocksize");
  EXPECT_CONTAINS(error_of(DepthSpace{}, {counting({1, 1, 1})}), "must have rank 4");
}

// Elements of every size, as the input lies, with one thread and two.
TEST(DepthSpaceCopy, IsTheReference) {
  RandomTensors random(10);
  for (const DepthSpaceKind kind : {dcr, crd, s2d})
    for (const std::int64_t block : {1, 2, 3}) {
      const Shape shape =
          kind == s2d ? Shape{2, 5, 4 * block, 7 * block} : Shape{2, 8 * block * block, 9, 6};
      std::vector<Layout> layouts = {Layout::row_major(shape), Layout::channels_last(shape)};
      if (shape[1] % 8 == 0) layouts.push_back(Layout::channel_blocked(shape, 8));
      const DepthSpace op{.kind = kind, .block = block};
      for (const Tensor& x : {random.floats(shape), random.bytes<std::uint8_t>(shape),
                              random.integers<std::int64_t>(shape, -100, 100)})
        for (const Layout& layout : layouts)
          for (const int threads : {1, 2}) {
            const SelectedRun got =
                run_selected(op, {x}, {}, 1, threads, layout, select_depth_space_copy);
            EXPECT_EQ(got.implementation, "copy");
            EXPECT_TRUE(same_bytes(got.outputs[0], run(op, {x})))
                << shape.text() << " lying as " << layout.text();
          }
    }
}

}  // namespace
}  // namespace quern::testing
