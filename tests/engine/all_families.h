// SPDX-License-Identifier: Apache-2.0
// A small model for every family that has a GPU kernel, with the shapes that are awkward for
// it: channels that are no multiple of four, groups, strides, broadcasting both ways.
#pragma once

#include <vector>

#include "tests/engine/cache_families.h"
#include "tests/engine/engine_models.h"
#include "tests/engine/family.h"

namespace quern::testing {

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
      {"conv that fills its buffer",
       [](G& g) {
         const Operand x = floats(g, "x", {1, 8, 6, 6});
         for (const std::int64_t n : {5, 6, 7})
           g.output("channels" + std::to_string(n),
                    g.conv(x, weights(g, {n, 8, 3, 3}, 1), {}, {.pads = {1, 1, 1, 1}}));
         g.output("groups", g.conv(x, weights(g, {6, 4, 3, 3}, 2), {}, {.group = 2}));
         g.output("by channel", g.conv(floats(g, "z", {1, 7, 6, 6}), weights(g, {7, 1, 3, 3}, 3),
                                       {}, {.group = 7}));
         g.output("back",
                  g.conv_transpose(x, weights(g, {8, 5, 2, 2}, 4), {}, {.strides = {2, 2}}));
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
      {"products of many tiles",
       [](G& g) {
         const Operand x = floats(g, "x", {150, 70});
         const Operand bias = weights(g, {130}, 2);
         g.output("constant", g.relu(g.add(g.matmul(x, weights(g, {70, 130}, 1)), bias)));
         g.output("odd", g.matmul(floats(g, "o", {37, 33}), weights(g, {33, 41}, 3)));
         for (const std::int64_t n : {41, 42, 43})
           g.output("columns" + std::to_string(n),
                    g.matmul(floats(g, "f" + std::to_string(n), {40, 33}), weights(g, {33, n}, 7)));
         g.output("turned", g.matmul(floats(g, "t", {2, 3, 40, 17}), floats(g, "u", {3, 52, 17}),
                                     {.transpose_b = true}));
         // All fours begin where they may, and the last one is cut.
         const Operand q = g.slice(floats(g, "q", {3, 20, 24}), {0, 0, 0}, {3, 20, 22});
         g.output("heads", g.matmul(q, floats(g, "k", {3, 22, 64})));
       }},
      {"products of few rows",
       [](G& g) {
         g.output("one", g.matmul(floats(g, "row", {1, 600}), weights(g, {600, 100}, 4)));
         const Operand bias = weights(g, {37}, 2);
         g.output("odd",
                  g.relu(g.add(g.matmul(floats(g, "o", {3, 70}), weights(g, {70, 37}, 3)), bias)));
         g.output("batch",
                  g.matmul(floats(g, "q", {2, 3, 5, 129}), floats(g, "k", {2, 3, 129, 20})));
         g.output("column", g.matmul(floats(g, "m", {90, 65}), floats(g, "v", {65})));
         // Results that end where their buffer does, and not where a group of four columns does.
         const Operand full = floats(g, "full", {4, 66});
         for (const std::int64_t n : {5, 6, 7})
           g.output("columns" + std::to_string(n), g.matmul(full, weights(g, {66, n}, 7)));
         g.output("points", g.conv(floats(g, "p", {2, 96, 1, 1}), weights(g, {24, 96, 1, 1}, 5),
                                   weights(g, {24}, 6)));
       }},
      {"products of many tiles and terms",
       [](G& g) {
         const Operand bias = weights(g, {36}, 2);
         const Operand x = floats(g, "x", {40, 1100});
         g.output("y", g.relu(g.add(g.matmul(x, weights(g, {1100, 36}, 1)), bias)));
         g.output("odd", g.matmul(floats(g, "o", {2, 9, 513}), floats(g, "p", {2, 513, 11})));
         const Operand image = floats(g, "image", {1, 64, 6, 5});
         g.output("conv", g.relu(g.conv(image, weights(g, {33, 64, 3, 3}, 3), weights(g, {33}, 4),
                                        {.pads = {1, 1, 1, 1}})));
         g.output("data", g.conv(image, floats(g, "w", {12, 64, 3, 3})));
         g.output("points",
                  g.conv(floats(g, "wide", {1, 520, 5, 4}), weights(g, {24, 520, 1, 1}, 5)));
       }},
      {"convolutions of many tiles",
       [=](G& g) {
         const Operand x = image(g, 12);
         const Operand y = g.conv(x, weights(g, {40, 12, 3, 3}, 1), weights(g, {40}, 2),
                                  {.strides = {2, 1}, .pads = {1, 1, 1, 1}});
         g.output("y", g.hard_swish(g.add(y, floats(g, "z", {2, 40, 5, 11}))));
         g.output("first",
                  g.conv(image(g, 3), weights(g, {33, 3, 5, 4}, 3), {}, {.pads = {2, 0, 2, 3}}));
         g.output("groups", g.conv(image(g, 20), weights(g, {36, 10, 2, 3}, 4), weights(g, {36}, 5),
                                   {.dilations = {3, 2}, .group = 2}));
         g.output("data", g.conv(image(g, 8), floats(g, "w", {10, 8, 3, 3}), {}));
         g.output("deep",
                  g.conv(floats(g, "deep", {2, 4, 5, 6, 7}), weights(g, {18, 4, 2, 3, 3}, 6), {},
                         {.strides = {1, 2, 1}, .pads = {1, 0, 1, 0, 1, 2}}));
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
      {"numbers of every type",
       [](G& g) {
         const Operand x = g.mul(floats(g, "x", {3, 11}), g.scalar(40));
         const Operand y = g.mul(floats(g, "y", {11}), g.scalar(90));
         for (const DType t :
              {DType::i8, DType::i16, DType::u8, DType::u16, DType::u32, DType::u64, DType::f64}) {
           const Operand a = g.cast(x, t);
           const Operand b = g.cast(y, t);
           const std::string name(name_of(t));
           g.output("sum " + name, g.add(a, b));
           g.output("modulo " + name, g.mod(a, b));
           g.output("least " + name, g.min(a, b));
           g.output("chosen " + name, g.where(g.less(a, b), a, b));
           g.output("back " + name, g.cast(g.mul(a, b), DType::f32));
         }
         for (const DType t : {DType::i16, DType::u8, DType::u64, DType::f64}) {
           const Operand a = g.cast(x, t);
           const std::string name(name_of(t));
           for (const char* kind : {"max", "min", "sum", "mean", "prod"})
             g.output(name + " " + kind, g.reduce(kind, a, {0}));
           g.output(name + " row", g.reduce("max", a, {1}, {.keepdims = false}));
           g.output(name + " most", g.argmax(a, 1));
           g.output(name + " all", g.reduce("l1", a, {0, 1}));
         }
         const Operand doubles = g.cast(x, DType::f64);
         g.output("so far", g.cast(g.cumsum(doubles, 1), DType::f32));
         for (const char* kind : {"l2", "log_sum_exp"})
           g.output(kind, g.cast(g.reduce(kind, doubles, {1}), DType::f32));
         g.output("any", g.reduce("max", g.less(x, g.scalar(-30)), {0}));
         const Operand wide = g.cast(floats(g, "wide", {2, 11, 5}), DType::f64);
         g.output("product", g.cast(g.matmul(doubles, wide), DType::f32));
         g.output("trace", g.cast(g.einsum("bij,bij->i", {wide, wide}), DType::f32));
         const Operand matrices = floats(g, "matrices", {3, 5, 5});
         g.output("det", g.op("Det", {matrices}));
         g.output("det of f64", g.cast(g.op("Det", {g.cast(matrices, DType::f64)}), DType::f32));
         g.output("eye", g.op("EyeLike", {doubles}, "k=1"));
         g.output("bf16", g.cast(g.cast(x, DType::bf16), DType::f32));
         g.output("shifted", g.op("Binary", {g.cast(x, DType::u16), g.scalar(3, DType::u16)},
                                  "kind=shift_left"));
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
         g.output("argmin", g.argmin(x, 1, {.keepdims = false}));
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
         g.output("one axis", g.resize(x, {.sizes = {2, 4, 9, 5}, .mode = "linear"}));
       }},
      {"resampling of any dimensions",
       [](G& g) {
         const Operand x = floats(g, "x", {1, 2, 3, 4, 5});
         g.output("deep", g.resize(x, {.sizes = {1, 2, 6, 3, 7}, .mode = "linear"}));
         g.output("channels", g.resize(floats(g, "z", {2, 3, 4, 4}), {.sizes = {2, 6, 2, 8}}));
         g.output("flat", g.resize(floats(g, "flat", {6, 7}), {.sizes = {9, 5}, .mode = "cubic"}));
       }},
      {"padding",
       [=](G& g) {
         const Operand x = image(g, 3);
         // A dimension of one becomes many.
         g.output("grown", g.pad(floats(g, "line", {1, 5, 1}), {2, 0, 1, 0, 1, 3}));
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
         g.output("repeated", g.tile(floats(g, "r", {1, 3, 1}), {4, 2, 5}));
         g.output("deep", g.depth_to_space(x, 2));
         g.output("deeper", g.depth_to_space(x, 2, {.column_row_depth = true}));
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
         g.output("odd", g.gather(x, indices(-1, 2), 2));
         g.output("rows", g.gather(floats(g, "even", {7, 8}), indices(6, 0), 0));
         g.output("pairs", g.gather(floats(g, "two", {7, 2}), indices(1, -7), 0));
         // As long as the data along the axis, and shorter elsewhere.
         g.output("some", g.gather_elements(
                              floats(g, "s", {5, 6}),
                              g.argmax(floats(g, "j", {3, 6, 4}), 2, {.keepdims = false}), 1));
         g.output("each", g.gather_elements(
                              floats(g, "e", {2, 4}),
                              g.argmax(floats(g, "i", {2, 4, 3}), 2, {.keepdims = false}), 1));
         // Elements of two bytes, and rows of two, which hold four numbers.
         g.output("halves", g.cast(g.gather(g.cast(x, DType::f16), indices(1, 0), 2), DType::f32));
         const Operand row = g.argmax(floats(g, "k", {4, 3}), 1, {.keepdims = false});
         const Operand table =
             g.constant(tensor<std::uint8_t>({3, 2}, {0x12, 0x34, 0xf0, 0x9a, 0xbc, 0x0f}));
         g.output("numbers",
                  g.cast(g.op("UnpackBits", {g.gather(table, row, 0)}, "bits=4"), DType::f32));
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
      {"caches", append_to_caches},
      {"attention to caches", attend_to_caches},
      {"conv over three dimensions",
       [](G& g) {
         const Operand x = floats(g, "x", {2, 3, 5, 6, 7});
         g.output("y", g.relu(g.conv(x, weights(g, {6, 3, 2, 3, 3}, 1), weights(g, {6}, 2),
                                     {.strides = {1, 2, 1}, .pads = {1, 0, 1, 0, 1, 2}})));
         g.output("groups", g.conv(floats(g, "z", {1, 8, 4, 5, 6}), weights(g, {8, 4, 3, 1, 2}, 3),
                                   {}, {.dilations = {1, 2, 2}, .group = 2}));
         g.output("back", g.conv_transpose(x, weights(g, {3, 5, 2, 3, 2}, 4), weights(g, {5}, 5),
                                           {.strides = {2, 1, 3}, .pads = {1, 0, 1, 0, 1, 0}}));
         g.output("back in groups",
                  g.conv_transpose(floats(g, "t", {1, 4, 3, 4, 5}), weights(g, {4, 3, 2, 2, 2}, 6),
                                   {}, {.strides = {2, 2, 2}, .group = 2}));
       }},
      {"conv with weights that are data",
       [=](G& g) {
         const Operand x = image(g, 8);
         const Operand bias = floats(g, "bias", {8});
         g.output("y", g.conv(x, floats(g, "w", {8, 8, 3, 3}), bias, {.pads = {1, 1, 1, 1}}));
         g.output("odd", g.conv(image(g, 6), floats(g, "odd", {4, 3, 2, 2}), {}, {.group = 2}));
         g.output("channels", g.conv(x, floats(g, "each", {8, 1, 3, 3}), bias, {.group = 8}));
         g.output("points", g.conv(x, floats(g, "points", {5, 8, 1, 1})));
         // Points with padding at one end are no product.
         g.output("ends", g.conv(x, weights(g, {5, 8, 1, 1}, 1), {}, {.pads = {0, 0, 1, 2}}));
         g.output("back", g.conv_transpose(x, floats(g, "back", {8, 3, 3, 2}), {},
                                           {.strides = {2, 1}, .group = 2}));
       }},
      {"pooling of all kinds",
       [=](G& g) {
         const Operand deep = floats(g, "deep", {1, 5, 6, 7, 8});
         g.output("max", g.max_pool(deep, {2, 3, 2}, {.strides = {2, 1, 3}}));
         g.output("mean", g.average_pool(deep, {3, 2, 2}, {.pads = {1, 0, 1, 1, 1, 0}}));
         const Operands found = g.max_pool_indices(image(g, 6), {3, 3}, {.pads = {1, 1, 1, 1}});
         g.output("values", found[0]);
         g.output("indices", found[1]);
         g.output("columns",
                  g.ops("Pool", {image(g, 8)},
                        "kind=max kernel=[2,3] strides=[2,2] column_major_indices=true", 2)[1]);
         const Operand x = image(g, 4);
         for (std::int64_t p : {1, 2, 3})
           g.output("norm" + std::to_string(p), g.lp_pool(x, {2, 2}, p));
         g.output("line", g.average_pool(floats(g, "line", {2, 3, 17}), {4}, {.strides = {3}}));
       }},
      {"norms",
       [=](G& g) {
         const Operand x = floats(g, "x", {2, 6, 5, 4});
         const Operand spread = floats(g, "spread", {6});
         const Operand variance = g.mul(spread, spread);
         g.output("batch", g.batch_norm(x, floats(g, "s", {6}), floats(g, "b", {6}),
                                        floats(g, "m", {6}), variance, 0.01F));
         g.output("local", g.lrn(x, 4, {.alpha = 0.5F, .beta = 0.6F, .bias = 1.5F}));
         g.output("sizes", g.lp_norm(x, 1, 1));
         g.output("squares", g.lp_norm(x, 2, 2));
         g.output("hard", g.hardmax(x, 1));
         const Operands layer = g.ops("LayerNorm", {x, weights(g, {5, 4}, 1)}, "axis=2", 3);
         g.output("layer", layer[0]);
         g.output("mean", layer[1]);
         g.output("inverse", layer[2]);
         g.output("same", g.reduce("sum", x, IntList{}));
       }},
      {"inverses",
       [](G& g) {
         for (const std::int64_t n : {1, 3, 8}) {
           const std::string name = "x" + std::to_string(n);
           const Operand x = floats(g, name, {5, n, n});
           const Operand apart = g.mul(g.eye_like(floats(g, "eye" + name, {n, n})), g.scalar(4));
           // Rows in another order: pivots are not where they were.
           g.output(name + "y",
                    g.op("Inverse", {g.slice(g.add(x, apart), IntList{-1}, IntList{-100},
                                             {.axes = IntList{1}, .steps = IntList{-1}})}));
         }
       }},
      {"lines and diagonals",
       [](G& g) {
         const Operand x = floats(g, "x", {3, 7, 5});
         const Operand whole = g.cast(g.mul(x, g.scalar(9)), DType::i32);
         g.output("sum", g.cumsum(x, 1));
         g.output("before", g.cumsum(x, 0, {.exclusive = true, .reverse = true}));
         g.output("product", g.cumprod(x, 2, {.reverse = true}));
         g.output("whole", g.cumsum(whole, 2, {.exclusive = true}));
         g.output("upper", g.triu(x, -1));
         g.output("lower", g.tril(g.cast(whole, DType::i64), 1));
         // As far as the longer side: everything, and nothing.
         g.output("all", g.triu(x, -7));
         g.output("none", g.tril(floats(g, "flat", {2, 4, 9}), -4));
         g.output("most", g.tril(floats(g, "long", {2, 9, 4}), -8));
         const Operand shift = g.argmax(floats(g, "shift", {3}), 0);
         g.output("shifted", g.op("Trilu", {x, shift}, "upper=false"));
         g.output("eye", g.eye_like(floats(g, "square", {4, 6}), 1));
         const Operand indices = g.argmax(x, 2, {.keepdims = false});
         const Operand values = floats(g, "values", {2});
         g.output("hot", g.one_hot(indices, g.scalar(5, DType::i64), values, 1));
         g.output("cold", g.one_hot(g.mul(floats(g, "i", {6}), g.scalar(11)),
                                    g.scalar(4, DType::i64), values, -1));
         const Operand lengths = g.argmax(floats(g, "lengths", {7, 6}), 1, {.keepdims = false});
         g.output("turned", g.reverse_sequence(floats(g, "times", {5, 7, 3}), lengths));
         g.output("batches", g.reverse_sequence(floats(g, "batches", {7, 5}), lengths, 0, 1));
       }},
      {"the best",
       [](G& g) {
         const Operand x = floats(g, "x", {3, 130, 2});
         const auto most = g.top_k(x, {7}, 1);
         g.output("most", most[0]);
         g.output("where", most[1]);
         g.output("least", g.top_k(x, {2}, 2, {.largest = false})[1]);
         // Many equal ones.
         const Operand whole = g.cast(g.mul(x, g.scalar(4)), DType::i32);
         g.output("first", g.top_k(whole, {40}, 1)[1]);
         g.output("zeros", g.top_k(g.mul(g.round(x), g.scalar(-1)), {9}, 1, {.largest = false})[1]);
       }},
      {"scattering",
       [](G& g) {
         const Operand x = floats(g, "x", {5, 4, 6});
         // Places that several updates name.
         const Operand at = g.argmax(floats(g, "at", {3, 4, 6, 5}), 3, {.keepdims = false});
         const Operand updates = floats(g, "u", {3, 4, 6});
         for (const char* reduction : {"none", "add", "mul", "max", "min"})
           g.output(reduction, g.scatter_elements(x, at, updates, 0, reduction));
         const Operand middle = g.argmax(floats(g, "m", {5, 3, 6, 4}), 3, {.keepdims = false});
         const Operand whole = g.cast(g.mul(x, g.scalar(90)), DType::i32);
         const Operand counts = g.cast(g.mul(floats(g, "n", {5, 3, 6}), g.scalar(40)), DType::i32);
         for (const char* reduction : {"add", "mul", "max", "min"})
           g.output(std::string("whole ") + reduction,
                    g.scatter_elements(whole, middle, counts, 1, reduction));
         const Operand tuples = g.argmax(floats(g, "tuples", {9, 2, 4}), 2, {.keepdims = false});
         const Operand slices = floats(g, "slices", {9, 6});
         for (const char* reduction : {"none", "add", "mul", "max", "min"})
           g.output(std::string("nd ") + reduction, g.scatter_nd(x, tuples, slices, reduction));
         const Operand longs = g.cast(g.mul(x, g.scalar(9)), DType::i64);
         g.output("longs", g.scatter_nd(longs, tuples, g.cast(slices, DType::i64)));
         g.output("gathered", g.gather_nd(x, tuples));
         const Operand behind =
             g.sub(tuples, g.constant(tensor<std::int64_t>({2}, {4, 4})));  // counted from the end
         g.output("gathered from behind", g.gather_nd(x, behind));
         g.output("nd from behind", g.scatter_nd(x, behind, slices));
         g.output("elements from behind",
                  g.scatter_elements(x, g.sub(at, g.scalar(5, DType::i64)), updates, 0));
         g.output(
             "batches",
             g.gather_nd(x, g.argmax(floats(g, "b", {5, 3, 1, 4}), 3, {.keepdims = false}), 1));
       }},
      {"sampling at a grid",
       [=](G& g) {
         const Operand x = image(g, 3);
         const Operand grid = g.mul(floats(g, "grid", {2, 5, 6, 2}), g.scalar(3.1));
         for (const char* mode : {"nearest", "linear", "cubic"})
           for (const char* padding : {"zeros", "border", "reflection"})
             for (const bool corners : {false, true})
               g.output(std::string(mode) + padding + (corners ? "1" : "0"),
                        g.grid_sample(
                            x, grid, {.mode = mode, .padding = padding, .align_corners = corners}));
         g.output("deep", g.grid_sample(floats(g, "deep", {1, 2, 4, 5, 6}),
                                        g.mul(floats(g, "g3", {1, 2, 3, 4, 3}), g.scalar(2))));
         g.output("line", g.grid_sample(floats(g, "line", {1, 2, 9}), floats(g, "g1", {1, 7, 1})));
       }},
      {"quantised elements",
       [=](G& g) {
         const Operand x = g.mul(image(g, 6), g.scalar(3));
         const auto bytes = [&](DType t, std::initializer_list<double> v) {
           Operands parts;
           for (double p : v) parts.push_back(g.unsqueeze(g.scalar(p, t), {0}));
           return g.concat(parts, 0);
         };
         const Operand q = g.quantize(x, g.scalar(0.011), g.scalar(120, DType::u8));
         g.output("q", q);
         g.output("x", g.dequantize(q, g.scalar(0.011), g.scalar(120, DType::u8)));
         const Operand scales =
             g.constant(tensor<float>({6}, {0.01F, 0.02F, 0.013F, 0.007F, 0.5F, 0.001F}));
         const Operand zeros = bytes(DType::i8, {0, 1, -2, 3, -128, 127});
         const Operand signed_q = g.quantize(x, scales, zeros);
         g.output("channels", signed_q);
         g.output("back", g.dequantize(signed_q, scales, zeros));
         g.output("words", g.dequantize(g.cast(x, DType::i32), g.scalar(0.25)));
         const auto dynamic = g.dynamic_quantize(g.add(x, g.scalar(0.25)));
         g.output("values", dynamic[0]);
         g.output("scale", dynamic[1]);
         g.output("zero", dynamic[2]);
         g.output("alone", g.dynamic_quantize(floats(g, "long", {5000, 3}))[0]);
       }},
      {"quantised products",
       [=](G& g) {
         const auto small = [&](const Shape& shape, int seed, DType t, double zero) {
           return g.quantize(weights(g, shape, seed), g.scalar(0.004), g.scalar(zero, t));
         };
         const auto byte = [&](double v) { return g.scalar(v, DType::u8); };
         const Operand x = image(g, 8);
         const Operand eight = g.quantize(x, g.scalar(0.005), byte(100));
         const Operand six = g.quantize(image(g, 6), g.scalar(0.005), byte(100));
         const Operand z = g.dynamic_quantize(x)[2];
         g.output("sums", g.conv_integer(eight, small({5, 8, 3, 3}, 1, DType::i8, 0), byte(100), {},
                                         {.strides = {2, 1}, .pads = {1, 1, 0, 1}}));
         g.output("groups", g.conv_integer(six, small({4, 3, 3, 2}, 2, DType::u8, 128), z,
                                           byte(128), {.dilations = {1, 2}, .group = 2}));
         g.output("channels", g.conv_integer(eight, small({8, 1, 3, 3}, 3, DType::i8, 1), byte(100),
                                             g.scalar(1, DType::i8), {.group = 8}));
         const Operand signed_bytes = g.quantize(x, g.scalar(0.005), g.scalar(-20, DType::i8));
         g.output("fours of signed bytes",
                  g.conv_integer(signed_bytes, small({6, 4, 3, 3}, 9, DType::i8, 0),
                                 g.scalar(-20, DType::i8), {},
                                 {.pads = {1, 2, 1, 0}, .dilations = {2, 1}, .group = 2}));
         g.output("fours of bytes", g.conv_integer(eight, small({7, 8, 2, 2}, 10, DType::u8, 128),
                                                   z, byte(128), {.pads = {0, 0, 1, 1}}));
         Operands o = {eight,
                       g.scalar(0.005),
                       byte(100),
                       small({12, 8, 3, 3}, 4, DType::i8, 0),
                       g.constant(pattern({12}, 5)),
                       g.scalar(0, DType::i8),
                       g.scalar(0.03),
                       byte(7)};
         g.output("bytes", g.qlinear_conv(o, {.pads = {1, 1, 1, 1}}));
         o.push_back(g.cast(g.mul(weights(g, {12}, 6), g.scalar(2000)), DType::i32));
         o[7] = g.scalar(-7, DType::i8);
         g.output("biased", g.qlinear_conv(o));
         const Operand rows = g.quantize(floats(g, "rows", {2, 7, 10}), g.scalar(0.004), byte(90));
         g.output("product", g.matmul_integer(rows, small({10, 9}, 7, DType::i8, 3), byte(90),
                                              g.scalar(3, DType::i8)));
         const Operand wide = g.quantize(floats(g, "wide", {3, 5, 12}), g.scalar(0.004), byte(90));
         g.output("product of fours",
                  g.matmul_integer(wide, small({12, 9}, 11, DType::i8, 0), byte(90)));
         g.output("short", g.qlinear_matmul({rows, g.scalar(0.004), byte(90),
                                             small({10, 12}, 8, DType::u8, 128), g.scalar(0.004),
                                             byte(128), g.scalar(0.02), byte(128)}));
       }},
      {"regions and places",
       [](G& g) {
         const Operand x = floats(g, "x", {2, 3, 10, 12});
         const Operand boxes = g.mul(g.abs(floats(g, "boxes", {5, 4})), g.scalar(22));
         const Operand images = g.argmax(floats(g, "images", {5, 2}), 1, {.keepdims = false});
         g.output("mean", g.roi_align(x, boxes, images, {.height = 3, .width = 2}));
         g.output("points", g.roi_align(x, boxes, images,
                                        {.height = 2,
                                         .width = 3,
                                         .sampling_ratio = 2,
                                         .spatial_scale = 0.5F,
                                         .half_pixel = false}));
         g.output("most", g.roi_align(x, boxes, images, {.height = 2, .width = 2, .max = true}));
         // The one point of the box is the corner of the image, which is still in it, or the last
         // place before the other corner that is.
         const Operand before = g.constant(tensor<float>({1, 4}, {-2, -2, 0, 0}));
         g.output("before",
                  g.roi_align(x, before, g.constant(tensor<std::int64_t>({1}, {1})),
                              {.height = 1, .width = 1, .sampling_ratio = 1, .half_pixel = false}));
         const Operand corner = g.constant(tensor<float>({1, 4}, {0, 0, 24, 20}));
         g.output("corner",
                  g.roi_align(x, corner, g.constant(tensor<std::int64_t>({1}, {0})),
                              {.height = 1, .width = 1, .sampling_ratio = 1, .half_pixel = false}));
         const Operand regions = g.concat({g.cast(g.unsqueeze(images, {1}), DType::f32), boxes}, 1);
         g.output("pooled", g.max_roi_pool(x, regions, 2, 3, 0.7F));
         // Windows that overlap name places twice.
         const Operands top =
             g.max_pool_indices(floats(g, "z", {2, 3, 9, 11}), {3, 3}, {.strides = {2, 2}});
         g.output("back", g.max_unpool(top[0], top[1], {3, 3}, {.strides = {2, 2}}));
         g.output("cut", g.max_unpool(g.neg(top[0]), top[1], {3, 3},
                                      {.strides = {2, 2}, .output_shape = {2, 3, 9, 12}}));
         const Operand known = g.constant(tensor<std::int64_t>({3, 1}, {1, -1, 1}));
         g.output("known", g.scatter_nd(floats(g, "data", {3, 4}), known, floats(g, "u", {3, 4})));
       }},
      {"long lines",
       [](G& g) {
         const Operand x = floats(g, "x", {1, 1, 70001});
         g.output("conv", g.conv(x, weights(g, {2, 1, 10}, 1), {}, {.strides = {5}}));
         g.output("pool", g.max_pool(x, {200}, {.strides = {100}, .dilations = {3}}));
       }},
      {"integers",
       [](G& g) {
         const Operand x = g.mul(floats(g, "x", {3, 5, 4}), g.scalar(9));
         for (const DType t : {DType::i32, DType::i64}) {
           const Operand i = g.cast(x, t);
           const std::string bits = t == DType::i32 ? " 32" : " 64";
           for (const char* kind : {"sum", "max", "min", "prod", "l1", "sum_square"})
             g.output(kind + bits, g.reduce(kind, i, {0, 2}));
           g.output("most" + bits, g.argmax(i, 1));
           g.output("size" + bits, g.abs(i));
           g.output("sign" + bits, g.sign(i));
           g.output("minus" + bits, g.neg(i));
           g.output("above" + bits, g.op("Unary", {i}, "kind=clip alpha=-3 beta=inf"));
           g.output("far" + bits, g.op("Unary", {g.mul(i, g.scalar(1e7, t))},
                                       "kind=clip alpha=-16777217 beta=33554433"));
           g.output("quotient" + bits, g.div(i, g.scalar(-3, t)));
           g.output("modulo" + bits, g.mod(i, g.scalar(3, t)));
           g.output("remainder" + bits, g.fmod(i, g.scalar(-3, t)));
           g.output("less" + bits, g.less(i, g.scalar(0, t)));
           g.output("chosen" + bits, g.where(g.greater(i, g.neg(i)), i, g.scalar(-7, t)));
           g.output("least" + bits, g.argmin(i, 2, {.keepdims = false}));
           // Among equal elements these outputs choose the first one or the last one.
           const Operand two = g.mod(i, g.scalar(2, t));
           g.output("first least" + bits, g.argmin(two, 1));
           g.output("first most" + bits, g.argmax(two, 1));
           g.output("last least" + bits,
                    g.op("ArgReduce", {two}, "is_max=false axis=1 select_last_index=true"));
           g.output("last" + bits, g.op("ArgReduce", {i}, "axis=0 select_last_index=true"));
           g.output("so far" + bits, g.cumsum(i, 1, {.exclusive = t == DType::i64}));
         }
         const Operand few = g.argmax(floats(g, "few", {2, 3, 4}), 2, {.keepdims = false});
         g.output("few", g.gather_elements(floats(g, "of", {4, 6}), few, 0));
         g.output("long", g.gather_elements(g.cast(floats(g, "long", {7, 5}), DType::i64), few, 1));
       }},
      {"sums over labels",
       [](G& g) {
         const Operand q = floats(g, "q", {2, 5, 3, 6});
         const Operand k = floats(g, "k", {2, 7, 3, 6});
         const Operand v = floats(g, "v", {2, 7, 3, 4});
         g.output("scores", g.einsum("bihd,bjhd->bhij", {q, k}));
         g.output("mixed", g.einsum("bhij,bjhd->bihd", {floats(g, "w", {2, 3, 5, 7}), v}));
         g.output("dense", g.einsum("bihd,dhe->bie", {q, weights(g, {6, 3, 8}, 1)}));
         g.output("outer", g.einsum("i,j->ji", {floats(g, "i", {5}), floats(g, "j", {9})}));
         g.output("diagonal", g.einsum("...ii->...i", {floats(g, "square", {3, 4, 4})}));
         g.output("broadcast", g.einsum("bihd,bihd->bi", {q, floats(g, "one", {1, 5, 3, 1})}));
         g.output("sum", g.einsum("bihd,bjhd->bh", {q, k}));
         g.output("trace", g.einsum("ii", {floats(g, "trace", {6, 6})}));
         g.output("of a diagonal",
                  g.einsum("bii,bij->bj", {floats(g, "d", {2, 4, 4}), floats(g, "m", {2, 4, 6})}));
         g.output("shared", g.einsum("bij,bjk->bik",
                                     {floats(g, "many", {2, 3, 4}), floats(g, "b1", {1, 4, 5})}));
       }},
      {"spectra",
       [](G& g) {
         const Operand x = floats(g, "x", {2, 15, 3, 1});
         g.output("all", g.dft(x, {}, 1));
         g.output("half", g.dft(x, {20}, 1, {.onesided = true}));
         g.output("back", g.dft(floats(g, "z", {2, 9, 2}), {}, 1, {.inverse = true}));
         g.output("real",
                  g.dft(floats(g, "h", {2, 9, 2}), {}, 1, {.inverse = true, .onesided = true}));
         const Operand signal = floats(g, "signal", {2, 40});
         g.output("frames", g.stft(signal, g.scalar(5, DType::i64), floats(g, "window", {12})));
         g.output("plain", g.stft(signal, g.scalar(8, DType::i64), {}, g.scalar(10, DType::i64),
                                  {.onesided = false}));
       }},
      {"backwards and around",
       [](G& g) {
         const Operand x = floats(g, "x", {2, 3, 4, 5});
         g.output("back", g.slice(x, {1, -1}, {-9, -9}, {.axes = {0, 3}, .steps = {-1, -2}}));
         g.output("around", g.tile(x, {3, 2, 2, 3}));
         const Operand value = g.reduce("max", x, {0, 1, 2, 3}, {.keepdims = false});
         g.output("padded", g.pad(x, {0, 1, 0, 2, 1, 0, 3, 0}, {.value = value}));
         g.output("power", g.pow(g.mul(x, g.scalar(3)), g.cast(g.mul(x, g.scalar(9)), DType::i64)));
         g.output("root", g.pow(g.abs(x), g.abs(x)));
       }},
      {"transposed and repeated",
       [](G& g) {
         const Operand a = g.transpose(floats(g, "a", {50, 30}), {1, 0});
         const Operand b = g.transpose(floats(g, "b", {50, 1, 20}), {2, 1, 0});
         const Operand c = floats(g, "c", {20, 30, 50});
         g.output("both", g.sigmoid(g.add(a, b)));
         g.output("left", g.relu(g.mul(a, c)));
         g.output("right", g.relu(g.sub(c, b)));
         const Operand image = g.transpose(floats(g, "image", {7, 2, 3, 5}), {1, 2, 3, 0});
         g.output("larger", g.resize(image, {.sizes = {2, 3, 10, 14}}));
         g.output("smoother", g.resize(image, {.sizes = {2, 3, 8, 14}, .mode = "linear"}));
       }},
      {"recurrent, batch first",
       [](G& g) {
         const Operand x = floats(g, "x", {3, 6, 7});
         // Weights of the second direction begin where no binding may.
         const auto y = g.gru(x, weights(g, {2, 15, 7}, 1), weights(g, {2, 15, 5}, 2), 5,
                              {.bias = weights(g, {2, 30}, 3),
                               .initial_h = floats(g, "h", {3, 2, 5}),
                               .direction = "bidirectional",
                               .batch_first = true});
         g.output("y", y[0]);
         g.output("last", y[1]);
       }},
  };
}

}  // namespace quern::testing
