// SPDX-License-Identifier: Apache-2.0
// A small model for every family that has a form for the GPU, with the shapes that are awkward for
// it: channels that are no multiple of four, groups, strides, broadcasting both ways.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "tests/engine/engine_models.h"

namespace quern::testing {

struct Family {
  std::string_view name;
  std::function<void(GraphBuilder&)> build;

  Model make() const {
    GraphBuilder g{std::string(name)};
    build(g);
    return must(g.build(), "build");
  }
};

inline Operand floats(GraphBuilder& g, std::string_view name, const Shape& shape) {
  return g.input(std::string(name), DType::f32, std::vector<Dimension>(shape.begin(), shape.end()));
}

inline std::vector<Family> all_families() {
  using G = GraphBuilder;
  // Named by its channels: a model may have one of each.
  const auto image = [](G& g, std::int64_t c) {
    return floats(g, "x" + std::to_string(c), {2, c, 9, 11});
  };
  return {
      {"conv of odd channels",
       [=](G& g) {
         g.output("y", g.conv(image(g, 3), weights(g, {5, 3, 3, 3}, 1), weights(g, {5}, 2),
                              {.strides = {2, 1}, .pads = {1, 0, 1, 2}}));
       }},
      {"conv with post-ops",
       [=](G& g) {
         const Operand x = image(g, 8);
         const Operand y = g.conv(x, weights(g, {8, 8, 3, 3}, 1), {}, {.pads = {1, 1, 1, 1}});
         g.output("y", g.relu(g.add(y, x)));
       }},
      {"conv of groups, dilated",
       [=](G& g) {
         g.output("y", g.hard_swish(g.conv(image(g, 8), weights(g, {12, 4, 3, 2}, 1), {},
                                           {.dilations = {2, 1}, .group = 2})));
       }},
      {"conv of one dimension",
       [](G& g) {
         const Operand x = floats(g, "x", {1, 6, 40});
         g.output("y", g.conv(x, weights(g, {70, 6, 5}, 1), weights(g, {70}, 2), {.strides = {2}}));
       }},
      {"conv by channel",
       [=](G& g) {
         g.output("y", g.sigmoid(g.conv(image(g, 8), weights(g, {8, 1, 3, 3}, 1),
                                        weights(g, {8}, 2), {.pads = {1, 1, 1, 1}, .group = 8})));
       }},
      {"conv of points",
       [=](G& g) {
         g.output("y", g.conv(image(g, 12), weights(g, {37, 12, 1, 1}, 1)));
       }},
      {"transposed conv",
       [=](G& g) {
         const Operand x = image(g, 6);
         g.output("y", g.relu(g.conv_transpose(x, weights(g, {6, 5, 3, 2}, 1), weights(g, {5}, 2),
                                               {.strides = {2, 3}, .pads = {1, 0, 0, 1}})));
         g.output("z", g.conv_transpose(x, weights(g, {6, 4, 2, 2}, 1), {},
                                        {.strides = {2, 2}, .group = 2}));
       }},
      {"matmul",
       [](G& g) {
         const Operand x = floats(g, "x", {3, 7, 10});
         g.output("constant", g.add(g.matmul(x, weights(g, {10, 9}, 1)), weights(g, {9}, 2)));
         g.output("batch", g.matmul(x, floats(g, "z", {3, 10, 8})));
         g.output("square", g.matmul(x, x, {.transpose_b = true, .alpha = 0.5F}));
         g.output("turned", g.matmul(x, floats(g, "w", {3, 7, 6}), {.transpose_a = true}));
         g.output("vector", g.matmul(x, floats(g, "v", {10})));
         g.output("heads", g.matmul(floats(g, "q", {2, 1, 5, 6}), floats(g, "k", {1, 4, 6, 12})));
       }},
      {"chain of elements",
       [=](G& g) {
         const Operand x = image(g, 5);
         g.output("y", g.mul(g.tanh(g.add(x, weights(g, {5, 1, 1}, 3))), g.scalar(0.7)));
         g.output("z", g.gelu(g.sub(g.scalar(1), g.mul(x, x))));
       }},
      {"broadcasting both ways",
       [](G& g) {
         const Operand a = floats(g, "a", {4, 1, 3, 1});
         const Operand b = floats(g, "b", {5, 1, 7});
         g.output("y", g.max(a, b));
         g.output("less", g.less(a, b));
         g.output("where", g.where(g.greater(a, b), a, b));
       }},
      {"casts and integers",
       [](G& g) {
         const Operand x = g.mul(floats(g, "x", {3, 11}), g.scalar(40));
         const Operand i = g.cast(x, DType::i64);
         g.output("i", g.add(g.mul(i, i), g.scalar(3, DType::i64)));
         g.output("j", g.cast(i, DType::i32));
         g.output("f", g.cast(g.cast(x, DType::i32), DType::f32));
         g.output("any", g.cast(i, DType::boolean));
         g.output("same", g.equal(i, g.scalar(2, DType::i64)));
         g.output("narrow", g.cast(g.cast(x, DType::f16), DType::f32));
       }},
      {"pooling",
       [=](G& g) {
         const Operand x = image(g, 6);
         g.output("max", g.max_pool(x, {3, 2}, {.strides = {2, 2}, .ceil_mode = true}));
         g.output("mean", g.average_pool(x, {3, 3}, {.pads = {1, 1, 1, 1}}));
         g.output("padded", g.average_pool(image(g, 8), {2, 2},
                                           {.pads = {1, 0, 0, 1}, .count_include_pad = true}));
         g.output("all", g.global_average_pool(x));
       }},
      {"rows",
       [](G& g) {
         const Operand x = floats(g, "x", {3, 5, 4, 6});
         g.output("softmax", g.softmax(x, 1));
         g.output("log", g.log_softmax(x, -1));
         for (const char* kind : {"sum", "mean", "max", "min", "prod", "l1", "l2", "log_sum_exp"})
           g.output(kind, g.reduce(kind, x, {1, 3}));
         g.output("argmax", g.argmax(x, 2));
         g.output("argmin", g.argmin(x, 1, false));
         g.output("layer", g.layer_norm(x, weights(g, {6}, 1), weights(g, {6}, 2)));
         g.output("rms", g.rms_norm(x, weights(g, {6}, 1)));
         g.output("instance", g.instance_norm(x, weights(g, {5}, 1), weights(g, {5}, 2)));
       }},
      {"resampling",
       [=](G& g) {
         const Operand x = image(g, 4);
         g.output("nearest", g.resize(x, {.sizes = {2, 4, 18, 22}}));
         g.output("linear", g.resize(image(g, 3), {.sizes = {2, 3, 5, 30}, .mode = "linear"}));
         g.output("cubic", g.resize(x, {.sizes = {2, 4, 13, 7}, .mode = "cubic"}));
       }},
      {"padding",
       [=](G& g) {
         const Operand x = image(g, 3);
         for (const char* mode : {"constant", "reflect", "edge"})
           g.output(mode, g.pad(x, {0, 0, 2, 1, 0, 1, 3, 0}, {.mode = mode}));
         g.output("cut", g.pad(image(g, 4), {0, 0, -1, 2, 0, 0, 1, -3}));
       }},
      {"movement",
       [=](G& g) {
         const Operand x = image(g, 4);
         const Operand turned = g.transpose(x, {0, 2, 3, 1});
         g.output("turned", g.relu(turned));
         g.output("joined", g.concat({x, g.relu(x), image(g, 3)}, 1));
         const Operand even = floats(g, "even", {1, 4, 4, 8});
         g.output("vectors", g.concat({even, g.neg(even)}, 1));
         g.output("bytes", g.transpose(g.less(x, g.scalar(0)), {3, 2, 1, 0}));
         g.output("halves", g.transpose(g.cast(x, DType::f16), {1, 0, 2, 3}));
         g.output("longs", g.transpose(g.cast(floats(g, "odd", {3, 5, 7}), DType::i64), {2, 0, 1}));
         g.output("tiled", g.tile(floats(g, "t", {2, 3, 5}), {1, 2, 3}));
         g.output("deep", g.depth_to_space(x, 2));
         g.output("deeper", g.depth_to_space(x, 2, true));
         g.output("wide", g.space_to_depth(floats(g, "s", {1, 3, 4, 6}), 2));
         const Operand middle = g.slice(x, {0, 1, 2, 3}, {2, 3, 9, 9}, {.steps = {1, 1, 3, 2}});
         g.output("middle", g.neg(middle));
       }},
      {"gathering",
       [](G& g) {
         const Operand x = floats(g, "x", {4, 6, 5});
         const auto indices = [&](std::int64_t a, std::int64_t b) {
           return g.constant(tensor<std::int64_t>({2}, {a, b}));
         };
         g.output("odd", g.gather(x, indices(3, -1), 2));
         g.output("rows", g.gather(floats(g, "even", {7, 8}), indices(6, 0), 0));
         g.output("pairs", g.gather(floats(g, "two", {7, 2}), indices(1, -7), 0));
         g.output("each", g.gather_elements(floats(g, "e", {2, 4}),
                                            g.argmax(floats(g, "i", {2, 4, 3}), 2, false), 1));
       }},
      {"recurrent",
       [](G& g) {
         const Operand x = floats(g, "x", {9, 2, 8});
         const auto l = g.lstm(x, weights(g, {2, 64, 8}, 1), weights(g, {2, 64, 16}, 2), 16,
                               {.bias = weights(g, {2, 128}, 3), .direction = "bidirectional"});
         g.output("lstm", l[0]);
         g.output("h", l[1]);
         g.output("c", l[2]);
         for (const bool before : {false, true})
           g.output(before ? "before" : "after",
                    g.gru(x, weights(g, {1, 48, 8}, 4), weights(g, {1, 48, 16}, 5), 16,
                          {.bias = weights(g, {1, 96}, 6),
                           .direction = "reverse",
                           .linear_before_reset = before})[0]);
         g.output("plain", g.rnn(x, weights(g, {1, 16, 8}, 7), weights(g, {1, 16, 16}, 8), 16)[1]);
       }},
      {"attention",
       [](G& g) {
         const Operand q = floats(g, "q", {1, 4, 6, 8});
         const Operand k = floats(g, "k", {1, 2, 7, 8});
         const Operand v = floats(g, "v", {1, 2, 7, 12});
         g.output("shared", g.attention(q, k, v, {.scale = 0.3F}));
         g.output(
             "padded",
             g.attention(floats(g, "q2", {2, 3, 5, 8}), floats(g, "k2", {2, 3, 6, 8}),
                         floats(g, "v2", {2, 3, 6, 4}), {.mask = floats(g, "m2", {2, 1, 1, 6})}));
         g.output("masked",
                  g.attention(q, floats(g, "k4", {1, 4, 7, 8}), floats(g, "v4", {1, 4, 7, 5}),
                              {.mask = floats(g, "mask", {6, 7})}));
       }},
  };
}

}  // namespace quern::testing
