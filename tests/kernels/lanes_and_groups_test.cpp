// SPDX-License-Identifier: Apache-2.0
// Softmax over few elements, norms over groups of channels, and pads that repeat what is there,
// against the references: in the layouts that they keep, with one thread and two.
#include "graph/ops/layer_norm.h"
#include "graph/ops/pad.h"
#include "graph/ops/softmax.h"
#include "kernels/cpu/group_norm_rows.h"
#include "kernels/cpu/pad_indexed.h"
#include "kernels/cpu/softmax_lanes.h"
#include "tests/kernels/kernel_test.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

// The kernel's results, with input 0 in two layouts, against the reference's.
void expect_as_reference(const Op& op, const std::vector<Tensor>& inputs,
                         Selection (*select)(const KernelRequest&), float tolerance) {
  const Tensor wanted = run(op, inputs);
  std::vector<std::size_t> constants;
  for (std::size_t i = 1; i < inputs.size(); ++i) constants.push_back(i);
  std::vector<Layout> layouts = {Layout::row_major(inputs[0].shape())};
  if (inputs[0].shape().rank() > 2) layouts.push_back(Layout::channels_last(inputs[0].shape()));
  for (const Layout& layout : layouts)
    for (const int threads : {1, 2}) {
      const SelectedRun found = run_selected(op, inputs, constants, 1, threads, layout, select);
      ASSERT_FALSE(found.implementation.empty()) << inputs[0].shape().text();
      const auto y = found.outputs[0].span<float>();
      const auto z = wanted.span<float>();
      ASSERT_EQ(y.size(), z.size());
      for (std::size_t i = 0; i < y.size(); ++i)
        if (!(y[i] == z[i] || (std::isnan(y[i]) && std::isnan(z[i])))) {
          ASSERT_NEAR(y[i], z[i], tolerance)
              << found.implementation << ", element " << i << " of " << inputs[0].shape().text();
        }
    }
}

TEST(SoftmaxLanes, AreTheRowsOfTheReference) {
  struct Case {
    Shape shape;
    std::int64_t axis;
    bool flatten = false;
  };
  const Case cases[] = {
      {{2, 4, 33, 17}, 1},   {{100, 4}, 1},         {{3, 50, 2}, 2},         {{1, 7, 700}, 1},
      {{256, 16}, 0},        {{19, 32}, -1},        {{5, 600}, 0},           {{20, 16, 1}, 1},
      {{1, 40, 2}, 2, true}, {{20, 3, 5}, 1, true}, {{4, 5, 3, 2}, 2, true},
  };
  RandomTensors random(3);
  for (const Case& c : cases)
    for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax}) {
      const Op op = Softmax{.kind = kind, .axis = c.axis, .flatten = c.flatten};
      expect_as_reference(op, {random.floats(c.shape)}, select_softmax_lanes, 2e-6f);
    }
}

TEST(SoftmaxLanes, LargeNumbersInfinitiesAndNaNStayInTheirRows) {
  const float infinite = std::numeric_limits<float>::infinity();
  Tensor x = Tensor::zeros({DType::f32, {16, 3}}).value();
  auto* p = reinterpret_cast<float*>(x.mutable_data());
  for (int i = 0; i < 48; ++i) p[i] = static_cast<float>(i % 7) * 1000;
  p[3] = -infinite;
  p[6] = p[7] = p[8] = -infinite;
  p[10] = std::nanf("");
  p[14] = infinite;
  for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax}) {
    const Op op = Softmax{.kind = kind};
    expect_as_reference(op, {x}, select_softmax_lanes, 1e-3f);
  }
}

TEST(SoftmaxLanes, LeaveLongRowsToOthers) {
  const Op op = Softmax{};
  RandomTensors random(3);
  const std::vector<Tensor> inputs = {random.floats({64, 33})};
  SelectedCase c{.op = op, .inputs = inputs};
  c.select = select_softmax_lanes;
  EXPECT_EQ(run_selected(c).implementation, "");
}

TEST(GroupNormRows, AreTheGroupsOfTheReference) {
  RandomTensors random(5);
  for (const Shape& shape : {Shape{2, 6, 5, 7}, Shape{1, 12, 9000}, Shape{3, 6}})
    for (const std::int64_t groups : {0, 1, 3}) {
      const std::vector<Tensor> inputs = {random.floats(shape), random.floats({shape[1]}),
                                          random.floats({shape[1]})};
      expect_as_reference(GroupNorm{.groups = groups, .epsilon = 1e-3f}, inputs,
                          select_group_norm_rows, 2e-5f);
    }
}

TEST(GroupNormRows, AMeanFarFromZeroCostsNoDigits) {
  RandomTensors random(9);
  Tensor x = random.floats({1, 2, 300'000});
  auto* p = reinterpret_cast<float*>(x.mutable_data());
  for (std::int64_t i = 0; i < x.shape().elements(); ++i) p[i] += 512;
  expect_as_reference(GroupNorm{.groups = 1},
                      {x, tensor<float>({2}, {1, 2}), tensor<float>({2}, {0, 1})},
                      select_group_norm_rows, 2e-3f);
}

TEST(PadIndexed, RepeatsWhatTheReferenceRepeats) {
  struct Case {
    Shape shape;
    std::initializer_list<std::int64_t> pads;
  };
  const Case cases[] = {{{2, 3, 5, 6}, {0, 0, 2, 3, 0, 0, 1, 4}},
                        {{2, 3, 5, 6}, {0, 1, -1, 0, 0, 2, 3, 0}},
                        {{1, 1, 4, 4}, {0, 2, 0, 0, 0, 2, 1, 0}},
                        {{7}, {-2, 11}},
                        {{3, 4}, {1, 0, 1, 0}},
                        {{4, 1, 3}, {0, 3, 9, 2, 0, -2}},
                        {{2, 2, 3}, {-1, 0, 0, 0, 0, 0}}};
  RandomTensors random(7);
  for (const Case& c : cases)
    for (const PadMode mode : {PadMode::reflect, PadMode::edge, PadMode::wrap}) {
      const Tensor pads = tensor<std::int64_t>({static_cast<std::int64_t>(c.pads.size())}, c.pads);
      expect_as_reference(Pad{.mode = mode}, {random.floats(c.shape), pads}, select_pad_indexed, 0);
    }
}

TEST(PadIndexed, MovesElementsOfEverySize) {
  const Tensor pads = tensor<std::int64_t>({2}, {2, 2});
  const Op op = Pad{.mode = PadMode::reflect};
  const Tensor bytes = tensor<std::int8_t>({3}, {1, 2, 3});
  const Tensor doubles = tensor<double>({3}, {1, 2, 3});
  for (const Tensor& x : {bytes, doubles})
    EXPECT_TRUE(
        same_bytes(run_selected(op, {x, pads}, {1}, 1, 1, {}, select_pad_indexed).outputs[0],
                   run(op, {x, pads})));
}

}  // namespace
}  // namespace quern::testing
