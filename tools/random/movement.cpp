// SPDX-License-Identifier: Apache-2.0
// Operators that move elements and compute nothing: views, copies, joins and cuts.
#include <algorithm>
#include <array>
#include <numeric>

#include "tools/random/families.h"

namespace quern::tools {
namespace {

DrawnValue anything(Builder& b, std::size_t least_rank = 0, std::size_t most_rank = 5) {
  return b.take({.types = b.rng.chance(0.7) ? std::vector<DType>{b.main_type()} : movable_types(),
                 .least_rank = least_rank,
                 .most_rank = most_rank,
                 .tame = b.rng.chance(0.9)});
}
std::int64_t some_axis(Builder& b, const DrawnValue& x) {
  return b.rng.below(static_cast<std::int64_t>(x.rank()));
}
std::int64_t maybe_negative(Builder& b, std::int64_t axis, std::size_t rank) {
  return b.rng.chance(0.4) ? axis - static_cast<std::int64_t>(rank) : axis;
}

// Another shape of as many elements, by merging neighbours and cutting fixed dimensions.
Extents regrouped(Builder& b, Extents dims) {
  for (std::int64_t n = b.rng.between(1, 3); n > 0; --n) {
    if (dims.size() > 1 && b.rng.chance(0.6)) {
      const std::size_t i =
          static_cast<std::size_t>(b.rng.below(static_cast<std::int64_t>(dims.size()) - 1));
      for (std::size_t k = 0; k < most_runs; ++k) dims[i][k] *= dims[i + 1][k];
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    } else if (dims.size() < 5) {
      const std::size_t i =
          static_cast<std::size_t>(b.rng.below(static_cast<std::int64_t>(dims.size()) + 1));
      std::int64_t factor = 1;
      if (i < dims.size() && least(dims[i]) > 0)
        for (const std::int64_t f : {2, 3, 4, 5})
          if (dims[i][0] % f == 0 && dims[i][1] % f == 0 && dims[i][2] % f == 0 &&
              b.rng.chance(0.5))
            factor = f;
      if (factor > 1)
        for (std::int64_t& e : dims[i]) e /= factor;
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(i), fixed(factor));
    }
  }
  return dims;
}

DrawnValue reshaped(Builder& b, const DrawnValue& x, const Extents& dims) {
  Attributes a;
  // Zero in a shape means "as it was" unless the attribute says otherwise.
  const bool has_zero =
      std::any_of(dims.begin(), dims.end(), [](auto& e) { return least(e) == 0; });
  if (has_zero) a.push_back(Builder::integer("allowzero", 1));
  return b.add("Reshape", {x, b.shape_operand(dims, Missing::allowed)}, a, moved(x, dims));
}

bool reshape(Builder& b) {
  const DrawnValue x = anything(b);
  const Extents dims = regrouped(b, x.dims);
  const DrawnValue y = reshaped(b, x, dims);
  if (b.rng.chance(0.25)) reshaped(b, y, b.rng.chance(0.5) ? x.dims : regrouped(b, dims));
  return true;
}

bool flatten(Builder& b) {
  const DrawnValue x = anything(b, 1);
  const std::int64_t axis = b.rng.between(0, static_cast<std::int64_t>(x.rank()));
  const auto cut = static_cast<std::size_t>(axis);
  const std::span<const Extent> all(x.dims);
  b.add("Flatten", {x}, {Builder::integer("axis", axis)},
        moved(x, {product(all.first(cut)), product(all.subspan(cut))}));
  return true;
}

bool squeeze(Builder& b) {
  const DrawnValue x = anything(b, 0, 4);
  std::vector<std::int64_t> axes;
  Extents dims;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (x.dims[i] == fixed(1) && b.rng.chance(0.7)) {
      axes.push_back(maybe_negative(b, static_cast<std::int64_t>(i), x.rank()));
    } else {
      dims.push_back(x.dims[i]);
    }
  }
  if (!axes.empty()) {
    b.add("Squeeze", {x, b.numbers_operand(axes, 0.05)}, {}, moved(x, dims));
    return true;
  }
  const auto at = b.rng.between(0, static_cast<std::int64_t>(x.rank()));
  dims.insert(dims.begin() + at, fixed(1));
  b.add("Unsqueeze", {x, b.numbers_operand({maybe_negative(b, at, x.rank() + 1)}, 0.05)}, {},
        moved(x, dims));
  return true;
}

DrawnValue transposed(Builder& b, const DrawnValue& x, const std::vector<std::int64_t>& perm) {
  Extents dims;
  for (const std::int64_t p : perm) dims.push_back(x.dims[static_cast<std::size_t>(p)]);
  return b.add("Transpose", {x}, {Builder::integers("perm", perm)}, moved(x, dims));
}

bool transpose(Builder& b) {
  const DrawnValue x = anything(b, 1);
  std::vector<std::int64_t> perm(x.rank());
  std::iota(perm.begin(), perm.end(), 0);
  for (std::size_t i = perm.size(); i > 1; --i)
    std::swap(perm[i - 1],
              perm[static_cast<std::size_t>(b.rng.below(static_cast<std::int64_t>(i)))]);
  const DrawnValue y = transposed(b, x, perm);
  if (!b.rng.chance(0.3)) return true;
  // Back, at once or behind something elementwise.
  DrawnValue z = y;
  if (b.rng.chance(0.5) && is_float(y.dtype)) z = b.add("Relu", {y}, {}, moved(y, y.dims));
  std::vector<std::int64_t> back(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i)
    back[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  transposed(b, z, back);
  return true;
}

// One axis of a slice that is the same for all runs, or whose size can be said for each.
struct Cut {
  std::int64_t start, end, step;
  Extent size;
};
Cut some_cut(Builder& b, const Extent& e) {
  const std::int64_t n = least(e);
  switch (b.rng.below(5)) {
    case 0: return {-1, INT64_MIN + 1, -1, e};  // backwards
    case 1: {
      const std::int64_t start = b.rng.between(0, n);
      return {start, INT64_MAX, 1, map_extent(e, [&](auto m) { return m - start; })};
    }
    case 2: {
      const std::int64_t step = b.rng.between(2, 3);
      return {0, INT64_MAX, step, map_extent(e, [&](auto m) { return (m + step - 1) / step; })};
    }
    case 3: {
      const std::int64_t cut = b.rng.between(0, n);
      return {0, -cut == 0 ? INT64_MAX : -cut, 1, map_extent(e, [&](auto m) { return m - cut; })};
    }
    default: {
      const std::int64_t start = b.rng.between(0, n);
      const std::int64_t end = b.rng.between(start, n);
      return {start, end, 1, fixed(end - start)};
    }
  }
}

bool slice(Builder& b) {
  const DrawnValue x = anything(b, 1);
  std::vector<std::int64_t> starts, ends, axes, steps;
  Extents dims = x.dims;
  bool steps_matter = false;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (!b.rng.chance(0.5)) continue;
    Cut c = some_cut(b, x.dims[i]);
    if (least(c.size) == 0 && b.rng.chance(0.9)) continue;
    starts.push_back(c.start);
    ends.push_back(c.end);
    axes.push_back(maybe_negative(b, static_cast<std::int64_t>(i), x.rank()));
    steps.push_back(c.step);
    steps_matter = steps_matter || c.step != 1;
    dims[i] = c.size;
  }
  if (starts.empty()) return false;
  Values in = {x, b.numbers_operand(starts, 0.08), b.numbers_operand(ends, 0.08),
               b.numbers_constant(axes)};
  if (steps_matter || b.rng.chance(0.3)) in.push_back(b.numbers_operand(steps, 0.05));
  b.add("Slice", in, {}, moved(x, dims));
  return true;
}

bool split(Builder& b) {
  const DrawnValue x = anything(b, 1);
  const std::int64_t axis = some_axis(b, x);
  const auto at = static_cast<std::size_t>(axis);
  if (!is_fixed(x.dims[at]) || x.dims[at][0] < 1) return false;
  const std::int64_t n = x.dims[at][0];
  std::vector<std::int64_t> sizes;
  std::int64_t left = n;
  while (left > 0 && sizes.size() < 3) {
    sizes.push_back(b.rng.between(b.rng.chance(0.05) ? 0 : 1, left));
    left -= sizes.back();
  }
  if (left > 0) sizes.push_back(left);
  const bool even = std::all_of(sizes.begin(), sizes.end(), [&](auto s) { return s == sizes[0]; });
  std::vector<Effect> parts;
  for (const std::int64_t s : sizes) {
    Extents dims = x.dims;
    dims[at] = fixed(s);
    parts.push_back(moved(x, dims));
  }
  Attributes a = {Builder::integer("axis", maybe_negative(b, axis, x.rank()))};
  Values in = {x};
  if (even && b.rng.chance(0.5)) {
    a.push_back(Builder::integer("num_outputs", static_cast<std::int64_t>(sizes.size())));
  } else {
    in.push_back(b.numbers_constant(sizes));
  }
  const Values out = b.add_many("Split", in, a, parts);
  // Joined again in another order.
  if (out.size() > 1 && b.rng.chance(0.4)) {
    Values back(out.rbegin(), out.rend());
    b.add("Concat", back, {Builder::integer("axis", axis)}, moved(x, x.dims));
  }
  return true;
}

bool concat(Builder& b) {
  const DrawnValue x = anything(b, 1);
  const std::int64_t axis = some_axis(b, x);
  const auto at = static_cast<std::size_t>(axis);
  Values in = {x};
  double most = x.most;
  const auto goes_with = [&](const DrawnValue& v) {
    if (v.dtype != x.dtype || v.rank() != x.rank() || v.wild != x.wild || v.most > 1e3)
      return false;
    for (std::size_t i = 0; i < x.rank(); ++i)
      if (i != at && v.dims[i] != x.dims[i]) return false;
    return true;
  };
  for (std::int64_t n = b.rng.between(1, 3); n > 0; --n) {
    DrawnValue y = b.rng.chance(0.1) ? x : DrawnValue{};
    if (y.name.empty()) {
      if (const auto found = b.find(goes_with)) y = *found;
      if (y.name.empty() || b.rng.chance(0.3)) {
        Extents dims = x.dims;
        dims[at] = fixed(b.rng.between(b.rng.chance(0.05) ? 0 : 1, 5));
        if (!b.fits(dims)) continue;
        y = b.root(x.dtype, dims);
      }
    }
    in.push_back(y);
  }
  for (std::size_t i = in.size(); i > 1; --i)
    std::swap(in[i - 1], in[static_cast<std::size_t>(b.rng.below(static_cast<std::int64_t>(i)))]);
  Extents dims = x.dims;
  dims[at] = fixed(0);
  bool positive = true;
  for (const DrawnValue& v : in) {
    for (std::size_t k = 0; k < most_runs; ++k) dims[at][k] += v.dims[at][k];
    most = std::max(most, v.most);
    positive = positive && v.positive;
  }
  if (!b.fits(dims)) return false;
  b.add("Concat", in, {Builder::integer("axis", maybe_negative(b, axis, x.rank()))},
        {x.dtype, dims, most, false, false, positive});
  return true;
}

bool expand(Builder& b) {
  const DrawnValue x = anything(b, 0, 4);
  Extents dims = x.dims;
  for (Extent& e : dims)
    if (e == fixed(1) && b.rng.chance(0.7)) e = b.random_extent();
  while (dims.size() < 5 && b.rng.chance(0.3)) dims.insert(dims.begin(), b.random_extent());
  if (!b.fits(dims)) return false;
  // The target may have ones where the operand has more.
  Extents target = dims;
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (b.rng.chance(0.2) && x.dims[x.rank() - 1 - i] == dims[dims.size() - 1 - i])
      target[dims.size() - 1 - i] = fixed(1);
  if (target.empty()) return false;
  b.add("Expand", {x, b.shape_operand(target, Missing::never)}, {}, moved(x, dims));
  return true;
}

bool tile(Builder& b) {
  const DrawnValue x = anything(b, 1);
  std::vector<std::int64_t> repeats;
  Extents dims = x.dims;
  for (Extent& e : dims) {
    repeats.push_back(b.rng.chance(0.3) ? b.rng.between(b.rng.chance(0.05) ? 0 : 1, 3) : 1);
    for (std::int64_t& n : e) n *= repeats.back();
  }
  if (!b.fits(dims)) return false;
  b.add("Tile", {x, b.numbers_operand(repeats)}, {}, moved(x, dims));
  return true;
}

// Elements that are put before or after a dimension of `kept` elements.
std::int64_t extension(Builder& b, std::string_view mode, std::int64_t kept) {
  if (b.rng.chance(0.5)) return 0;
  const std::int64_t most = mode == "constant"  ? 3
                            : kept <= 0         ? 0
                            : mode == "edge"    ? 2
                            : mode == "reflect" ? kept - 1
                                                : kept;
  return b.rng.between(0, std::min<std::int64_t>(most, 3));
}

// Negative pads cut first, at either end; positive ones extend what is left.
bool pad(Builder& b) {
  const DrawnValue x = anything(b, 1);
  std::vector<std::string_view> modes = {"constant", "constant", "constant", "edge", "reflect"};
  if (b.opset() >= 19) modes.emplace_back("wrap");
  const std::string_view mode = b.rng.pick(modes);
  std::vector<std::int64_t> begin, end;
  Extents dims = x.dims;
  for (Extent& e : dims) {
    const std::int64_t n = least(e);
    // A constant may follow where nothing is left.
    const std::int64_t most_cut = mode == "constant" ? n : n - 1;
    const std::int64_t cut = b.rng.chance(0.2) && most_cut > 0
                                 ? b.rng.between(1, std::min<std::int64_t>(most_cut, 2))
                                 : 0;
    const bool at_begin = b.rng.chance(0.5);
    begin.push_back(cut > 0 && at_begin ? -cut : extension(b, mode, n - cut));
    end.push_back(cut > 0 && !at_begin ? -cut : extension(b, mode, n - cut));
    for (std::int64_t& m : e) m += begin.back() + end.back();
  }
  if (!b.fits(dims) || (mode != "constant" && !is_float(x.dtype) && !is_integer(x.dtype)))
    return false;
  std::vector<std::int64_t> pads = begin;
  pads.insert(pads.end(), end.begin(), end.end());
  Values in = {x, b.numbers_operand(pads)};
  if (mode == "constant" && b.rng.chance(0.5))
    in.push_back(b.scalar(x.dtype, x.dtype == DType::boolean ? 1 : 3));
  b.add("Pad", in, {Builder::text("mode", mode)}, {x.dtype, dims, std::max(x.most, 3.0), false});
  return true;
}

bool depth_space(Builder& b) {
  const auto x = b.find([](const DrawnValue& v) {
    return v.rank() == 4 && least(product(v.dims)) > 0 && is_float(v.dtype) &&
           is_fixed(v.dims[1]) && is_fixed(v.dims[2]) && is_fixed(v.dims[3]);
  });
  const DrawnValue y =
      x ? *x : b.root(DType::f32, fixed_dims(std::array<std::int64_t, 4>{1, 8, 4, 2}));
  Extents dims = y.dims;
  const std::int64_t block = 2;
  if (dims[1][0] % 4 == 0 && b.rng.chance(0.6)) {
    dims = {dims[0], fixed(dims[1][0] / 4), fixed(dims[2][0] * 2), fixed(dims[3][0] * 2)};
    Attributes a = {Builder::integer("blocksize", block)};
    if (b.rng.chance(0.5)) a.push_back(Builder::text("mode", b.rng.chance(0.7) ? "CRD" : "DCR"));
    b.add("DepthToSpace", {y}, a, moved(y, dims));
    return true;
  }
  if (dims[2][0] % 2 != 0 || dims[3][0] % 2 != 0) return false;
  dims = {dims[0], fixed(dims[1][0] * 4), fixed(dims[2][0] / 2), fixed(dims[3][0] / 2)};
  b.add("SpaceToDepth", {y}, {Builder::integer("blocksize", block)}, moved(y, dims));
  return true;
}

bool trilu(Builder& b) {
  const DrawnValue x = anything(b, 2);
  if (x.dtype == DType::string) return false;
  Values in = {x};
  if (b.rng.chance(0.6))
    in.push_back(b.scalar(DType::i64, static_cast<double>(b.rng.between(-4, 4))));
  Attributes a;
  if (b.rng.chance(0.6)) a.push_back(Builder::integer("upper", b.rng.below(2)));
  b.add("Trilu", in, a, {x.dtype, x.dims, x.most, false});
  return true;
}

bool reverse_sequence(Builder& b) {
  const DrawnValue x = b.take({.types = {b.main_type()}, .least_rank = 2, .nonempty = true});
  const bool time_first = b.rng.chance(0.5);
  const Extent time = x.dims[time_first ? 0 : 1];
  const Extent batch = x.dims[time_first ? 1 : 0];
  const DrawnValue lengths =
      b.indices(DType::i64, {batch}, fixed(1), map_extent(time, [](auto n) { return n + 1; }));
  b.add("ReverseSequence", {x, lengths},
        {Builder::integer("time_axis", !time_first), Builder::integer("batch_axis", time_first)},
        moved(x, x.dims));
  return true;
}

// One tensor cut in views, the views used apart, and joined.
bool views_joined(Builder& b) {
  const DrawnValue x = b.take({.types = {b.main_type()}, .least_rank = 1, .nonempty = true});
  if (!is_fixed(x.dims[0]) || x.dims[0][0] < 2) return false;
  const std::int64_t cut = b.rng.between(1, x.dims[0][0] - 1);
  const auto part = [&](std::int64_t from, std::int64_t to) {
    Extents dims = x.dims;
    dims[0] = fixed(to - from);
    return b.add("Slice",
                 {x, b.numbers_constant({from}), b.numbers_constant({to}), b.numbers_constant({0})},
                 {}, moved(x, dims));
  };
  DrawnValue head = part(0, cut);
  DrawnValue tail = part(cut, x.dims[0][0]);
  if (b.rng.chance(0.6)) tail = activated(b, tail);
  if (b.rng.chance(0.3)) head = b.add("Identity", {head}, {}, moved(head, head.dims));
  Values in = {tail, head};
  if (b.rng.chance(0.3)) in.push_back(tail);
  Extents dims = x.dims;
  dims[0] = fixed(0);
  double most = 0;
  for (const DrawnValue& v : in) {
    dims[0] = fixed(dims[0][0] + v.dims[0][0]);
    most = std::max(most, v.most);
  }
  if (!b.fits(dims)) return false;
  b.add("Concat", in, {Builder::integer("axis", 0)}, {x.dtype, dims, most, false});
  return true;
}

constexpr std::array movement_table = {
    Family{"reshape", 4, reshape},
    Family{"flatten", 0.8, flatten},
    Family{"squeeze", 2, squeeze},
    Family{"transpose", 4, transpose},
    Family{"slice", 4, slice},
    Family{"split", 2.5, split},
    Family{"concat", 5, concat},
    Family{"expand", 1.5, expand},
    Family{"tile", 1, tile},
    Family{"pad", 1.5, pad},
    Family{"depth-space", 0.6, depth_space},
    Family{"trilu", 0.6, trilu},
    Family{"reverse-sequence", 0.5, reverse_sequence},
    Family{"views-joined", 1.5, views_joined},
};

}  // namespace

std::span<const Family> movement_families() {
  return movement_table;
}

}  // namespace quern::tools
