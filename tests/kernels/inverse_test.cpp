// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/inverse.h"

#include <cmath>

#include <Eigen/LU>

#include "tests/expect.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

// A letter for each element: + and - for infinities, N for NaN, 0 for numbers.
std::string classes(const std::vector<float>& elements) {
  std::string all;
  for (const float v : elements)
    all += std::isnan(v) ? 'N' : std::isinf(v) ? (v < 0 ? '-' : '+') : '0';
  return all;
}

// The call that ONNX Runtime's kernel makes.
std::vector<double> eigens_inverse(std::int64_t n, const std::vector<double>& elements) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Matrix y = Eigen::Map<const Matrix>(elements.data(), n, n).inverse();
  return {y.data(), y.data() + y.size()};
}

TEST(Inverse, OfEachMatrix) {
  const Tensor y = run(Inverse{}, {tensor<float>({2, 2, 2}, {1, 2, 3, 4, 2, 0, 0, 0.5})});
  EXPECT_EQ(y.shape(), Shape({2, 2, 2}));
  EXPECT_ELEMENTS(values<float>(y), -2, 1, 1.5, -0.5, 0.5, 0, 0, 2);
}

TEST(Inverse, RowsAreExchanged) {
  EXPECT_ELEMENTS(
      values<double>(run(Inverse{}, {tensor<double>({3, 3}, {0, 2, 0, 0, 0, 4, 1, 0, 0})})), 0, 0,
      1, 0.5, 0, 0, 0, 0.25, 0);
  // Without the exchange 1e-20 swallows the 1 beside it.
  EXPECT_THAT(values<double>(run(Inverse{}, {tensor<double>({2, 2}, {1e-20, 1, 1, 1})})),
              ::testing::ElementsAre(::testing::DoubleNear(-1, 1e-15), 1, 1,
                                     ::testing::DoubleNear(-1e-20, 1e-35)));
}

TEST(Inverse, AsEigens) {
  for (const std::int64_t n : {1, 2, 3, 5, 8, 33}) {
    std::vector<double> x(static_cast<std::size_t>(n * n));
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = std::sin(static_cast<double>(i * i + i)) +
             (i % static_cast<std::size_t>(n + 1) == 0 ? 2 : 0);
    const Tensor t = tensor_of_bytes({DType::f64, Shape({n, n})}, std::as_bytes(std::span(x)));
    const std::vector<double> got = values<double>(run(Inverse{}, {t}));
    const std::vector<double> wanted = eigens_inverse(n, x);
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(got[i], wanted[i], 1e-12) << n << ": " << i;
  }
}

// ONNX Runtime 1.30 gives these values; the last matrix has a zero that is not its last pivot.
TEST(Inverse, SingularMatricesGiveInfinitiesAndNan) {
  EXPECT_ELEMENTS(values<float>(run(Inverse{}, {tensor<float>({1, 1}, {0})})), inf);
  EXPECT_ELEMENTS(values<float>(run(Inverse{}, {tensor<float>({2, 2}, {1, 2, 2, 4})})), -inf, inf,
                  inf, -inf);
  const auto classes_of = [](std::initializer_list<float> nine) {
    return classes(values<float>(run(Inverse{}, {tensor<float>({3, 3}, nine)})));
  };
  EXPECT_EQ(classes(values<float>(run(Inverse{}, {tensor<float>({2, 2}, {0, 0, 0, 0})}))), "NNN+");
  EXPECT_EQ(classes_of({1, 2, 3, 0, 0, 0, 4, 5, 6}), "NNNN-NN+N");
  EXPECT_EQ(classes_of({0, 1, 2, 0, 3, 4, 0, 5, 7}), "++-000000");
}

TEST(Inverse, EmptyNanAndSixteenBitFloats) {
  EXPECT_EQ(run(Inverse{}, {tensor<float>({0, 2, 2}, {})}).shape(), Shape({0, 2, 2}));
  EXPECT_EQ(run(Inverse{}, {tensor<float>({3, 0, 0}, {})}).shape(), Shape({3, 0, 0}));
  EXPECT_THAT(values<float>(run(Inverse{}, {tensor<float>({1, 1}, {nan})})),
              ::testing::ElementsAre(::testing::IsNan()));
  const Tensor halves = tensor<Half>({2, 2}, {Half(4.0f), Half(0.0f), Half(0.0f), Half(3.0f)});
  EXPECT_THAT(values<Half>(run(Inverse{}, {halves})),
              ::testing::ElementsAre(0.25f, 0.0f, 0.0f, Half(1.0f / 3)));
}

TEST(Inverse, RefusesWhatIsNotSquare) {
  EXPECT_CONTAINS(error_of(Inverse{}, {tensor<float>({2, 3}, {0, 0, 0, 0, 0, 0})}),
                  "must hold square matrices");
  EXPECT_CONTAINS(error_of(Inverse{}, {tensor<float>({2}, {0, 0})}), "must hold square matrices");
  EXPECT_CONTAINS(error_of(Inverse{}, {tensor<std::int32_t>({1, 1}, {0})}), "must be of f32");
}

}  // namespace
}  // namespace quern::testing
