// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/kernels.h"
#include "engine/vocabulary/text_util.h"

namespace quern::bench {
namespace {

struct Shape2d {
  std::int64_t in, out, kernel, size;  // channels, channels, side of the window, of the picture
  std::int64_t stride = 1, group = 1;
};

std::string attributes(const Shape2d& s) {
  const std::int64_t pad = s.kernel / 2;
  return cat("kernel=[", s.kernel, ",", s.kernel, "] strides=[", s.stride, ",", s.stride,
             "] pads=[", pad, ",", pad, ",", pad, ",", pad, "] group=", s.group);
}

Shape weight_shape(const Shape2d& s) {
  return {s.out, s.in / s.group, s.kernel, s.kernel};
}

// "3x3/64-64/56x56"
std::string text(const Shape2d& s) {
  return cat(s.kernel, "x", s.kernel, s.stride > 1 ? cat("s", s.stride) : std::string(), "/", s.in,
             "-", s.out, "/", s.size, "x", s.size);
}

Kernel f32(const Shape2d& s) {
  return {cat(s.group > 1 ? "conv/depthwise-" : "conv/", text(s)), [=](GraphMaker& g) {
            return g.node("Conv", attributes(s),
                          {g.input(DType::f32, {1, s.in, s.size, s.size}),
                           g.weights(DType::f32, weight_shape(s)), g.weights(DType::f32, {s.out})});
          }};
}

Kernel int8(const Shape2d& s) {
  return {cat("conv/int8-", text(s)), [=](GraphMaker& g) {
            const ValueId scale = g.constant(Tensor::scalar(DType::f32, 0.02F));
            const ValueId zero_u8 = g.constant(Tensor::scalar<std::uint8_t>(DType::u8, 128));
            const ValueId zero_i8 = g.constant(Tensor::scalar<std::int8_t>(DType::i8, 0));
            return g.node("QLinearConv", attributes(s),
                          {g.input(DType::u8, {1, s.in, s.size, s.size}), scale, zero_u8,
                           g.weights(DType::i8, weight_shape(s)), scale, zero_i8, scale, zero_u8});
          }};
}

// A sequence as a picture of one column or one row: the same work, not the same time.
Kernel line(const char* name, const Shape& kernel, const Shape& size) {
  return {cat("conv/", name, kernel[0], "x", kernel[1], "/256-512/", size[0], "x", size[1]),
          [=](GraphMaker& g) {
            return g.node("Conv", cat("kernel=[", kernel[0], ",", kernel[1], "]"),
                          {g.input(DType::f32, {1, 256, size[0], size[1]}),
                           g.weights(DType::f32, {512, 256, kernel[0], kernel[1]})});
          }};
}

}  // namespace

std::vector<Kernel> conv_kernels() {
  const Shape2d middle = {.in = 64, .out = 64, .kernel = 3, .size = 56};
  return {f32(middle),
          f32({.in = 256, .out = 64, .kernel = 1, .size = 56}),
          f32({.in = 512, .out = 512, .kernel = 3, .size = 7}),
          f32({.in = 3, .out = 64, .kernel = 7, .size = 224, .stride = 2}),
          f32({.in = 96, .out = 96, .kernel = 3, .size = 112, .group = 96}),
          f32({.in = 96, .out = 96, .kernel = 3, .size = 112, .stride = 2, .group = 96}),
          int8(middle),
          line("column-", {5, 1}, {512, 1}),
          line("row-", {1, 5}, {1, 512})};
}

}  // namespace quern::bench
