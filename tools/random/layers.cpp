// SPDX-License-Identifier: Apache-2.0
// Operators that the parser takes apart: attention and its caches, gates, causal convolutions,
// losses, optimisers, and norms of other names.
#include <algorithm>
#include <array>
#include <cmath>

#include "tools/random/families.h"

namespace quern::tools {
namespace {

// ---- attention

// The sizes of an attention and the layout of its operands.
struct Heads {
  DType type = DType::f32;
  Extent batch;
  Extent rows;  // of queries
  Extent keys;  // that are new
  Extent past;  // that are in the cache; 0: there is none
  std::int64_t q = 1;
  std::int64_t kv = 1;
  std::int64_t width = 4;
  bool packed = false;  // [batch, rows, heads * width]

  Extents dims(const Extent& length, std::int64_t heads) const {
    if (packed) return {batch, length, fixed(heads * width)};
    return {batch, fixed(heads), length, fixed(width)};
  }
  Extent all_keys() const {
    Extent e = keys;
    for (std::size_t i = 0; i < most_runs; ++i) e[i] += past[i];
    return e;
  }
};
std::optional<Heads> some_heads(Builder& b) {
  Heads h{.type = b.rng.chance(0.85) ? DType::f32 : b.main_type(),
          .batch = fixed(b.rng.between(1, 2)),
          .rows = b.random_extent(),
          .past = fixed(b.rng.chance(0.3) ? b.rng.between(1, 4) : 0),
          .kv = b.rng.between(1, 2),
          .width = b.rng.pick(std::vector<std::int64_t>{1, 4, 8}),
          .packed = b.rng.chance(0.4)};
  if (h.type == DType::f16 || h.type == DType::bf16) return std::nullopt;
  h.keys = b.rng.chance(0.6) ? h.rows : fixed(b.rng.between(1, 6));
  h.q = h.kv * b.rng.between(1, 2);
  if (least(h.rows) == 0 || least(h.keys) == 0) return std::nullopt;
  if (!b.fits(h.dims(h.rows, h.q)) || !b.fits(h.dims(h.all_keys(), h.kv)) ||
      !b.fits({h.batch, fixed(h.q), h.rows, h.all_keys()}))
    return std::nullopt;
  return h;
}

DrawnValue some_mask(Builder& b, const Heads& h) {
  Extents dims = {h.rows, h.all_keys()};
  if (b.rng.chance(0.5)) dims.insert(dims.begin(), {h.batch, fixed(1)});
  return b.rng.chance(0.5) ? b.take_like(h.type, dims) : b.take_like(DType::boolean, dims);
}

bool attention(Builder& b) {
  if (b.opset() < 23) return false;
  const auto heads = some_heads(b);
  if (!heads) return false;
  const Heads& h = *heads;
  const DrawnValue q = b.take_like(h.type, h.dims(h.rows, h.q));
  const DrawnValue k = b.take_like(h.type, h.dims(h.keys, h.kv));
  const DrawnValue v = b.take_like(h.type, h.dims(h.keys, h.kv));
  if (q.most * k.most * static_cast<double>(h.width) > 300) return false;
  Values in = {q, k, v, b.rng.chance(0.4) ? some_mask(b, h) : Builder::none()};
  const Extents cache = {h.batch, fixed(h.kv), h.past, fixed(h.width)};
  const bool has_past = least(h.past) > 0;
  if (has_past) in.insert(in.end(), {b.take_like(h.type, cache), b.take_like(h.type, cache)});
  Attributes a;
  if (h.packed) {
    a.push_back(Builder::integer("q_num_heads", h.q));
    a.push_back(Builder::integer("kv_num_heads", h.kv));
  }
  if (b.rng.chance(0.4)) a.push_back(Builder::integer("is_causal", 1));
  if (b.rng.chance(0.3)) a.push_back(b.number("scale", b.rng.real(0.2, 1)));
  if (b.rng.chance(0.2)) a.push_back(b.number("softcap", 5));
  const double most = has_past ? std::max(v.most, in[5].most) : v.most;
  std::vector<Effect> out = {{h.type, h.dims(h.rows, h.q), most}};
  if (has_past || b.rng.chance(0.3)) {
    Extents whole = cache;
    whole[2] = h.all_keys();
    out.push_back({h.type, whole, has_past ? std::max(k.most, in[4].most) : k.most, false});
    out.push_back({h.type, whole, most, false});
    if (b.rng.chance(0.3)) {
      a.push_back(Builder::integer("qk_matmul_output_mode", b.rng.chance(0.5) ? 0 : 3));
      out.push_back({h.type, {h.batch, fixed(h.q), h.rows, h.all_keys()}, 300});
    }
  }
  b.add_some("Attention", in, a, out, 1);
  return true;
}

bool rotary(Builder& b) {
  if (b.opset() < 23) return false;
  const auto heads = some_heads(b);
  if (!heads || heads->width < 4) return false;
  const Heads& h = *heads;
  const DrawnValue x = b.take_like(h.type, h.dims(h.rows, h.q));
  const std::int64_t turned = b.rng.chance(0.3) ? h.width / 2 : h.width;
  const bool by_position = b.rng.chance(0.5);
  const Extents table = by_position ? Extents{fixed(9), fixed(turned / 2)}
                                    : Extents{h.batch, h.rows, fixed(turned / 2)};
  Values in = {x, b.root(h.type, table), b.root(h.type, table)};
  if (by_position) in.push_back(b.indices(DType::i64, {h.batch, h.rows}, fixed(0), fixed(9)));
  Attributes a;
  if (h.packed) a.push_back(Builder::integer("num_heads", h.q));
  if (turned != h.width) a.push_back(Builder::integer("rotary_embedding_dim", turned));
  if (b.rng.chance(0.4)) a.push_back(Builder::integer("interleaved", 1));
  b.add("RotaryEmbedding", in, a, same(x, x.most * 3.5));
  return true;
}

bool linear_attention(Builder& b) {
  if (b.opset() < 27) return false;
  auto heads = some_heads(b);
  if (!heads) return false;
  Heads h = *heads;
  h.type = DType::f32;
  h.packed = true;
  const auto operand = [&](std::int64_t n) { return b.root(h.type, {h.batch, h.rows, fixed(n)}); };
  const std::string_view rule =
      b.rng.pick(std::vector<std::string_view>{"linear", "gated", "delta", "gated_delta"});
  const bool gated = rule.starts_with("gated");
  const bool delta = rule.ends_with("delta");
  Values in = {operand(h.q * h.width), operand(h.kv * h.width), operand(h.kv * h.width)};
  const Extents state = {h.batch, fixed(h.kv), fixed(h.width), fixed(h.width)};
  in.push_back(b.rng.chance(0.4) ? b.root(h.type, state) : Builder::none());
  in.push_back(gated ? b.add("Neg",
                             {b.root(h.type, {h.batch, h.rows, fixed(h.kv)}, Numbers::positive)},
                             {}, {h.type, {h.batch, h.rows, fixed(h.kv)}, 2, false})
                     : Builder::none());
  if (delta) in.push_back(operand(h.kv));
  b.add_many("LinearAttention", in,
             {Builder::text("update_rule", rule), Builder::integer("q_num_heads", h.q),
              Builder::integer("kv_num_heads", h.kv)},
             {{h.type, h.dims(h.rows, h.q), 1e4}, {h.type, state, 1e4}});
  return true;
}

// Rows of a cache are replaced from a position on, which differs from image to image.
bool tensor_scatter(Builder& b) {
  if (b.opset() < 24) return false;
  const Extent batch = fixed(b.rng.between(1, 3));
  const std::int64_t length = b.rng.between(2, 8);
  const std::int64_t added = b.rng.between(1, length);
  const Extent width = fixed(b.rng.between(1, 8));
  const DType type = b.rng.chance(0.8) ? b.main_type() : DType::i64;
  const DrawnValue cache = b.take_like(type, {batch, fixed(2), fixed(length), width});
  const DrawnValue update = b.take_like(type, {batch, fixed(2), fixed(added), width});
  const bool circular = b.rng.chance(0.4);
  Values in = {cache, update};
  if (b.rng.chance(0.8))
    in.push_back(
        b.indices(DType::i64, {batch}, fixed(0), fixed(circular ? length : length - added + 1)));
  Attributes a;
  if (circular) a.push_back(Builder::text("mode", "circular"));
  b.add("TensorScatter", in, a, {type, cache.dims, std::max(cache.most, update.most), false});
  return true;
}

// ---- gates and convolutions

bool gates(Builder& b) {
  const DrawnValue x = b.take({.types = {b.rng.pick(ordinary_floats())}});
  if (b.opset() >= 28 && b.rng.chance(0.5)) {
    const DrawnValue y = b.take_like(x.dtype, x.dims);
    b.add("SwiGLU", {x, y}, {}, same(x, x.most * y.most));
  } else if (b.opset() >= 24) {
    b.add("Swish", {x}, {b.number("alpha", b.rng.real(0.5, 1.5))}, same(x, x.most));
  } else {
    return false;
  }
  return true;
}

bool causal_conv(Builder& b) {
  if (b.opset() < 27) return false;
  const Extent batch = fixed(b.rng.between(1, 2));
  const Extent channels = fixed(b.rng.between(1, 6));
  const Extent length = b.random_extent();
  const Extent kernel = fixed(b.rng.between(1, 4));
  const Extents xd = {batch, channels, length};
  if (least(length) == 0 || !b.fits(xd)) return false;
  const DrawnValue x = b.take_like(DType::f32, xd);
  const Extents kept = {batch, channels, fixed(kernel[0] - 1)};
  const DrawnValue w = b.constant(x.dtype, {channels, fixed(1), kernel});
  Values in = {x, w, b.rng.chance(0.5) ? b.take_like(x.dtype, {channels}) : Builder::none(),
               kernel[0] > 1 && b.rng.chance(0.5) ? b.take_like(x.dtype, kept) : Builder::none()};
  const double before = in[3].name.empty() ? x.most : std::max(x.most, in[3].most);
  Attributes a;
  if (b.rng.chance(0.5)) a.push_back(Builder::text("activation", "silu"));
  std::vector<Effect> out = {same(x, before * 8 + in[2].most)};
  if (kernel[0] > 1) out.push_back({x.dtype, kept, before, false});
  b.add_some("CausalConvWithState", in, a, out, 1);
  return true;
}

// Functions whose domain has an end: their operands come from inside of it.
bool bounded_domain(Builder& b) {
  const DrawnValue x = b.take({.types = {b.rng.pick(ordinary_floats())}});
  const std::string_view op =
      b.rng.pick(std::vector<std::string_view>{"Asin", "Acos", "Atanh", "Acosh"});
  if (op == "Acosh") {
    const DrawnValue y = b.add("Abs", {x}, {}, {x.dtype, x.dims, x.most, false});
    const DrawnValue z = b.add("Add", {y, b.scalar(x.dtype, 1.25)}, {}, same(x, x.most + 1.25));
    b.add(op, {z}, {}, same(x, x.most + 1));
    return true;
  }
  const DrawnValue y = b.add("Tanh", {x}, {}, same(x, 1));
  const DrawnValue z = b.add("Mul", {y, b.scalar(x.dtype, 0.875)}, {}, same(x, 0.875));
  b.add(op, {z}, {}, same(x, 3));
  return true;
}

bool cumulative_product(Builder& b) {
  if (b.opset() < 26) return false;
  const DrawnValue x = b.take({.types = {DType::f32, DType::f64}, .least_rank = 1});
  const auto axis = b.rng.below(static_cast<std::int64_t>(x.rank()));
  const double terms = static_cast<double>(most(x.dims[static_cast<std::size_t>(axis)]));
  Attributes a;
  if (b.rng.chance(0.4)) a.push_back(Builder::integer("exclusive", 1));
  if (b.rng.chance(0.4)) a.push_back(Builder::integer("reverse", 1));
  b.add("CumProd", {x, b.scalar(DType::i64, static_cast<double>(axis))}, a,
        same(x, std::pow(std::max(x.most, 1.0), terms)));
  return true;
}

// ---- norms

bool more_norms(Builder& b) {
  const DrawnValue x =
      b.take({.types = {DType::f32}, .least_rank = 3, .most_rank = 5, .nonempty = true});
  if (b.rng.chance(0.35)) {
    std::vector<std::int64_t> axes;
    Extents reduced;
    for (std::size_t i = 0; i < x.rank(); ++i)
      if (b.rng.chance(0.6)) {
        axes.push_back(static_cast<std::int64_t>(i));
        reduced.push_back(x.dims[i]);
      }
    // The smallest number that a deviation is divided by is 1e-9.
    if (least(product(reduced)) < 4 || x.depth > 0) return false;
    b.add("MeanVarianceNormalization", {x}, {Builder::integers("axes", axes)}, same(x, 16));
  } else if (b.rng.chance(0.5)) {
    b.add("GlobalLpPool", {x}, {Builder::integer("p", b.rng.between(1, 2))},
          {x.dtype,
           [&] {
             Extents dims(x.rank(), fixed(1));
             std::copy_n(x.dims.begin(), 2, dims.begin());
             return dims;
           }(),
           x.most * static_cast<double>(most(product(x.dims)))});
  } else {
    b.add("SimplifiedLayerNormalization", {x, b.take_like(x.dtype, {x.dims.back()})},
          {Builder::integer("axis", -1), b.number("epsilon", 0.01)}, same(x, 32));
  }
  return true;
}

// ---- losses and optimisers

bool loss(Builder& b) {
  const Extent batch = b.random_extent();
  const Extent classes = fixed(b.rng.between(1, 5));
  Extents rest;
  if (b.rng.chance(0.4)) rest.push_back(b.random_extent());
  Extents xd = {batch, classes};
  Extents td = {batch};
  xd.insert(xd.end(), rest.begin(), rest.end());
  td.insert(td.end(), rest.begin(), rest.end());
  if (least(product(xd)) == 0 || !b.fits(xd)) return false;
  const DType type = b.rng.chance(0.8) ? DType::f32 : DType::f64;
  const bool cross_entropy = b.rng.chance(0.5);
  const DrawnValue x = b.take_like(type, xd);
  Values in = {x, b.indices(b.rng.chance(0.5) ? DType::i64 : DType::i32, td, fixed(0), classes)};
  if (b.rng.chance(0.4)) in.push_back(b.root(type, {classes}, Numbers::positive));
  const std::string_view reduction =
      b.rng.pick(std::vector<std::string_view>{"none", "sum", "mean"});
  Attributes a = {Builder::text("reduction", reduction)};
  // The mean over no element at all is not a number.
  if (reduction != "mean" && b.rng.chance(0.4)) a.push_back(Builder::integer("ignore_index", 0));
  const double count = reduction == "sum" ? static_cast<double>(most(product(td))) : 1;
  const Extents dims = reduction == "none" ? td : Extents{};
  const double size = (x.most * 2 + 8) * 2 * count;
  std::vector<Effect> out = {{type, dims, size}};
  if (cross_entropy && b.rng.chance(0.5)) out.push_back({type, xd, x.most * 2 + 8});
  b.add_many(cross_entropy ? "SoftmaxCrossEntropyLoss" : "NegativeLogLikelihoodLoss", in, a, out);
  return true;
}

bool optimiser(Builder& b) {
  static constexpr std::string_view domain = "ai.onnx.preview.training";
  const std::string_view op =
      b.rng.pick(std::vector<std::string_view>{"Adagrad", "Adam", "Momentum"});
  const DrawnValue x = b.take({.types = {DType::f32}});
  const DrawnValue g = b.take_like(x.dtype, x.dims);
  // Square roots are taken of sums of squares.
  const auto squares = [&] { return b.root(x.dtype, x.dims, Numbers::positive); };
  Values in = {b.scalar(DType::f32, 0.125),
               b.scalar(DType::i64, static_cast<double>(b.rng.between(0, 3))), x, g};
  std::vector<Effect> out = {same(x, x.most + 4 * g.most)};
  Attributes a;
  if (op == "Momentum") {
    in.push_back(b.take_like(x.dtype, x.dims));
    out.push_back(same(x, in.back().most + 2 * g.most));
    a = {b.number("alpha", 0.75), b.number("beta", 0.5), b.number("norm_coefficient", 0.125),
         Builder::text("mode", b.rng.chance(0.5) ? "standard" : "nesterov")};
  } else {
    if (op == "Adam") {
      in.push_back(b.take_like(x.dtype, x.dims));
      out.push_back(same(x, in.back().most + g.most));
    }
    in.push_back(squares());
    out.push_back(same(x, in.back().most + g.most * g.most));
    if (b.rng.chance(0.5)) a.push_back(b.number("norm_coefficient", 0.125));
  }
  b.add_many(op, in, a, out, domain);
  return true;
}

constexpr std::array layers_table = {
    Family{"attention-operator", 1, attention},
    Family{"rotary", 0.6, rotary},
    Family{"linear-attention", 0.5, linear_attention},
    Family{"tensor-scatter", 0.6, tensor_scatter},
    Family{"gates", 0.5, gates},
    Family{"causal-conv", 0.5, causal_conv},
    Family{"bounded-domain", 0.8, bounded_domain},
    Family{"cumulative-product", 0.4, cumulative_product},
    Family{"more-norms", 0.7, more_norms},
    Family{"loss", 0.6, loss},
    Family{"optimiser", 0.4, optimiser},
};

}  // namespace

std::span<const Family> layer_families() {
  return layers_table;
}

}  // namespace quern::tools
