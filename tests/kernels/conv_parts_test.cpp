// SPDX-License-Identifier: Apache-2.0
// Convolutions in parts, by images and by rows, against the convolution in one piece: all ranks,
// strides, dilations, pads, groups, channels that fill no vector, and post-ops whose operand is one
// number a channel or has the shape of the result.
#include "kernels/contract/conv_parts.h"

#include "engine/vocabulary/text_util.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/conv.h"
#include "kernels/simd/simd.h"
#include "tests/graph/named_op.h"
#include "tests/kernels/kernel_test.h"
#include "tests/process_time.h"
#include "tests/serial_pool.h"

namespace quern::testing {
namespace {

struct PartedConv {
  Shape x, w;
  Conv op;
};

const PartedConv parted_convs[] = {
    {{2, 3, 40, 9}, {16, 3, 3, 3}, {{.pads = {1, 1, 1, 1}}}},
    {{1, 16, 37, 12}, {16, 16, 5, 3}, {{.strides = {2, 1}, .pads = {2, 1, 0, 1}}}},
    {{1, 8, 41, 7}, {24, 8, 3, 3}, {{.pads = {4, 2, 4, 2}, .dilations = {4, 2}}}},
    {{1, 20, 33, 6}, {20, 1, 3, 3}, {{.pads = {1, 1, 1, 1}}, 20}},
    {{3, 16, 34, 5}, {32, 8, 1, 1}, {{}, 2}},
    {{1, 1, 500}, {1, 1, 31}, {{.pads = {15, 3}}}},
    {{2, 12, 64}, {10, 12, 4}, {{.strides = {3}, .pads = {0, 2}}}},
    {{1, 8, 20, 5, 6}, {16, 8, 3, 3, 3}, {{.pads = {1, 1, 1, 1, 1, 1}}}},
    {{9, 16, 6, 6}, {16, 16, 3, 3}, {{.pads = {1, 1, 1, 1}}}},
    {{1, 5, 60, 1}, {7, 5, 3, 1}, {{}}},
    // Rows behind the last window.
    {{5, 8, 8, 5}, {16, 8, 1, 1}, {{.strides = {2, 1}}}},
    {{5, 5, 34}, {7, 5, 3}, {{.strides = {3}, .dilations = {2}}}},
    // Lines, also as rows of an image, with most of it in the window and with little.
    {{2, 1, 1, 90}, {3, 1, 1, 5}, {{.pads = {0, 4, 0, 7}}}},
    {{1, 3, 1, 1, 70}, {16, 3, 1, 1, 9}, {{.strides = {1, 1, 6}}}},
    {{1, 16, 80}, {16, 16, 3}, {{.strides = {17}, .pads = {1, 1}}}},
};

Selection (*onednn_conv())(const KernelRequest&) {
  return implementation_of(Conv::def(), "onednn");
}

// Parts of so many thousandths of what one image takes.
template <int thousandths>
Selection parts_of(const KernelRequest& r) {
  const double image = 2.0 * static_cast<double>(r.outputs[0].shape.elements(1)) *
                       static_cast<double>(r.shape(1).elements(1));
  return conv_in_parts(r, onednn_conv(), {.most_work = 0, .part_work = image * thousandths / 1000});
}

// Parts of lines of seven elements, whatever the work is.
Selection parts_of_lines(const KernelRequest& r) {
  return conv_in_parts(r, onednn_conv(), {.most_line = 9, .part_line = 7});
}

void expect_close(const SelectedRun& found, const SelectedRun& wanted) {
  const auto y = found.outputs[0].span<float>();
  const auto z = wanted.outputs[0].span<float>();
  EXPECT_EQ(y.size(), z.size());
  for (std::size_t i = 0; i < y.size(); ++i)
    EXPECT_NEAR(y[i], z[i], 1e-4) << found.implementation << ", element " << i;
}

// The case with these post-ops, whole and in parts; returns the number of comparisons.
std::size_t compare_parts(SelectedCase c) {
  std::size_t compared = 0;
  c.select = onednn_conv();
  const SelectedRun wanted = run_selected(c);
  for (const auto select : {parts_of<50>, parts_of<300>, parts_of<2500>, parts_of_lines}) {
    c.select = select;
    const SelectedRun found = run_selected(c);
    // Other sizes have other kernels, which may take fewer post-ops.
    if (found.implementation.empty() || found.post_ops_taken != wanted.post_ops_taken) continue;
    EXPECT_TRUE(found.implementation.ends_with(" in parts")) << found.implementation;
    ++compared;
    expect_close(found, wanted);
  }
  return compared;
}

TEST(ConvParts, GiveTheConvolutionOfOnePiece) {
  if (!onednn_conv()) GTEST_SKIP() << "there is no oneDNN";
  RandomTensors random(11);
  std::size_t compared = 0;
  for (const PartedConv& c : parted_convs) {
    SCOPED_TRACE(cat("x ", c.x.text(), ", w ", c.w.text()));
    const Op op = c.op;
    const std::vector<Tensor> inputs = {random.floats(c.x), random.floats(c.w),
                                        random.floats({c.w[0]})};
    const Shape y = run_selected({op, inputs, {}, {}, {1}}).outputs[0].shape();
    Shape channels = Shape::filled(y.rank(), 1);
    channels[1] = y[1];
    const PostOps none;
    const PostOps scaled = {BinaryPostOp{BinaryKind::mul, 0}, named("Unary", "kind=relu")};
    for (const auto& constants : {std::vector<std::size_t>{}, std::vector<std::size_t>{1}}) {
      compared += compare_parts({op, inputs, none, {}, constants});
      compared += compare_parts({op, inputs, scaled, {random.floats(channels)}, constants});
      const PostOps residual = {BinaryPostOp{BinaryKind::add, 0}, named("Unary", "kind=relu")};
      compared += compare_parts({op, inputs, residual, {random.floats(y)}, constants});
    }
  }
  EXPECT_GT(compared, 80U);
}

// A kernel for a whole line of 2^20 elements takes oneDNN 1.5 s to compile, and as much again here.
TEST(ConvParts, ALongLineCompilesInLittleTime) {
  if (!onednn_conv() || std::string_view(simd().name) != "avx512")
    GTEST_SKIP() << "there is no oneDNN that unrolls lines";
  if (cut_size(1000) == 1) GTEST_SKIP() << "QUERN_CUTS=small makes too many parts";
  RandomTensors random(12);
  const std::vector<std::pair<Shape, Shape>> lines = {{{1, 2, 1 << 20}, {8, 2, 5}},
                                                      {{1, 2, 1, 1 << 20}, {8, 2, 1, 5}}};
  for (const auto& [x, w] : lines) {
    const Op op = Conv{};
    const std::vector<Tensor> inputs = {random.floats(x), random.floats(w)};
    SelectedCase c{op, inputs, {}, {}, {1}};
    c.select = onednn_conv();
    std::string found;
    EXPECT_LT(process_ms_of([&] { found = run_selected(c).implementation; }), 700);
    EXPECT_TRUE(found.ends_with(" in parts")) << found;
  }
}

// ---- at one time -------------------------------------------------------------------------------

Selection at_one_time(const KernelRequest& r) {
  return conv_at_one_time(r, onednn_conv(), {.least_work = 1});
}
// By rows as well, or a few images at a time, where all is much.
Selection rows_at_one_time(const KernelRequest& r) {
  const double image = 2.0 * static_cast<double>(r.outputs[0].shape.elements(1)) *
                       static_cast<double>(r.shape(1).elements(1));
  return conv_at_one_time(r, onednn_conv(),
                          {.most_work = 0, .part_work = image * 0.3, .least_work = 1});
}

// Returns the number of comparisons.
std::size_t compare_at_one_time(SelectedCase c) {
  std::size_t compared = 0;
  c.select = onednn_conv();
  const SelectedRun wanted = run_selected(c);
  const auto own = make_thread_pool(3).value();
  SerialPool backward(4), two(2);
  for (ThreadPool* pool :
       {own.get(), static_cast<ThreadPool*>(&backward), static_cast<ThreadPool*>(&two)})
    for (const auto select : {at_one_time, rows_at_one_time}) {
      c.select = select;
      c.pool = pool;
      c.threads = pool->threads();
      const SelectedRun found = run_selected(c);
      if (found.implementation.empty() || found.post_ops_taken != wanted.post_ops_taken) continue;
      EXPECT_TRUE(found.implementation.ends_with(" at one time")) << found.implementation;
      ++compared;
      expect_close(found, wanted);
    }
  return compared;
}

const PartedConv convs_of_channels[] = {
    {{1, 16, 9, 9}, {64, 16, 3, 3}, {{.pads = {1, 1, 1, 1}}}},
    {{1, 24, 7, 5}, {100, 24, 1, 1}, {{}}},
    {{2, 8, 6, 6}, {40, 8, 3, 3}, {{}}},
    {{1, 64, 6, 6}, {64, 16, 3, 3}, {{.pads = {1, 1, 1, 1}}, 4}},
    {{1, 96, 5, 5}, {96, 1, 3, 3}, {{}, 96}},
    {{1, 48, 5, 5}, {96, 1, 3, 3}, {{}, 48}},
    {{1, 32, 1, 1}, {48, 32, 1, 1}, {{}}},
    {{1, 16, 30}, {32, 16, 5}, {{}}},
    {{1, 3, 4, 5, 6}, {33, 3, 3, 3, 3}, {{}}},
    {{5, 4, 6, 6}, {17, 4, 3, 3}, {{}}},
};

TEST(ConvAtOneTime, GivesTheConvolutionOfOneCall) {
  if (!onednn_conv()) GTEST_SKIP() << "there is no oneDNN";
  RandomTensors random(12);
  std::size_t compared = 0;
  std::vector<PartedConv> convs(std::begin(parted_convs), std::end(parted_convs));
  convs.insert(convs.end(), std::begin(convs_of_channels), std::end(convs_of_channels));
  for (const PartedConv& c : convs) {
    SCOPED_TRACE(cat("x ", c.x.text(), ", w ", c.w.text()));
    const Op op = c.op;
    const std::vector<Tensor> inputs = {random.floats(c.x), random.floats(c.w),
                                        random.floats({c.w[0]})};
    const Shape y = run_selected({op, inputs, {}, {}, {1}}).outputs[0].shape();
    Shape channels = Shape::filled(y.rank(), 1);
    channels[1] = y[1];
    Shape last = channels;
    last[1] = 1;
    last[y.rank() - 1] = y[y.rank() - 1];
    const PostOps scaled = {BinaryPostOp{BinaryKind::mul, 0}, named("Unary", "kind=relu")};
    const PostOps residual = {BinaryPostOp{BinaryKind::add, 0}, named("Unary", "kind=relu")};
    for (const auto& constants : {std::vector<std::size_t>{}, std::vector<std::size_t>{1}}) {
      compared += compare_at_one_time({op, inputs, {}, {}, constants});
      for (const Shape& s : {channels, Shape(channels.dims().subspan(1)), last, Shape{1}})
        compared += compare_at_one_time({op, inputs, scaled, {random.floats(s)}, constants});
      compared += compare_at_one_time({op, inputs, residual, {random.floats(y)}, constants});
      compared += compare_at_one_time({op, inputs, residual, {random.floats(y)}, constants, {3}});
    }
  }
  EXPECT_GT(compared, 600U);
}

TEST(ConvAtOneTime, MakesOneCallOfLittleWork) {
  if (!onednn_conv()) GTEST_SKIP() << "there is no oneDNN";
  if (cut_size(1000) == 1) GTEST_SKIP() << "QUERN_CUTS=small cuts this";
  const Op op = Conv{};
  RandomTensors random(3);
  SerialPool pool(4);
  const std::vector<Tensor> inputs = {random.floats({1, 8, 16, 16}), random.floats({32, 8, 3, 3})};
  SelectedCase c{op, inputs, {}, {}, {1}};
  c.pool = &pool;
  c.threads = 4;
  c.select = onednn_conv();
  EXPECT_EQ(run_selected(c).implementation.find("at one time"), std::string::npos);
  EXPECT_EQ(pool.tasks, 0);
}

TEST(ConvAtOneTime, HasATaskForEachThread) {
  if (!onednn_conv()) GTEST_SKIP() << "there is no oneDNN";
  const Op op = Conv{{.pads = {1, 1, 1, 1}}};
  RandomTensors random(3);
  SerialPool pool(4);
  const std::vector<Tensor> inputs = {random.floats({1, 64, 28, 28}),
                                      random.floats({128, 64, 3, 3})};
  SelectedCase c{op, inputs, {}, {}, {1}};
  c.pool = &pool;
  c.threads = 4;
  c.select = onednn_conv();
  EXPECT_NE(run_selected(c).implementation.find("at one time"), std::string::npos);
  EXPECT_EQ(pool.tasks, 2 * 4) << "two runs";
}

TEST(ConvParts, AreNotMadeOfLittleWork) {
  if (!onednn_conv()) GTEST_SKIP() << "there is no oneDNN";
  if (cut_size(1000) == 1) GTEST_SKIP() << "QUERN_CUTS=small cuts this";
  const Op op = Conv{};
  RandomTensors random(3);
  SelectedCase c{op, {random.floats({1, 8, 64, 64}), random.floats({8, 8, 3, 3})}, {}, {}, {1}};
  c.select = onednn_conv();
  EXPECT_EQ(run_selected(c).implementation.find("in parts"), std::string::npos);
}

}  // namespace
}  // namespace quern::testing
