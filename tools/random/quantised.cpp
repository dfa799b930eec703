// SPDX-License-Identifier: Apache-2.0
// Quantised operators. Scales are powers of two and what is quantised is exact, so that no product
// is rounded and no quotient lies near the middle of two integers by chance.
#include <algorithm>
#include <array>
#include <cmath>

#include "tools/random/families.h"
#include "tools/random/fill.h"

namespace quern::tools {
namespace {

DrawnValue bytes(Builder& b, const std::vector<DType>& types, std::size_t least_rank,
                 std::size_t most_rank) {
  return b.take(
      {.types = types, .least_rank = least_rank, .most_rank = most_rank, .nonempty = true});
}
const std::vector<DType> eight_bits = {DType::i8, DType::u8};

DrawnValue power_of_two(Builder& b) {
  return b.scalar(DType::f32, std::ldexp(1.0, static_cast<int>(b.rng.between(-6, -1))));
}
DrawnValue zero_point(Builder& b, DType type) {
  return b.scalar(type, static_cast<double>(type == DType::u8 ? b.rng.between(100, 140)
                                                              : b.rng.between(-9, 9)));
}

bool quantize(Builder& b) {
  const DrawnValue x = b.take({.types = {DType::f32}, .exact = true, .nonempty = true});
  if (!x.exact) return false;
  const DType type = b.rng.pick(eight_bits);
  Values in = {x, power_of_two(b)};
  if (b.rng.chance(0.8) || type == DType::i8) in.push_back(zero_point(b, type));
  b.add("QuantizeLinear", in, {}, {type, x.dims, 128, false, true});
  return true;
}

bool dequantize(Builder& b) {
  const DrawnValue x = b.take({.types = {DType::i8, DType::u8, DType::i32}, .nonempty = true});
  const std::size_t axis =
      x.rank() == 0 ? 0
                    : static_cast<std::size_t>(b.rng.below(static_cast<std::int64_t>(x.rank())));
  const bool per_axis = x.rank() > 0 && is_fixed(x.dims[axis]) && b.rng.chance(0.4);
  Values in = {x};
  Attributes a;
  if (per_axis) {
    in.push_back(b.constant(DType::f32, {x.dims[axis]}, Numbers::positive));
    a.push_back(Builder::integer("axis", static_cast<std::int64_t>(axis)));
    if (x.dtype != DType::i32 && b.rng.chance(0.5))
      in.push_back(b.constant(x.dtype, {x.dims[axis]}));
  } else {
    in.push_back(power_of_two(b));
    if (x.dtype != DType::i32 && b.rng.chance(0.6)) in.push_back(zero_point(b, x.dtype));
  }
  const bool small = x.dtype != DType::i32;
  b.add("DequantizeLinear", in, a, {DType::f32, x.dims, small ? 128.0 : 1e9, per_axis || !small});
  return true;
}

// Quantised and back, as in a model that a tool quantised.
bool there_and_back(Builder& b) {
  const DrawnValue x = b.take({.types = {DType::f32}, .exact = true, .nonempty = true});
  if (!x.exact) return false;
  const DrawnValue scale = power_of_two(b);
  const DrawnValue zero = zero_point(b, b.rng.pick(eight_bits));
  const DrawnValue q =
      b.add("QuantizeLinear", {x, scale, zero}, {}, {zero.dtype, x.dims, 128, false, true});
  b.add("DequantizeLinear", {q, scale, zero}, {}, {DType::f32, x.dims, 8, false});
  return true;
}

bool matmul_integer(Builder& b) {
  const DrawnValue x = bytes(b, eight_bits, 2, 3);
  const Extent columns = fixed(b.rng.between(1, 20));
  const Extents wd = {x.dims.back(), columns};
  if (!is_fixed(wd[0]) && !b.fits(wd)) return false;
  const DType type = b.rng.pick(eight_bits);
  const DrawnValue w =
      b.rng.chance(0.7) && all_fixed(wd) ? b.constant(type, wd) : b.take_like(type, wd);
  Values in = {x, w};
  if (b.rng.chance(0.6)) in.push_back(zero_point(b, x.dtype));
  if (in.size() == 3 && b.rng.chance(0.6)) in.push_back(zero_point(b, w.dtype));
  Extents dims = x.dims;
  dims.back() = columns;
  if (!b.fits(dims)) return false;
  const DrawnValue y = b.add("MatMulInteger", in, {}, {DType::i32, dims, 1e6, false});
  // Its usual tail.
  if (!b.rng.chance(0.6)) return true;
  const DrawnValue f =
      b.add("Cast", {y}, {Builder::integer("to", 1)}, {DType::f32, dims, 1e6, false});
  const DrawnValue s = b.add("Mul", {f, power_of_two(b)}, {}, {DType::f32, dims, 500, true});
  b.add("Add", {s, b.take_like(DType::f32, {columns})}, {}, {DType::f32, dims, 502});
  return true;
}

bool qlinear_matmul(Builder& b) {
  const DrawnValue x = bytes(b, eight_bits, 2, 3);
  const Extent columns = fixed(b.rng.between(1, 12));
  const Extents wd = {x.dims.back(), columns};
  Extents dims = x.dims;
  dims.back() = columns;
  if (!b.fits(dims) || !b.fits(wd)) return false;
  const DrawnValue w = b.take_like(x.dtype, wd);
  const DrawnValue yz = zero_point(b, x.dtype);
  b.add("QLinearMatMul",
        {x, power_of_two(b), zero_point(b, x.dtype), w, power_of_two(b), zero_point(b, w.dtype),
         power_of_two(b), yz},
        {}, {yz.dtype, dims, 128, false});
  return true;
}

// [n, c, h, w] of bytes with fixed channels.
DrawnValue byte_image(Builder& b) {
  const auto found = b.find([](const DrawnValue& v) {
    return (v.dtype == DType::u8 || v.dtype == DType::i8) && v.rank() == 4 && is_fixed(v.dims[1]) &&
           least(product(v.dims)) > 0;
  });
  if (found && b.rng.chance(0.7)) return *found;
  return b.root(b.rng.pick(eight_bits), {b.rng.chance(0.5) ? fixed(1) : fixed(2),
                                         fixed(b.rng.pick(std::vector<std::int64_t>{1, 3, 4, 8})),
                                         fixed(b.rng.between(1, 9)), fixed(b.rng.between(3, 9))});
}

bool qlinear_conv(Builder& b) {
  const DrawnValue x = byte_image(b);
  const std::int64_t channels = x.dims[1][0];
  const std::int64_t group = b.rng.chance(0.25) ? channels : 1;
  const std::int64_t out = group * b.rng.between(1, group > 1 ? 2 : 6);
  const std::int64_t k = b.rng.pick(std::vector<std::int64_t>{1, 2, 3});
  const std::int64_t stride = b.rng.between(1, 2);
  std::vector<std::int64_t> pads(4);
  for (std::int64_t& p : pads) p = b.rng.between(0, k - 1);
  Extents dims = {x.dims[0], fixed(out)};
  for (std::size_t i = 0; i < 2; ++i) {
    dims.push_back(map_extent(x.dims[2 + i], [&](std::int64_t n) {
      const std::int64_t room = n + pads[i] + pads[i + 2] - k;
      return room < 0 ? 0 : room / stride + 1;
    }));
    if (least(dims.back()) <= 0) return false;
  }
  if (!b.fits(dims)) return false;
  const DrawnValue w = b.constant(
      b.rng.pick(eight_bits), fixed_dims(std::array<std::int64_t, 4>{out, channels / group, k, k}));
  Attributes a = {Builder::integers("kernel_shape", {k, k}), Builder::integers("pads", pads),
                  Builder::integers("strides", {stride, stride})};
  if (group > 1) a.push_back(Builder::integer("group", group));
  const DrawnValue wz = b.scalar(w.dtype, w.dtype == DType::u8 ? 128 : 0);
  if (b.rng.chance(0.3)) {
    b.add("ConvInteger", {x, w, zero_point(b, x.dtype), wz}, a, {DType::i32, dims, 1e6, false});
    return true;
  }
  const DrawnValue yz = zero_point(b, x.dtype);
  Values in = {x, power_of_two(b), zero_point(b, x.dtype), w, power_of_two(b), wz, power_of_two(b),
               yz};
  if (b.rng.chance(0.5))
    in.push_back(b.constant_of(random_tensor(b.rng, DType::i32, {out}, Numbers::around_zero)));
  b.add("QLinearConv", in, a, {yz.dtype, dims, 128, false});
  return true;
}

// The scale that comes out is rounded; what is quantised with it is only used through it.
bool dynamic_quantize(Builder& b) {
  const std::int64_t n = b.rng.between(1, 40);
  const bool grid = b.rng.chance(0.5);
  // 0 and 255 are there, so that the scale is a power of two.
  const DrawnValue x = b.constant_of(tensor_of(DType::f32, {n + 2}, [&](std::int64_t i) {
    const std::int64_t v = i == 0 ? 0 : i == 1 ? 255 : b.rng.between(0, 255);
    return static_cast<double>(v) / (grid ? 4 : 64);
  }));
  const DrawnValue y =
      b.rng.chance(0.5) ? x : b.add("Identity", {x}, {}, {DType::f32, x.dims, 64, false});
  b.add_many("DynamicQuantizeLinear", {y}, {},
             {{DType::u8, x.dims, 255, false, true},
              {DType::f32, {}, 1, false, true},
              {DType::u8, {}, 255, false, true}});
  return true;
}

constexpr std::array quantised_table = {
    Family{"quantize", 1, quantize},
    Family{"dequantize", 1.2, dequantize},
    Family{"there-and-back", 1, there_and_back},
    Family{"matmul-integer", 0.8, matmul_integer},
    Family{"qlinear-matmul", 0.6, qlinear_matmul},
    Family{"qlinear-conv", 1.2, qlinear_conv},
    Family{"dynamic-quantize", 0.4, dynamic_quantize},
};

}  // namespace

std::span<const Family> quantised_families() {
  return quantised_table;
}

}  // namespace quern::tools
