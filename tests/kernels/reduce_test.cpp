// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/reduce.h"

#include <cmath>
#include <limits>

#include "tests/expect.h"
#include "tests/kernels/kernel_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsNan;

constexpr ReduceKind all_kinds[] = {
    ReduceKind::sum,         ReduceKind::mean,      ReduceKind::max, ReduceKind::min,
    ReduceKind::prod,        ReduceKind::l1,        ReduceKind::l2,  ReduceKind::log_sum,
    ReduceKind::log_sum_exp, ReduceKind::sum_square};

Tensor axes(std::initializer_list<std::int64_t> a) {
  return tensor<std::int64_t>({static_cast<std::int64_t>(a.size())}, a);
}
template <class T>
T over_all(ReduceKind kind, const Shape& shape, std::initializer_list<std::type_identity_t<T>> x) {
  const Tensor y = run(Reduce{.kind = kind, .keepdims = false}, {tensor<T>(shape, x)});
  EXPECT_EQ(y.shape(), Shape());
  return values<T>(y)[0];
}
float of(ReduceKind kind, std::initializer_list<float> x) {
  return over_all<float>(kind, {static_cast<std::int64_t>(x.size())}, x);
}

TEST(Reduce, EveryKind) {
  EXPECT_EQ(of(ReduceKind::sum, {1, -2, 4}), 3);
  EXPECT_EQ(of(ReduceKind::mean, {1, -2, 4}), 1);
  EXPECT_EQ(of(ReduceKind::max, {1, -2, 4}), 4);
  EXPECT_EQ(of(ReduceKind::min, {1, -2, 4}), -2);
  EXPECT_EQ(of(ReduceKind::prod, {1, -2, 4}), -8);
  EXPECT_EQ(of(ReduceKind::l1, {1, -2, 4}), 7);
  EXPECT_EQ(of(ReduceKind::l2, {3, -4}), 5);
  EXPECT_FLOAT_EQ(of(ReduceKind::log_sum, {1, 2, 5}), std::log(8.0f));
  EXPECT_FLOAT_EQ(of(ReduceKind::log_sum_exp, {0, 0}), std::log(2.0f));
  EXPECT_EQ(of(ReduceKind::sum_square, {1, -2, 4}), 21);
}

TEST(Reduce, ShapesWithAndWithoutKeepdims) {
  const Tensor x = tensor<float>({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const Tensor kept = run(Reduce{}, {x, axes({1})});
  EXPECT_EQ(kept.shape(), Shape({2, 1, 2}));
  EXPECT_ELEMENTS(values<float>(kept), 9, 12, 27, 30);
  const Tensor gone = run(Reduce{.keepdims = false}, {x, axes({-1, 0})});
  EXPECT_EQ(gone.shape(), Shape({3}));
  EXPECT_ELEMENTS(values<float>(gone), 18, 26, 34);
  EXPECT_EQ(run(Reduce{}, {x}).shape(), Shape({1, 1, 1}));
  EXPECT_ELEMENTS(values<float>(run(Reduce{}, {x, tensor<std::int32_t>({}, {2})})), 3, 7, 11, 15,
                  19, 23);
}

TEST(Reduce, NoAxesMeansAllOrNone) {
  const Tensor x = tensor<float>({2, 2}, {1, -2, 3, -4});
  for (const auto& inputs : {std::vector{x}, std::vector{x, axes({})}, std::vector{x, absent()}}) {
    EXPECT_ELEMENTS(values<float>(run(Reduce{.kind = ReduceKind::sum}, inputs)), -2);
    const Tensor same = run(Reduce{.kind = ReduceKind::l1, .noop_with_empty_axes = true}, inputs);
    EXPECT_EQ(same.shape(), x.shape());
    EXPECT_ELEMENTS(values<float>(same), 1, 2, 3, 4);
  }
}

TEST(Reduce, OverNothing) {
  const auto empty = [](ReduceKind kind) { return over_all<float>(kind, {0, 2}, {}); };
  EXPECT_EQ(empty(ReduceKind::sum), 0);
  EXPECT_THAT(empty(ReduceKind::mean), IsNan());
  EXPECT_EQ(empty(ReduceKind::max), -inf);
  EXPECT_EQ(empty(ReduceKind::min), inf);
  EXPECT_EQ(empty(ReduceKind::prod), 1);
  EXPECT_EQ(empty(ReduceKind::l2), 0);
  EXPECT_EQ(empty(ReduceKind::log_sum), -inf);
  EXPECT_EQ(empty(ReduceKind::log_sum_exp), -inf);
  EXPECT_EQ(over_all<std::int8_t>(ReduceKind::max, {0}, {}), -128);
  EXPECT_EQ(over_all<std::uint8_t>(ReduceKind::min, {0}, {}), 255);
  EXPECT_EQ(over_all<std::int32_t>(ReduceKind::mean, {0}, {}), 0);
  EXPECT_EQ(over_all<std::int32_t>(ReduceKind::log_sum, {0}, {}), INT32_MIN);
}

TEST(Reduce, EmptyResultStaysEmpty) {
  const Tensor y = run(Reduce{}, {tensor<float>({0, 3}, {}), axes({1})});
  EXPECT_EQ(y.shape(), Shape({0, 1}));
  const Tensor filled = run(Reduce{}, {tensor<float>({0, 3}, {}), axes({0})});
  EXPECT_ELEMENTS(values<float>(filled), 0, 0, 0);
}

TEST(Reduce, ScalarsAndRankEight) {
  EXPECT_EQ(over_all<float>(ReduceKind::mean, {}, {7}), 7);
  const Tensor x = tensor<float>({1, 2, 1, 2, 1, 1, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_ELEMENTS(values<float>(run(Reduce{}, {x, axes({1, 7})})), 14, 22);
}

TEST(Reduce, NanGoesThrough) {
  for (const ReduceKind kind : all_kinds)
    for (const auto& x : {std::initializer_list<float>{1, nan, 3}, {nan, 1, 3}, {1, 3, nan}})
      EXPECT_THAT(of(kind, x), IsNan()) << static_cast<int>(kind);
}

// One NaN at every place of a tensor: it is in the element that its place goes into, and in no
// other, by the reference and by the kernel, whichever runs and rows the axes leave behind.
TEST(Reduce, NanGoesWhereItsPlaceDoes) {
  const Shape shape{3, 2, 5};
  for (const ReduceKind kind : {ReduceKind::max, ReduceKind::min, ReduceKind::sum})
    for (unsigned mask = 1; mask < 8; ++mask) {
      std::vector<std::int64_t> folded;
      for (unsigned d = 0; d < 3; ++d)
        if (mask >> d & 1) folded.push_back(d);
      const Tensor axes = Tensor::from_values<std::int64_t>(
          DType::i64, {static_cast<std::int64_t>(folded.size())}, folded);
      for (std::int64_t at = 0; at < shape.elements(); ++at) {
        Tensor x = Tensor::zeros({DType::f32, shape}).value();
        auto* elements = reinterpret_cast<float*>(x.mutable_data());
        for (std::int64_t i = 0; i < shape.elements(); ++i)
          elements[i] = static_cast<float>((i * 7) % 11) - 5;
        elements[at] = nan;
        const Reduce op{.kind = kind};
        const Tensor wanted = run(op, {x, axes});
        const SelectedRun got = run_selected(op, {x, axes}, {1});
        EXPECT_THAT(got.implementation, ::testing::StartsWith("rows"));
        const auto w = values<float>(wanted);
        const auto g = values<float>(got.outputs[0]);
        EXPECT_EQ(std::ranges::count_if(w, [](float v) { return v != v; }), 1);
        for (std::size_t i = 0; i < w.size(); ++i)
          EXPECT_TRUE(w[i] != w[i] ? g[i] != g[i] : g[i] == w[i])
              << static_cast<int>(kind) << " axes " << mask << " NaN at " << at << ": " << g[i]
              << " where the reference has " << w[i];
      }
    }
}

// Long columns, cut into blocks by their size alone: the reference's numbers, and the same bits
// with any number of threads.
TEST(Reduce, ManyRowsAreFoldedInBlocks) {
  RandomTensors random(7);
  for (const Shape& shape : {Shape{1, 24, 61, 57}, Shape{2, 600, 23, 29}, Shape{1, 3, 300, 301}})
    for (const ReduceKind kind : {ReduceKind::mean, ReduceKind::max, ReduceKind::min,
                                  ReduceKind::l1, ReduceKind::l2, ReduceKind::sum}) {
      SCOPED_TRACE(shape.text() + " " + std::to_string(static_cast<int>(kind)));
      const Reduce op{.kind = kind};
      const std::vector<Tensor> inputs = {random.floats(shape), axes({2, 3})};
      const auto wanted = values<float>(run(op, inputs));
      std::vector<float> first;
      for (const int threads : {1, 2, 3, 7}) {
        const SelectedRun got =
            run_selected(op, inputs, {1}, 1, threads, Layout::channels_last(shape));
        EXPECT_THAT(got.implementation, ::testing::StartsWith("rows"));
        const auto y = values<float>(got.outputs[0]);
        if (first.empty()) first = y;
        EXPECT_EQ(y, first) << threads << " threads";
      }
      ASSERT_EQ(first.size(), wanted.size());
      const float rows = static_cast<float>(shape[2] * shape[3]);
      for (std::size_t i = 0; i < first.size(); ++i)
        ASSERT_NEAR(first[i], wanted[i], 1e-6f * std::max(std::abs(wanted[i]), std::sqrt(rows)));
    }
}

// Runs that are folded side by side, the longest of them, and the shortest that is not; full sides
// and a rest.
TEST(Reduce, ShortRunsOneBehindTheOther) {
  RandomTensors random(8);
  for (const Shape& shape : {Shape{3, 67, 2}, Shape{128, 6}, Shape{5, 7, 32}, Shape{65, 33}})
    for (const ReduceKind kind :
         {ReduceKind::mean, ReduceKind::max, ReduceKind::min, ReduceKind::l1, ReduceKind::l2,
          ReduceKind::sum, ReduceKind::sum_square, ReduceKind::log_sum}) {
      SCOPED_TRACE(shape.text() + " " + std::to_string(static_cast<int>(kind)));
      const Reduce op{.kind = kind};
      const std::vector<Tensor> inputs = {random.floats(shape), axes({-1})};
      const auto wanted = values<float>(run(op, inputs));
      for (const int threads : {1, 2}) {
        const SelectedRun got = run_selected(op, inputs, {1}, 1, threads);
        EXPECT_THAT(got.implementation, ::testing::StartsWith("rows"));
        EXPECT_THAT(values<float>(got.outputs[0]),
                    ::testing::Pointwise(::testing::NanSensitiveFloatNear(2e-5F), wanted));
      }
    }
}

TEST(Reduce, Infinities) {
  EXPECT_EQ(of(ReduceKind::log_sum_exp, {-inf, -inf}), -inf);
  EXPECT_EQ(of(ReduceKind::log_sum_exp, {1, inf}), inf);
  EXPECT_EQ(of(ReduceKind::log_sum_exp, {-inf, 2}), 2);
  EXPECT_FLOAT_EQ(of(ReduceKind::log_sum_exp, {1000, 1000}), 1000 + std::log(2.0f));
  EXPECT_THAT(of(ReduceKind::sum, {inf, -inf}), IsNan());
}

TEST(Reduce, FloatsAddUpInDouble) {
  Tensor x = Tensor::zeros({DType::f32, {1 << 20}}).value();
  auto* p = reinterpret_cast<float*>(x.mutable_data());
  std::fill(p, p + (1 << 20), 0.1f);
  EXPECT_EQ(values<float>(run(Reduce{}, {x}))[0], static_cast<float>(0.1f * double{1 << 20}));
  EXPECT_EQ(of(ReduceKind::prod, {1e30f, 1e30f, 1e-30f, 1e-30f}), 1);
}

TEST(Reduce, SixteenBitFloatsRoundOnce) {
  // One by one 2048 + 1 would stay 2048.
  const Half one(1.0f);
  EXPECT_EQ(over_all<Half>(ReduceKind::sum, {3}, {Half(2048.0f), one, one}), 2050.0f);
  EXPECT_EQ(over_all<BFloat16>(ReduceKind::mean, {2}, {BFloat16(256.0f), BFloat16(3.0f)}), 130.0f);
  EXPECT_EQ(over_all<Half>(ReduceKind::max, {2}, {Half(-1.0f), Half(-2.0f)}), -1.0f);
}

TEST(Reduce, IntegersWrapAndTruncate) {
  EXPECT_EQ(over_all<std::int8_t>(ReduceKind::sum, {2}, {127, 1}), -128);
  EXPECT_EQ(over_all<std::int64_t>(ReduceKind::sum, {2}, {INT64_MAX, 1}), INT64_MIN);
  EXPECT_EQ(over_all<std::int64_t>(ReduceKind::l1, {1}, {INT64_MIN}), INT64_MIN);
  EXPECT_EQ(over_all<std::int32_t>(ReduceKind::mean, {2}, {-3, -4}), -3);
  EXPECT_EQ(over_all<std::int32_t>(ReduceKind::mean, {2}, {INT32_MAX, INT32_MAX}), INT32_MAX);
  EXPECT_EQ(over_all<std::uint32_t>(ReduceKind::mean, {2}, {UINT32_MAX, 1}), 0x80000000u);
  EXPECT_EQ(over_all<std::int32_t>(ReduceKind::l2, {2}, {2, 2}), 2);
  EXPECT_EQ(over_all<std::uint64_t>(ReduceKind::max, {2}, {UINT64_MAX, 1}), UINT64_MAX);
  EXPECT_EQ(over_all<std::int32_t>(ReduceKind::sum_square, {1}, {-3}), 9);
  EXPECT_EQ(over_all<std::int32_t>(ReduceKind::log_sum, {1}, {8}), 2);
}

TEST(Reduce, BoolIsAnyAndAll) {
  EXPECT_TRUE(over_all<bool>(ReduceKind::max, {2}, {false, true}));
  EXPECT_FALSE(over_all<bool>(ReduceKind::min, {2}, {false, true}));
  EXPECT_FALSE(over_all<bool>(ReduceKind::max, {0}, {}));
  EXPECT_TRUE(over_all<bool>(ReduceKind::min, {0}, {}));
}

TEST(Reduce, UnknownAxesLeaveWhatCanBeSaid) {
  const Tensor x = tensor<float>({2, 3}, {0, 0, 0, 0, 0, 0});
  const auto dims = [&](const Reduce& op, const Tensor& a) {
    return (*infer(op, {x, a}, 1, false))[0].dims;
  };
  EXPECT_EQ(dims(Reduce{}, axes({1})), Dims(2));
  EXPECT_EQ(dims(Reduce{.keepdims = false}, axes({1})), Dims(1));
  EXPECT_EQ(dims(Reduce{.keepdims = false}, axes({})), std::nullopt);
}

TEST(Reduce, RefusesWhatDoesNotFit) {
  const Tensor x = tensor<float>({2, 2}, {0, 0, 0, 0});
  EXPECT_CONTAINS(error_of(Reduce{}, {x, axes({2})}), "axis 2 is outside of rank 2");
  EXPECT_CONTAINS(error_of(Reduce{}, {x, axes({1, -1})}), "axis -1 is given twice");
  EXPECT_CONTAINS(error_of(Reduce{}, {x, x}), "must be a list of axes");
  EXPECT_CONTAINS(error_of(Reduce{}, {x, tensor<std::int64_t>({1, 1}, {0})}),
                  "must be a list of axes");
  EXPECT_CONTAINS(error_of(Reduce{}, {tensor<bool>({1}, {true})}), "sum does not take bool");
  EXPECT_CONTAINS(error_of(Reduce{.kind = ReduceKind::max}, {tensor<Int4>({1}, {Int4(1)})}),
                  "max does not take i4");
}

}  // namespace
}  // namespace quern::testing
