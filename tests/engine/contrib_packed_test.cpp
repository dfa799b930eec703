// SPDX-License-Identifier: Apache-2.0
// Attention of com.microsoft over tokens without padding, against plain loops sequence by sequence.
#include <cmath>

#include "tests/engine/one_operator.h"

namespace quern::onnx_test {
namespace {

using quern::testing::answer;
using quern::testing::expect_values;
using quern::testing::Fed;
using quern::testing::inputs_of;
using quern::testing::model_of;
using quern::testing::OneOperator;
using quern::testing::pattern;
using quern::testing::tensor;
using ::testing::HasSubstr;

// Sequences of one, four and two tokens.
constexpr std::int64_t packed_tokens = 7, heads_of_it = 2, wide_of_it = 3, all_of_it = 6;
constexpr std::int64_t first_tokens[] = {0, 1, 5, 7};

Fed offsets() {
  return {tensor<std::int32_t>({3, 4}, {0, 4, 5, 6, 7, 8, 9, 1, 2, 3, 10, 11}), i32};
}
Fed beginnings() {
  return {tensor<std::int32_t>({4}, {0, 1, 5, 7}), i32};
}

double element(const Tensor& t, std::int64_t i) {
  return t.span<float>()[static_cast<std::size_t>(i)];
}

// q, k and v [packed_tokens, heads * width] each.
template <class Q, class K, class V>
std::vector<float> packed_rows(Q q, K k, V v) {
  std::vector<float> y;
  for (std::size_t s = 0; s < 3; ++s)
    for (std::int64_t i = first_tokens[s]; i < first_tokens[s + 1]; ++i)
      for (std::int64_t h = 0; h < heads_of_it; ++h) {
        std::vector<double> p;
        double sum = 0;
        for (std::int64_t j = first_tokens[s]; j < first_tokens[s + 1]; ++j) {
          double dot = 0;
          for (std::int64_t d = h * wide_of_it; d < (h + 1) * wide_of_it; ++d)
            dot += q(i, d) * k(j, d);
          p.push_back(std::exp(dot / std::sqrt(static_cast<double>(wide_of_it))));
          sum += p.back();
        }
        for (std::int64_t d = h * wide_of_it; d < (h + 1) * wide_of_it; ++d) {
          double mean = 0;
          for (std::int64_t j = first_tokens[s]; j < first_tokens[s + 1]; ++j)
            mean += p[static_cast<std::size_t>(j - first_tokens[s])] / sum * v(j, d);
          y.push_back(static_cast<float>(mean));
        }
      }
  return y;
}

TEST(ContribPacked, AttentionOfTokensWithoutPadding) {
  const Tensor x = pattern({packed_tokens, 5}, 1), w = pattern({5, 3 * all_of_it}, 2),
               b = pattern({3 * all_of_it}, 3);
  const auto part = [&](std::int64_t which) {
    return [&, which](std::int64_t i, std::int64_t d) {
      double z = element(b, which * all_of_it + d);
      for (std::int64_t c = 0; c < 5; ++c)
        z += element(x, i * 5 + c) * element(w, c * 3 * all_of_it + which * all_of_it + d);
      return z;
    };
  };
  OneOperator op{.op = "PackedAttention",
                 .fed = {{x}, {w}, {b}, offsets(), beginnings()},
                 .attributes = {integer("num_heads", heads_of_it)}};
  expect_values(op, {packed_rows(part(0), part(1), part(2))});
  op.fed[3] = {};
  EXPECT_THAT(answer(model_of(op), inputs_of(op), {}), HasSubstr("input 3 is left out"));
  op.fed[3] = {tensor<std::int32_t>({3, 4}, {0, 4, 5, 6, 7, 8, 99, 1, 2, 3, 10, 11}), i32};
  EXPECT_THAT(answer(model_of(op), inputs_of(op), {}), HasSubstr("error: "));
}

TEST(ContribPacked, HeadsOfTokensWithoutPadding) {
  const Tensor q = pattern({packed_tokens, all_of_it}, 1),
               k = pattern({packed_tokens, all_of_it}, 2),
               v = pattern({packed_tokens, all_of_it}, 3), b = pattern({3 * all_of_it}, 4);
  const auto biased = [&](const Tensor& t, std::int64_t which) {
    return [&, which](std::int64_t i, std::int64_t d) {
      return element(t, i * all_of_it + d) + element(b, which * all_of_it + d);
    };
  };
  OneOperator op{.op = "PackedMultiHeadAttention",
                 .fed = {{q}, {k}, {v}, {b}, offsets(), beginnings()},
                 .attributes = {integer("num_heads", heads_of_it)}};
  expect_values(op, {packed_rows(biased(q, 0), biased(k, 1), biased(v, 2))});
  op.fed[2] = {};
  EXPECT_THAT(answer(model_of(op), inputs_of(op), {}),
              HasSubstr("a query of rank 2 with a key is none of the operator's forms"));
}

TEST(ContribPacked, HeadsSideBySide) {
  const Tensor x = pattern({packed_tokens, heads_of_it, 3, wide_of_it}, 1);
  const auto part = [&](std::int64_t which) {
    return [&, which](std::int64_t i, std::int64_t d) {
      const std::int64_t h = d / wide_of_it;
      return element(x, ((i * heads_of_it + h) * 3 + which) * wide_of_it + d % wide_of_it);
    };
  };
  expect_values({.op = "PackedMultiHeadAttention",
                 .fed = {{x}, {}, {}, {}, offsets(), beginnings()},
                 .attributes = {integer("num_heads", heads_of_it)}},
                {packed_rows(part(0), part(1), part(2))});
}

}  // namespace
}  // namespace quern::onnx_test
