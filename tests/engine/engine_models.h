// SPDX-License-Identifier: Apache-2.0
// Models that several tests run: small, but of the kinds that people use.
#pragma once

#include "tests/engine/engine_test.h"

namespace quern::testing {

inline Operand weights(GraphBuilder& g, const Shape& shape, int seed) {
  return g.constant(pattern(shape, seed));
}

// image [N, 3, H, W] -> features [N, 8, H/2, W/2], probabilities [N, 10]
inline Model conv_model() {
  GraphBuilder g("conv");
  const Operand x = g.input("image", DType::f32, {"N", 3, "H", "W"});
  Operand y = g.relu(g.conv(x, weights(g, {16, 3, 3, 3}, 1), weights(g, {16}, 2),
                            {.strides = {2, 2}, .pads = {1, 1, 1, 1}}));
  y = g.conv(y, weights(g, {16, 1, 3, 3}, 3), {}, {.pads = {1, 1, 1, 1}, .group = 16});
  y = g.named("features", g.hard_swish(g.conv(y, weights(g, {8, 16, 1, 1}, 4))));
  g.output("features", y);
  const Operand pooled = g.flatten(g.global_average_pool(y));
  g.output("probabilities", g.softmax(g.matmul(pooled, weights(g, {8, 10}, 5))));
  return must(g.build());
}

// x [T, 32] -> y [T, 32]: one block of a transformer with 4 heads.
inline Model transformer_model() {
  GraphBuilder g("transformer");
  const Operand x = g.input("x", DType::f32, {"T", 32});
  const Operand ones = g.fill({32}, 1);
  const auto project = [&](Operand v, std::int64_t from, std::int64_t to, int seed) {
    return g.add(g.matmul(v, weights(g, {from, to}, seed)), weights(g, {to}, seed + 1));
  };
  const auto heads = [&](Operand v) { return g.transpose(g.reshape(v, {-1, 4, 8}), {1, 0, 2}); };
  const Operand normed = g.layer_norm(x, ones);
  const Operand k = g.transpose(heads(project(normed, 32, 32, 3)), {0, 2, 1});
  const Operand scores = g.matmul(heads(project(normed, 32, 32, 1)), k);
  const Operand mixed =
      g.matmul(g.softmax(g.mul(scores, g.scalar(0.35))), heads(project(normed, 32, 32, 5)));
  const Operand joined = g.reshape(g.transpose(mixed, {1, 0, 2}), {-1, 32});
  const Operand attended = g.add(x, project(joined, 32, 32, 7));
  const Operand wide = g.gelu(project(g.layer_norm(attended, ones), 32, 128, 9));
  g.output("y", g.add(attended, project(wide, 128, 32, 11)));
  return must(g.build());
}

// x [T, 1, 16] -> y [T, 1, 1, 24] and the last h and c
inline Model lstm_model() {
  GraphBuilder g("lstm");
  const Operand x = g.input("x", DType::f32, {"T", 1, 16});
  const auto [y, h, c] = g.lstm(x, weights(g, {1, 96, 16}, 1), weights(g, {1, 96, 24}, 2), 24,
                                {.bias = weights(g, {1, 192}, 3)});
  g.output("y", y);
  g.output("h", h);
  g.output("c", c);
  return must(g.build());
}

// x [n, 8] -> a walk of 4 steps with a branch in each, and all its places
inline Model loop_model() {
  GraphBuilder g("walk");
  const Operand x = g.input("x", DType::f32, {"n", 8});
  const auto step = [](GraphBuilder& b, std::span<const Operand> in) -> Operands {
    const Operand two = b.scalar(2, DType::i64);
    const Operand even = b.equal(b.mod(in[0], two), b.scalar(0, DType::i64));
    const auto moved = b.if_(
        even,
        [](GraphBuilder& c, std::span<const Operand> v) -> Operands {
          return {c.tanh(c.matmul(v[0], weights(c, {8, 8}, 1)))};
        },
        [](GraphBuilder& c, std::span<const Operand> v) -> Operands { return {c.neg(v[0])}; },
        {in[2]});
    return {in[1], moved.at(0), in[2]};
  };
  const auto y = g.loop(g.scalar(4, DType::i64), {}, {x}, step);
  g.output("end", y.at(0));
  g.output("places", y.at(1));
  return must(g.build());
}

// Adds 1 to x [n] and never stops.
inline Model endless_model() {
  GraphBuilder g("endless");
  const Operand x = g.input("x", DType::f32, {"n"});
  const auto y = g.loop({}, {}, {x}, [](GraphBuilder& b, std::span<const Operand> in) -> Operands {
    return {in[1], b.add(in[2], b.scalar(1))};
  });
  g.output("y", y.empty() ? Operand() : y[0]);
  return must(g.build());
}

// x [n, 64], keep [n] -> y [k, 256]: the rows that are kept decide every shape behind them.
inline Model chosen_rows_model() {
  GraphBuilder g("chosen");
  const Operand x = g.input("x", DType::f32, {"n", 64});
  const Operand keep = g.input("keep", DType::boolean, {"n"});
  const Operand rows = g.compress(x, keep, 0);
  const Operand wide = g.tanh(g.matmul(rows, weights(g, {64, 256}, 1)));
  g.output("y", g.softmax(g.matmul(wide, weights(g, {256, 256}, 2))));
  return must(g.build());
}

// keep [rows]: the first n.
inline Tensor first_rows(std::int64_t rows, std::int64_t n) {
  Tensor keep = must(Tensor::zeros({DType::boolean, {rows}}));
  for (std::int64_t i = 0; i < n; ++i) keep.mutable_data()[i] = std::byte{1};
  return keep;
}

}  // namespace quern::testing
