// SPDX-License-Identifier: Apache-2.0
// Operators that read an image at positions that are data: grids, offsets, regions, indices of a
// pool; and those that cut it up and put it together again.
#include <algorithm>
#include <array>
#include <cmath>

#include "tools/random/families.h"
#include "tools/random/fill.h"

namespace quern::tools {
namespace {

enum class Elements : std::uint8_t { any, exact };

// [n, c, h, w] with a fixed number of channels.
DrawnValue sampled_image(Builder& b, const std::vector<DType>& types,
                         Elements elements = Elements::any) {
  const auto suits = [&](const DrawnValue& v) {
    return std::find(types.begin(), types.end(), v.dtype) != types.end() && !v.wild &&
           v.most <= 64 && v.rank() == 4 && is_fixed(v.dims[1]) &&
           (v.exact || elements == Elements::any) && least(product(v.dims)) > 0;
  };
  if (b.rng.chance(0.75))
    if (const auto v = b.find(suits)) return *v;
  const auto side = [&] {
    return b.rng.chance(0.15) ? b.random_extent() : fixed(b.rng.between(2, 9));
  };
  while (true) {
    const Extents dims = {b.rng.chance(0.5) ? fixed(1) : b.random_extent(),
                          fixed(b.rng.pick(std::vector<std::int64_t>{1, 2, 3, 4, 6, 8})), side(),
                          side()};
    if (b.fits(dims) && least(product(dims)) > 0) return b.root(b.rng.pick(types), dims);
  }
}

// ---- grids

bool grid_sample(Builder& b) {
  const DrawnValue x = sampled_image(b, {DType::f32, DType::f32, DType::f64});
  const Extent height = fixed(b.rng.between(1, 5));
  const Extent width = fixed(b.rng.between(1, 5));
  const Extents gd = {x.dims[0], height, width, fixed(2)};
  const Extents dims = {x.dims[0], x.dims[1], height, width};
  if (!b.fits(gd) || !b.fits(dims)) return false;
  const bool old = b.opset() < 20;
  const std::string_view mode =
      b.rng.pick(old ? std::vector<std::string_view>{"bilinear", "nearest", "bicubic"}
                     : std::vector<std::string_view>{"linear", "nearest", "cubic"});
  const bool nearest = mode == "nearest";
  const DrawnValue grid =
      b.rng.chance(0.7) || nearest ? b.root(x.dtype, gd) : b.take_like(x.dtype, gd);
  Attributes a = {Builder::text("mode", mode)};
  if (b.rng.chance(0.6))
    a.push_back(Builder::text("padding_mode", b.rng.pick(std::vector<std::string_view>{
                                                  "zeros", "border", "reflection"})));
  if (b.rng.chance(0.5)) a.push_back(Builder::integer("align_corners", 1));
  b.add("GridSample", {x, nearest ? b.steady(grid) : grid}, a,
        {x.dtype, dims, x.most * (nearest ? 1.0 : 3.0), true});
  return true;
}

// A grid of theta, and an image read through it.
bool affine_grid(Builder& b) {
  if (b.opset() < 20) return false;
  const DrawnValue x = sampled_image(b, {DType::f32, DType::f32, DType::f64});
  const DrawnValue theta = b.take_like(x.dtype, {x.dims[0], fixed(2), fixed(3)});
  if (theta.most > 4) return false;
  Extents size = x.dims;
  size[2] = fixed(b.rng.between(1, 5));
  size[3] = b.rng.chance(0.3) ? x.dims[3] : fixed(b.rng.between(1, 5));
  if (!b.fits(size)) return false;
  Attributes a;
  if (b.rng.chance(0.5)) a.push_back(Builder::integer("align_corners", 1));
  const DrawnValue grid = b.add("AffineGrid", {theta, b.shape_operand(size, Missing::never)}, a,
                                {x.dtype, {size[0], size[2], size[3], fixed(2)}, 3 * theta.most});
  if (b.rng.chance(0.6)) b.add("GridSample", {x, grid}, a, {x.dtype, size, x.most});
  return true;
}

bool deform_conv(Builder& b) {
  if (b.opset() < 19) return false;
  const DrawnValue x = sampled_image(b, {DType::f32, DType::f32, DType::f64, DType::f16});
  const std::int64_t channels = x.dims[1][0];
  const std::int64_t k = b.rng.between(1, 3);
  const std::int64_t pad = b.rng.between(0, k - 1);
  const std::int64_t stride = b.rng.between(1, 2);
  const std::int64_t group = channels % 2 == 0 && b.rng.chance(0.4) ? 2 : 1;
  const std::int64_t offsets = channels % 2 == 0 && b.rng.chance(0.4) ? 2 : 1;
  const std::int64_t out = group * b.rng.between(1, 3);
  Extents space;
  for (std::size_t i = 2; i < 4; ++i) {
    if (least(x.dims[i]) + 2 * pad < k) return false;
    space.push_back(map_extent(x.dims[i], [&](auto n) { return (n + 2 * pad - k) / stride + 1; }));
  }
  const auto plane = [&](std::int64_t n) {
    return Extents{x.dims[0], fixed(n), space[0], space[1]};
  };
  if (!b.fits(plane(out)) || !b.fits(plane(2 * offsets * k * k))) return false;
  const DrawnValue w =
      b.root(x.dtype, fixed_dims(std::array<std::int64_t, 4>{out, channels / group, k, k}));
  const Extents od = plane(2 * offsets * k * k);
  Values in = {x, w, b.rng.chance(0.7) ? b.root(x.dtype, od) : b.take_like(x.dtype, od)};
  in.push_back(b.rng.chance(0.5) ? b.take_like(x.dtype, {fixed(out)}) : Builder::none());
  if (b.rng.chance(0.5)) in.push_back(b.root(x.dtype, plane(offsets * k * k)));
  Attributes a = {Builder::integers("kernel_shape", {k, k}),
                  Builder::integers("pads", {pad, pad, pad, pad}),
                  Builder::integers("strides", {stride, stride})};
  if (group != 1) a.push_back(Builder::integer("group", group));
  if (offsets != 1) a.push_back(Builder::integer("offset_group", offsets));
  const std::int64_t taps = channels / group * k * k;
  b.add("DeformConv", in, a,
        {x.dtype, plane(out),
         x.most * w.most * std::sqrt(static_cast<double>(taps)) * 3 + in[3].most});
  return true;
}

// ---- regions

enum class Leading : std::uint8_t { nothing, image };

// Regions within the image, at least one pixel in each direction: [count, 4] as x1, y1, x2, y2, or
// with the number of the image in front.
DrawnValue regions(Builder& b, const DrawnValue& x, std::int64_t count, Leading leading) {
  const std::size_t columns = leading == Leading::image ? 5 : 4;
  return b.steady(b.input_of(
      x.dtype, fixed_dims(std::array{count, static_cast<std::int64_t>(columns)}),
      [&](std::size_t run, const Shape& shape) {
        std::vector<double> all;
        for (std::int64_t i = 0; i < shape[0]; ++i) {
          const auto low = [&](std::size_t d) { return b.rng.below(x.dims[d][run]); };
          const std::int64_t left = low(3);
          const std::int64_t top = low(2);
          if (leading == Leading::image)
            all.push_back(static_cast<double>(b.rng.below(x.dims[0][run])));
          all.push_back(static_cast<double>(left));
          all.push_back(static_cast<double>(top));
          all.push_back(static_cast<double>(b.rng.between(left, x.dims[3][run] - 1)));
          all.push_back(static_cast<double>(b.rng.between(top, x.dims[2][run] - 1)));
        }
        return tensor_of(x.dtype, shape,
                         [&](std::int64_t i) { return all[static_cast<std::size_t>(i)]; });
      }));
}

bool roi_align(Builder& b) {
  const DrawnValue x = sampled_image(b, {DType::f32, DType::f32, DType::f64});
  const std::int64_t count = b.rng.between(1, 4);
  const std::int64_t height = b.rng.between(1, 3);
  const std::int64_t width = b.rng.between(1, 3);
  const Extents dims = {fixed(count), x.dims[1], fixed(height), fixed(width)};
  if (!b.fits(dims)) return false;
  const bool is_max = b.rng.chance(0.25);
  Attributes a = {Builder::integer("output_height", height),
                  Builder::integer("output_width", width),
                  Builder::integer("sampling_ratio", b.rng.between(b.rng.chance(0.2) ? 0 : 1, 2)),
                  Builder::text("mode", is_max ? "max" : "avg")};
  if (b.rng.chance(0.5))
    a.push_back(Builder::text("coordinate_transformation_mode", "output_half_pixel"));
  if (b.rng.chance(0.4)) a.push_back(b.number("spatial_scale", 0.5));
  const DrawnValue which = b.indices(DType::i64, {fixed(count)}, fixed(0), x.dims[0]);
  b.add("RoiAlign", {x, regions(b, x, count, Leading::nothing), which}, a, {x.dtype, dims, x.most});
  return true;
}

bool max_roi_pool(Builder& b) {
  const DrawnValue x = sampled_image(b, {DType::f32, DType::f32, DType::f64});
  const std::int64_t count = b.rng.between(1, 4);
  const std::int64_t height = b.rng.between(1, 3);
  const std::int64_t width = b.rng.between(1, 3);
  const Extents dims = {fixed(count), x.dims[1], fixed(height), fixed(width)};
  if (!b.fits(dims)) return false;
  b.add("MaxRoiPool", {x, regions(b, x, count, Leading::image)},
        {Builder::integers("pooled_shape", {height, width})}, {x.dtype, dims, x.most});
  return true;
}

// ---- back from a pool, from columns, from the middle

// Places are those of an image that the windows fill; one that is larger has zeros behind it.
bool max_unpool(Builder& b) {
  const DrawnValue x = sampled_image(b, {DType::f32, DType::f64, DType::f16}, Elements::exact);
  const auto is_even = [](const Extent& e) {
    return e[0] % 2 == 0 && e[1] % 2 == 0 && e[2] % 2 == 0;
  };
  if (!x.exact || !is_even(x.dims[2]) || !is_even(x.dims[3])) return false;
  const auto half = [](std::int64_t n) { return n / 2; };
  const Extents pooled = {x.dims[0], x.dims[1], map_extent(x.dims[2], half),
                          map_extent(x.dims[3], half)};
  const Attributes a = {Builder::integers("kernel_shape", {2, 2}),
                        Builder::integers("strides", {2, 2})};
  const Values out =
      b.add_many("MaxPool", {x}, a,
                 {{x.dtype, pooled, x.most, false, true}, {DType::i64, pooled, 1e6, false, true}});
  DrawnValue y = out[0];
  if (b.rng.chance(0.4)) y = b.add("Relu", {y}, {}, {y.dtype, y.dims, y.most, false});
  Values in = {y, out[1]};
  Extents dims = x.dims;
  if (b.rng.chance(0.4)) {
    for (std::size_t i = 2; i < 4; ++i)
      dims[i] = map_extent(dims[i], [more = b.rng.below(3)](auto n) { return n + more; });
    if (!b.fits(dims)) return false;
    in.push_back(b.shape_operand(dims, Missing::never));
  }
  b.add("MaxUnpool", in, a, {x.dtype, dims, x.most, false});
  return true;
}

bool center_crop_pad(Builder& b) {
  const DrawnValue x =
      b.take({.types = b.rng.chance(0.8) ? std::vector<DType>{b.main_type()} : all_types(),
              .least_rank = 1,
              .most_rank = 4});
  std::vector<std::int64_t> axes;
  Extents size;
  Extents dims = x.dims;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (!b.rng.chance(0.6)) continue;
    const auto axis = static_cast<std::int64_t>(i);
    axes.push_back(b.rng.chance(0.3) ? axis - static_cast<std::int64_t>(x.rank()) : axis);
    dims[i] = fixed(b.rng.between(b.rng.chance(0.05) ? 0 : 1, 9));
    size.push_back(dims[i]);
  }
  if (axes.empty() || !b.fits(dims)) return false;
  Attributes a;
  if (axes.size() < x.rank() || b.rng.chance(0.5)) {
    a.push_back(Builder::integers("axes", axes));
  }
  b.add("CenterCropPad", {x, b.shape_operand(size, Missing::never)}, a,
        {x.dtype, dims, x.most, false});
  return true;
}

bool col2im(Builder& b) {
  const std::int64_t channels = b.rng.between(1, 3);
  std::vector<std::int64_t> kernel, strides, dilations, sides, begin, end;
  std::int64_t blocks = 1;
  std::int64_t taps = 1;
  for (int i = 0; i < 2; ++i) {
    kernel.push_back(b.rng.between(1, 3));
    strides.push_back(b.rng.between(1, 2));
    dilations.push_back(b.rng.chance(0.2) ? 2 : 1);
    begin.push_back(b.rng.between(0, 1));
    end.push_back(b.rng.between(0, 1));
    const std::int64_t reach = dilations.back() * (kernel.back() - 1) + 1;
    sides.push_back(b.rng.between(reach, reach + 4));
    taps *= kernel.back();
    blocks *= (sides.back() + begin.back() + end.back() - reach) / strides.back() + 1;
  }
  std::vector<std::int64_t> pads = begin;
  pads.insert(pads.end(), end.begin(), end.end());
  const DType type = b.rng.pick(ordinary_floats());
  const Extent batch = b.rng.chance(0.5) ? fixed(1) : b.random_extent();
  const Extents xd = {batch, fixed(channels * taps), fixed(blocks)};
  if (!b.fits(xd)) return false;
  const DrawnValue x = b.take_like(type, xd);
  b.add("Col2Im", {x, b.numbers_operand(sides), b.numbers_operand(kernel)},
        {Builder::integers("strides", strides), Builder::integers("dilations", dilations),
         Builder::integers("pads", pads)},
        {type,
         {batch, fixed(channels), fixed(sides[0]), fixed(sides[1])},
         x.most * static_cast<double>(taps)});
  return true;
}

constexpr std::array sampling_table = {
    Family{"grid-sample", 0.8, grid_sample},       Family{"affine-grid", 0.5, affine_grid},
    Family{"deform-conv", 0.7, deform_conv},       Family{"roi-align", 0.5, roi_align},
    Family{"max-roi-pool", 0.4, max_roi_pool},     Family{"max-unpool", 0.6, max_unpool},
    Family{"center-crop-pad", 1, center_crop_pad}, Family{"col2im", 0.6, col2im},
};

}  // namespace

std::span<const Family> sampling_families() {
  return sampling_table;
}

}  // namespace quern::tools
