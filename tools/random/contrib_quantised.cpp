// SPDX-License-Identifier: Apache-2.0
// com.microsoft: quantised operators. As in quantised.cpp, scales are powers of two, so that what
// is quantised in the end is exact; where a function rounds before, its results stay away from the
// middle of two integers.
#include <algorithm>
#include <array>
#include <cmath>

#include "tools/random/families.h"
#include "tools/random/fill.h"

namespace quern::tools {
namespace {

constexpr std::string_view contrib_domain = "com.microsoft";

const std::vector<DType> eight_bits = {DType::i8, DType::u8};

DrawnValue bytes(Builder& b, std::size_t least_rank, std::size_t most_rank) {
  return b.take(
      {.types = eight_bits, .least_rank = least_rank, .most_rank = most_rank, .nonempty = true});
}
DrawnValue scale(Builder& b) {
  return b.scalar(DType::f32, std::ldexp(1.0, static_cast<int>(b.rng.between(-6, -1))));
}
DrawnValue zero(Builder& b, DType type) {
  return b.scalar(type, static_cast<double>(type == DType::u8 ? b.rng.between(100, 140)
                                                              : b.rng.between(-9, 9)));
}
Effect quantised(const DrawnValue& x, const Extents& dims) {
  return {x.dtype, dims, 128, false};
}

bool binary(Builder& b) {
  const DrawnValue x = bytes(b, 0, 4);
  const DrawnValue y = b.take_broadcast(x.dtype, x.dims);
  b.add_of(
      contrib_domain, b.rng.chance(0.5) ? "QLinearAdd" : "QLinearMul",
      {x, scale(b), zero(b, x.dtype), y, scale(b), zero(b, x.dtype), scale(b), zero(b, x.dtype)},
      {}, quantised(x, x.dims));
  return true;
}

// Of signed numbers ONNX Runtime reads a table at negative places, unless all scales are one.
bool q_where(Builder& b) {
  const DrawnValue x = bytes(b, 0, 4);
  const DrawnValue y = b.take_broadcast(x.dtype, x.dims);
  const DrawnValue condition = b.take_broadcast(DType::boolean, x.dims);
  const DrawnValue s = scale(b), z = zero(b, x.dtype);
  const bool one = x.dtype == DType::i8;
  const auto other_scale = [&] { return one ? s : scale(b); };
  const auto other_zero = [&] { return one ? z : zero(b, x.dtype); };
  Values in = {condition, x, s, z, y};
  in.push_back(other_scale());
  in.push_back(other_zero());
  in.push_back(other_scale());
  in.push_back(other_zero());
  b.add_of(contrib_domain, "QLinearWhere", in, {}, quantised(x, x.dims));
  return true;
}

bool leaky_relu(Builder& b) {
  const DrawnValue x = bytes(b, 0, 4);
  b.add_of(contrib_domain, "QLinearLeakyRelu",
           {x, scale(b), zero(b, x.dtype), scale(b), zero(b, x.dtype)}, {b.number("alpha", 0.125)},
           quantised(x, x.dims));
  return true;
}

// The distance of a number from the nearest midpoint of two integers.
double from_tie(double v) {
  return std::abs(v - std::floor(v) - 0.5);
}

// Adds nothing if a byte leads close to a tie.
bool sigmoid(Builder& b) {
  const DrawnValue x = bytes(b, 0, 4);
  const double step = b.rng.real(0.02, 0.06);
  const double step32 = static_cast<double>(static_cast<float>(step));
  const std::int64_t at = x.dtype == DType::u8 ? b.rng.between(100, 140) : b.rng.between(-9, 9);
  for (std::int64_t q = x.dtype == DType::u8 ? 0 : -128; q <= (x.dtype == DType::u8 ? 255 : 127);
       ++q)
    if (from_tie(128 / (1 + std::exp(-step32 * static_cast<double>(q - at)))) < 1e-3) return false;
  b.add_of(contrib_domain, "QLinearSigmoid",
           {x, b.steady(b.scalar(DType::f32, step32)), b.scalar(x.dtype, static_cast<double>(at)),
            b.steady(b.scalar(DType::f32, 1.0 / 128)),
            b.scalar(x.dtype, x.dtype == DType::u8 ? 0 : -64)},
           {}, quantised(x, x.dims));
  return true;
}

bool softmax_is_clear(const std::vector<double>& row, double step) {
  double sum = 0;
  for (const double v : row) sum += std::exp(step * v);
  return std::all_of(row.begin(), row.end(),
                     [&](double v) { return from_tie(std::exp(step * v) / sum * 128) > 1e-3; });
}

bool softmax(Builder& b) {
  const std::int64_t width = b.rng.between(1, 6);
  const Extent rows = b.random_extent();
  const double step = 1.0 / 16;
  const DrawnValue x =
      b.input_of(DType::u8, {rows, fixed(width)}, [&](std::size_t, const Shape& shape) {
        std::vector<double> all;
        for (std::int64_t i = 0; i < shape[0]; ++i) {
          std::vector<double> row(static_cast<std::size_t>(width));
          do {
            for (double& v : row) v = static_cast<double>(b.rng.between(80, 160));
          } while (!softmax_is_clear(row, step));
          all.insert(all.end(), row.begin(), row.end());
        }
        return tensor_of(DType::u8, shape,
                         [&](std::int64_t i) { return all[static_cast<std::size_t>(i)]; });
      });
  b.add_of(contrib_domain, "QLinearSoftmax",
           {x, b.steady(b.scalar(DType::f32, step)), b.scalar(DType::u8, 128),
            b.steady(b.scalar(DType::f32, 1.0 / 128)), b.scalar(DType::u8, 0)},
           {Builder::integer("axis", -1), Builder::integer("opset", 13)}, quantised(x, x.dims));
  return true;
}

// Windows of a power of two, so that an average is exact.
bool pool(Builder& b) {
  const Extents fresh = {fixed(b.rng.between(1, 2)), fixed(b.rng.between(1, 8)), fixed(4),
                         fixed(b.rng.pick(std::vector<std::int64_t>{2, 4}))};
  const auto found = b.find([](const DrawnValue& v) {
    const auto is_even = [](const Extent& e) { return is_fixed(e) && e[0] > 0 && e[0] % 2 == 0; };
    return (v.dtype == DType::u8 || v.dtype == DType::i8) && v.rank() == 4 && is_even(v.dims[2]) &&
           is_even(v.dims[3]);
  });
  const DrawnValue x = found ? *found : b.root(b.rng.pick(eight_bits), fresh);
  const Values in = {x, scale(b), zero(b, x.dtype), scale(b), zero(b, x.dtype)};
  const std::int64_t area = x.dims[2][0] * x.dims[3][0];
  if ((area & (area - 1)) == 0 && b.rng.chance(0.5)) {
    b.add_of(contrib_domain, "QLinearGlobalAveragePool", in, {},
             quantised(x, {x.dims[0], x.dims[1], fixed(1), fixed(1)}));
  } else {
    b.add_of(
        contrib_domain, "QLinearAveragePool", in,
        {Builder::integers("kernel_shape", {2, 2}), Builder::integers("strides", {2, 2})},
        quantised(x, {x.dims[0], x.dims[1], fixed(x.dims[2][0] / 2), fixed(x.dims[3][0] / 2)}));
  }
  return true;
}

bool concat(Builder& b) {
  const DrawnValue x = bytes(b, 1, 4);
  const auto axis = b.rng.below(static_cast<std::int64_t>(x.rank()));
  const auto at = static_cast<std::size_t>(axis);
  Extents dims = x.dims;
  Values in = {scale(b), zero(b, x.dtype), x, scale(b), zero(b, x.dtype)};
  for (std::int64_t n = b.rng.between(0, 2); n > 0; --n) {
    Extents more = x.dims;
    if (b.rng.chance(0.5)) more[at] = fixed(b.rng.between(1, 4));
    if (!b.fits(more)) return false;
    in.insert(in.end(), {b.take_like(x.dtype, more), scale(b), zero(b, x.dtype)});
    for (std::size_t k = 0; k < most_runs; ++k) dims[at][k] += more[at][k];
  }
  if (!b.fits(dims)) return false;
  b.add_of(contrib_domain, "QLinearConcat", in, {Builder::integer("axis", axis)},
           quantised(x, dims));
  return true;
}

// The mean of a power of two of numbers is exact.
bool q_reduce_mean(Builder& b) {
  const Extents dims = {b.random_extent(), fixed(b.rng.pick(std::vector<std::int64_t>{1, 2, 4, 8})),
                        fixed(b.rng.between(1, 5)),
                        fixed(b.rng.pick(std::vector<std::int64_t>{1, 2, 4}))};
  if (!b.fits(dims)) return false;
  const DrawnValue x = b.root(b.rng.pick(eight_bits), dims);
  const bool keep = b.rng.chance(0.5);
  const bool last = b.rng.chance(0.5);
  Extents out = {dims[0]};
  if (keep) out.push_back(fixed(1));
  out.push_back(dims[2]);
  if (!last) out.push_back(dims[3]);
  if (last && keep) out.push_back(fixed(1));
  Values in = {x, scale(b), b.rng.chance(0.7) ? zero(b, x.dtype) : Builder::none(), scale(b)};
  if (x.dtype == DType::i8 || b.rng.chance(0.7)) in.push_back(zero(b, x.dtype));
  const std::vector<std::int64_t> axes =
      last ? std::vector<std::int64_t>{1, -1} : std::vector<std::int64_t>{1};
  b.add_of(contrib_domain, "QLinearReduceMean", in,
           {Builder::integers("axes", axes), Builder::integer("keepdims", keep)},
           quantised(x, out));
  return true;
}

// Channels last, windows of 1 or 3 that begin at every place or at every second.
bool nhwc_max_pool(Builder& b) {
  const DrawnValue x = bytes(b, 3, 5);
  const std::size_t space = x.rank() - 2;
  const std::int64_t k = b.rng.pick(std::vector<std::int64_t>{1, 3});
  const std::int64_t step = b.rng.between(1, 2);
  Extents dims = x.dims;
  for (std::size_t i = 1; i <= space; ++i)
    dims[i] = map_extent(dims[i], [&](std::int64_t n) { return (n - 1) / step + 1; });
  Attributes a = {Builder::integers("kernel_shape", std::vector<std::int64_t>(space, k)),
                  Builder::integers("pads", std::vector<std::int64_t>(2 * space, k / 2)),
                  Builder::integers("strides", std::vector<std::int64_t>(space, step))};
  b.add_of(contrib_domain, "NhwcMaxPool", {x}, a, moved(x, dims));
  return true;
}

// ---- products

// ONNX Runtime has a kernel for signed numbers alone.
bool matmul_16(Builder& b) {
  const auto some = [&] { return b.rng.chance(0.8) ? DType::i16 : DType::u16; };
  const DrawnValue x = b.take({.types = {some()}, .least_rank = 2, .most_rank = 4});
  const Extent columns = fixed(b.rng.between(1, 12));
  const Extents wd = {x.dims.back(), columns};
  Extents dims = x.dims;
  dims.back() = columns;
  if (!b.fits(wd) || !b.fits(dims)) return false;
  const DrawnValue w = b.take_like(some(), wd);
  const bool unsigned_sum = x.dtype == DType::u16 && w.dtype == DType::u16;
  const double sum = x.most * w.most * static_cast<double>(most(x.dims.back()) + 1);
  b.add_of(contrib_domain, "MatMulInteger16", {x, w}, {},
           {unsigned_sum ? DType::u32 : DType::i32, dims, sum, false});
  return true;
}

bool matmul_to_float(Builder& b) {
  const DrawnValue x = bytes(b, 2, 3);
  const Extent columns = fixed(b.rng.between(1, 12));
  const Extents wd = {x.dims.back(), columns};
  Extents dims = x.dims;
  dims.back() = columns;
  if (!b.fits(wd) || !b.fits(dims)) return false;
  const DrawnValue w = b.take_like(b.rng.pick(eight_bits), wd);
  Values in = {x,
               w,
               scale(b),
               scale(b),
               b.rng.chance(0.6) ? zero(b, x.dtype) : Builder::none(),
               b.rng.chance(0.6) ? zero(b, w.dtype) : Builder::none()};
  if (b.rng.chance(0.5)) in.push_back(b.take_like(DType::f32, {columns}));
  b.add_of(contrib_domain, "MatMulIntegerToFloat", in, {}, {DType::f32, dims, 1e4});
  return true;
}

// The floats are integers from 0 to 255 over a power of two, both ends among them: so is the scale.
bool dynamic_matmul(Builder& b) {
  const Extent rows = fixed(b.rng.between(1, 4));
  const Extent depth = fixed(b.rng.between(2, 8));
  const Extent columns = fixed(b.rng.between(1, 8));
  const DrawnValue x =
      b.steady(b.input_of(DType::f32, {rows, depth}, [&](std::size_t, const Shape& shape) {
        return tensor_of(DType::f32, shape, [&](std::int64_t i) {
          return static_cast<double>(i == 0 ? 0 : i == 1 ? 255 : b.rng.between(0, 255)) / 64;
        });
      }));
  Values in = {x, b.take_like(b.rng.pick(eight_bits), {depth, columns}), scale(b)};
  in.push_back(b.rng.chance(0.5) ? zero(b, in[1].dtype) : Builder::none());
  if (b.rng.chance(0.5)) in.push_back(b.take_like(DType::f32, {columns}));
  b.add_of(contrib_domain, "DynamicQuantizeMatMul", in, {}, {DType::f32, {rows, columns}, 1e4});
  return true;
}

bool gemm(Builder& b) {
  const DrawnValue x = bytes(b, 2, 2);
  const bool ta = b.rng.chance(0.3);
  const bool tb = b.rng.chance(0.5);
  const Extent rows = x.dims[ta ? 1 : 0];
  const Extent depth = x.dims[ta ? 0 : 1];
  const Extent columns = fixed(b.rng.between(1, 8));
  if (!b.fits({depth, columns}) || !b.fits({rows, columns})) return false;
  const DrawnValue w =
      b.take_like(b.rng.pick(eight_bits), tb ? Extents{columns, depth} : Extents{depth, columns});
  const bool to_float = b.rng.chance(0.3);
  Values in = {x,
               scale(b),
               zero(b, x.dtype),
               w,
               scale(b),
               zero(b, w.dtype),
               b.rng.chance(0.5) ? b.constant(DType::i32, {columns}) : Builder::none()};
  if (!to_float) in.insert(in.end(), {scale(b), zero(b, x.dtype)});
  const Effect floats{DType::f32, {rows, columns}, 1e4};
  b.add_of(contrib_domain, "QGemm", in,
           {Builder::integer("transA", ta), Builder::integer("transB", tb)},
           to_float ? floats : quantised(x, {rows, columns}));
  return true;
}

constexpr std::array contrib_quantised_table = {
    Family{"contrib-q-binary", 0.5, binary},
    Family{"contrib-q-where", 0.3, q_where},
    Family{"contrib-q-reduce-mean", 0.2, q_reduce_mean},
    Family{"contrib-nhwc-max-pool", 0.3, nhwc_max_pool},
    Family{"contrib-matmul-16", 0.2, matmul_16},
    Family{"contrib-q-leaky-relu", 0.3, leaky_relu},
    Family{"contrib-q-sigmoid", 0.5, sigmoid},
    Family{"contrib-q-softmax", 0.3, softmax},
    Family{"contrib-q-pool", 0.4, pool},
    Family{"contrib-q-concat", 0.4, concat},
    Family{"contrib-matmul-to-float", 0.4, matmul_to_float},
    Family{"contrib-dynamic-matmul", 0.3, dynamic_matmul},
    Family{"contrib-q-gemm", 0.4, gemm},
};

}  // namespace

std::span<const Family> contrib_quantised_families() {
  return contrib_quantised_table;
}

}  // namespace quern::tools
