// SPDX-License-Identifier: Apache-2.0
// Operators with indices, and shapes that are computed.
#include <algorithm>
#include <array>

#include "frontends/onnx-parser/tensor.h"
#include "tools/random/families.h"

namespace quern::tools {
namespace {

DrawnValue indexable(Builder& b, std::size_t least_rank) {
  return b.take({.types = b.rng.chance(0.7) ? std::vector<DType>{b.main_type()} : movable_types(),
                 .least_rank = least_rank,
                 .most_rank = 4,
                 .nonempty = true});
}
Effect picks(const DrawnValue& x, const Extents& dims) {
  return {x.dtype, dims, x.most, false, false, x.positive};
}
DType index_type(Builder& b) {
  return b.rng.chance(0.6) ? DType::i64 : DType::i32;
}
Extent negated(const Extent& e) {
  return map_extent(e, [](auto n) { return -n; });
}

bool gather(Builder& b) {
  const DrawnValue x = indexable(b, 1);
  const auto axis = static_cast<std::size_t>(b.rng.below(static_cast<std::int64_t>(x.rank())));
  const Extents picked = b.random_dims(static_cast<std::size_t>(b.rng.between(0, 2)));
  const bool negative = b.rng.chance(0.4);
  const DrawnValue at =
      b.indices(index_type(b), picked, negative ? negated(x.dims[axis]) : fixed(0), x.dims[axis]);
  Extents dims(x.dims.begin(), x.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.end(), picked.begin(), picked.end());
  dims.insert(dims.end(), x.dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.dims.end());
  if (!b.fits(dims)) return false;
  b.add("Gather", {x, at}, {Builder::integer("axis", static_cast<std::int64_t>(axis))},
        picks(x, dims));
  return true;
}

bool gather_elements(Builder& b) {
  const DrawnValue x = indexable(b, 1);
  const auto axis = static_cast<std::size_t>(b.rng.below(static_cast<std::int64_t>(x.rank())));
  Extents dims = x.dims;
  dims[axis] = fixed(b.rng.between(1, 5));
  if (!b.fits(dims)) return false;
  const DrawnValue at = b.indices(index_type(b), dims, negated(x.dims[axis]), x.dims[axis]);
  b.add("GatherElements", {x, at}, {Builder::integer("axis", static_cast<std::int64_t>(axis))},
        picks(x, dims));
  return true;
}

bool gather_nd(Builder& b) {
  const DrawnValue x = indexable(b, 1);
  Extent bound = x.dims[0];
  const std::int64_t width = x.rank() > 1 && b.rng.chance(0.5) ? 2 : 1;
  if (width == 2)
    for (std::size_t k = 0; k < most_runs; ++k) bound[k] = std::min(bound[k], x.dims[1][k]);
  const Extent count = fixed(b.rng.between(1, 6));
  const DrawnValue at = b.indices(DType::i64, {count, fixed(width)}, negated(bound), bound);
  Extents dims = {count};
  dims.insert(dims.end(), x.dims.begin() + width, x.dims.end());
  if (!b.fits(dims)) return false;
  b.add("GatherND", {x, at}, {}, picks(x, dims));
  return true;
}

// Each place at most once, so that the order of writes does not matter: rows 0, 1, ... backwards.
bool scatter(Builder& b) {
  const DrawnValue x = indexable(b, 1);
  if (x.dtype == DType::boolean || !is_fixed(x.dims[0])) return false;
  const std::int64_t rows = b.rng.between(1, x.dims[0][0]);
  const std::int64_t shift = b.rng.below(x.dims[0][0]);
  Extents dims = x.dims;
  dims[0] = fixed(rows);
  const DrawnValue updates = b.take_like(x.dtype, dims);
  const bool sums = x.dtype != DType::string && b.rng.chance(0.3);
  Attributes a;
  if (sums) a.push_back(Builder::text("reduction", b.rng.chance(0.5) ? "add" : "max"));
  const Effect effect{x.dtype, x.dims, x.most + updates.most, sums};
  const auto row_of = [&](std::int64_t i) {
    return static_cast<double>((i + shift) % x.dims[0][0]);
  };
  if (b.rng.chance(0.5)) {
    std::vector<std::int64_t> at;
    for (std::int64_t i = 0; i < rows; ++i) at.push_back(static_cast<std::int64_t>(row_of(i)));
    const DrawnValue flat = b.numbers_constant(at);
    const DrawnValue column = b.add("Unsqueeze", {flat, b.numbers_constant({1})}, {},
                                    {DType::i64, {fixed(rows), fixed(1)}, 100, false});
    b.add("ScatterND", {x, column, updates}, a, effect);
    return true;
  }
  const DrawnValue at = b.input_of(DType::i64, dims, [&](std::size_t, const Shape& shape) {
    const std::int64_t inner = std::max<std::int64_t>(shape.elements(1), 1);
    Tensor t = Tensor::zeros({DType::i64, shape}).value();
    auto* to = reinterpret_cast<std::int64_t*>(t.mutable_data());
    for (std::int64_t i = 0; i < shape.elements(); ++i)
      to[i] = static_cast<std::int64_t>(row_of(i / inner));
    return t;
  });
  b.add("ScatterElements", {x, at, updates}, a, effect);
  return true;
}

bool one_hot(Builder& b) {
  const Extents dims = b.random_dims(static_cast<std::size_t>(b.rng.between(0, 2)));
  const std::int64_t depth = b.rng.between(2, 6);
  const DrawnValue at = b.indices(DType::i64, dims, fixed(-depth), fixed(depth));
  Extents out = dims;
  out.push_back(fixed(depth));
  if (!b.fits(out)) return false;
  const DType type = b.rng.pick(std::vector<DType>{DType::f32, DType::i64, DType::i32});
  const DrawnValue values = b.numbers_constant({2, 5}, type);
  b.add("OneHot", {at, b.scalar(DType::i64, static_cast<double>(depth)), values}, {},
        {type, out, 5, false});
  return true;
}

bool top_k(Builder& b) {
  const DrawnValue x =
      b.take({.types = {DType::f32, DType::f64, DType::i64, DType::i32, DType::f16},
              .least_rank = 1,
              .exact = true,
              .nonempty = true});
  if (!x.exact) return false;
  const auto axis = static_cast<std::size_t>(b.rng.below(static_cast<std::int64_t>(x.rank())));
  const std::int64_t k = b.rng.between(1, least(x.dims[axis]));
  Extents dims = x.dims;
  dims[axis] = fixed(k);
  Attributes a = {Builder::integer("axis", static_cast<std::int64_t>(axis)),
                  Builder::integer("largest", b.rng.below(2))};
  b.add_many("TopK", {x, b.numbers_operand({k})}, a,
             {{x.dtype, dims, x.most, false, true}, {DType::i64, dims, 1e4, false, true}});
  return true;
}

bool non_zero(Builder& b) {
  const DrawnValue x = b.take({.types = {DType::boolean, DType::i64, DType::f32},
                               .least_rank = 1,
                               .most_rank = 3,
                               .exact = true,
                               .nonempty = true});
  if (!x.exact) return false;
  // The number of results depends on the data, so they are summed at once.
  const auto rank = static_cast<std::int64_t>(x.rank());
  const std::string_view found = b.add_unsized("NonZero", {x.name}, {});
  const DrawnValue open{.name = found, .dtype = DType::i64};
  b.add("ReduceSum", {open, b.numbers_constant({1})}, {Builder::integer("keepdims", 0)},
        {DType::i64, {fixed(rank)}, 1e6, false, true});
  return true;
}

// ---- shapes as numbers

bool shape_of(Builder& b) {
  const DrawnValue x = indexable(b, 1);
  const auto rank = static_cast<std::int64_t>(x.rank());
  if (b.rng.chance(0.2)) {
    b.add("Size", {x}, {}, {DType::i64, {}, 1e4, false});
    return true;
  }
  Attributes a;
  std::int64_t size = rank;
  if (b.rng.chance(0.4)) {
    const std::int64_t start = b.rng.below(rank);
    a.push_back(Builder::integer("start", b.rng.chance(0.5) ? start : start - rank));
    size -= start;
  }
  b.add("Shape", {x}, a, {DType::i64, {fixed(size)}, 1e3, false});
  return true;
}

// Shape -> Gather -> arithmetic -> Concat -> Reshape or ConstantOfShape, as exporters write it.
bool shape_arithmetic(Builder& b) {
  const DrawnValue x =
      b.take({.types = {b.main_type()}, .least_rank = 2, .most_rank = 4, .nonempty = true});
  const auto rank = static_cast<std::int64_t>(x.rank());
  const DrawnValue shape = b.add("Shape", {x}, {}, {DType::i64, {fixed(rank)}, 1e3, false});
  const auto size_at = [&](std::int64_t i) {
    return b.add("Gather", {shape, b.scalar(DType::i64, static_cast<double>(i))},
                 {Builder::integer("axis", 0)}, {DType::i64, {}, 1e3, false});
  };
  const auto as_list = [&](const DrawnValue& v) {
    return b.add("Unsqueeze", {v, b.numbers_constant({0})}, {},
                 {DType::i64, {fixed(1)}, 1e3, false});
  };
  const DrawnValue first = size_at(0);
  const DrawnValue second = size_at(1);
  const DrawnValue both = b.add("Mul", {first, second}, {}, {DType::i64, {}, 1e6, false});
  Extents dims = {product(std::span<const Extent>(x.dims).first(2))};
  Values parts = {as_list(both)};
  for (std::int64_t i = 2; i < rank; ++i) {
    dims.push_back(x.dims[static_cast<std::size_t>(i)]);
    const bool last = i + 1 == rank;
    parts.push_back(last && b.rng.chance(0.5) ? b.numbers_constant({-1}) : as_list(size_at(i)));
  }
  const DrawnValue target = parts.size() == 1
                                ? parts[0]
                                : b.add("Concat", parts, {Builder::integer("axis", 0)},
                                        {DType::i64, {fixed(rank - 1)}, 1e6, false});
  b.add("Reshape", {x, target}, {}, picks(x, dims));
  return true;
}

bool filled(Builder& b) {
  const Extents dims = b.random_dims(static_cast<std::size_t>(b.rng.between(1, 3)));
  b.add("ConstantOfShape", {b.shape_operand(dims, Missing::never)}, {},
        {DType::f32, dims, 0, false});
  return true;
}

bool range(Builder& b) {
  const std::int64_t start = b.rng.between(-3, 3);
  const std::int64_t step = b.rng.pick(std::vector<std::int64_t>{1, 2, -1});
  const std::int64_t count = b.rng.between(0, 9);
  const DType type = b.rng.pick(std::vector<DType>{DType::i64, DType::i32, DType::f32});
  b.add("Range",
        {b.scalar(type, static_cast<double>(start)),
         b.scalar(type, static_cast<double>(start + step * count)),
         b.scalar(type, static_cast<double>(step))},
        {}, {type, {fixed(count)}, 20, false, true});
  return true;
}

bool eye_like(Builder& b) {
  const DrawnValue x = b.take({.types = {b.main_type()}, .least_rank = 2, .most_rank = 2});
  b.add("EyeLike", {x},
        {Builder::integer("k", b.rng.between(-2, 2)),
         Builder::integer("dtype", onnx::onnx_type_of(DType::f32))},
        {DType::f32, x.dims, 1, false});
  return true;
}

constexpr std::array index_table = {
    Family{"gather", 2.5, gather},       Family{"gather-elements", 1, gather_elements},
    Family{"gather-nd", 0.8, gather_nd}, Family{"scatter", 1.5, scatter},
    Family{"one-hot", 0.6, one_hot},     Family{"top-k", 1, top_k},
    Family{"non-zero", 0.6, non_zero},
};
constexpr std::array shape_table = {
    Family{"shape", 1, shape_of},
    Family{"shape-arithmetic", 2, shape_arithmetic},
    Family{"constant-of-shape", 0.6, filled},
    Family{"range", 0.6, range},
    Family{"eye-like", 0.4, eye_like},
};

}  // namespace

std::span<const Family> index_families() {
  return index_table;
}
std::span<const Family> shape_families() {
  return shape_table;
}

}  // namespace quern::tools
