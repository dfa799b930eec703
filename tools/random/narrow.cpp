// SPDX-License-Identifier: Apache-2.0
// Floats of 8 and 4 bits, integers of 4 and 2, and what brings numbers there and back.
#include <algorithm>
#include <array>
#include <cmath>

#include "frontends/onnx-parser/tensor.h"
#include "tools/random/families.h"
#include "tools/random/fill.h"

namespace quern::tools {
namespace {

// The narrow types of the model's opset; none before opset 19.
std::vector<DType> narrow_types(const Builder& b) {
  std::vector<DType> t;
  if (b.opset() >= 19)
    t.insert(t.end(), {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz});
  if (b.opset() >= 21) t.insert(t.end(), {DType::i4, DType::u4, DType::i4, DType::u4});
  if (b.opset() >= 23) t.push_back(DType::f4e2m1);
  if (b.opset() >= 25) t.insert(t.end(), {DType::i2, DType::u2});
  return t;
}
onnx::AttributeProto to(DType type) {
  return Builder::integer("to", onnx::onnx_type_of(type));
}
Effect narrowed(const DrawnValue& x, const Extents& dims) {
  return {x.dtype, dims, x.most, false};
}

// A few operators that move elements of any type.
DrawnValue carried(Builder& b, DrawnValue x) {
  for (std::int64_t n = b.rng.between(0, 2); n > 0; --n) {
    if (x.rank() > 1 && b.opset() >= 21 && b.rng.chance(0.4)) {
      std::vector<std::int64_t> perm;
      Extents dims(x.dims.rbegin(), x.dims.rend());
      for (auto i = static_cast<std::int64_t>(x.rank()); i-- > 0;) perm.push_back(i);
      x = b.add("Transpose", {x}, {Builder::integers("perm", perm)}, narrowed(x, dims));
    } else if (b.rng.chance(0.5) && least(product(x.dims)) > 0) {
      const Extents dims = {product(x.dims)};
      x = b.add("Reshape", {x, b.numbers_constant({-1})}, {}, narrowed(x, dims));
    } else {
      x = b.add("Identity", {x}, {}, narrowed(x, x.dims));
    }
  }
  return x;
}

// To a narrow type, moved about, and back.
bool cast_narrow(Builder& b) {
  auto types = narrow_types(b);
  if (b.opset() >= 24) types.push_back(DType::f8e8m0);
  if (types.empty()) return false;
  const DType type = b.rng.pick(types);
  const bool is_whole = is_integer(type);
  // Values out of range wrap or saturate; the ranges of 4 bits are -8 to 7 and 0 to 15.
  const std::int64_t half = std::int64_t{1} << (bits_of(type) - 1);
  const DrawnValue x = is_whole ? b.input_of(DType::i32, b.random_dims(2),
                                             [&](std::size_t, const Shape& s) {
                                               return tensor_of(DType::i32, s, [&](std::int64_t) {
                                                 return static_cast<double>(b.rng.between(
                                                     is_unsigned(type) ? 0 : -half, half - 1));
                                               });
                                             })
                                : b.take({.types = {DType::f32, DType::f16}, .exact = true});
  if (!x.exact) return false;
  Attributes a = {to(type)};
  // A power of two that does not saturate is NaN for each number that is not positive.
  const bool is_power = type == DType::f8e8m0;
  if (!is_whole && !is_power && b.rng.chance(0.3)) a.push_back(Builder::integer("saturate", 0));
  if (is_power)
    a.push_back(Builder::text("round_mode",
                              b.rng.pick(std::vector<std::string_view>{"up", "nearest", "down"})));
  DrawnValue y = b.rng.chance(0.2) ? b.root(type, x.dims)
                                   : b.add("Cast", {x}, a,
                                           {type, x.dims, is_power ? 16.0 : 9.0, false, !is_whole});
  y = carried(b, y);
  if (b.rng.chance(0.3)) return true;
  const DrawnValue like = b.take({.types = {DType::f32, DType::f16, DType::f32}});
  if (b.rng.chance(0.3)) {
    b.add("CastLike", {y, like}, {}, {like.dtype, y.dims, 16, false});
  } else {
    b.add("Cast", {y}, {to(like.dtype)}, {like.dtype, y.dims, 16, false});
  }
  return true;
}

DrawnValue power_of_two(Builder& b, const Extents& dims) {
  const int exponent = static_cast<int>(b.rng.between(-4, -1));
  if (dims.empty()) return b.scalar(DType::f32, std::ldexp(1.0, exponent));
  std::vector<std::int64_t> sizes;
  for (const Extent& e : dims) sizes.push_back(e[0]);
  return b.constant_of(tensor_of(DType::f32, Shape(sizes), [&](std::int64_t i) {
    return std::ldexp(1.0, exponent - static_cast<int>(i % 3));
  }));
}

// The dims of a scale: one, one per slice of an axis, or one per block of 2.
struct Scales {
  Extents dims;
  Attributes attributes;
};
Scales some_scales(Builder& b, const DrawnValue& x) {
  if (x.rank() == 0 || !all_fixed(x.dims) || b.rng.chance(0.4)) return {};
  const auto axis = b.rng.below(static_cast<std::int64_t>(x.rank()));
  const auto at = static_cast<std::size_t>(axis);
  Scales s{.attributes = {Builder::integer("axis", axis)}};
  if (b.opset() >= 21 && b.rng.chance(0.5)) {
    s.dims = x.dims;
    s.dims[at] = map_extent(x.dims[at], [](auto n) { return (n + 1) / 2; });
    s.attributes.push_back(Builder::integer("block_size", 2));
  } else {
    s.dims = {x.dims[at]};
  }
  return s;
}

// Quantised to a narrow or a wide type and back, by tensor, by axis or by block.
bool quantize_narrow(Builder& b) {
  auto types = narrow_types(b);
  if (b.opset() >= 21) types.insert(types.end(), {DType::i16, DType::u16});
  if (types.empty()) return false;
  const DType type = b.rng.pick(types);
  const DrawnValue x = b.take({.types = {DType::f32}, .exact = true, .nonempty = true});
  if (!x.exact) return false;
  const Scales s = some_scales(b, x);
  const DrawnValue scale = power_of_two(b, s.dims);
  const bool is_small_float = is_float(type);
  std::vector<std::int64_t> sizes;
  for (const Extent& e : s.dims) sizes.push_back(e[0]);
  const std::int64_t shift = is_small_float       ? 0
                             : type == DType::u4  ? 8
                             : type == DType::u16 ? 999
                                                  : 1;
  const DrawnValue zero = b.constant_of(
      tensor_of(type, Shape(sizes), [&](std::int64_t) { return static_cast<double>(shift); }));
  const std::string_view domain =
      s.attributes.size() < 2 && !is_small_float && b.rng.chance(0.2) ? "com.microsoft" : "";
  DrawnValue q = b.add_of(domain, "QuantizeLinear", {x, scale, zero}, s.attributes,
                          {type, x.dims, 128, false, true});
  if (s.dims.empty()) q = carried(b, q);
  b.add_of(domain, "DequantizeLinear", {q, scale, zero}, s.attributes,
           {DType::f32, q.dims, 1e4, false});
  return true;
}

// Weights of 4 or 8 bits, dequantised into a product.
bool narrow_weights(Builder& b) {
  const auto types = narrow_types(b);
  if (types.empty()) return false;
  const DrawnValue x =
      b.take({.types = {DType::f32}, .least_rank = 2, .most_rank = 3, .nonempty = true});
  const Extent columns = fixed(b.rng.between(1, 12));
  const Extents wd = {x.dims.back(), columns};
  Extents dims = x.dims;
  dims.back() = columns;
  if (!all_fixed(wd) || !b.fits(wd) || !b.fits(dims)) return false;
  const DrawnValue w = b.constant(b.rng.pick(types), wd);
  const bool by_column = b.rng.chance(0.6);
  const DrawnValue scale = power_of_two(b, by_column ? Extents{columns} : Extents{});
  const DrawnValue d = b.add("DequantizeLinear", {w, scale},
                             by_column ? Attributes{Builder::integer("axis", 1)} : Attributes{},
                             {DType::f32, wd, 8, false});
  b.add("MatMul", {x, d}, {},
        {DType::f32, dims, x.most * 8 * static_cast<double>(tools::most(x.dims.back()))});
  return true;
}

bool cast_like(Builder& b) {
  const DrawnValue like = b.take({.types = all_types()});
  const bool whole = !is_float(like.dtype);
  const DrawnValue x = b.take({.types = all_types(), .exact = whole, .tame = true});
  if (whole && !x.exact) return false;
  const bool jumps = whole && is_float(x.dtype);
  const bool same = x.dtype == like.dtype;
  const double most = whole ? 9 : is_float(x.dtype) ? x.most : 1e9;
  b.add("CastLike", {x, like}, {},
        {like.dtype, x.dims, x.dtype == DType::boolean ? 1 : most, !same, jumps});
  return true;
}

// The bits as another type of the same width.
bool bit_cast(Builder& b) {
  if (b.opset() < 26) return false;
  static const std::vector<std::vector<DType>> widths = {{DType::f32, DType::i32, DType::u32},
                                                         {DType::f64, DType::i64, DType::u64},
                                                         {DType::f16, DType::i16, DType::u16},
                                                         {DType::i8, DType::u8}};
  const auto& types = b.rng.pick(widths);
  // Zeros of both signs, and all NaN, count as equal where floats are compared, so that the bits of
  // a float are only looked at where no node has made it.
  const DrawnValue found = b.take({.types = types, .exact = true});
  const DrawnValue x =
      is_float(found.dtype) && found.depth > 0 ? b.root(found.dtype, found.dims) : found;
  const DType type = b.rng.pick(types);
  if (!x.exact) return false;
  // Integers as floats are any floats at all.
  const DrawnValue y = b.add("BitCast", {x}, {to(type)},
                             {type, x.dims, is_float(type) && !is_float(x.dtype) ? 1e30 : x.most,
                              false, is_float(x.dtype)});
  if (!is_float(y.dtype) && is_float(x.dtype) && b.rng.chance(0.7))
    b.add("BitCast", {y}, {to(x.dtype)}, {x.dtype, x.dims, x.most, false});
  return true;
}

constexpr std::array narrow_table = {
    Family{"cast-narrow", 1, cast_narrow},
    Family{"quantize-narrow", 1, quantize_narrow},
    Family{"narrow-weights", 0.6, narrow_weights},
    Family{"cast-like", 0.8, cast_like},
    Family{"bit-cast", 0.4, bit_cast},
};

}  // namespace

std::span<const Family> narrow_families() {
  return narrow_table;
}

}  // namespace quern::tools
