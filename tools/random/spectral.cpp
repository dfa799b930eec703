// SPDX-License-Identifier: Apache-2.0
// Fourier transforms, windows, determinants and random numbers.
#include <algorithm>
#include <array>
#include <cmath>

#include "frontends/onnx-parser/tensor.h"
#include "tools/random/families.h"

namespace quern::tools {
namespace {

DrawnValue window_of(Builder& b, DType type, std::int64_t length) {
  const std::string_view op =
      b.rng.pick(std::vector<std::string_view>{"HannWindow", "HammingWindow", "BlackmanWindow"});
  Attributes a = {Builder::integer("output_datatype", onnx::onnx_type_of(type))};
  if (b.rng.chance(0.4)) a.push_back(Builder::integer("periodic", 0));
  const DrawnValue size = b.rng.chance(0.8)
                              ? b.scalar(DType::i64, static_cast<double>(length))
                              : b.input_of(DType::i64, {}, [&](std::size_t, const Shape&) {
                                  return Tensor::scalar<std::int64_t>(DType::i64, length);
                                });
  return b.add(op, {size}, a, {type, {fixed(length)}, 1, true});
}

bool window(Builder& b) {
  const DType type = b.rng.pick(std::vector<DType>{DType::f32, DType::f32, DType::f64});
  const DrawnValue w = window_of(b, type, b.rng.between(2, 17));
  if (b.rng.chance(0.6)) {
    const DrawnValue x = b.take_like(type, {b.random_extent(), w.dims[0]});
    b.add("Mul", {x, w}, {}, {type, x.dims, x.most});
  }
  return true;
}

// [..., length, 1 or 2] along an axis before the last.
bool dft(Builder& b) {
  const DType type = b.rng.pick(std::vector<DType>{DType::f32, DType::f32, DType::f64});
  const Extents dims = b.random_dims(static_cast<std::size_t>(b.rng.between(2, 3)));
  const auto at = static_cast<std::size_t>(
      b.rng.between(b.opset() < 20 ? 1 : 0, static_cast<std::int64_t>(dims.size()) - 1));
  if (least(product(dims)) == 0) return false;
  const bool is_complex = b.rng.chance(0.4);
  Extents xd = dims;
  xd.push_back(fixed(is_complex ? 2 : 1));
  if (!b.fits(xd)) return false;
  const bool inverse = b.rng.chance(0.3);
  const bool onesided = !inverse && !is_complex && b.rng.chance(0.5);
  const DrawnValue x = b.take_like(type, xd);
  Extents out = dims;
  Values in = {x, Builder::none(), Builder::none()};
  if (b.rng.chance(0.3)) {
    const std::int64_t length = b.rng.between(1, 12);
    in[1] = b.scalar(DType::i64, static_cast<double>(length));
    out[at] = fixed(length);
  }
  const double terms = static_cast<double>(tools::most(out[at]));
  if (onesided) out[at] = map_extent(out[at], [](auto n) { return n / 2 + 1; });
  out.push_back(fixed(2));
  if (!b.fits(out)) return false;
  const auto axis = static_cast<std::int64_t>(at);
  Attributes a;
  if (inverse) a.push_back(Builder::integer("inverse", 1));
  if (onesided) a.push_back(Builder::integer("onesided", 1));
  if (b.opset() < 20) {
    a.push_back(Builder::integer("axis", axis));
  } else {
    in[2] = b.scalar(DType::i64,
                     static_cast<double>(
                         b.rng.chance(0.3) ? axis - static_cast<std::int64_t>(xd.size()) : axis));
  }
  b.add("DFT", in, a, {type, out, x.most * terms});
  return true;
}

bool stft(Builder& b) {
  const DType type = b.rng.pick(std::vector<DType>{DType::f32, DType::f32, DType::f64});
  const std::int64_t frame = b.rng.pick(std::vector<std::int64_t>{2, 4, 5, 8, 16});
  const std::int64_t step = b.rng.between(1, frame);
  const std::int64_t samples = frame + b.rng.between(0, 24);
  const Extent batch = b.rng.chance(0.5) ? fixed(1) : b.random_extent();
  if (least(batch) == 0) return false;
  const bool onesided = b.rng.chance(0.6);
  const Extents xd = {batch, fixed(samples), fixed(1)};
  const Extents dims = {batch, fixed((samples - frame) / step + 1),
                        fixed(onesided ? frame / 2 + 1 : frame), fixed(2)};
  if (!b.fits(xd) || !b.fits(dims)) return false;
  const DrawnValue x = b.take_like(type, xd);
  Values in = {x, b.scalar(DType::i64, static_cast<double>(step)), Builder::none()};
  const bool windowed = b.rng.chance(0.6);
  if (windowed)
    in[2] = b.rng.chance(0.5) ? window_of(b, type, frame) : b.take_like(type, {fixed(frame)});
  if (!windowed || b.rng.chance(0.3))
    in.push_back(b.scalar(DType::i64, static_cast<double>(frame)));
  b.add("STFT", in, {Builder::integer("onesided", onesided)},
        {type, dims, x.most * std::max(in[2].most, 1.0) * static_cast<double>(frame)});
  return true;
}

bool mel_weights(Builder& b) {
  const std::int64_t bins = b.rng.between(1, 6);
  const std::int64_t length = b.rng.pick(std::vector<std::int64_t>{8, 16, 32});
  const auto whole = [&](std::int64_t v) { return b.scalar(DType::i64, static_cast<double>(v)); };
  const Values in = {whole(bins), whole(length), whole(8000),
                     b.steady(b.scalar(DType::f32, static_cast<double>(b.rng.between(0, 2)) * 50)),
                     b.steady(b.scalar(DType::f32, 3500))};
  b.add("MelWeightMatrix", in, {}, {DType::f32, {fixed(length / 2 + 1), fixed(bins)}, 1, true});
  return true;
}

bool det(Builder& b) {
  const DType type = b.rng.pick(ordinary_floats());
  const Extent n = fixed(b.rng.between(1, 4));
  Extents outer;
  if (b.rng.chance(0.6)) outer.push_back(b.random_extent());
  Extents xd = outer;
  xd.insert(xd.end(), {n, n});
  if (!b.fits(xd)) return false;
  const DrawnValue x = b.take_like(type, xd);
  const double size = std::pow(x.most, static_cast<double>(n[0])) * 24;
  b.add("Det", {x}, {}, {type, outer, size});
  return true;
}

// ---- random numbers: those of a seed, which every device makes alike

bool random_numbers(Builder& b) {
  const bool normal = b.rng.chance(0.5);
  const DType type = b.rng.pick(std::vector<DType>{DType::f32, DType::f32, DType::f64, DType::f16});
  Attributes a = {b.number("seed", static_cast<double>(b.rng.between(0, 99))),
                  Builder::integer("dtype", onnx::onnx_type_of(type))};
  if (b.rng.chance(0.4)) a.push_back(b.number(normal ? "mean" : "low", -1));
  if (b.rng.chance(0.5)) {
    const DrawnValue x = b.take({.types = all_numbers()});
    b.add(normal ? "RandomNormalLike" : "RandomUniformLike", {x}, a, {type, x.dims, 6});
    return true;
  }
  std::vector<std::int64_t> shape;
  for (std::int64_t i = b.rng.between(0, 3); i > 0; --i) shape.push_back(b.rng.between(1, 9));
  a.push_back(Builder::integers("shape", shape));
  b.add(normal ? "RandomNormal" : "RandomUniform", {}, a, {type, fixed_dims(shape), 6});
  return true;
}

// The drawn values depend on how a number compares to others.
bool drawn(Builder& b) {
  const auto seed = b.number("seed", static_cast<double>(b.rng.between(0, 99)));
  if (b.rng.chance(0.5)) {
    const DrawnValue x = b.take({.types = {DType::f32}, .exact = true});
    if (!x.exact) return false;
    b.add("Bernoulli", {x}, {seed}, {DType::f32, x.dims, 1, false, true});
    return true;
  }
  const Extents dims = {fixed(b.rng.between(1, 3)), fixed(b.rng.between(1, 6))};
  const DrawnValue x = b.take_like(DType::f32, dims, {.exact = true});
  if (!x.exact) return false;
  const std::int64_t samples = b.rng.between(1, 8);
  const DType type = b.rng.chance(0.5) ? DType::i32 : DType::i64;
  b.add("Multinomial", {x},
        {seed, Builder::integer("sample_size", samples),
         Builder::integer("dtype", onnx::onnx_type_of(type))},
        {type, {dims[0], fixed(samples)}, 6, false, true});
  return true;
}

constexpr std::array spectral_table = {
    Family{"window", 0.4, window}, Family{"dft", 0.7, dft},
    Family{"stft", 0.5, stft},     Family{"mel-weights", 0.3, mel_weights},
    Family{"det", 0.4, det},       Family{"random-numbers", 0.4, random_numbers},
    Family{"drawn", 0.3, drawn},
};

}  // namespace

std::span<const Family> spectral_families() {
  return spectral_table;
}

}  // namespace quern::tools
