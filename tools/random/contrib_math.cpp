// SPDX-License-Identifier: Apache-2.0
// com.microsoft: Fourier transforms, complex numbers, distances, slices, hashes, positions.
#include <algorithm>
#include <array>

#include "tools/random/families.h"
#include "tools/random/fill.h"

namespace quern::tools {
namespace {

constexpr std::string_view math_domain = "com.microsoft";

bool half_spectrum(Builder& b) {
  const DType type = b.rng.pick(std::vector<DType>{DType::f32, DType::f64});
  const std::int64_t half = b.rng.between(1, 6);
  Extents real = {b.random_extent(), fixed(2 * half)};
  Extents complex = {real[0], fixed(half + 1), fixed(2)};
  if (b.rng.chance(0.3)) {
    real.erase(real.begin());
    complex.erase(complex.begin());
  }
  const bool inverse = b.rng.chance(0.5);
  const DrawnValue x = b.take_like(type, inverse ? complex : real);
  const Attributes a = {Builder::integer("signal_ndim", 1)};
  b.add_of(math_domain, inverse ? "Irfft" : "Rfft", {x}, a,
           {type, inverse ? real : complex, x.most * 4 * static_cast<double>(half)});
  return true;
}

bool complex_product(Builder& b) {
  Extents dims = b.random_dims(static_cast<std::size_t>(b.rng.between(1, 3)));
  dims.push_back(fixed(2));
  if (!b.fits(dims)) return false;
  const DType type = b.rng.pick(ordinary_floats());
  const DrawnValue x = b.take_like(type, dims);
  const DrawnValue y = b.take_like(type, b.rng.chance(0.3) ? Extents{fixed(2)} : dims);
  b.add_of(math_domain, b.rng.chance(0.5) ? "ComplexMul" : "ComplexMulConj", {x, y}, {},
           {type, dims, 2 * x.most * y.most});
  return true;
}

bool distances(Builder& b) {
  const Want table{.types = {DType::f32, DType::f64},
                   .least_rank = 2,
                   .most_rank = 2,
                   .nonempty = true,
                   .known_rank = true};
  const DrawnValue x = b.take(table);
  const Extent rows = fixed(b.rng.between(1, 9));
  if (!b.fits({rows, x.dims[1]}) || !b.fits({x.dims[0], rows})) return false;
  const DrawnValue y = b.take_like(x.dtype, {rows, x.dims[1]}, table);
  const double sum = x.most + y.most;
  b.add_of(math_domain, "CDist", {x, y},
           {Builder::text("metric", b.rng.chance(0.4) ? "euclidean" : "sqeuclidean")},
           {x.dtype, {x.dims[0], rows}, sum * sum * static_cast<double>(most(x.dims[1])) + 1});
  return true;
}

bool unfolded(Builder& b) {
  const DrawnValue x = b.take({.types = {DType::f32, DType::f64, DType::i32, DType::i64},
                               .least_rank = 1,
                               .most_rank = 4,
                               .nonempty = true,
                               .known_rank = true});
  const auto rank = static_cast<std::int64_t>(x.rank());
  const std::int64_t at = b.rng.between(0, rank - 1);
  Extents dims = x.dims;
  Extent& along = dims[static_cast<std::size_t>(at)];
  const std::int64_t size = b.rng.between(1, std::min<std::int64_t>(least(along), 6));
  const std::int64_t step = b.rng.between(1, 3);
  along = map_extent(along, [&](std::int64_t n) { return (n - size) / step + 1; });
  dims.push_back(fixed(size));
  if (!b.fits(dims)) return false;
  b.add_of(math_domain, "UnfoldTensor", {x},
           {Builder::integer("dim", b.rng.chance(0.5) ? at : at - rank),
            Builder::integer("size", size), Builder::integer("step", step)},
           moved(x, dims));
  return true;
}

bool torch_embedding(Builder& b) {
  const DrawnValue x =
      b.take({.types = ordinary_floats(), .least_rank = 2, .most_rank = 2, .nonempty = true});
  Extents dims = b.random_dims(static_cast<std::size_t>(b.rng.between(0, 2)));
  const DrawnValue at = b.indices(DType::i64, dims, fixed(0), x.dims[0]);
  dims.push_back(x.dims[1]);
  if (!b.fits(dims)) return false;
  b.add_of(math_domain, "TorchEmbedding", {x, at}, {}, moved(x, dims));
  return true;
}

bool position_bias(Builder& b) {
  const std::int64_t buckets = 2 * b.rng.between(2, 8), heads = b.rng.between(1, 4);
  const std::int64_t length = b.rng.between(1, 12);
  const DrawnValue table = b.root(b.rng.pick(std::vector<DType>{DType::f16, DType::f32}),
                                  {fixed(buckets), fixed(heads)});
  const auto lengths = [&] {
    if (b.rng.chance(0.7)) return b.scalar(DType::i64, static_cast<double>(length));
    return b.steady(b.input_of(DType::i64, {}, [&](std::size_t, const Shape&) {
      return Tensor::scalar<std::int64_t>(DType::i64, length);
    }));
  };
  const DrawnValue queries = lengths();
  const DrawnValue keys = lengths();
  b.add_of(math_domain, "RelativePositionBias", {table, queries, keys},
           {Builder::integer("max_distance", buckets + 7),
            Builder::integer("is_bidirectional", b.rng.chance(0.5))},
           moved(table, {fixed(1), fixed(heads), fixed(length), fixed(length)}));
  return true;
}

// Corners and sizes by which all places are exact.
bool crops(Builder& b) {
  const DrawnValue x =
      b.take({.types = {DType::f32}, .least_rank = 4, .most_rank = 4, .nonempty = true});
  const Extent count = b.random_extent();
  const auto side = [&] { return b.rng.pick(std::vector<std::int64_t>{1, 2, 3, 5}); };
  const std::int64_t height = side(), width = side();
  const Extents dims = {count, x.dims[1], fixed(height), fixed(width)};
  if (!b.fits(dims) || !is_fixed(x.dims[0])) return false;
  const DrawnValue corners =
      b.steady(b.input_of(DType::f32, {count, fixed(4)}, [&](std::size_t, const Shape& shape) {
        return tensor_of(DType::f32, shape, [&](std::int64_t) {
          return static_cast<double>(b.rng.between(-1, 9)) / 8;
        });
      }));
  const DrawnValue pictures = b.indices(DType::i32, {count}, fixed(0), x.dims[0]);
  b.add_of(math_domain, "CropAndResize",
           {x, corners, pictures, b.numbers_constant({height, width}, DType::i32)},
           {Builder::text("mode", b.rng.chance(0.5) ? "bilinear" : "nearest"),
            b.number("extrapolation_value", 0.25)},
           {x.dtype, dims, x.most + 1});
  return true;
}

// Words of one character or more, filled up with zeros.
bool word_embedding(Builder& b) {
  const std::int64_t length = b.rng.between(2, 6), width = b.rng.between(1, 5);
  const std::int64_t window = b.rng.between(1, length), filters = b.rng.between(1, 5);
  const Extent count = b.random_extent();
  if (least(count) == 0 || !b.fits({count, fixed(length), fixed(width)})) return false;
  const DrawnValue words =
      b.input_of(DType::i32, {count, fixed(length)}, [&](std::size_t, const Shape& shape) {
        std::int64_t letters = 0;
        return tensor_of(DType::i32, shape, [&](std::int64_t i) {
          if (i % length == 0) letters = b.rng.between(1, length);
          return static_cast<double>(i % length < letters ? b.rng.between(1, 8) : 0);
        });
      });
  const Extent outputs = fixed(filters);
  b.add_of(math_domain, "WordConvEmbedding",
           {b.steady(words), b.root(DType::f32, {outputs, fixed(1), fixed(window), fixed(width)}),
            b.root(DType::f32, {outputs}), b.root(DType::f32, {fixed(9), fixed(width)})},
           {}, {DType::f32, {count, outputs}, 1});
  return true;
}

bool murmur(Builder& b) {
  const DrawnValue x =
      b.take({.types = {DType::i32, DType::u32, DType::i64, DType::u64, DType::f32, DType::f64},
              .exact = true});
  const bool positive = b.rng.chance(0.6);
  Attributes a;
  if (!positive) a.push_back(Builder::integer("positive", 0));
  if (b.rng.chance(0.5)) a.push_back(Builder::integer("seed", b.rng.between(0, 1 << 30)));
  b.add_of(math_domain, "MurmurHash3", {x}, a,
           {positive ? DType::u32 : DType::i32, x.dims, 4e9, false, true});
  return true;
}

// Windows of 3 at every place or every second.
bool transposed_convolution(Builder& b) {
  const DrawnValue x =
      b.take({.types = {DType::f32}, .least_rank = 4, .most_rank = 4, .nonempty = true});
  if (!is_fixed(x.dims[1]) || x.most > 64) return false;
  const std::int64_t step = b.rng.between(1, 2), pad = b.rng.between(0, 1);
  const Extents wd = {x.dims[1], fixed(b.rng.between(1, 4)), fixed(3), fixed(3)};
  Extents dims = {x.dims[0], wd[1]};
  for (std::size_t i = 2; i < 4; ++i)
    dims.push_back(
        map_extent(x.dims[i], [&](std::int64_t n) { return (n - 1) * step + 3 - 2 * pad; }));
  if (!b.fits(wd) || !b.fits(dims)) return false;
  Values in = {x, b.root(x.dtype, wd), b.numbers_constant(std::vector<std::int64_t>(4, pad))};
  if (b.rng.chance(0.5)) in.push_back(b.take_like(x.dtype, {wd[1]}));
  b.add_of(math_domain, "ConvTransposeWithDynamicPads", in,
           {Builder::integers("strides", {step, step}), Builder::integers("kernel_shape", {3, 3})},
           {x.dtype, dims, x.most * 9 * static_cast<double>(x.dims[1][0]) + 70});
  return true;
}

constexpr std::array contrib_math_table = {
    Family{"contrib-half-spectrum", 0.2, half_spectrum},
    Family{"contrib-complex-product", 0.2, complex_product},
    Family{"contrib-distances", 0.2, distances},
    Family{"contrib-unfolded", 0.2, unfolded},
    Family{"contrib-torch-embedding", 0.2, torch_embedding},
    Family{"contrib-position-bias", 0.2, position_bias},
    Family{"contrib-crops", 0.2, crops},
    Family{"contrib-word-embedding", 0.2, word_embedding},
    Family{"contrib-murmur", 0.2, murmur},
    Family{"contrib-transposed-conv", 0.2, transposed_convolution},
};

}  // namespace

std::span<const Family> contrib_math_families() {
  return contrib_math_table;
}

}  // namespace quern::tools
