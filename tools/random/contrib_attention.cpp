// SPDX-License-Identifier: Apache-2.0
// com.microsoft: attention with its masks and caches, embeddings; and operators of before opset 7.
// A mask makes scores small, not nothing: scores of -10000 have no digits left to compare.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "tools/random/families.h"
#include "tools/random/fill.h"

namespace quern::tools {
namespace {

constexpr std::string_view attention_domain = "com.microsoft";

struct Attended {
  Extent batch, rows, keys;
  Extent past = fixed(0);
  std::int64_t heads, width;

  Extent hidden() const { return fixed(heads * width); }
  Extent all_keys() const {
    Extent e = keys;
    for (std::size_t i = 0; i < most_runs; ++i) e[i] += past[i];
    return e;
  }
  Extents cache(const Extent& length) const { return {batch, fixed(heads), length, fixed(width)}; }
};

std::optional<Attended> some_attended(Builder& b) {
  Attended a{.batch = b.rng.chance(0.7) ? fixed(b.rng.between(1, 3)) : b.random_extent(),
             .rows = b.random_extent(),
             .heads = b.rng.between(1, 3),
             .width = b.rng.pick(std::vector<std::int64_t>{1, 2, 4})};
  a.keys = a.rows;
  if (b.rng.chance(0.3)) a.past = fixed(b.rng.between(1, 4));
  const bool fits = b.fits({a.batch, fixed(a.heads), a.rows, a.all_keys()}) &&
                    b.fits({a.batch, a.rows, fixed(3 * a.heads * a.width)});
  if (!fits || least(a.batch) == 0 || least(a.rows) == 0) return std::nullopt;
  return a;
}

// A mask in one of its forms, as i32; none now and then.
DrawnValue some_key_mask(Builder& b, const Attended& a) {
  const Extent ends = map_extent(a.all_keys(), [](std::int64_t n) { return n + 1; });
  const Extent two = fixed(2);
  switch (b.rng.below(6)) {
    case 0: return b.indices(DType::i32, {a.batch}, fixed(1), ends);
    case 1:
      return b.indices(DType::i32, {map_extent(a.batch, [](std::int64_t n) { return 2 * n; })},
                       fixed(0), ends);
    case 2: return b.indices(DType::i32, {a.batch, a.all_keys()}, fixed(0), two);
    case 3: return b.indices(DType::i32, {a.batch, a.rows, a.all_keys()}, fixed(0), two);
    default: return Builder::none();
  }
}

DrawnValue some_score_bias(Builder& b, const Attended& a) {
  if (b.rng.chance(0.7)) return Builder::none();
  return b.take_like(DType::f32, {b.rng.chance(0.5) ? a.batch : fixed(1),
                                  fixed(b.rng.chance(0.5) ? a.heads : 1), a.rows, a.all_keys()});
}

Attributes attention_attributes(Builder& b, const Attended& a) {
  Attributes all = {Builder::integer("num_heads", a.heads), b.number("mask_filter_value", -6)};
  if (b.rng.chance(0.4)) all.push_back(Builder::integer("unidirectional", 1));
  if (b.rng.chance(0.3)) all.push_back(b.number("scale", b.rng.real(0.2, 1)));
  return all;
}

bool joined_attention(Builder& b) {
  const auto some = some_attended(b);
  if (!some) return false;
  const Attended& a = *some;
  const Extent depth = fixed(b.rng.between(1, 8));
  const DrawnValue x = b.take_like(DType::f32, {a.batch, a.rows, depth});
  const Extent columns = fixed(3 * a.heads * a.width);
  if (x.most > 4) return false;
  const DrawnValue weights = b.root(DType::f32, {depth, columns});
  const DrawnValue bias = b.rng.chance(0.8) ? b.root(DType::f32, {columns}) : Builder::none();
  const bool has_past = least(a.past) > 0;
  Values in = {x,
               weights,
               bias,
               some_key_mask(b, a),
               has_past
                   ? b.root(DType::f32, {fixed(2), a.batch, fixed(a.heads), a.past, fixed(a.width)})
                   : Builder::none(),
               some_score_bias(b, a)};
  const double most = x.most * 8 + 2;
  std::vector<Effect> out = {{DType::f32, {a.batch, a.rows, a.hidden()}, most}};
  if (has_past || b.rng.chance(0.3)) {
    Extents present = a.cache(a.all_keys());
    present.insert(present.begin(), fixed(2));
    out.push_back({DType::f32, present, most});
  }
  b.add_some("Attention", in, attention_attributes(b, a), out, 1, attention_domain);
  return true;
}

bool quantised_attention(Builder& b) {
  const auto some = some_attended(b);
  if (!some) return false;
  const Attended& a = *some;
  const Extent depth = fixed(b.rng.between(1, 8));
  const Extent columns = fixed(3 * a.heads * a.width);
  Attended no_past = a;
  no_past.past = fixed(0);
  const DrawnValue x = b.take_like(DType::u8, {a.batch, a.rows, depth});
  const Values in = {x,
                     b.constant(DType::i8, {depth, columns}),
                     b.root(DType::f32, {columns}),
                     b.scalar(DType::f32, 1.0 / 128),
                     b.scalar(DType::f32, 1.0 / 512),
                     some_key_mask(b, no_past),
                     b.scalar(DType::u8, static_cast<double>(b.rng.between(100, 140))),
                     b.scalar(DType::i8, 0)};
  b.add_of(attention_domain, "QAttention", in, attention_attributes(b, a),
           {DType::f32, {a.batch, a.rows, a.hidden()}, 4});
  return true;
}

bool multi_head_attention(Builder& b) {
  const auto some = some_attended(b);
  if (!some) return false;
  Attended a = *some;
  const Extents packed = {a.batch, a.rows, fixed(a.heads), fixed(3), fixed(a.width)};
  Attributes attributes = attention_attributes(b, a);
  if (b.rng.chance(0.2)) {
    const DrawnValue x = b.take_like(DType::f32, packed);
    if (x.most > 4) return false;
    b.add_of(attention_domain, "MultiHeadAttention", {x}, attributes,
             {DType::f32, {a.batch, a.rows, a.hidden()}, x.most});
    return true;
  }
  const auto operand = [&] { return b.take_like(DType::f32, {a.batch, a.rows, a.hidden()}); };
  const DrawnValue q = operand(), k = operand(), v = operand();
  if (q.most * k.most > 16) return false;
  const DrawnValue bias =
      b.rng.chance(0.4) ? b.root(DType::f32, {fixed(3 * a.heads * a.width)}) : Builder::none();
  const DrawnValue mask = some_key_mask(b, a);
  // Ends and beginnings in one are a mask of Attention alone.
  if (mask.rank() == 1 && mask.dims[0] != a.batch) return false;
  Values in = {q, k, v, bias, mask, some_score_bias(b, a)};
  const bool has_past = least(a.past) > 0;
  if (has_past)
    in.insert(in.end(), {b.root(DType::f32, a.cache(a.past)), b.root(DType::f32, a.cache(a.past))});
  std::vector<Effect> out = {{DType::f32, {a.batch, a.rows, a.hidden()}, v.most + 1}};
  if (has_past || b.rng.chance(0.3)) {
    out.push_back({DType::f32, a.cache(a.all_keys()), k.most + 1});
    out.push_back({DType::f32, a.cache(a.all_keys()), v.most + 1});
  }
  b.add_some("MultiHeadAttention", in, attributes, out, 1, attention_domain);
  return true;
}

// A buffer of `room` rows for keys or values, of which the first `counted` are numbers and the
// others zeros: what is behind the rows that count is no result.
DrawnValue cache_in_buffer(Builder& b, const Extents& dims, const Extent& counted) {
  const std::int64_t salt = b.rng.between(1, 60), room = dims[2][0], width = dims[3][0];
  return b.input_of(DType::f32, dims, [=](std::size_t run, const Shape& shape) {
    return tensor_of(DType::f32, shape, [=](std::int64_t i) {
      if (i / width % room >= counted[run]) return 0.0;
      return static_cast<double>((i * 37 + salt) % 64) / 32 - 1;
    });
  });
}

// One new row behind a past in a buffer, of beams that share it or not.
bool masked_decoder_attention(Builder& b) {
  const std::int64_t sentences = b.rng.between(1, 2), beams = b.rng.between(1, 3);
  const std::int64_t heads = b.rng.between(1, 3),
                     width = b.rng.pick(std::vector<std::int64_t>{1, 2, 4});
  const std::int64_t room = b.rng.between(2, 6), batch = sentences * beams;
  const auto some_length = [&] { return b.rng.between(1, room - 1); };
  const Extent counted = b.rng.chance(0.5) ? fixed(some_length())
                                           : Extent{some_length(), some_length(), some_length()};
  const Extent total = map_extent(counted, [](std::int64_t n) { return n + 1; });
  const Extents rows = {fixed(batch), fixed(1), fixed(heads * width)};
  const Extents cache = {fixed(batch), fixed(heads), fixed(room), fixed(width)};
  const DrawnValue q = b.take_like(DType::f32, rows), k = b.take_like(DType::f32, rows),
                   v = b.take_like(DType::f32, rows);
  if (q.most * k.most > 16) return false;
  Values in = {q, k, v};
  in.push_back(b.rng.chance(0.4) ? b.indices(DType::i32, {fixed(batch), total}, fixed(0), fixed(2))
                                 : Builder::none());
  in.push_back(
      b.rng.chance(0.3)
          ? b.root(DType::f32, {fixed(1), fixed(b.rng.chance(0.5) ? heads : 1), fixed(1), total})
          : Builder::none());
  in.push_back(cache_in_buffer(b, cache, counted));
  in.push_back(cache_in_buffer(b, cache, counted));
  in.push_back(b.input_of(DType::i32, {fixed(1)}, [=](std::size_t run, const Shape& shape) {
    return tensor_of(DType::i32, shape,
                     [=](std::int64_t) { return static_cast<double>(counted[run]); });
  }));
  const bool has_bias = b.rng.chance(0.4);
  if (beams > 1) {
    in.push_back(b.constant_of(
        tensor_of(DType::i32, Shape{1}, [=](std::int64_t) { return static_cast<double>(beams); })));
    in.push_back(b.indices(DType::i32, {fixed(sentences), fixed(beams), fixed(room)}, fixed(0),
                           fixed(beams)));
  }
  if (has_bias) {
    in.resize(10, Builder::none());
    in.push_back(b.root(DType::f32, {fixed(3 * heads * width)}));
  }
  Attributes a = {Builder::integer("num_heads", heads), b.number("mask_filter_value", -6),
                  Builder::integer("past_present_share_buffer", 1)};
  if (b.rng.chance(0.3)) a.push_back(b.number("scale", b.rng.real(0.2, 1)));
  std::vector<Effect> out = {{DType::f32, rows, v.most + 2},
                             {DType::f32, cache, k.most + 2},
                             {DType::f32, cache, v.most + 2}};
  if (b.rng.chance(0.4)) {
    a.push_back(Builder::integer("output_qk", 1));
    out.push_back({DType::f32, {fixed(batch), fixed(heads), fixed(1), total}, 50});
  }
  b.add_many("DecoderMaskedMultiHeadAttention", in, a, out, attention_domain);
  return true;
}

bool embeddings(Builder& b) {
  const Extent batch = fixed(b.rng.between(1, 3));
  const Extent length = b.random_extent();
  const std::int64_t words = b.rng.between(1, 9);
  const Extent width = fixed(b.rng.between(2, 8));
  const Extents ids = {batch, length};
  if (least(length) == 0 || !b.fits({batch, length, width})) return false;
  const std::int64_t positions = most(length) + 2;
  const bool has_segments = b.rng.chance(0.6);
  const auto table = [&](std::int64_t n) { return b.root(DType::f32, {fixed(n), width}); };
  Values in = {b.indices(DType::i32, ids, fixed(0), fixed(words)),
               has_segments ? b.indices(DType::i32, ids, fixed(0), fixed(2)) : Builder::none(),
               table(words),
               table(positions),
               has_segments ? table(2) : Builder::none(),
               b.root(DType::f32, {width}),
               b.root(DType::f32, {width})};
  in.push_back(b.rng.chance(0.4) ? b.indices(DType::i32, ids, fixed(0), fixed(2))
                                 : Builder::none());
  if (b.rng.chance(0.4))
    in.push_back(b.indices(DType::i32, {b.rng.chance(0.5) ? batch : fixed(1), length}, fixed(0),
                           fixed(positions)));
  b.add_some("EmbedLayerNormalization", in, {b.number("epsilon", 0.01)},
             {{DType::f32, {batch, length, width}, 9},
              {DType::i32, {batch}, 100, false},
              {DType::f32, {batch, length, width}, 3}},
             1, attention_domain);
  return true;
}

// The same of bytes; scales are powers of two.
bool quantised_embeddings(Builder& b) {
  const Extent batch = fixed(b.rng.between(1, 3));
  const Extent length = b.random_extent();
  const Extent width = fixed(b.rng.between(2, 8));
  const Extents ids = {batch, length};
  if (least(length) == 0 || !b.fits({batch, length, width})) return false;
  const bool has_segments = b.rng.chance(0.6);
  const DType type = b.rng.pick(std::vector<DType>{DType::u8, DType::i8});
  const auto table = [&](std::int64_t n) { return b.root(type, {fixed(n), width}); };
  Values in = {b.indices(DType::i32, ids, fixed(0), fixed(5)),
               has_segments ? b.indices(DType::i32, ids, fixed(0), fixed(2)) : Builder::none(),
               table(5),
               table(most(length) + 2),
               has_segments ? table(2) : Builder::none(),
               b.root(type, {width}),
               b.root(type, {width})};
  in.push_back(b.rng.chance(0.4) ? b.indices(DType::i32, ids, fixed(0), fixed(2))
                                 : Builder::none());
  for (int i = 0; i < 5; ++i)
    in.push_back(i == 2 && !has_segments ? Builder::none()
                                         : b.scalar(DType::f32, 1.0 / (64 << b.rng.between(0, 2))));
  for (int i = 0; i < 5; ++i)
    in.push_back(i == 2 && !has_segments
                     ? Builder::none()
                     : b.scalar(type, static_cast<double>(b.rng.between(0, 100))));
  b.add_some("QEmbedLayerNormalization", in, {b.number("epsilon", 0.01)},
             {{DType::f32, {batch, length, width}, 32}, {DType::i32, {batch}, 100, false}}, 2,
             attention_domain);
  return true;
}

bool legacy(Builder& b) {
  const DrawnValue x = b.take({.types = {DType::f32}, .least_rank = 1});
  const double alpha = b.rng.real(0.2, 2), beta = b.rng.real(-1, 1);
  const Attributes both = {b.number("alpha", alpha), b.number("beta", beta)};
  switch (b.rng.below(4)) {
    case 3:
      b.add("Scale", {x}, {b.number("scale", alpha)}, {x.dtype, x.dims, 2 * x.most});
      return true;
    case 0: b.add("Affine", {x}, both, {x.dtype, x.dims, 2 * x.most + 1}); return true;
    case 1: b.add("ScaledTanh", {x}, both, {x.dtype, x.dims, 2}); return true;
    default: b.add("ParametricSoftplus", {x}, both, {x.dtype, x.dims, 2 * x.most + 2}); return true;
  }
}

// The inside of some dimensions.
bool dynamic_slice(Builder& b) {
  const DrawnValue x = b.take({.types = movable_types(), .least_rank = 1, .nonempty = true});
  std::vector<std::int64_t> starts, ends, axes;
  Extents dims = x.dims;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const std::int64_t size = least(x.dims[i]);
    const std::int64_t start = b.rng.between(0, size - 1), end = b.rng.between(start + 1, size);
    starts.push_back(start);
    ends.push_back(end);
    axes.push_back(static_cast<std::int64_t>(i));
    dims[i] = fixed(end - start);
  }
  const DType type = b.rng.pick(std::vector<DType>{DType::i32, DType::i64});
  Values in = {x, b.numbers_constant(starts, type), b.numbers_constant(ends, type)};
  if (b.rng.chance(0.4)) in.push_back(b.numbers_constant(axes, type));
  b.add("DynamicSlice", in, {}, moved(x, dims));
  return true;
}

bool legacy_image(Builder& b) {
  const DrawnValue x = b.take({.types = {DType::f32}, .least_rank = 4, .most_rank = 4});
  if (!is_fixed(x.dims[1])) return false;
  if (b.rng.chance(0.5)) {
    std::vector<float> bias;
    for (std::int64_t c = 0; c < x.dims[1][0]; ++c)
      bias.push_back(static_cast<float>(b.rng.real(-1, 1)));
    Attributes a = {b.number("scale", b.rng.real(0.2, 2))};
    if (!bias.empty()) a.push_back(onnx::numbers_attribute("bias", bias));
    b.add("ImageScaler", {x}, a, {x.dtype, x.dims, 2 * x.most + 1});
    return true;
  }
  if (least(x.dims[2]) < 3 || least(x.dims[3]) < 3) return false;
  const auto side = [&] { return b.rng.between(0, 1); };
  const std::int64_t left = side(), top = side(), right = side(), bottom = side();
  Attributes a = {Builder::integers("border", {left, top, right, bottom})};
  Extents dims = x.dims;
  if (b.rng.chance(0.4)) {
    dims[2] = fixed(b.rng.between(1, 2));
    dims[3] = fixed(b.rng.between(1, 2));
    a.push_back(Builder::integers("scale", {dims[2][0], dims[3][0]}));
  } else {
    dims[2] = map_extent(dims[2], [&](std::int64_t n) { return n - top - bottom; });
    dims[3] = map_extent(dims[3], [&](std::int64_t n) { return n - left - right; });
  }
  b.add("Crop", {x}, a, {x.dtype, dims, x.most, false});
  return true;
}

// ---- parts of attention, of which ONNX Runtime has no kernels for CPUs

bool gemma_rotary(Builder& b) {
  const Extents dims = {fixed(b.rng.between(1, 2)), fixed(b.rng.between(1, 3)), b.random_extent(),
                        fixed(b.rng.between(1, 6))};
  if (!b.fits(dims)) return false;
  const DrawnValue angles = b.take_like(DType::f32, {dims[0], dims[2], dims[3]});
  if (angles.most > 100) return false;
  Values in = {angles};
  double most = 0;
  for (int k = 0; k < 4; ++k) {
    in.push_back(b.take_like(DType::f16, dims));
    most = std::max(most, in.back().most);
  }
  b.add_many("GemmaRotaryEmbedding", in, {},
             {{DType::f16, dims, 2 * most}, {DType::f16, dims, 2 * most}}, attention_domain);
  return true;
}

bool gated_positions(Builder& b) {
  const std::int64_t heads = b.rng.between(1, 3), width = b.rng.between(1, 4),
                     columns = 2 * b.rng.between(1, 3);
  const Extent batch = fixed(b.rng.between(1, 2)), rows = b.random_extent();
  const Extents dims = {batch, fixed(heads), rows, rows};
  const Extents query = {batch, rows, fixed(heads * width)};
  if (!b.fits(dims) || !b.fits(query)) return false;
  const DrawnValue x = b.take_like(DType::f32, query);
  if (x.most > 4) return false;
  const DrawnValue places = b.take_like(DType::f32, {fixed(1), fixed(heads), rows, rows});
  const auto some = [&](const Extents& d) { return b.root(DType::f32, d); };
  Values in = {x, some({fixed(heads * width)}), places};
  in.push_back(some(fixed_dims(std::array{width, columns})));
  in.push_back(some({fixed(columns)}));
  in.push_back(some({fixed(1), fixed(heads), fixed(1), fixed(1)}));
  b.add_of(attention_domain, "GatedRelativePositionBias", in,
           {Builder::integer("num_heads", heads)}, {DType::f32, dims, places.most * 4});
  return true;
}

// Two sequences, of which the first is a row shorter than the second.
bool packed_attention(Builder& b) {
  const std::int64_t heads = b.rng.between(1, 3), width = b.rng.between(1, 4),
                     rows = b.rng.between(2, 5), tokens = 2 * rows - 1;
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < 2 * rows; ++i)
    if (i != rows - 1) places.push_back(i);
  places.push_back(rows - 1);
  const DrawnValue offsets =
      b.constant_of(tensor_of(DType::i32, Shape{2, rows}, [&](std::int64_t i) {
        return static_cast<double>(places[static_cast<std::size_t>(i)]);
      }));
  const DrawnValue begins = b.numbers_constant({0, rows - 1, tokens}, DType::i32);
  const Attributes a = {Builder::integer("num_heads", heads)};
  const Extents dims = {fixed(tokens), fixed(heads * width)};
  const DrawnValue x = b.take_like(DType::f32, dims);
  if (x.most > 3) return false;
  const DrawnValue bias = b.root(DType::f32, {fixed(3 * heads * width)});
  if (b.rng.chance(0.5)) {
    const DrawnValue w = b.root(DType::f32, {dims[1], fixed(3 * heads * width)});
    b.add_of(attention_domain, "PackedAttention", {x, w, bias, offsets, begins}, a,
             {DType::f32, dims, x.most * static_cast<double>(heads * width) + 1});
    return true;
  }
  const DrawnValue k = b.root(DType::f32, dims), v = b.root(DType::f32, dims);
  b.add_of(attention_domain, "PackedMultiHeadAttention", {x, k, v, bias, offsets, begins}, a,
           {DType::f32, dims, 3});
  return true;
}

constexpr std::array contrib_attention_table = {
    Family{"contrib-packed-attention", 0.2, packed_attention},
    Family{"contrib-gemma-rotary", 0.1, gemma_rotary},
    Family{"contrib-gated-positions", 0.1, gated_positions},
    Family{"contrib-attention", 0.6, joined_attention},
    Family{"contrib-qattention", 0.4, quantised_attention},
    Family{"contrib-multi-head", 0.6, multi_head_attention},
    Family{"contrib-masked-decoder", 0.4, masked_decoder_attention},
    Family{"contrib-embeddings", 0.5, embeddings},
    Family{"contrib-quantised-embeddings", 0.2, quantised_embeddings},
    Family{"legacy", 0.4, legacy},
    Family{"legacy-slice", 0.2, dynamic_slice},
    Family{"legacy-image", 0.5, legacy_image},
};

}  // namespace

std::span<const Family> contrib_attention_families() {
  return contrib_attention_table;
}

}  // namespace quern::tools
