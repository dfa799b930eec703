// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/pool.h"

#include <limits>

#include "graph/ops/windows.h"
#include "tests/expect.h"
#include "tests/kernels/spatial_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;

Pool plain_pool(PoolKind kind, Window window) {
  return {.kind = kind, .window = std::move(window)};
}

TEST(MaxPool, TakesTheLargestUnderTheWindow) {
  const Tensor x = tensor<float>({1, 1, 5}, {3, 1, 2, 5, 4});
  EXPECT_ELEMENTS(values<float>(run(plain_pool(PoolKind::max, {.kernel = {2}}), {x})), 3, 2, 5, 5);
  EXPECT_ELEMENTS(
      values<float>(run(plain_pool(PoolKind::max, {.kernel = {2}, .strides = {2}}), {x})), 3, 5);
  EXPECT_ELEMENTS(
      values<float>(run(plain_pool(PoolKind::max, {.kernel = {2}, .dilations = {3}}), {x})), 5, 4);
}

TEST(MaxPool, PaddingNeverWins) {
  const Pool op = plain_pool(PoolKind::max, {.kernel = {2}, .pads = {1, 1}});
  EXPECT_ELEMENTS(values<float>(run(op, {tensor<float>({1, 1, 2}, {-5, -7})})), -5, -5, -7);
  EXPECT_ELEMENTS(values<std::int8_t>(run(op, {tensor<std::int8_t>({1, 1, 2}, {-128, -127})})),
                  -128, -127, -127);
  EXPECT_ELEMENTS(values<std::uint8_t>(run(op, {tensor<std::uint8_t>({1, 1, 2}, {0, 255})})), 0,
                  255, 255);
}

TEST(MaxPool, NanGoesThroughOnEitherSide) {
  const auto y = values<float>(run(plain_pool(PoolKind::max, {.kernel = {2}}),
                                   {tensor<float>({1, 1, 4}, {nan, 1, 2, nan})}));
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 2);
  EXPECT_TRUE(std::isnan(y[2]));
}

TEST(MaxPool, IndicesAreOfTheFirstLargestInTheWholeTensor) {
  const Tensor x = tensor<float>({1, 2, 2, 2}, {1, 4, 4, 2, -inf, -inf, nan, nan});
  const auto y = run_reference(plain_pool(PoolKind::max, {.kernel = {2, 2}}), {x}, 2);
  ASSERT_TRUE(y);
  EXPECT_EQ((*y)[1].dtype(), DType::i64);
  EXPECT_ELEMENTS(values<std::int64_t>((*y)[1]), 1, 6);
  const Tensor lowest = filled<float>({1, 1, 2}, -inf);
  EXPECT_ELEMENTS(values<std::int64_t>(
                      (*run_reference(plain_pool(PoolKind::max, {.kernel = {2}}), {lowest}, 2))[1]),
                  0);
}

TEST(MaxPool, ColumnMajorIndices) {
  Pool op = plain_pool(PoolKind::max, {.kernel = {2, 3}, .strides = {2, 3}});
  op.column_major_indices = true;
  Tensor x = filled<float>({1, 1, 2, 6}, 0);
  reinterpret_cast<float*>(x.mutable_data())[8] = 1;  // row 1, column 2
  reinterpret_cast<float*>(x.mutable_data())[4] = 1;  // row 0, column 4
  EXPECT_ELEMENTS(values<std::int64_t>((*run_reference(op, {x}, 2))[1]), 5, 8);
  Pool deep = plain_pool(PoolKind::max, {.kernel = {2, 3, 4}});
  deep.column_major_indices = true;
  // The last of 2 x 3 x 4 is the last in either order; second channel.
  EXPECT_ELEMENTS(
      (values<std::int64_t>((*run_reference(deep, {counting<float>({1, 2, 2, 3, 4})}, 2))[1])), 23,
      47);
}

TEST(MaxPool, OverNothing) {
  const Pool op = plain_pool(PoolKind::max, {.kernel = {1}, .strides = {2}, .pads = {1, 1}});
  const auto y = run_reference(op, {tensor<float>({1, 1, 1}, {7})}, 2);
  EXPECT_ELEMENTS(values<float>((*y)[0]), -inf, -inf);
  EXPECT_ELEMENTS(values<std::int64_t>((*y)[1]), -1, -1);
  EXPECT_ELEMENTS(values<std::int32_t>(run(op, {tensor<std::int32_t>({1, 1, 1}, {7})})),
                  std::numeric_limits<std::int32_t>::lowest(),
                  std::numeric_limits<std::int32_t>::lowest());
}

TEST(AveragePool, DividesByWhatIsThere) {
  Pool op = plain_pool(PoolKind::average, {.kernel = {3}, .pads = {1, 1}});
  const Tensor x = tensor<float>({1, 1, 3}, {3, 6, 9});
  EXPECT_ELEMENTS(values<float>(run(op, {x})), 4.5f, 6, 7.5f);
  op.count_include_pad = true;
  EXPECT_ELEMENTS(values<float>(run(op, {x})), 3, 6, 5);
}

// ONNX Runtime gives these values for 1..6: what hangs over the padded input never counts.
TEST(AveragePool, CeilModeDoesNotCountWhatHangsOver) {
  Pool op = plain_pool(PoolKind::average, {.kernel = {3}, .strides = {2}});
  op.ceil_mode = true;
  const Tensor x = tensor<float>({1, 1, 6}, {1, 2, 3, 4, 5, 6});
  EXPECT_ELEMENTS(values<float>(run(op, {x})), 2, 4, 5.5f);
  op.count_include_pad = true;
  EXPECT_ELEMENTS(values<float>(run(op, {x})), 2, 4, 5.5f);
  op.window.pads = {1, 1};  // begins -1, 1, 3, and 5 with one pad
  EXPECT_ELEMENTS(values<float>(run(op, {x})), 1, 3, 5, 3);
}

TEST(AveragePool, CeilModeDropsAWindowInTheEndPadding) {
  Pool op = plain_pool(PoolKind::average, {.kernel = {2}, .strides = {2}, .pads = {0, 1}});
  op.ceil_mode = true;
  EXPECT_ELEMENTS(values<float>(run(op, {tensor<float>({1, 1, 4}, {1, 3, 5, 7})})), 2, 6);
}

TEST(AveragePool, DilationsCountTheirTaps) {
  Pool op = plain_pool(PoolKind::average, {.kernel = {2}, .pads = {2, 0}, .dilations = {2}});
  const Tensor x = tensor<float>({1, 1, 3}, {2, 4, 6});
  EXPECT_ELEMENTS(values<float>(run(op, {x})), 2, 4, 4);
  op.count_include_pad = true;
  EXPECT_ELEMENTS(values<float>(run(op, {x})), 1, 2, 4);
}

TEST(AveragePool, SameUpperAndLower) {
  const Tensor x = tensor<float>({1, 1, 4}, {1, 2, 3, 4});
  EXPECT_ELEMENTS(
      (values<float>(run(
          plain_pool(PoolKind::average, {.kernel = {2}, .auto_pad = AutoPad::same_upper}), {x}))),
      1.5f, 2.5f, 3.5f, 4);
  EXPECT_ELEMENTS(
      (values<float>(run(
          plain_pool(PoolKind::average, {.kernel = {2}, .auto_pad = AutoPad::same_lower}), {x}))),
      1, 1.5f, 2.5f, 3.5f);
}

TEST(AveragePool, OverNothingIsNan) {
  const Pool op = plain_pool(PoolKind::average, {.kernel = {1}, .strides = {2}, .pads = {1, 0}});
  EXPECT_TRUE(std::isnan(values<float>(run(op, {tensor<float>({1, 1, 1}, {7})}))[0]));
}

TEST(LpPool, Norms) {
  Pool op = plain_pool(PoolKind::lp, {.kernel = {2}, .strides = {2}, .pads = {0, 1}});
  const Tensor x = tensor<float>({1, 1, 3}, {3, -4, -5});
  EXPECT_ELEMENTS(values<float>(run(op, {x})), 5, 5);
  op.p = 1;
  EXPECT_ELEMENTS(values<float>(run(op, {x})), 7, 5);
  op.p = 3;
  EXPECT_NEAR(values<float>(run(op, {x}))[0], std::cbrt(27.0 + 64.0), 1e-6);
}

TEST(GlobalPool, EveryKind) {
  Pool op{.kind = PoolKind::max, .global = true};
  const Tensor x = tensor<float>({1, 2, 2, 2}, {1, 2, 3, 4, -5, -6, -7, -8});
  EXPECT_EQ(run(op, {x}).shape(), (Shape{1, 2, 1, 1}));
  EXPECT_ELEMENTS(values<float>(run(op, {x})), 4, -5);
  op.kind = PoolKind::average;
  EXPECT_ELEMENTS(values<float>(run(op, {x})), 2.5f, -6.5f);
  op.kind = PoolKind::lp;
  op.p = 1;
  EXPECT_ELEMENTS(values<float>(run(op, {x})), 10, 26);
}

TEST(GlobalPool, OfEmptyChannels) {
  const Tensor x = tensor<float>({1, 1, 0, 3}, {});
  EXPECT_ELEMENTS(values<float>(run(Pool{.kind = PoolKind::max, .global = true}, {x})), -inf);
  EXPECT_TRUE(
      std::isnan(values<float>(run(Pool{.kind = PoolKind::average, .global = true}, {x}))[0]));
  EXPECT_ELEMENTS(values<float>(run(Pool{.kind = PoolKind::lp, .global = true}, {x})), 0);
}

TEST(Pool, NarrowFloatsRoundOnce) {
  const Tensor y =
      run(Pool{.kind = PoolKind::average, .global = true},
          {tensor<Half>({1, 1, 4}, {Half(2048.0f), Half(1.0f), Half(1.0f), Half(2.0f)})});
  EXPECT_EQ(static_cast<float>(values<Half>(y)[0]), 513);
  const Tensor b = run(plain_pool(PoolKind::max, {.kernel = {2}}),
                       {tensor<BFloat16>({1, 1, 2}, {BFloat16(-1.0f), BFloat16(-3.0f)})});
  EXPECT_EQ(static_cast<float>(values<BFloat16>(b)[0]), -1);
}

TEST(Pool, AHugeKernelVisitsOnlyTheInput) {
  const std::int64_t huge = max_extent;
  Pool op = plain_pool(PoolKind::average, {.kernel = {huge, huge}, .pads = {huge, huge, 0, 0}});
  const auto types = infer(op, {counting<float>({1, 1, 1, 1})});
  ASSERT_TRUE(types);
  EXPECT_EQ(*(*types)[0].dims, (Dims{1, 1, 2, 2}));
  EXPECT_EQ(values<float>(run(op, {filled<float>({1, 1, 1, 1}, 3)}))[3], 3);
}

TEST(Pool, InfersWhatItCan) {
  const Dim n = Dim::symbol(0);
  EXPECT_EQ(dims_of(Pool{.global = true}, {f32({n, 3, Dim(), 7})}), (Dims{n, 3, 1, 1}));
  EXPECT_EQ(dims_of(plain_pool(PoolKind::max, {.kernel = {3, 3}, .pads = {1, 1, 1, 1}}),
                    {f32({n, 3, n, 7})}, 1),
            (Dims{n, 3, n, 7}));
  EXPECT_EQ(dims_of(plain_pool(PoolKind::max, {.kernel = {3, 3}}), {unranked()}),
            (Dims{Dim(), Dim(), Dim(), Dim()}));
}

TEST(Pool, RefusesWhatDoesNotFit) {
  const Tensor x = counting<float>({1, 1, 4});
  EXPECT_CONTAINS(error_of(plain_pool(PoolKind::max, {}), {x}),
                  "kernel has 0 dimensions, input has 1");
  EXPECT_CONTAINS(error_of(plain_pool(PoolKind::max, {.kernel = {0}}), {x}),
                  "kernel_shape holds 0");
  EXPECT_CONTAINS(error_of(plain_pool(PoolKind::average, {.kernel = {2}}), {x}, 2), "no indices");
  EXPECT_CONTAINS(
      error_of(plain_pool(PoolKind::average, {.kernel = {2}}), {counting<std::int32_t>({1, 1, 4})}),
      "average does not take i32");
  EXPECT_CONTAINS(error_of(Pool{.kind = PoolKind::lp, .window = {.kernel = {2}}, .p = 0}, {x}),
                  "p is 0");
  EXPECT_CONTAINS(error_of(plain_pool(PoolKind::max, {.kernel = {2}}), {counting<float>({4, 4})}),
                  "must have a batch, channels and 1 to 14 spatial dimensions");
}

TEST(Pool, Cost) {
  EXPECT_EQ(cost(plain_pool(PoolKind::max, {.kernel = {2, 3}}), {{DType::f32, {1, 1, 4, 4}}},
                 {{DType::f32, {1, 1, 3, 2}}})
                .flops,
            36);
}

// ---- the geometry of windows, as convolutions have them too

TEST(Window, SamePutsTheOddPadAtTheEndOrTheBeginning) {
  const Ints in = {4};
  const Ints kernel = {3};
  Window window{.strides = {2}, .auto_pad = AutoPad::same_upper};
  EXPECT_EQ(resolve_window(window, in, kernel).pads_begin, Shape({0}));
  EXPECT_EQ(resolve_window(window, in, kernel).pads_end, Shape({1}));
  window.auto_pad = AutoPad::same_lower;
  EXPECT_EQ(resolve_window(window, in, kernel).pads_begin, Shape({1}));
  EXPECT_EQ(resolve_window(window, in, kernel).pads_end, Shape({0}));
}

TEST(Window, SameOfAbsurdSizesDoesNotOverflow) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const ResolvedWindow w =
      resolve_window(Window{.auto_pad = AutoPad::same_upper}, Ints{huge}, Ints{max_extent});
  EXPECT_EQ(w.pads_begin[0] + w.pads_end[0], max_extent - 1);
}

TEST(Window, SameIsNeverNegative) {
  const ResolvedWindow w =
      resolve_window(Window{.strides = {3}, .auto_pad = AutoPad::same_upper}, Ints{9}, Ints{1});
  EXPECT_EQ(w.pads_begin[0], 0);
  EXPECT_EQ(w.pads_end[0], 0);
}

TEST(Window, ValidIgnoresPads) {
  const ResolvedWindow w =
      resolve_window(Window{.pads = {1, 1}, .auto_pad = AutoPad::valid}, Ints{9}, Ints{3});
  EXPECT_EQ(w.pads_begin[0] + w.pads_end[0], 0);
}

}  // namespace
}  // namespace quern::testing
