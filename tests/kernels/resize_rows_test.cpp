// SPDX-License-Identifier: Apache-2.0
// The fast Resize against the reference, over modes, sizes and layouts.
#include "graph/ops/resampling.h"
#include "tests/kernels/kernel_test.h"

namespace quern::testing {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;
using ::testing::StartsWith;

Tensor row_sizes(const Shape& out) {
  Tensor t = Tensor::zeros({DType::i64, {static_cast<std::int64_t>(out.rank())}}).value();
  std::copy(out.begin(), out.end(), reinterpret_cast<std::int64_t*>(t.mutable_data()));
  return t;
}

struct Sizes {
  Shape in, out;
};
const Sizes resize_cases[] = {
    {{1, 3, 5, 7}, {1, 3, 10, 14}}, {{2, 2, 6, 6}, {2, 2, 9, 6}},
    {{1, 4, 9, 8}, {1, 4, 4, 3}},   {{1, 20, 3, 3}, {1, 20, 7, 5}},
    {{2, 3, 9}, {2, 3, 13}},        {{4, 6}, {8, 3}},
    {{1, 2, 1, 1}, {1, 2, 5, 5}},   {{1, 8, 64, 64}, {1, 8, 128, 128}},
    {{3, 4, 2, 2}, {5, 4, 2, 2}},
};

std::vector<Resize> forms() {
  std::vector<Resize> ops;
  for (ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic})
    for (CoordinateMode coordinates :
         {CoordinateMode::half_pixel, CoordinateMode::asymmetric, CoordinateMode::align_corners})
      for (bool antialias : {false, true}) {
        if (antialias && mode == ResizeMode::nearest) continue;
        ops.push_back({.mode = mode, .coordinates = coordinates, .antialias = antialias});
      }
  return ops;
}

// Columns of one tap beside those of two or more, of one channel, few and many.
TEST(ResizeKernel, KeepsInfinities) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const std::int64_t channels : {1, 3, 20})
    for (const Resize& op : forms()) {
      const Shape in = {1, channels, 2, 4};
      Tensor x = Tensor::zeros({DType::f32, in}).value();
      std::ranges::fill(std::span(reinterpret_cast<float*>(x.mutable_data()),
                                  static_cast<std::size_t>(in.elements())),
                        op.mode == ResizeMode::cubic ? 1 : inf);
      for (const Shape& out : {Shape({1, channels, 2, 8}), Shape({1, channels, 4, 7})}) {
        const std::vector<Tensor> inputs = {x, absent(), absent(), row_sizes(out)};
        const auto want = values<float>(run(op, inputs));
        for (const Layout& layout : {Layout::row_major(in), Layout::channels_last(in)}) {
          const SelectedRun got = run_selected(op, inputs, {3}, 1, 2, layout);
          EXPECT_THAT(got.implementation, StartsWith("rows"));
          const auto found = values<float>(got.outputs[0]);
          for (std::size_t i = 0; i < want.size(); ++i)
            EXPECT_TRUE(found[i] == want[i] || std::abs(found[i] - want[i]) < 2e-6F)
                << found[i] << " for " << want[i] << ": " << out.text() << layout.text();
        }
      }
    }
}

TEST(ResizeKernel, IsCloseToTheReferenceInEveryLayout) {
  RandomTensors random(1);
  for (const Resize& op : forms())
    for (const Sizes& s : resize_cases) {
      const std::vector<Tensor> inputs = {random.floats(s.in), absent(), absent(),
                                          row_sizes(s.out)};
      const Tensor want = run(op, inputs);
      std::vector<Layout> layouts = {Layout::row_major(s.in)};
      if (s.in.rank() >= 3) {
        layouts.push_back(Layout::channels_last(s.in));
        layouts.push_back(Layout::channel_blocked(s.in, 4));
      }
      for (const Layout& layout : layouts) {
        if (layout.block && s.in[1] % layout.block != 0) continue;
        const SelectedRun got = run_selected(op, inputs, {3}, 1, 2, layout);
        EXPECT_THAT(got.implementation, StartsWith("rows"));
        EXPECT_THAT(values<float>(got.outputs[0]), Pointwise(FloatNear(2e-6f), values<float>(want)))
            << s.in.text() << " to " << s.out.text() << " lying as " << layout.text();
      }
    }
}

TEST(ResizeKernel, NearestTakesAnyType) {
  RandomTensors random(1);
  for (const Sizes& s : resize_cases) {
    const std::vector<Tensor> bytes = {random.bytes<std::uint8_t>(s.in), absent(), absent(),
                                       row_sizes(s.out)};
    const SelectedRun got = run_selected(Resize{}, bytes, {3});
    EXPECT_THAT(got.implementation, StartsWith("rows"));
    EXPECT_TRUE(same_bytes(got.outputs[0], run(Resize{}, bytes))) << s.in.text();
    const std::vector<Tensor> wide = {random.integers<std::int64_t>(s.in, -9, 9), absent(),
                                      absent(), row_sizes(s.out)};
    EXPECT_TRUE(same_bytes(run_selected(Resize{}, wide, {3}).outputs[0], run(Resize{}, wide)));
  }
}

TEST(ResizeKernel, LeavesOtherFormsToTheReference) {
  RandomTensors random(1);
  const Shape in = {2, 3, 4, 5, 6};
  const std::vector<Tensor> three = {random.floats(in), absent(), absent(),
                                     row_sizes({2, 3, 5, 6, 7})};
  const Resize linear{.mode = ResizeMode::linear};
  EXPECT_EQ(run_selected(linear, three, {3}).implementation, "reference");
  const std::vector<Tensor> integers = {random.bytes<std::uint8_t>({1, 1, 3, 3}), absent(),
                                        absent(), row_sizes({1, 1, 6, 6})};
  EXPECT_EQ(run_selected(linear, integers, {3}).implementation, "reference");
}

}  // namespace
}  // namespace quern::testing
