// SPDX-License-Identifier: Apache-2.0
// Chains of nodes that passes recognise: attention, norms spelled out, gates, affine chains.
#include <algorithm>
#include <array>
#include <cmath>

#include "tools/random/families.h"

namespace quern::tools {
namespace {

// Gemm or MatMul, bias, activation, residual.
bool dense_chain(Builder& b) {
  const DType type = b.main_type();
  const DrawnValue x = b.take({.types = {type}, .least_rank = 2, .most_rank = 3, .nonempty = true});
  const Extent columns = b.rng.chance(0.4) ? x.dims.back() : fixed(b.rng.between(1, 24));
  const Extents wd = {x.dims.back(), columns};
  Extents dims = x.dims;
  dims.back() = columns;
  if (!b.fits(wd) || !b.fits(dims)) return false;
  const DrawnValue w = b.rng.chance(0.9) ? b.root(type, wd) : b.take_like(type, wd);
  const double sum =
      x.most * w.most * std::sqrt(static_cast<double>(tools::most(x.dims.back()))) * 2;
  DrawnValue y = b.add("MatMul", {x, w}, {}, {type, dims, sum});
  if (y.wild || y.most > 500) return true;
  if (b.rng.chance(0.7)) {
    const DrawnValue bias = b.take_like(type, b.rng.chance(0.8) ? Extents{columns} : dims);
    const bool first = b.rng.chance(0.5);
    y = b.add("Add", {first ? bias : y, first ? y : bias}, {}, same(y, y.most + bias.most));
  }
  if (b.rng.chance(0.7)) y = activated(b, y);
  if (b.rng.chance(0.5)) {
    const DrawnValue r = b.take_like(type, y.dims);
    y = b.add("Add", {y, r}, {}, same(y, y.most + r.most));
  }
  if (b.rng.chance(0.3)) activated(b, y);
  return true;
}

bool gate(Builder& b) {
  const DrawnValue x = b.take({.types = {b.main_type()}});
  const DrawnValue s =
      b.add(b.rng.chance(0.7) ? "Sigmoid" : "HardSigmoid", {x}, {}, {x.dtype, x.dims, 1});
  const bool first = b.rng.chance(0.5);
  b.add("Mul", {first ? s : x, first ? x : s}, {}, same(x, x.most));
  return true;
}

bool gelu_spelled(Builder& b) {
  const DrawnValue x = b.take({.types = {b.main_type()}});
  const DrawnValue d = b.add("Div", {x, b.scalar(x.dtype, std::sqrt(2.0))}, {}, same(x, x.most));
  const DrawnValue e = b.add("Erf", {d}, {}, same(x, 1));
  const DrawnValue p = b.add("Add", {e, b.scalar(x.dtype, 1)}, {}, same(x, 2));
  const DrawnValue m = b.add("Mul", {x, p}, {}, same(x, 2 * x.most));
  b.add("Mul", {m, b.scalar(x.dtype, 0.5)}, {}, same(x, x.most));
  return true;
}

bool layer_norm_spelled(Builder& b) {
  const DrawnValue x = b.take({.types = {b.main_type()}, .least_rank = 1, .nonempty = true});
  if (least(x.dims.back()) < 2) return false;
  Extents row = x.dims;
  row.back() = fixed(1);
  const auto mean_of = [&](const DrawnValue& v, double most) {
    return b.add("ReduceMean", {v, b.numbers_constant({-1})}, {}, {x.dtype, row, most});
  };
  const DrawnValue mean = mean_of(x, x.most);
  const DrawnValue d = b.add("Sub", {x, mean}, {}, same(x, 2 * x.most));
  const DrawnValue square =
      b.rng.chance(0.5)
          ? b.add("Pow", {d, b.steady(b.scalar(x.dtype, 2))}, {}, same(x, 4 * x.most * x.most))
          : b.add("Mul", {d, d}, {}, same(x, 4 * x.most * x.most));
  const DrawnValue variance = mean_of(square, square.most);
  const DrawnValue e =
      b.add("Add", {variance, b.scalar(x.dtype, 0.01)}, {}, {x.dtype, row, variance.most});
  const DrawnValue root = b.add("Sqrt", {e}, {}, {x.dtype, row, std::sqrt(e.most) + 1});
  DrawnValue y = b.add("Div", {d, root}, {}, same(x, 16));
  if (b.rng.chance(0.7))
    y = b.add("Mul", {y, b.take_like(x.dtype, {x.dims.back()})}, {}, same(x, 32));
  if (b.rng.chance(0.7)) b.add("Add", {y, b.take_like(x.dtype, {x.dims.back()})}, {}, same(x, 64));
  return true;
}

bool softmax_spelled(Builder& b) {
  const DrawnValue x = b.take({.types = {b.main_type()}, .least_rank = 1, .nonempty = true});
  if (x.most > 8) return false;
  Extents row = x.dims;
  row.back() = fixed(1);
  const DrawnValue axes = b.numbers_constant({-1});
  const DrawnValue top = b.add("ReduceMax", {x, axes}, {}, {x.dtype, row, x.most, false});
  const DrawnValue d = b.add("Sub", {x, top}, {}, same(x, 2 * x.most));
  const DrawnValue e = b.add("Exp", {d}, {}, same(x, 1));
  const DrawnValue s = b.add("ReduceSum", {e, axes}, {}, {x.dtype, row, 50});
  b.add("Div", {e, s}, {}, same(x, 1));
  return true;
}

// softmax(scale q k' + mask) v, with the transposes of heads now and then.
bool spelled_attention(Builder& b) {
  const DType type = b.main_type();
  const Extent batch = b.rng.chance(0.5) ? fixed(1) : fixed(2);
  const std::int64_t heads = b.rng.between(1, 3);
  const std::int64_t width = b.rng.pick(std::vector<std::int64_t>{1, 4, 8});
  const Extent rows = b.random_extent();
  if (least(rows) == 0) return false;
  const Extent keys = b.rng.chance(0.7) ? rows : fixed(b.rng.between(1, 9));
  if (!b.fits({batch, fixed(heads), rows, keys}) || !b.fits({batch, fixed(heads * width), rows}) ||
      !b.fits({batch, fixed(heads * width), keys}))
    return false;
  const auto headed = [&](const Extent& n) {
    if (b.rng.chance(0.4)) return b.take_like(type, {batch, fixed(heads), n, fixed(width)});
    const DrawnValue x = b.take_like(type, {batch, n, fixed(heads * width)});
    const DrawnValue r =
        b.add("Reshape", {x, b.numbers_constant({0, is_fixed(n) ? n[0] : -1, heads, width})}, {},
              {type, {batch, n, fixed(heads), fixed(width)}, x.most, false});
    return b.add("Transpose", {r}, {Builder::integers("perm", {0, 2, 1, 3})},
                 {type, {batch, fixed(heads), n, fixed(width)}, x.most, false});
  };
  const DrawnValue q = headed(rows);
  const DrawnValue k = headed(keys);
  const DrawnValue v = headed(keys);
  const DrawnValue kt = b.add("Transpose", {k}, {Builder::integers("perm", {0, 1, 3, 2})},
                              {type, {batch, fixed(heads), fixed(width), keys}, k.most, false});
  const Extents scores = {batch, fixed(heads), rows, keys};
  DrawnValue s =
      b.add("MatMul", {q, kt}, {}, {type, scores, q.most * k.most * static_cast<double>(width)});
  if (s.most > 300) return true;
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  s = b.rng.chance(0.5) ? b.add("Mul", {s, b.scalar(type, scale)}, {}, {type, scores, s.most})
                        : b.add("Div", {s, b.scalar(type, 1 / scale)}, {}, {type, scores, s.most});
  if (b.rng.chance(0.5)) {
    const Extents mask = {b.rng.chance(0.5) ? batch : fixed(1), fixed(1),
                          b.rng.chance(0.5) ? rows : fixed(1), keys};
    s = b.add("Add", {s, b.take_like(type, mask)}, {}, {type, scores, s.most + 64});
  }
  const DrawnValue p = b.add("Softmax", {s}, {Builder::integer("axis", -1)}, {type, scores, 1});
  const DrawnValue o =
      b.add("MatMul", {p, v}, {}, {type, {batch, fixed(heads), rows, fixed(width)}, v.most});
  if (!b.rng.chance(0.7)) return true;
  const DrawnValue t = b.add("Transpose", {o}, {Builder::integers("perm", {0, 2, 1, 3})},
                             {type, {batch, rows, fixed(heads), fixed(width)}, v.most, false});
  b.add("Reshape", {t, b.numbers_constant({0, is_fixed(rows) ? rows[0] : -1, heads * width})}, {},
        {type, {batch, rows, fixed(heads * width)}, v.most, false});
  return true;
}

// x * a + b, several times, with constants of one element or of a row.
bool affine(Builder& b) {
  DrawnValue x = b.take({.types = {b.main_type()}});
  for (std::int64_t n = b.rng.between(2, 4); n > 0 && x.most < 200; --n) {
    DrawnValue c = b.rng.chance(0.6) || x.rank() == 0
                       ? b.scalar(x.dtype, static_cast<double>(b.rng.between(-8, 8)) / 4)
                       : b.take_like(x.dtype, {x.dims.back()});
    const std::string_view op =
        b.rng.pick(std::vector<std::string_view>{"Add", "Mul", "Sub", "Mul"});
    const bool first = b.rng.chance(0.5);
    x = b.add(op, {first ? c : x, first ? x : c}, {},
              same(x, op == "Mul" ? x.most * c.most : x.most + c.most));
  }
  return true;
}

// Clips and minima one behind the other.
bool clamps(Builder& b) {
  DrawnValue x = b.take({.types = {b.main_type()}});
  for (std::int64_t n = b.rng.between(2, 3); n > 0; --n) {
    const double at = static_cast<double>(b.rng.between(-6, 6)) / 2;
    switch (b.rng.below(4)) {
      case 0: x = b.add("Relu", {x}, {}, {x.dtype, x.dims, x.most, false}); break;
      case 1:
        x = b.add("Min", {x, b.scalar(x.dtype, at)}, {},
                  {x.dtype, x.dims, std::max(x.most, 3.0), false});
        break;
      case 2:
        x = b.add("Max", {x, b.scalar(x.dtype, at)}, {},
                  {x.dtype, x.dims, std::max(x.most, 3.0), false});
        break;
      default:
        x = b.add("Clip", {x, b.scalar(x.dtype, -1), b.scalar(x.dtype, at + 3)}, {},
                  {x.dtype, x.dims, std::max(x.most, 6.0), false});
    }
  }
  return true;
}

constexpr std::array patterns_table = {
    Family{"dense-chain", 4, dense_chain},
    Family{"gate", 1.5, gate},
    Family{"gelu-spelled", 0.7, gelu_spelled},
    Family{"layer-norm-spelled", 0.8, layer_norm_spelled},
    Family{"softmax-spelled", 0.8, softmax_spelled},
    Family{"attention", 1.2, spelled_attention},
    Family{"affine", 1.5, affine},
    Family{"clamps", 1, clamps},
};

}  // namespace

std::span<const Family> pattern_families() {
  return patterns_table;
}

}  // namespace quern::tools
