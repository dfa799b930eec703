// SPDX-License-Identifier: Apache-2.0
#include <numbers>

#include "graph/ops/random.h"
#include "kernels/reference/fourier.h"
#include "tests/expect.h"
#include "tests/kernels/spatial_test.h"

namespace quern::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;

Tensor scalar(std::int64_t v) {
  return tensor<std::int64_t>({}, {v});
}

TEST(Fourier, RootsAreExactAndSymmetric) {
  for (std::int64_t n : {1, 2, 3, 4, 5, 8, 12, 100, 1001, 4096}) {
    for (std::int64_t k = 0; k < n; ++k) {
      const Complex r = unit_root(k, n);
      const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
      EXPECT_NEAR(r.re, std::cos(angle), 1e-15);
      EXPECT_NEAR(r.im, -std::sin(angle), 1e-15);
      if (k == 0) continue;
      EXPECT_EQ(r.re, unit_root(n - k, n).re);
      EXPECT_EQ(r.im, -unit_root(n - k, n).im);
    }
    if (n % 4 != 0) continue;
    EXPECT_EQ(unit_root(n / 4, n).re, 0);
    EXPECT_EQ(unit_root(n / 4, n).im, -1);
    EXPECT_EQ(unit_root(n / 2, n).re, -1);
    EXPECT_EQ(unit_root(n / 2, n).im, 0);
    EXPECT_EQ(unit_root(3 * n / 4, n).im, 1);
  }
}

TEST(Fourier, AnyLengthAgreesWithTheDefinition) {
  for (std::int64_t n : {1, 2, 3, 4, 6, 7, 8, 9, 12, 30, 31, 64, 77, 400}) {
    std::vector<std::byte> memory(FourierTransform::scratch_bytes(n) + 64);
    Scratch scratch(memory.data(), memory.size());
    FourierTransform f(n, scratch, nullptr);
    std::vector<Complex> x;
    for (std::int64_t i = 0; i < n; ++i)
      x.push_back({static_cast<double>(i * i % 17) - 8, static_cast<double>(i * 5 % 11)});
    std::copy(x.begin(), x.end(), f.input());
    f.forward();
    for (std::int64_t k = 0; k < n; ++k) {
      Complex sum;
      for (std::int64_t i = 0; i < n; ++i)
        sum = sum + unit_root(i * k % n, n) * x[static_cast<std::size_t>(i)];
      EXPECT_NEAR(f.output()[k].re, sum.re, 1e-11) << n;
      EXPECT_NEAR(f.output()[k].im, sum.im, 1e-11) << n;
    }
    std::copy_n(f.output(), n, f.input());
    f.inverse();
    for (std::int64_t i = 0; i < n; ++i)
      EXPECT_NEAR(f.output()[i].re, x[static_cast<std::size_t>(i)].re, 1e-13);
  }
}

TEST(Dft, RealAndComplexInput) {
  // exp(2 pi i n / 4) has one line, at 1.
  const Tensor wave = tensor<float>({1, 4, 2}, {1, 0, 0, 1, -1, 0, 0, -1});
  EXPECT_ELEMENTS(values<float>(run(Dft{}, {wave})), 0, 0, 4, 0, 0, 0, 0, 0);
  const Tensor cosine = tensor<float>({1, 4, 1}, {1, 0, -1, 0});
  const Tensor y = run(Dft{}, {cosine});
  EXPECT_EQ(y.shape(), (Shape{1, 4, 2}));
  EXPECT_ELEMENTS(values<float>(y), 0, 0, 2, 0, 0, 0, 2, 0);
}

TEST(Dft, WhatCancelsIsZero) {
  Tensor x = Tensor::zeros({DType::f32, {1, 1000, 1}}).value();
  for (int i = 0; i < 1000; ++i) reinterpret_cast<float*>(x.mutable_data())[i] = 1;
  const auto y = values<float>(run(Dft{}, {x}));
  EXPECT_EQ(y[0], 1000);
  for (std::size_t i = 1; i < y.size(); ++i) EXPECT_NEAR(y[i], 0, 1e-9);
}

TEST(Dft, InverseUndoesIt) {
  const Tensor x = tensor<double>({5, 2}, {1, 2, 3, -4, 5, 0, -7, 8, 9, 1});
  const Tensor back = run(Dft{.inverse = true}, {run(Dft{}, {x})});
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_NEAR(values<double>(back)[i], values<double>(x)[i], 1e-14);
}

TEST(Dft, AnyAxis) {
  const Tensor x = tensor<float>({2, 2, 1}, {1, 2, 3, 4});
  EXPECT_ELEMENTS(values<float>(run(Dft{}, {x, absent(), scalar(0)})), 4, 0, 6, 0, -2, 0, -2, 0);
  EXPECT_ELEMENTS(values<float>(run(Dft{}, {x, absent(), scalar(-2)})), 3, 0, -1, 0, 7, 0, -1, 0);
  EXPECT_ELEMENTS(values<float>(run(Dft{}, {x, absent(), scalar(-3)})), 4, 0, 6, 0, -2, 0, -2, 0);
}

TEST(Dft, LengthCutsOrFillsWithZeros) {
  const Tensor x = tensor<float>({3, 1}, {1, 2, 3});
  EXPECT_ELEMENTS(values<float>(run(Dft{}, {x, scalar(2)})), 3, 0, -1, 0);
  const Tensor longer = run(Dft{}, {x, tensor<std::int32_t>({1}, {4})});
  EXPECT_ELEMENTS(values<float>(longer), 6, 0, -2, -2, 2, 0, -2, 2);
}

TEST(Dft, OnesidedGivesTheFirstHalf) {
  const Tensor x = tensor<float>({4, 1}, {1, 2, 3, 4});
  const Tensor y = run(Dft{.onesided = true}, {x});
  EXPECT_EQ(y.shape(), (Shape{3, 2}));
  EXPECT_ELEMENTS(values<float>(y), 10, 0, -2, 2, -2, 0);
  EXPECT_EQ(run(Dft{.onesided = true}, {tensor<float>({5, 1}, {1, 2, 3, 4, 5})}).shape(),
            (Shape{3, 2}));
}

TEST(Dft, OnesidedInverseGivesTheRealSignal) {
  for (std::int64_t n : {2, 4, 5, 8, 9}) {
    const Tensor x = counting<float>({2, n, 1});
    const Tensor back =
        run(Dft{.inverse = true, .onesided = true}, {run(Dft{.onesided = true}, {x}), scalar(n)});
    EXPECT_EQ(back.shape(), (Shape{2, n, 1}));
    for (std::int64_t i = 0; i < 2 * n; ++i)
      EXPECT_NEAR(values<float>(back)[static_cast<std::size_t>(i)], static_cast<float>(i), 1e-5);
  }
  // Two parts, no length: 2 * (3 - 1).
  EXPECT_EQ(run(Dft{.inverse = true, .onesided = true}, {counting<float>({3, 2})}).shape(),
            (Shape{4, 1}));
}

TEST(Dft, EmptyBatches) {
  EXPECT_EQ(run(Dft{}, {tensor<float>({0, 4, 1}, {})}).shape(), (Shape{0, 4, 2}));
}

TEST(Dft, InfersWhatItCan) {
  const Dim n = Dim::symbol(0);
  EXPECT_EQ(dims_of(Dft{}, {f32({n, n, 1})}), (Dims{n, n, 2}));
  EXPECT_EQ(dims_of(Dft{.onesided = true}, {f32({4, n, 1})}), (Dims{4, Dim(), 2}));
  EXPECT_EQ(dims_of(Dft{}, {f32({4, 5, 1}), i64({})}), (Dims{4, Dim(), 2}));
  EXPECT_EQ(dims_of(Dft{}, {f32({4, 5, 1}), i64({}), i64({})}), (Dims{Dim(), Dim(), 2}));
}

TEST(Dft, RefusesWhatDoesNotFit) {
  const Tensor x = counting<float>({2, 4, 1});
  EXPECT_CONTAINS(error_of(Dft{}, {counting<float>({2, 4, 3})}),
                  "must end in a dimension of 1 or 2");
  EXPECT_CONTAINS(error_of(Dft{}, {x, scalar(0)}), "dft_length is 0");
  EXPECT_CONTAINS(error_of(Dft{}, {x, absent(), scalar(2)}),
                  "axis 2 is the one of real and imaginary");
  EXPECT_CONTAINS(error_of(Dft{}, {x, absent(), scalar(-1)}), "axis -1");
  EXPECT_CONTAINS(error_of(Dft{}, {x, absent(), scalar(3)}), "outside of rank 3");
  EXPECT_CONTAINS(error_of(Dft{}, {x, tensor<std::int64_t>({2}, {4, 4})}), "one integer");
  EXPECT_CONTAINS(error_of(Dft{}, {tensor<float>({2, 0, 1}, {})}), "none to transform");
  EXPECT_CONTAINS(error_of(Dft{.inverse = true, .onesided = true}, {counting<float>({1, 2})}),
                  "none to transform");
}

TEST(Stft, FramesOfTheSignal) {
  const Tensor x = tensor<float>({1, 8, 1}, {1, 0, -1, 0, 1, 0, -1, 0});
  const Tensor y = run(Stft{}, {x, scalar(2), absent(), scalar(4)});
  EXPECT_EQ(y.shape(), (Shape{1, 3, 3, 2}));
  EXPECT_ELEMENTS(values<float>(y), 0, 0, 2, 0, 0, 0, 0, 0, -2, 0, 0, 0, 0, 0, 2, 0, 0, 0);
}

TEST(Stft, WindowWeighsAndGivesTheLength) {
  const Tensor x = tensor<float>({1, 3}, {1, 2, 3});  // rank 2: real
  const Tensor y = run(Stft{.onesided = false}, {x, scalar(1), tensor<float>({2}, {1, 10})});
  EXPECT_EQ(y.shape(), (Shape{1, 2, 2, 2}));
  EXPECT_ELEMENTS(values<float>(y), 21, 0, -19, 0, 32, 0, -28, 0);
  // A window shorter than the frame leaves the rest out.
  EXPECT_ELEMENTS(values<float>(run(Stft{.onesided = false},
                                    {x, scalar(1), tensor<float>({1}, {1}), scalar(2)})),
                  1, 0, 1, 0, 2, 0, 2, 0);
}

TEST(Stft, ComplexSignalsAndWholeFramesOnly) {
  const Tensor x = tensor<float>({1, 5, 2}, {0, 1, 0, 1, 0, 1, 0, 1, 0, 1});
  const Tensor y = run(Stft{.onesided = false}, {x, scalar(2), absent(), scalar(2)});
  EXPECT_EQ(y.shape(), (Shape{1, 2, 2, 2}));
  EXPECT_ELEMENTS(values<float>(y), 0, 2, 0, 0, 0, 2, 0, 0);
  EXPECT_EQ(run(Stft{}, {x, scalar(2), absent(), scalar(6)}).shape(), (Shape{1, 0, 4, 2}));
}

TEST(Stft, InfersWhatItCan) {
  EXPECT_EQ(dims_of(Stft{}, {f32({3, 100, 1}), i64({}), f32({16})}), (Dims{3, Dim(), 9, 2}));
  EXPECT_EQ(dims_of(Stft{}, {unranked(), i64({})}), (Dims{Dim(), Dim(), Dim(), 2}));
}

TEST(Stft, RefusesWhatDoesNotFit) {
  const Tensor x = counting<float>({1, 8, 1});
  EXPECT_CONTAINS(error_of(Stft{}, {x, scalar(0), absent(), scalar(4)}), "frame_step is 0");
  EXPECT_CONTAINS(error_of(Stft{}, {x, scalar(1), absent(), scalar(0)}), "a frame has 0 elements");
  EXPECT_CONTAINS(error_of(Stft{}, {x, scalar(1), absent(), scalar(-4)}), "wants 1 to");
  EXPECT_CONTAINS(error_of(Stft{}, {x, scalar(1), counting<float>({2, 2})}), "must have rank 1");
  EXPECT_CONTAINS(error_of(Stft{}, {counting<float>({8}), scalar(1)}), "must have rank 2 or 3");
}

TEST(MelWeightMatrix, Triangles) {
  // (16 + 1) / 17: bins are whole hertz. So low the mel scale is nearly linear: corners at 0, 2, 4
  // and 6, three quarters of the way to 8.
  const auto run_mel = [](DType dtype) {
    return run(
        MelWeightMatrix{.dtype = dtype},
        {scalar(2), scalar(16), scalar(17), tensor<float>({}, {0}), tensor<float>({}, {8.1f})});
  };
  const Tensor y = run_mel(DType::f32);
  EXPECT_EQ(y.shape(), (Shape{9, 2}));
  EXPECT_ELEMENTS(values<float>(y), 0, 0, 0.5f, 0, 1, 0, 0.5f, 0.5f, 0, 1, 0, 0.5f, 0, 0, 0, 0, 0,
                  0);
  EXPECT_EQ(values<double>(run_mel(DType::f64)).size(), 18u);
}

TEST(MelWeightMatrix, EdgesOutsideOfTheSpectrumFallAway) {
  const auto edges = [](float low, float high) {
    return run(MelWeightMatrix{}, {scalar(3), scalar(8), scalar(8), tensor<float>({}, {low}),
                                   tensor<float>({}, {high})});
  };
  EXPECT_EQ(edges(0, 1e30f).shape(), (Shape{5, 3}));
  EXPECT_EQ(edges(-1e30f, nan).shape(), (Shape{5, 3}));
  EXPECT_EQ(edges(inf, -inf).shape(), (Shape{5, 3}));
}

TEST(MelWeightMatrix, RefusesWhatDoesNotFit) {
  const Tensor hertz = tensor<float>({}, {1});
  EXPECT_CONTAINS(error_of(MelWeightMatrix{}, {scalar(-1), scalar(8), scalar(8), hertz, hertz}),
                  "the sizes must be");
  EXPECT_CONTAINS(error_of(MelWeightMatrix{}, {scalar(1), scalar(8), scalar(0), hertz, hertz}),
                  "sample_rate is 0");
  EXPECT_CONTAINS(infer_text(MelWeightMatrix{}, {i64({}), i64({}), f32({}), f32({}), f32({})}),
                  "input 2");
  EXPECT_CONTAINS(error_of(MelWeightMatrix{}, {scalar(1), scalar(8), scalar(8), scalar(1), hertz}),
                  "must be one float");
}

}  // namespace
}  // namespace quern::testing
