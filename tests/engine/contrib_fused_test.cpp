// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft that become several nodes, against plain loops over their definitions.
#include <cmath>

#include "tests/engine/one_operator.h"

namespace quern::onnx_test {
namespace {

using quern::testing::Declared;
using quern::testing::expect_values;
using quern::testing::OneOperator;
using quern::testing::pattern;
using quern::testing::tensor;

// Three sequences of four tokens, of which two, none and three are no padding.
TEST(ContribFused, SequencesWithoutTheirPadding) {
  const Tensor x = tensor<float>({3, 4, 1}, {1, 2, 0, 0, 0, 0, 0, 0, 3, 4, 5, 0});
  const OneOperator removed = {.op = "RemovePadding",
                               .fed = {{x}, {tensor<std::int32_t>({3}, {2, 0, 3}), i32}},
                               .attributes = {},
                               .outputs = 1,
                               .dims = Declared::last};
  expect_values(removed, {{1, 2, 3, 4, 5}});
  const Tensor tokens = tensor<float>({5, 1}, {1, 2, 3, 4, 5});
  const Tensor places = tensor<std::int32_t>({3, 4}, {0, 1, 8, 9, 10, /**/ 2, 3, 4, 5, 6, 7, 11});
  expect_values({.op = "RestorePadding", .fed = {{tokens}, {places, i32}}, .attributes = {}},
                {{1, 2, 0, 0, 0, 0, 0, 0, 3, 4, 5, 0}});
}

// Its other outputs: places of tokens, then of padding; where sequences begin; the longest.
TEST(ContribFused, PlacesOfTokensAndPadding) {
  const Tensor x = pattern({3, 4, 2}, 1);
  const Tensor counts = tensor<std::int32_t>({3}, {2, 0, 3});
  GraphParts g;
  g.inputs = {value("x", f32, {3, 4, 2}), value("n", i32, {3})};
  g.nodes = {
      node("RemovePadding", {"x", "n"}, {"t", "p", "c", "m"}, {}, {.domain = "com.microsoft"}),
      node("Cast", {"p"}, {"places"}, {integer("to", i64)}),
      node("Cast", {"c"}, {"begins"}, {integer("to", i64)}),
      node("Cast", {"m"}, {"longest"}, {integer("to", i64)})};
  for (const std::string_view name : {"places", "begins", "longest"})
    g.outputs.push_back(Message().text(1, name));
  quern::testing::expect_everywhere(make_model(g), {x, counts},
                                    "i64[3,4] 0 1 8 9 10 2 3 4 5 6 7 11; i64[4] 0 2 2 5; i64[1] 3");
}

// x [1, 3, 4, 2] by two groups of one channel; 3x2 windows, a bias.
TEST(ContribFused, ConvolutionOfChannelsThatComeLast) {
  const Tensor x = pattern({1, 3, 4, 2}, 1), w = pattern({4, 3, 2, 1}, 2), bias = pattern({4}, 3);
  std::vector<float> y;
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 3; ++j)
      for (std::int64_t m = 0; m < 4; ++m) {
        double sum = bias.span<float>()[static_cast<std::size_t>(m)];
        for (std::int64_t a = 0; a < 3; ++a)
          for (std::int64_t c = 0; c < 2; ++c) {
            const std::int64_t row = i + a - 1;
            if (row < 0 || row > 2) continue;
            const auto from = static_cast<std::size_t>((row * 4 + j + c) * 2 + m / 2);
            const auto by = static_cast<std::size_t>((m * 3 + a) * 2 + c);
            sum += static_cast<double>(x.span<float>()[from]) * w.span<float>()[by];
          }
        y.push_back(static_cast<float>(sum));
      }
  expect_values({.op = "NhwcConv",
                 .fed = {{x}, {w, f32, true}, {bias}},
                 .attributes = {integer("group", 2), integers("pads", {1, 0, 1, 0})}},
                {y});
}

TEST(ContribFused, AProductThroughFastGelu) {
  const Tensor x = pattern({3, 5}, 1), w = pattern({5, 2}, 2), bias = pattern({2}, 3);
  std::vector<float> y;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 2; ++j) {
      double v = bias.span<float>()[j];
      for (std::size_t k = 0; k < 5; ++k)
        v += static_cast<double>(x.span<float>()[i * 5 + k]) * w.span<float>()[k * 2 + j];
      y.push_back(static_cast<float>(
          0.5 * v * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)))));
    }
  expect_values({.op = "GemmFastGelu", .fed = {{x}, {w}, {bias}}, .attributes = {}}, {y});
}

}  // namespace
}  // namespace quern::onnx_test
