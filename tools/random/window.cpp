// SPDX-License-Identifier: Apache-2.0
// Operators with a window over space: convolutions in odd geometry, transposed ones, pools, Resize.
#include <algorithm>
#include <array>
#include <cmath>

#include "tools/random/families.h"

namespace quern::tools {
namespace {

// An image [n, c, space...] of a few channels, with one dimension of space now and then 1.
DrawnValue image(Builder& b, const std::vector<DType>& types, std::size_t least_rank = 3) {
  const auto suits = [&](const DrawnValue& v) {
    return std::find(types.begin(), types.end(), v.dtype) != types.end() && !v.wild &&
           v.most <= 64 && v.rank() >= least_rank && v.rank() <= 5 && is_fixed(v.dims[1]) &&
           least(product(v.dims)) > 0;
  };
  if (b.rng.chance(0.75))
    if (const auto v = b.find(suits)) return *v;
  const std::size_t space =
      static_cast<std::size_t>(b.rng.pick(std::vector<int>{1, 2, 2, 2, 2, 3}));
  while (true) {
    Extents dims = {b.rng.chance(0.5) ? fixed(1) : b.random_extent(),
                    fixed(b.rng.pick(std::vector<std::int64_t>{1, 2, 3, 4, 6, 8, 16, 32}))};
    for (std::size_t i = 0; i < std::max(space, least_rank - 2); ++i)
      dims.push_back(b.rng.chance(0.15)   ? fixed(1)
                     : b.rng.chance(0.15) ? b.random_extent()
                                          : fixed(b.rng.between(3, 12)));
    if (b.fits(dims) && least(product(dims)) > 0) return b.root(b.rng.pick(types), dims);
  }
}

struct Geometry {
  std::vector<std::int64_t> kernel, strides, dilations, begin, end;
  Attributes attributes;
  Extents out;  // of space
};

Extent window_out(const Extent& in, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                  std::int64_t pads) {
  return map_extent(in, [&](std::int64_t n) {
    const std::int64_t room = n + pads - dilation * (kernel - 1) - 1;
    return room < 0 ? std::int64_t{0} : room / stride + 1;
  });
}

// The operator of the window; decides the allowed pads and dilations.
enum class WindowOf : std::uint8_t { conv, pool };

// nullopt if a window does not fit in one of the runs.
std::optional<Geometry> geometry(Builder& b, const Extents& space, WindowOf what) {
  const bool pool = what == WindowOf::pool;
  Geometry g;
  const bool odd = b.rng.chance(0.5);
  for (const Extent& e : space) {
    const std::int64_t k =
        std::min<std::int64_t>(b.rng.pick(std::vector<std::int64_t>{1, 2, 3, 3, 5}), least(e) + 2);
    g.kernel.push_back(k);
    g.strides.push_back(b.rng.chance(0.7) ? 1 : b.rng.between(2, 3));
    g.dilations.push_back(!pool && b.rng.chance(0.15) ? 2 : 1);
    const std::int64_t most_pad = pool ? k - 1 : k;
    g.begin.push_back(odd ? b.rng.between(0, most_pad) : k / 2);
    g.end.push_back(odd ? b.rng.between(0, most_pad) : (pool && k % 2 == 0 ? k / 2 - 1 : k / 2));
    if (b.rng.chance(0.3)) g.begin.back() = g.end.back() = 0;
  }
  for (std::size_t i = 0; i < space.size(); ++i) {
    g.out.push_back(
        window_out(space[i], g.kernel[i], g.strides[i], g.dilations[i], g.begin[i] + g.end[i]));
    if (least(g.out.back()) == 0) return std::nullopt;
  }
  const auto is_all = [](const std::vector<std::int64_t>& v, std::int64_t x) {
    return std::all_of(v.begin(), v.end(), [&](std::int64_t y) { return y == x; });
  };
  g.attributes.push_back(Builder::integers("kernel_shape", g.kernel));
  if (!is_all(g.strides, 1) || b.rng.chance(0.3))
    g.attributes.push_back(Builder::integers("strides", g.strides));
  if (!is_all(g.dilations, 1)) g.attributes.push_back(Builder::integers("dilations", g.dilations));
  std::vector<std::int64_t> pads = g.begin;
  pads.insert(pads.end(), g.end.begin(), g.end.end());
  if (!is_all(pads, 0) || b.rng.chance(0.3))
    g.attributes.push_back(Builder::integers("pads", pads));
  return g;
}

Extents space_of(const DrawnValue& x) {
  return {x.dims.begin() + 2, x.dims.end()};
}
Extents with_space(const Extent& n, const Extent& c, const Extents& space) {
  Extents dims = {n, c};
  dims.insert(dims.end(), space.begin(), space.end());
  return dims;
}

std::int64_t some_group(Builder& b, std::int64_t channels) {
  if (b.rng.chance(0.65)) return 1;
  if (b.rng.chance(0.5)) return channels;
  for (std::int64_t g = 4; g > 1; --g)
    if (channels % g == 0) return g;
  return 1;
}

bool conv(Builder& b) {
  const DrawnValue x = image(b, ordinary_floats());
  auto g = geometry(b, space_of(x), WindowOf::conv);
  if (!g) return false;
  const std::int64_t channels = x.dims[1][0];
  const std::int64_t group = some_group(b, channels);
  const std::int64_t out =
      group * b.rng.pick(std::vector<std::int64_t>{1, 1, 2, 3, 4, group > 4 ? 1 : 8});
  const Extents dims = with_space(x.dims[0], fixed(out), g->out);
  std::vector<std::int64_t> wd = {out, channels / group};
  wd.insert(wd.end(), g->kernel.begin(), g->kernel.end());
  if (!b.fits(dims) || !b.fits(fixed_dims(wd))) return false;
  Values in = {x, b.rng.chance(0.9) ? b.constant(x.dtype, fixed_dims(wd))
                                    : b.take_like(x.dtype, fixed_dims(wd))};
  if (b.rng.chance(0.6)) in.push_back(b.take_like(x.dtype, {fixed(out)}));
  if (group != 1) g->attributes.push_back(Builder::integer("group", group));
  std::int64_t taps = channels / group;
  for (const std::int64_t k : g->kernel) taps *= k;
  b.add("Conv", in, g->attributes,
        {x.dtype, dims, x.most * in[1].most * std::sqrt(static_cast<double>(taps)) * 2 + 4});
  return true;
}

bool conv_transpose(Builder& b) {
  const DrawnValue x = image(b, ordinary_floats());
  auto g = geometry(b, space_of(x), WindowOf::conv);
  if (!g) return false;
  const std::int64_t channels = x.dims[1][0];
  const std::int64_t group = some_group(b, channels);
  const std::int64_t per_group = b.rng.between(1, 4);
  Extents space;
  std::vector<std::int64_t> more;
  for (std::size_t i = 0; i < g->kernel.size(); ++i) {
    more.push_back(g->strides[i] > 1 && b.rng.chance(0.3) ? 1 : 0);
    space.push_back(map_extent(x.dims[2 + i], [&](std::int64_t n) {
      return (n - 1) * g->strides[i] + more[i] + (g->kernel[i] - 1) * g->dilations[i] + 1 -
             g->begin[i] - g->end[i];
    }));
    if (least(space.back()) <= 0) return false;
  }
  const Extents dims = with_space(x.dims[0], fixed(group * per_group), space);
  std::vector<std::int64_t> wd = {channels, per_group};
  wd.insert(wd.end(), g->kernel.begin(), g->kernel.end());
  if (!b.fits(dims) || !b.fits(fixed_dims(wd))) return false;
  Values in = {x, b.root(x.dtype, fixed_dims(wd))};
  if (b.rng.chance(0.5)) in.push_back(b.take_like(x.dtype, {fixed(group * per_group)}));
  if (group != 1) g->attributes.push_back(Builder::integer("group", group));
  if (std::any_of(more.begin(), more.end(), [](std::int64_t m) { return m != 0; }))
    g->attributes.push_back(Builder::integers("output_padding", more));
  b.add("ConvTranspose", in, g->attributes,
        {x.dtype, dims, x.most * in[1].most * static_cast<double>(channels) * 4 + 4});
  return true;
}

bool pool(Builder& b) {
  const DrawnValue x = image(b, ordinary_floats());
  auto g = geometry(b, space_of(x), WindowOf::pool);
  if (!g) return false;
  const bool is_max = b.rng.chance(0.5);
  const bool has_dilations =
      std::any_of(g->dilations.begin(), g->dilations.end(), [](std::int64_t d) { return d != 1; });
  if (has_dilations) return false;
  if (!is_max && b.rng.chance(0.5))
    g->attributes.push_back(Builder::integer("count_include_pad", 1));
  const Extents dims = with_space(x.dims[0], x.dims[1], g->out);
  if (!b.fits(dims)) return false;
  if (is_max && x.exact && b.rng.chance(0.2)) {
    b.add_many("MaxPool", {x}, g->attributes,
               {{x.dtype, dims, x.most, false, true}, {DType::i64, dims, 1e6, false, true}});
  } else {
    b.add(is_max ? "MaxPool" : "AveragePool", {x}, g->attributes, {x.dtype, dims, x.most, !is_max});
  }
  return true;
}

bool lp_pool(Builder& b) {
  const DrawnValue x = image(b, {DType::f32});
  const auto g = geometry(b, space_of(x), WindowOf::pool);
  if (!g) return false;
  const Extents dims = with_space(x.dims[0], x.dims[1], g->out);
  if (!b.fits(dims)) return false;
  Attributes a = g->attributes;
  a.push_back(Builder::integer("p", b.rng.between(1, 2)));
  b.add("LpPool", {x}, a, {x.dtype, dims, x.most * 10});
  return true;
}

bool global_pool(Builder& b) {
  const DrawnValue x = image(b, ordinary_floats());
  const Extents dims = with_space(x.dims[0], x.dims[1], Extents(x.rank() - 2, fixed(1)));
  const bool is_max = b.rng.chance(0.4);
  b.add(is_max ? "GlobalMaxPool" : "GlobalAveragePool", {x}, {}, {x.dtype, dims, x.most, !is_max});
  return true;
}

// Nearest is discontinuous in the position only, which both sides compute from exact scales.
bool resize(Builder& b) {
  const DrawnValue x = image(b, {DType::f32}, 4);
  if (x.rank() != 4) return false;
  const std::string_view mode =
      b.rng.pick(std::vector<std::string_view>{"nearest", "linear", "linear", "cubic"});
  const double scale = b.rng.pick(std::vector<double>{2, 2, 0.5, 3, 1});
  const auto scaled = [&](std::int64_t n) {
    return static_cast<std::int64_t>(std::floor(static_cast<double>(n) * scale));
  };
  Extents dims = x.dims;
  dims[2] = map_extent(dims[2], scaled);
  dims[3] = map_extent(dims[3], scaled);
  if (!b.fits(dims) || least(product(dims)) == 0) return false;
  Attributes a = {Builder::text("mode", mode)};
  const std::string_view at = b.rng.pick(std::vector<std::string_view>{
      "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"});
  // A position that falls between two pixels is rounded one way or the other with align_corners.
  if (mode != "nearest" || at == "asymmetric")
    a.push_back(Builder::text("coordinate_transformation_mode", at));
  if (mode == "nearest")
    a.push_back(Builder::text("nearest_mode", b.rng.chance(0.5) ? "floor" : "round_prefer_floor"));
  const DrawnValue scales = b.constant_of(Tensor::from_values<float>(
      DType::f32, {4},
      std::array{1.0F, 1.0F, static_cast<float>(scale), static_cast<float>(scale)}));
  if (b.rng.chance(0.4)) {
    b.add("Resize", {x, Builder::none(), Builder::none(), b.shape_operand(dims, Missing::never)}, a,
          {x.dtype, dims, x.most * 2, mode != "nearest"});
  } else {
    b.add("Resize", {x, Builder::none(), b.steady(scales)}, a,
          {x.dtype, dims, x.most * 2, mode != "nearest"});
  }
  return true;
}

// Builds a typical chain after a convolution: bias, norm, activation, residual, gate.
bool conv_chain(Builder& b) {
  const std::size_t before = b.values().size();
  if (!conv(b)) return false;
  DrawnValue y = b.values().back();
  if (b.values().size() == before || y.most > 1e3 || y.dtype == DType::f16) return true;
  for (std::int64_t n = b.rng.between(1, 4); n > 0; --n) {
    switch (b.rng.below(5)) {
      case 0: y = activated(b, y); break;
      case 1: {
        const DrawnValue r = b.take_like(y.dtype, y.dims);
        const bool first = b.rng.chance(0.5);
        y = b.add("Add", {first ? r : y, first ? y : r}, {}, {y.dtype, y.dims, y.most + r.most});
        break;
      }
      case 2: {
        Extents per_channel(y.rank() - 1, fixed(1));
        per_channel[0] = y.dims[1];
        const DrawnValue s = b.root(y.dtype, per_channel);
        y = b.add(b.rng.chance(0.5) ? "Mul" : "Add", {y, s}, {}, {y.dtype, y.dims, y.most * 2 + 2});
        break;
      }
      case 3: {
        const DrawnValue gate = b.add("Sigmoid", {y}, {}, {y.dtype, y.dims, 1});
        y = b.add("Mul", {y, gate}, {}, {y.dtype, y.dims, y.most});
        break;
      }
      default: {
        Values in = {y};
        for (int i = 0; i < 4; ++i)
          in.push_back(
              b.constant(y.dtype, {y.dims[1]}, i == 3 ? Numbers::positive : Numbers::around_zero));
        y = b.add("BatchNormalization", in, {}, {y.dtype, y.dims, y.most * 4 + 4});
      }
    }
    if (y.most > 1e3) break;
  }
  return true;
}

constexpr std::array window_table = {
    Family{"conv", 4, conv},
    Family{"conv-chain", 5, conv_chain},
    Family{"conv-transpose", 1.5, conv_transpose},
    Family{"pool", 2.5, pool},
    Family{"lp-pool", 0.4, lp_pool},
    Family{"global-pool", 1, global_pool},
    Family{"resize", 1.2, resize},
};

}  // namespace

std::span<const Family> window_families() {
  return window_table;
}

}  // namespace quern::tools
