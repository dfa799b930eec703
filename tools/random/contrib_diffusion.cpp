// SPDX-License-Identifier: Apache-2.0
// com.microsoft: norms of groups, and sums with a function behind them.
#include <algorithm>
#include <array>

#include "tools/random/families.h"

namespace quern::tools {
namespace {

constexpr std::string_view of_microsoft = "com.microsoft";

// The type of gamma and beta may be another than that of x.
bool contrib_group_norm(Builder& b) {
  const Want picture{.types = {DType::f16, DType::f32},
                     .least_rank = 4,
                     .most_rank = 4,
                     .nonempty = true,
                     .known_rank = true};
  const DrawnValue x = b.take(picture);
  const bool with_skip = b.rng.chance(0.5);
  const bool last = with_skip || b.rng.chance(0.6);
  const Extent channels = x.dims[last ? 3 : 1];
  if (!is_fixed(channels) || x.most > 64) return false;
  const std::int64_t groups = channels[0] % 2 == 0 && b.rng.chance(0.6) ? 2 : 1;
  if (least(product(x.dims)) / most(x.dims[0]) / groups < 2) return false;
  const DType type = b.rng.pick(std::vector<DType>{DType::f16, DType::f32});
  Values in = {x, b.root(type, {channels}), b.root(type, {channels})};
  std::vector<Effect> out = {same(x, 32)};
  Attributes a = {Builder::integer("groups", groups), b.number("epsilon", 0.01),
                  Builder::integer("activation", b.rng.chance(0.5))};
  if (!last || b.rng.chance(0.5)) a.push_back(Builder::integer("channels_last", last));
  if (!with_skip) {
    b.add_many("GroupNorm", in, a, out, of_microsoft);
    return true;
  }
  const Extent one = fixed(1);
  const std::vector<Extents> skips = {
      x.dims, {x.dims[0], channels}, {x.dims[0], one, one, channels}};
  in.push_back(b.take_like(x.dtype, b.rng.pick(skips), picture));
  double sum = x.most + in.back().most;
  if (b.rng.chance(0.6)) {
    in.push_back(b.take_like(x.dtype, {channels}));
    sum += in.back().most;
  }
  if (b.rng.chance(0.5)) out.push_back(same(x, sum));
  b.add_some("SkipGroupNorm", in, a, out, 1, of_microsoft);
  return true;
}

// x of some rows, and a bias for each column.
DrawnValue some_rows(Builder& b) {
  return b.take({.types = {b.rng.pick(ordinary_floats())}, .least_rank = 3, .most_rank = 3});
}

bool bias_add(Builder& b) {
  const DrawnValue x = some_rows(b);
  const DrawnValue bias = b.take_like(x.dtype, {x.dims[2]});
  const DrawnValue skip = b.take_like(x.dtype, x.dims);
  b.add_of(of_microsoft, "BiasAdd", {x, bias, skip}, {}, same(x, x.most + bias.most + skip.most));
  return true;
}

bool bias_split_gelu(Builder& b) {
  DrawnValue x = some_rows(b);
  if (!is_fixed(x.dims[2]) || x.dims[2][0] % 2 != 0 || x.dims[2][0] == 0) {
    const Extents dims = {x.dims[0], x.dims[1], fixed(2 * b.rng.between(1, 8))};
    if (!b.fits(dims)) return false;
    x = b.root(x.dtype, dims);
  }
  const DrawnValue bias = b.take_like(x.dtype, {x.dims[2]});
  const double sum = x.most + bias.most;
  b.add_of(of_microsoft, "BiasSplitGelu", {x, bias}, {},
           {x.dtype, {x.dims[0], x.dims[1], fixed(x.dims[2][0] / 2)}, sum * sum});
  return true;
}

// The bias lacks the first dimensions, or has 1 in the place of those before the last.
bool bias_softmax(Builder& b) {
  const DrawnValue x = b.take({.types = {b.rng.pick(ordinary_floats())},
                               .least_rank = 2,
                               .most_rank = 4,
                               .nonempty = true});
  const bool inner = b.rng.chance(0.5);
  Extents dims = x.dims;
  if (inner)
    std::fill(dims.begin() + 1, dims.end() - 1, fixed(1));
  else
    dims.erase(dims.begin());
  const DrawnValue bias = b.take_like(x.dtype, dims);
  const std::int64_t axis = inner || b.rng.chance(0.5) ? -1 : 1;
  b.add_of(of_microsoft, "BiasSoftmax", {x, bias},
           {Builder::integer("axis", axis), Builder::integer("is_inner_broadcast", inner)},
           same(x, 1));
  return true;
}

bool bias_dropout(Builder& b) {
  const DrawnValue x = b.take({.types = {b.rng.pick(all_floats())}, .least_rank = 1});
  Values in = {x, b.take_like(x.dtype, {x.dims.back()})};
  double sum = x.most + in.back().most;
  if (b.rng.chance(0.6)) {
    in.push_back(b.take_like(x.dtype, x.dims));
    sum += in.back().most;
    if (b.rng.chance(0.5))
      in.insert(in.end(), {b.scalar(DType::f32, 0.25), b.scalar(DType::boolean, 0)});
  }
  std::vector<Effect> out = {same(x, sum)};
  if (b.rng.chance(0.4)) out.push_back({DType::boolean, x.dims, 1, false});
  b.add_some("BiasDropout", in, {}, out, 1, of_microsoft);
  return true;
}

constexpr std::array contrib_diffusion_table = {
    Family{"contrib-group-norm", 0.4, contrib_group_norm},
    Family{"contrib-bias-add", 0.2, bias_add},
    Family{"contrib-bias-split-gelu", 0.2, bias_split_gelu},
    Family{"contrib-bias-softmax", 0.2, bias_softmax},
    Family{"contrib-bias-dropout", 0.2, bias_dropout},
};

}  // namespace

std::span<const Family> contrib_diffusion_families() {
  return contrib_diffusion_table;
}

}  // namespace quern::tools
