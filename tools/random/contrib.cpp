// SPDX-License-Identifier: Apache-2.0
// com.microsoft: what ONNX Runtime's optimiser writes into files.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "tools/random/families.h"
#include "tools/random/fill.h"

namespace quern::tools {
namespace {

constexpr std::string_view domain = "com.microsoft";

bool gelus(Builder& b) {
  const DrawnValue x = b.take({.types = {b.rng.pick(ordinary_floats())}, .least_rank = 1});
  switch (b.rng.below(4)) {
    case 0: b.add_of(domain, "Gelu", {x}, {}, same(x, x.most)); return true;
    case 1: {
      Attributes a;
      if (b.rng.chance(0.5)) a.push_back(b.number("alpha", b.rng.real(0.5, 2)));
      b.add_of(domain, "QuickGelu", {x}, a, same(x, x.most));
      return true;
    }
    case 2: {
      Values in = {x};
      if (b.rng.chance(0.6)) in.push_back(b.take_like(x.dtype, {x.dims.back()}));
      b.add_of(domain, "FastGelu", in, {}, same(x, x.most + in.back().most));
      return true;
    }
    default: {
      const DrawnValue bias = b.take_like(x.dtype, {x.dims.back()});
      b.add_of(domain, "BiasGelu", {x, bias}, {}, same(x, x.most + bias.most));
      return true;
    }
  }
}

// The activation that ends a fused operator.
struct Closing {
  std::string_view name;
  std::vector<float> parameters;
};
Closing some_closing(Builder& b) {
  return b.rng.pick(std::vector<Closing>{{"Relu", {}},
                                         {"Tanh", {}},
                                         {"Sigmoid", {}},
                                         {"LeakyRelu", {0.125F}},
                                         {"Clip", {-1, 2}},
                                         {"HardSigmoid", {0.25F, 0.5F}}});
}

bool fused_conv(Builder& b) {
  const DrawnValue x =
      b.take({.types = {DType::f32}, .least_rank = 4, .most_rank = 4, .nonempty = true});
  if (!is_fixed(x.dims[1])) return false;
  const std::int64_t out = b.rng.between(1, 8);
  const std::int64_t k = b.rng.pick(std::vector<std::int64_t>{1, 3});
  const Extents wd = fixed_dims(std::array{out, x.dims[1][0], k, k});
  const Extents dims = {x.dims[0], fixed(out), x.dims[2], x.dims[3]};
  if (!b.fits(wd) || !b.fits(dims)) return false;
  Values in = {x, b.constant(x.dtype, wd),
               b.rng.chance(0.6) ? b.take_like(x.dtype, {fixed(out)}) : Builder::none()};
  if (b.rng.chance(0.4)) in.push_back(b.take_like(x.dtype, dims));
  Attributes a = {Builder::integers("kernel_shape", {k, k}),
                  Builder::integers("pads", std::vector<std::int64_t>(4, k / 2))};
  if (b.rng.chance(0.8)) {
    const Closing c = some_closing(b);
    a.push_back(Builder::text("activation", c.name));
    if (!c.parameters.empty())
      a.push_back(onnx::numbers_attribute("activation_params", c.parameters));
  }
  const double taps = std::sqrt(static_cast<double>(product(wd)[0]));
  b.add_of(domain, "FusedConv", in, a, {x.dtype, dims, x.most * 4 * taps + 70});
  return true;
}

// Channels last: in the weights, too, or with what closes a FusedConv.
bool nhwc_conv(Builder& b) {
  const bool fused = b.rng.chance(0.4);
  const DrawnValue x = b.take({.types = {fused ? DType::f16 : DType::f32},
                               .least_rank = 4,
                               .most_rank = 4,
                               .nonempty = true});
  if (!is_fixed(x.dims[3])) return false;
  const std::int64_t out = b.rng.between(1, 8), in_channels = x.dims[3][0];
  const std::int64_t k = b.rng.pick(std::vector<std::int64_t>{1, 3});
  const Extents wd =
      fixed_dims(fused ? std::array{out, in_channels, k, k} : std::array{out, k, k, in_channels});
  const Extents dims = {x.dims[0], x.dims[1], x.dims[2], fixed(out)};
  if (!b.fits(wd) || !b.fits(dims)) return false;
  Values in = {x, b.constant(x.dtype, wd)};
  if (b.rng.chance(0.6)) in.push_back(b.take_like(x.dtype, {fixed(out)}));
  Attributes a = {Builder::integers("kernel_shape", {k, k}),
                  Builder::integers("pads", std::vector<std::int64_t>(4, k / 2))};
  if (fused && in.size() == 3 && b.rng.chance(0.4)) in.push_back(b.take_like(x.dtype, dims));
  if (fused && b.rng.chance(0.5)) a.push_back(Builder::text("activation", "Relu"));
  const double taps = std::sqrt(static_cast<double>(product(wd)[0]));
  b.add_of(domain, fused ? "NhwcFusedConv" : "NhwcConv", in, a,
           {x.dtype, dims, x.most * 4 * taps + 70});
  return true;
}

bool expand_dims(Builder& b) {
  const DrawnValue x = b.take({.types = movable_types(), .most_rank = 4, .nonempty = true});
  const auto rank = static_cast<std::int64_t>(x.rank());
  const std::int64_t at = b.rng.between(0, rank);
  Extents dims = x.dims;
  dims.insert(dims.begin() + at, fixed(1));
  const DrawnValue axis =
      b.scalar(DType::i32, static_cast<double>(b.rng.chance(0.5) ? at : at - rank - 1));
  b.add_of(domain, "ExpandDims", {x, axis}, {}, moved(x, dims));
  return true;
}

bool gemm_fast_gelu(Builder& b) {
  const DrawnValue x = b.take({.types = {DType::f32}, .least_rank = 2, .most_rank = 3});
  const Extent columns = fixed(b.rng.between(1, 12));
  Extents dims = x.dims;
  dims.back() = columns;
  if (!b.fits({x.dims.back(), columns}) || !b.fits(dims)) return false;
  Values in = {x, b.take_like(x.dtype, {x.dims.back(), columns})};
  if (b.rng.chance(0.6)) in.push_back(b.take_like(x.dtype, {columns}));
  const double sum = x.most * in[1].most * static_cast<double>(most(x.dims.back()) + 1);
  b.add_of(domain, "GemmFastGelu", in, {}, {x.dtype, dims, sum + in.back().most});
  return true;
}

// The tokens of sequences without their padding, and the sequences of them.
bool padding(Builder& b) {
  const DrawnValue x =
      b.take({.types = {DType::f32}, .least_rank = 3, .most_rank = 3, .nonempty = true});
  if (!is_fixed(x.dims[0]) || !is_fixed(x.dims[1])) return false;
  const std::int64_t batch = x.dims[0][0], length = x.dims[1][0];
  std::vector<std::int64_t> counts;
  for (std::int64_t i = 0; i < batch; ++i) counts.push_back(b.rng.between(i == 0, length));
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const Extents places = {x.dims[0], x.dims[1]};
  const auto made = b.add_many("RemovePadding", {x, b.numbers_constant(counts, DType::i32)}, {},
                               {moved(x, {fixed(total), x.dims[2]}),
                                {DType::i32, places, static_cast<double>(batch * length), false},
                                {DType::i32, {fixed(batch + 1)}, static_cast<double>(total), false},
                                {DType::i32, {fixed(1)}, static_cast<double>(length), false}},
                               domain);
  b.add_of(domain, "RestorePadding", {made[0], made[1]}, {}, {x.dtype, x.dims, x.most, false});
  return true;
}

bool fused_gemm(Builder& b) {
  const DrawnValue x = b.take({.types = {DType::f32}, .least_rank = 2, .most_rank = 2});
  const bool ta = b.rng.chance(0.3);
  const bool tb = b.rng.chance(0.5);
  const Extent rows = x.dims[ta ? 1 : 0];
  const Extent depth = x.dims[ta ? 0 : 1];
  const Extent columns = fixed(b.rng.between(1, 12));
  if (!b.fits({depth, columns}) || !b.fits({rows, columns})) return false;
  Values in = {x, b.take_like(x.dtype, tb ? Extents{columns, depth} : Extents{depth, columns})};
  Attributes a = {Builder::integer("transA", ta), Builder::integer("transB", tb)};
  if (b.rng.chance(0.4)) a.push_back(b.number("alpha", b.rng.real(-1, 1)));
  if (b.rng.chance(0.6)) {
    in.push_back(b.take_like(x.dtype, {columns}));
    if (b.rng.chance(0.4)) a.push_back(b.number("beta", b.rng.real(-1, 1)));
  }
  const Closing c = some_closing(b);
  a.push_back(Builder::text("activation", c.name));
  if (!c.parameters.empty()) a.push_back(b.number("activation_alpha", c.parameters[0]));
  if (c.parameters.size() > 1) a.push_back(b.number("activation_beta", c.parameters[1]));
  b.add_of(
      domain, "FusedGemm", in, a,
      {x.dtype, {rows, columns}, x.most * in[1].most * static_cast<double>(most(depth) + 1) + 64});
  return true;
}

bool fused_matmul(Builder& b) {
  const DrawnValue x = b.take({.types = {b.rng.pick(ordinary_floats())}, .least_rank = 2});
  const bool ta = b.rng.chance(0.4);
  const bool tb = b.rng.chance(0.5);
  const std::size_t rank = x.rank();
  const Extent rows = x.dims[rank - (ta ? 1 : 2)];
  const Extent depth = x.dims[rank - (ta ? 2 : 1)];
  const Extent columns = fixed(b.rng.between(1, 12));
  Extents wd(x.dims.begin(), x.dims.end() - 2);
  if (b.rng.chance(0.5)) wd.clear();
  Extents dims(x.dims.begin(), x.dims.end() - 2);
  dims.insert(dims.end(), {rows, columns});
  wd.insert(wd.end(), {tb ? columns : depth, tb ? depth : columns});
  if (!b.fits(wd) || !b.fits(dims)) return false;
  const DrawnValue w = b.take_like(x.dtype, wd);
  Attributes a = {Builder::integer("transA", ta), Builder::integer("transB", tb)};
  if (b.rng.chance(0.5)) a.push_back(b.number("alpha", b.rng.real(-1, 1)));
  const Effect effect{x.dtype, dims, x.most * w.most * static_cast<double>(most(depth) + 1)};
  if (b.rng.chance(0.2)) {
    a.push_back(Builder::text("activation", b.rng.chance(0.5) ? "Relu" : "Tanh"));
    b.add_of(domain, "FusedMatMulActivation", {x, w}, a, effect);
    return true;
  }
  b.add_of(domain, b.rng.chance(0.2) ? "TransposeMatMul" : "FusedMatMul", {x, w}, a, effect);
  return true;
}

bool skip_norm(Builder& b) {
  const DrawnValue x =
      b.take({.types = {DType::f32}, .least_rank = 3, .most_rank = 3, .nonempty = true});
  if (least(x.dims.back()) < 2) return false;
  const bool simplified = b.rng.chance(0.4);
  const Extents row = {x.dims.back()};
  const DrawnValue skip = b.take_like(x.dtype, x.dims);
  Values in = {x, skip, b.root(x.dtype, row)};
  if (!simplified) in.push_back(b.rng.chance(0.7) ? b.root(x.dtype, row) : Builder::none());
  if (b.rng.chance(0.5)) in.push_back(b.take_like(x.dtype, row));
  const double sum = x.most + skip.most + in.back().most;
  std::vector<Effect> out = {same(x, 32)};
  // The sum is the fourth result; that of the mean and the deviation ask for the others.
  if (b.rng.chance(0.5)) {
    Extents one = x.dims;
    one.back() = fixed(1);
    out.insert(out.end(), {{x.dtype, one, sum}, {x.dtype, one, 10}, same(x, sum)});
  }
  b.add_some(simplified ? "SkipSimplifiedLayerNormalization" : "SkipLayerNormalization", in,
             {b.number("epsilon", 0.01)}, out, 1, domain);
  return true;
}

bool echo(Builder& b) {
  const DrawnValue x = b.take({.types = {DType::f32}});
  b.add_of(domain, "SampleOp", {x}, {}, moved(x, x.dims));
  return true;
}

// Windows over one to three dimensions, whose lines end at the first masked element. All channels
// have the same mask: of another one ONNX Runtime's kernel reads elements that are not its plane's.
bool masked_max_pool(Builder& b) {
  const std::int64_t rank = b.rng.between(3, 5);
  const auto as_size = static_cast<std::size_t>(rank);
  const DrawnValue x = b.take({.types = {DType::f32},
                               .least_rank = as_size,
                               .most_rank = as_size,
                               .nonempty = true,
                               .known_rank = true});
  std::vector<std::int64_t> kernel, strides, pads, ends;
  Extents dims = x.dims, mask = x.dims;
  mask[0] = mask[1] = fixed(1);
  for (std::size_t d = 2; d < as_size; ++d) {
    kernel.push_back(b.rng.between(1, std::min<std::int64_t>(least(x.dims[d]), 4)));
    strides.push_back(b.rng.between(1, 3));
    pads.push_back(b.rng.between(0, kernel.back() - 1));
    ends.push_back(b.rng.between(0, kernel.back() - 1));
    const std::int64_t room = pads.back() + ends.back() - kernel.back();
    dims[d] =
        map_extent(x.dims[d], [&](std::int64_t n) { return (n + room) / strides.back() + 1; });
  }
  Extents slices = dims;
  slices.push_back(fixed(kernel.back()));
  if (!b.fits(slices)) return false;
  pads.insert(pads.end(), ends.begin(), ends.end());
  const DrawnValue seen = b.steady(b.input_of(DType::i32, mask, [&](std::size_t, const Shape& s) {
    return tensor_of(DType::i32, s, [&](std::int64_t) { return b.rng.chance(0.8); });
  }));
  b.add_of(domain, "MaxpoolWithMask", {x, seen},
           {Builder::integers("kernel_shape", kernel), Builder::integers("strides", strides),
            Builder::integers("pads", pads)},
           {DType::f32, dims, std::numeric_limits<double>::infinity(), false});
  return true;
}

constexpr std::array contrib_table = {
    Family{"contrib-gelus", 0.8, gelus},
    Family{"contrib-fused-conv", 0.6, fused_conv},
    Family{"contrib-nhwc-conv", 0.3, nhwc_conv},
    Family{"contrib-expand-dims", 0.3, expand_dims},
    Family{"contrib-gemm-fast-gelu", 0.3, gemm_fast_gelu},
    Family{"contrib-padding", 0.3, padding},
    Family{"contrib-fused-gemm", 0.6, fused_gemm},
    Family{"contrib-fused-matmul", 0.6, fused_matmul},
    Family{"contrib-skip-norm", 0.6, skip_norm},
    Family{"contrib-echo", 0.1, echo},
    Family{"contrib-masked-max-pool", 0.3, masked_max_pool},
};

}  // namespace

std::span<const Family> contrib_families() {
  return contrib_table;
}

}  // namespace quern::tools
