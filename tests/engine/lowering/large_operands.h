// SPDX-License-Identifier: Apache-2.0
// Graphs at the limits of devices: more groups than a grid has, longer loops than a software device
// runs, operands that no binding holds, offsets of more than 31 bits, more dimensions than a shader
// has. They are lowered and never run.
#pragma once

#include "tests/engine/all_families.h"

namespace quern::testing {

inline std::vector<Family> families_at_limits() {
  using G = GraphBuilder;
  constexpr std::int64_t most_iterations = 60'000;  // of GpuTarget
  return {
      {"sums as long as loops may be",
       [](G& g) {
         for (const std::int64_t n : {most_iterations - 8, most_iterations, most_iterations + 8}) {
           const std::string name = std::to_string(n);
           g.output("product" + name,
                    g.matmul(floats(g, "a" + name, {2, n}), floats(g, "b" + name, {n, 3})));
           g.output("row" + name, g.softmax(floats(g, "s" + name, {1, n})));
           g.output("sum" + name, g.reduce("sum", floats(g, "r" + name, {3, n}), {1}));
           g.output("norm" + name, g.layer_norm(floats(g, "l" + name, {2, n})));
           g.output("line" + name, g.cumsum(floats(g, "c" + name, {n, 2}), 0));
           g.output("best" + name, g.argmax(floats(g, "m" + name, {n, 2}), 0));
         }
       }},
      {"longer sums",
       [](G& g) {
         for (const std::int64_t n : {1'000'000, 4'000'000}) {
           const std::string name = std::to_string(n);
           g.output("product" + name,
                    g.matmul(floats(g, "a" + name, {1, n}), floats(g, "b" + name, {n, 1})));
           g.output("row" + name, g.softmax(floats(g, "s" + name, {2, n})));
           g.output("mean" + name, g.reduce("mean", floats(g, "r" + name, {n, 2})));
           g.output("norm" + name, g.layer_norm(floats(g, "l" + name, {1, n})));
           g.output("p" + name, g.lp_norm(floats(g, "p" + name, {2, n})));
           g.output("best" + name, g.argmin(floats(g, "m" + name, {2, n}), 1));
         }
       }},
      {"more rows than a grid has",
       [](G& g) {
         const Operand x = floats(g, "x", {70'000, 40, 9});
         g.output("softmax", g.softmax(x));
         g.output("middle", g.softmax(x, 1));
         g.output("sum", g.reduce("sum", x, {1}));
         g.output("norm", g.layer_norm(x));
         g.output("turned", g.neg(g.transpose(x, {2, 1, 0})));
         g.output("product", g.matmul(x, floats(g, "w", {9, 5})));
         g.output("batches", g.matmul(x, floats(g, "v", {70'000, 9, 6})));
         g.output("attention",
                  g.attention(floats(g, "q", {70'000, 1, 4, 8}), floats(g, "k", {70'000, 1, 6, 8}),
                              floats(g, "a", {70'000, 1, 6, 8})));
         g.output("heads", g.gather(x, g.constant(tensor<std::int64_t>({2}, {3, 1})), 1));
       }},
      {"more images than a grid has",
       [](G& g) {
         const Operand x = floats(g, "x", {70'000, 4, 5, 5});
         g.output("conv", g.conv(x, weights(g, {8, 4, 3, 3}, 1)));
         g.output("channels", g.conv(x, weights(g, {4, 1, 3, 3}, 2), {}, {.group = 4}));
         g.output("back", g.conv_transpose(x, weights(g, {4, 3, 2, 2}, 3)));
         g.output("pool", g.max_pool(x, {2, 2}));
         g.output("all", g.global_average_pool(x));
         g.output("resized", g.resize(x, {.sizes = {70'000, 4, 7, 9}, .mode = "linear"}));
         g.output("padded", g.pad(x, {0, 0, 1, 1, 0, 0, 1, 1}, {.mode = "reflect"}));
         g.output("normed", g.instance_norm(x, weights(g, {4}, 1), weights(g, {4}, 2)));
       }},
      {"large images",
       [](G& g) {
         const Operand x = floats(g, "x", {1, 3, 2300, 2500});
         g.output("conv", g.conv(x, weights(g, {8, 3, 3, 3}, 1), weights(g, {8}, 2),
                                 {.strides = {2, 2}, .pads = {1, 1, 1, 1}}));
         g.output("pool", g.average_pool(x, {3, 3}, {.strides = {2, 2}}));
         g.output("cubic", g.resize(x, {.sizes = {1, 3, 1200, 900}, .mode = "cubic"}));
         g.output("all", g.reduce("max", x, {2, 3}));
         g.output("sample", g.grid_sample(x, floats(g, "grid", {1, 700, 800, 2})));
         g.output("groups", g.group_norm(floats(g, "z", {1, 8, 600, 700}), weights(g, {8}, 1),
                                         weights(g, {8}, 2), 2));
         g.output("windows", g.max_pool(x, {260, 250}, {.strides = {130, 125}}));
       }},
      {"operands as large as a binding",
       [](G& g) {
         constexpr std::int64_t most = (std::int64_t{128} << 20) / 4;
         g.output("fits", g.relu(floats(g, "whole", {most})));
         g.output("beyond", g.relu(floats(g, "more", {most + 1})));
         const Operand half = floats(g, "half", {1, most / 2});
         g.output("joined", g.concat({g.neg(half), g.relu(half)}, 0));
         g.output("wide", g.add(floats(g, "column", {6'000, 1}), floats(g, "row", {1, 6'000})));
         g.output("taken", g.gather(floats(g, "table", {9'000'000, 4}),
                                    g.argmax(floats(g, "i", {5, 3}), 1, {.keepdims = false})));
       }},
      {"offsets of more than 31 bits",
       [](G& g) {
         constexpr std::int64_t many = std::int64_t{1} << 29;
         const Operand x = floats(g, "x", {5, many});
         g.output("part", g.relu(g.slice(x, {4}, {5}, {.axes = IntList{0}})));
         g.output("first", g.slice(x, {0}, {3}, {.axes = IntList{1}}));
         g.output("turned", g.transpose(floats(g, "y", {many, 3, 2}), {2, 1, 0}));
       }},
      {"many dimensions",
       [](G& g) {
         const Operand x = floats(g, "x", {2, 3, 2, 3, 2, 3, 2, 3});
         const Operand y = floats(g, "y", {2, 1, 2, 1, 2, 1, 2, 1});
         const Operand six = floats(g, "six", {2, 3, 2, 3, 2, 3});
         g.output("sum", g.add(x, y));
         g.output("turned", g.neg(g.transpose(x, {1, 3, 5, 7, 0, 2, 4, 6})));
         g.output("six", g.add(six, floats(g, "one", {1, 3, 1, 3, 1, 3})));
         g.output("back", g.neg(g.transpose(six, {5, 4, 3, 2, 1, 0})));
         g.output("tiled", g.tile(floats(g, "t", {2, 3, 2, 3}), {2, 2, 2, 2}));
         g.output("kept", g.reduce("sum", x, {1, 3, 5, 7}));
         g.output("padded", g.pad(six, {1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1}));
       }},
      {"volumes of bytes, which no shader takes",
       [](G& g) {
         const auto small = [&](const Shape& shape, int seed) {
           return g.quantize(weights(g, shape, seed), g.scalar(0.004), g.scalar(0, DType::i8));
         };
         const Operand zero = g.scalar(100, DType::u8);
         const Operand volume =
             g.quantize(floats(g, "volume", {1, 4, 3, 4, 5}), g.scalar(0.005), zero);
         g.output("sums", g.conv_integer(volume, small({5, 4, 2, 2, 3}, 12), zero));
         g.output("bytes",
                  g.qlinear_conv({volume, g.scalar(0.005), zero, small({6, 4, 2, 3, 2}, 13),
                                  g.scalar(0.01), g.scalar(0, DType::i8), g.scalar(0.03),
                                  g.scalar(7, DType::u8)}));
       }},
      {"products that fill a device",
       [](G& g) {
         const Operand x = floats(g, "x", {512, 768});
         g.output("y", g.gelu(g.add(g.matmul(x, weights(g, {768, 640}, 1)), weights(g, {640}, 2))));
         g.output("square", g.matmul(floats(g, "a", {2, 1024, 512}), floats(g, "b", {512, 1024})));
         g.output("narrow", g.matmul(floats(g, "n", {2048, 256}), floats(g, "c", {256, 20})));
         g.output("deep", g.matmul(floats(g, "d", {96, 4608}), floats(g, "e", {4608, 128})));
         const Operand image = floats(g, "image", {1, 64, 56, 56});
         const Operand y = g.conv(image, weights(g, {128, 64, 3, 3}, 3), weights(g, {128}, 4),
                                  {.strides = {2, 2}, .pads = {1, 1, 1, 1}});
         g.output("conv", g.relu(y));
         g.output("points", g.conv(image, weights(g, {256, 64, 1, 1}, 5)));
         g.output("channels", g.conv(image, weights(g, {64, 1, 3, 3}, 6), {},
                                     {.strides = {2, 2}, .pads = {1, 1, 1, 1}, .group = 64}));
         g.output("back", g.conv_transpose(image, weights(g, {64, 32, 4, 4}, 7), {},
                                           {.strides = {2, 2}, .pads = {1, 1, 1, 1}}));
         g.output("attention",
                  g.attention(floats(g, "q", {1, 8, 128, 64}), floats(g, "k", {1, 8, 128, 64}),
                              floats(g, "v", {1, 8, 128, 64})));
         g.output("row", g.matmul(floats(g, "one", {1, 2048}), floats(g, "f", {2048, 4096})));
       }},
  };
}

}  // namespace quern::testing
