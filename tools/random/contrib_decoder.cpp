// SPDX-License-Identifier: Apache-2.0
// com.microsoft: what exports of language models are made of. Caches that grow and caches in a
// buffer, sequences of different lengths, rotary positions, weights in few bits.
#include <algorithm>
#include <array>

#include "engine/vocabulary/multiples.h"
#include "tools/random/families.h"
#include "tools/random/fill.h"

namespace quern::tools {
namespace {

constexpr std::string_view decoder_domain = "com.microsoft";

bool group_query_attention(Builder& b) {
  const Extent batch = fixed(b.rng.between(1, 3));
  const Extent rows = b.random_extent();
  const std::int64_t kv = b.rng.between(1, 2);
  const std::int64_t heads = kv * b.rng.between(1, 2);
  const std::int64_t width = b.rng.pick(std::vector<std::int64_t>{2, 4, 8});
  // A buffer holds the new rows, too; a past that grows has no room for them.
  const bool is_buffer = b.rng.chance(0.4);
  const std::int64_t past = is_buffer ? most(rows) + b.rng.between(0, 3) : b.rng.between(0, 4);
  const Extent total =
      map_extent(rows, [&](std::int64_t n) { return is_buffer ? past : past + n; });
  const auto wide = [&](std::int64_t n) { return Extents{batch, rows, fixed(n * width)}; };
  const auto cache = [&](const Extent& length) {
    return Extents{batch, fixed(kv), length, fixed(width)};
  };
  if (least(rows) == 0 || !b.fits({batch, fixed(heads), rows, total}) ||
      !b.fits(wide(heads + 2 * kv)) || !b.fits(cache(total)))
    return false;
  Values in;
  if (b.rng.chance(0.4)) {
    in = {b.take_like(DType::f32, wide(heads + 2 * kv)), Builder::none(), Builder::none()};
  } else {
    in = {b.take_like(DType::f32, wide(heads)), b.take_like(DType::f32, wide(kv)),
          b.take_like(DType::f32, wide(kv))};
  }
  if (in[0].most > 3 || in[1].most > 3) return false;
  in.push_back(b.root(DType::f32, cache(fixed(past))));
  in.push_back(b.root(DType::f32, cache(fixed(past))));
  in.push_back(
      b.indices(DType::i32, {batch}, map_extent(rows, [](auto n) { return n - 1; }), total));
  in.push_back(b.input_of(DType::i32, {}, [&](std::size_t run, const Shape& shape) {
    return tensor_of(DType::i32, shape,
                     [&](std::int64_t) { return static_cast<double>(total[run]); });
  }));
  Attributes a = {Builder::integer("num_heads", heads), Builder::integer("kv_num_heads", kv)};
  if (b.rng.chance(0.6)) {
    const Extents angles = {fixed(most(total) + 1), fixed(width / 2)};
    a.push_back(Builder::integer("do_rotary", 1));
    if (b.rng.chance(0.4)) a.push_back(Builder::integer("rotary_interleaved", 1));
    in.push_back(b.root(DType::f32, angles));
    in.push_back(b.root(DType::f32, angles));
  }
  const bool has_bias = b.rng.chance(0.25), has_sink = b.rng.chance(0.25);
  if (has_bias || has_sink) in.resize(10, Builder::none());
  if (has_bias) in.push_back(b.root(DType::f32, {fixed(1), fixed(1), rows, total}));
  if (has_sink) {
    in.resize(11, Builder::none());
    in.push_back(b.root(DType::f32, {fixed(heads)}));
  }
  if (b.rng.chance(0.3)) a.push_back(Builder::integer("local_window_size", b.rng.between(1, 4)));
  if (b.rng.chance(0.2)) a.push_back(b.number("softcap", 5));
  if (b.rng.chance(0.2)) a.push_back(Builder::integer("smooth_softmax", 1));
  if (b.rng.chance(0.3)) a.push_back(b.number("scale", b.rng.real(0.2, 1)));
  b.add_many(
      "GroupQueryAttention", in, a,
      {{DType::f32, wide(heads), 6}, {DType::f32, cache(total), 6}, {DType::f32, cache(total), 6}},
      decoder_domain);
  return true;
}

bool rotary_embedding(Builder& b) {
  const Extent batch = fixed(b.rng.between(1, 2));
  const Extent rows = b.random_extent();
  const std::int64_t heads = b.rng.between(1, 3);
  const std::int64_t width = b.rng.pick(std::vector<std::int64_t>{2, 4, 8});
  const bool packed = b.rng.chance(0.5);
  const Extents dims = packed ? Extents{batch, rows, fixed(heads * width)}
                              : Extents{batch, fixed(heads), rows, fixed(width)};
  if (least(rows) == 0 || !b.fits(dims)) return false;
  const DrawnValue x = b.take_like(DType::f32, dims);
  const Extents angles = {fixed(most(rows) + 3), fixed(width / 2)};
  const DrawnValue at = b.rng.chance(0.5)
                            ? b.indices(DType::i64, {fixed(1)}, fixed(0), fixed(3))
                            : b.indices(DType::i64, {batch, rows}, fixed(0), fixed(most(rows) + 3));
  Attributes a;
  if (b.rng.chance(0.5)) a.push_back(Builder::integer("num_heads", heads));
  if (b.rng.chance(0.4)) a.push_back(Builder::integer("interleaved", 1));
  b.add_of(decoder_domain, "RotaryEmbedding",
           {x, at, b.root(DType::f32, angles), b.root(DType::f32, angles)}, a,
           {x.dtype, dims, x.most * 3.5});
  return true;
}

// The operands behind the scales: zero points in bits or in floats, the block of each k, a bias.
Values few_bits_options(Builder& b, const Shape& scales, std::int64_t depth, std::int64_t bits) {
  const std::int64_t columns = scales[0], blocks = scales[1];
  Values in(3, Builder::none());
  if (b.rng.chance(0.5))
    in[0] =
        b.rng.chance(0.7)
            ? b.constant(DType::u8, fixed_dims(std::array{columns * ceil_div(blocks * bits, 8)}))
            : b.constant(DType::f32, fixed_dims(std::array{columns, blocks}));
  if (b.rng.chance(0.1)) in[1] = b.indices(DType::i32, {fixed(depth)}, fixed(0), fixed(blocks));
  if (b.rng.chance(0.3)) in[2] = b.root(DType::f32, {fixed(columns)});
  return in;
}

bool product_of_few_bits(Builder& b) {
  const DrawnValue x = b.take({.types = {DType::f32}, .least_rank = 2, .most_rank = 3});
  if (!is_fixed(x.dims.back()) || x.dims.back()[0] < 1 || x.most > 8) return false;
  const std::int64_t depth = x.dims.back()[0];
  const std::int64_t columns = b.rng.between(1, b.rng.chance(0.2) ? 70 : 12);
  const std::int64_t bits = b.rng.pick(std::vector<std::int64_t>{2, 4, 4, 8});
  const std::int64_t size = b.rng.pick(std::vector<std::int64_t>{16, 16, 32, 64, 128, 256});
  const std::int64_t blocks = ceil_div(depth, size);
  const bool is_constant = b.rng.chance(0.9);
  const auto weights = [&](DType dtype, const std::vector<std::int64_t>& dims) {
    return is_constant ? b.constant(dtype, fixed_dims(dims)) : b.root(dtype, fixed_dims(dims));
  };
  Extents dims = x.dims;
  dims.back() = fixed(columns);
  if (!b.fits(dims)) return false;
  Values in = {x, weights(DType::u8, {columns, blocks, size * bits / 8}),
               weights(DType::f32, {columns * blocks})};
  const Values options = few_bits_options(b, {columns, blocks}, depth, bits);
  in.insert(in.end(), options.begin(), options.end());
  Attributes a = {Builder::integer("K", depth), Builder::integer("N", columns),
                  Builder::integer("bits", bits), Builder::integer("block_size", size)};
  if (b.rng.chance(0.5)) a.push_back(Builder::integer("accuracy_level", b.rng.chance(0.7) ? 4 : 1));
  b.add_of(decoder_domain, "MatMulNBits", in, a,
           {DType::f32, dims, x.most * static_cast<double>(depth << bits) + 1});
  return true;
}

// ONNX Runtime multiplies by the transposed weights whatever transB says, so it is 1.
bool product_of_tables(Builder& b) {
  const DrawnValue x = b.take({.types = {DType::f32}, .least_rank = 2, .most_rank = 3});
  if (!is_fixed(x.dims.back()) || x.dims.back()[0] < 1 || x.most > 8) return false;
  const std::int64_t depth = x.dims.back()[0], columns = b.rng.between(1, 12);
  Extents dims = x.dims;
  dims.back() = fixed(columns);
  if (!b.fits(dims)) return false;
  const std::int64_t size = b.rng.pick(std::vector<std::int64_t>{16, 16, 32, 64});
  const bool is_constant = b.rng.chance(0.8);
  const auto weights = [&](DType dtype, std::int64_t count) {
    return is_constant ? b.constant(dtype, {fixed(count)}) : b.root(dtype, {fixed(count)});
  };
  const DrawnValue packed = weights(DType::u8, ceil_div(depth * columns, 2));
  const DrawnValue greatest = weights(DType::f32, ceil_div(depth * columns, size));
  b.add_of(
      decoder_domain, "MatMulBnb4", {x, packed, greatest},
      {Builder::integer("K", depth), Builder::integer("N", columns),
       Builder::integer("block_size", size), Builder::integer("quant_type", b.rng.chance(0.5))},
      {DType::f32, dims, x.most * static_cast<double>(depth) + 1});
  return true;
}

bool rows_of_few_bits(Builder& b) {
  const std::int64_t bits = b.rng.pick(std::vector<std::int64_t>{2, 4, 8});
  const std::int64_t size = 16;
  const std::int64_t rows = b.rng.between(1, 9);
  const std::int64_t blocks = b.rng.between(1, 2);
  const Extents table = fixed_dims(std::array{rows, blocks * size * bits / 8});
  Extents dims = b.random_dims(static_cast<std::size_t>(b.rng.between(0, 2)));
  const DrawnValue at = b.indices(DType::i64, dims, fixed(0), fixed(rows));
  dims.push_back(fixed(blocks * size));
  if (!b.fits(dims)) return false;
  Values in = {b.constant(DType::u8, table), at,
               b.constant(DType::f32, fixed_dims(std::array{rows, blocks}))};
  if (b.rng.chance(0.5))
    in.push_back(b.constant(DType::u8, fixed_dims(std::array{rows, ceil_div(blocks * bits, 8)})));
  b.add_of(decoder_domain, "GatherBlockQuantized", in,
           {Builder::integer("bits", bits), Builder::integer("block_size", size)},
           {DType::f32, dims, static_cast<double>(1 << bits)});
  return true;
}

bool lstm_of_bytes(Builder& b) {
  const Extent length = b.random_extent();
  const std::int64_t batch = b.rng.between(1, 2), width = b.rng.between(1, 6),
                     hidden = b.rng.between(1, 5);
  const bool both = b.rng.chance(0.4);
  const std::int64_t directions = both ? 2 : 1;
  const Extents xd = {length, fixed(batch), fixed(width)};
  const Extents yd = {length, fixed(directions), fixed(batch), fixed(hidden)};
  if (least(length) == 0 || !b.fits(xd) || !b.fits(yd)) return false;
  const DrawnValue x = b.take_like(DType::f32, xd);
  if (x.most > 4) return false;
  const auto scale = [&] {
    const std::int64_t n = b.rng.chance(0.5) ? 1 : 4 * hidden;
    const DrawnValue s = b.constant(DType::f32, fixed_dims(std::array{directions, n}));
    return b.add("Mul", {s, b.scalar(DType::f32, 1.0 / 64)}, {}, {DType::f32, s.dims, 0.1});
  };
  const DrawnValue w = b.constant(DType::i8, fixed_dims(std::array{directions, width, 4 * hidden}));
  const DrawnValue r =
      b.constant(DType::i8, fixed_dims(std::array{directions, hidden, 4 * hidden}));
  const DrawnValue bias = b.rng.chance(0.6)
                              ? b.root(DType::f32, fixed_dims(std::array{directions, 8 * hidden}))
                              : Builder::none();
  Values in = {x, w, r, bias, Builder::none(), Builder::none(), Builder::none(), Builder::none()};
  for (int k = 0; k < 2; ++k) {
    const DrawnValue s = scale();
    in.push_back(s);
    in.push_back(b.constant(DType::i8, s.dims));
  }
  const Extents last = {fixed(directions), fixed(batch), fixed(hidden)};
  b.add_some("DynamicQuantizeLSTM", in,
             {Builder::integer("hidden_size", hidden),
              Builder::text("direction", both ? "bidirectional" : "forward")},
             {{DType::f32, yd, 1}, {DType::f32, last, 1}, {DType::f32, last, 100}}, 1,
             decoder_domain);
  return true;
}

// ---- mixtures of experts

// [rows, experts], no two numbers of a row alike or near to each other. Not for sevens of experts.
DrawnValue router(Builder& b, const Extent& rows, std::int64_t experts) {
  const std::int64_t turn = b.rng.between(0, 6);
  return b.input_of(DType::f32, {rows, fixed(experts)}, [=](std::size_t, const Shape& shape) {
    return tensor_of(DType::f32, shape, [=](std::int64_t i) {
      const std::int64_t place = (i % experts * 7 + i / experts * turn) % experts;
      return 0.25 * static_cast<double>(place) - 0.5;
    });
  });
}

struct DrawnExperts {
  std::int64_t experts, width, inner, columns;  // columns: of the first matrices
  std::int64_t bits = 0, block = 0;
};

// Numbers, scales in bits, and a bias now and then, of the matrices [E, columns, depth].
Values matrices_of_experts(Builder& b, const DrawnExperts& e, std::int64_t columns,
                           std::int64_t depth) {
  const auto some = [&](DType dtype, const std::vector<std::int64_t>& dims) {
    return b.constant(dtype, fixed_dims(dims));
  };
  const DrawnValue bias = b.rng.chance(0.4)
                              ? b.root(DType::f32, fixed_dims(std::array{e.experts, columns}))
                              : Builder::none();
  if (e.bits == 0) return {some(DType::f32, {e.experts, columns, depth}), bias};
  const DrawnValue scales = e.block == 0 ? some(DType::f32, {e.experts, columns})
                                         : some(DType::f32, {e.experts, columns, depth / e.block});
  return {some(DType::u8, {e.experts, columns, depth * e.bits / 8}), scales, bias};
}

DrawnValue zeros_of_experts(Builder& b, const DrawnExperts& e, std::int64_t columns,
                            std::int64_t depth) {
  return e.block == 0
             ? b.constant(DType::u8, fixed_dims(std::array{
                                         e.experts, ceil_div(columns * e.bits, std::int64_t{8})}))
             : b.constant(DType::u8, fixed_dims(std::array{
                                         e.experts, columns,
                                         ceil_div(depth / e.block * e.bits, std::int64_t{8})}));
}

Attributes activation_of_experts(Builder& b, std::string_view activation, std::int64_t fusion) {
  Attributes a = {Builder::text("activation_type", activation)};
  if (activation != "swiglu") return a;
  a.push_back(Builder::integer("swiglu_fusion", fusion));
  if (b.rng.chance(0.5)) a.push_back(b.number("activation_alpha", 1.702));
  if (b.rng.chance(0.5)) a.push_back(b.number("activation_beta", 1));
  if (b.rng.chance(0.5)) a.push_back(b.number("swiglu_limit", b.rng.real(1, 7)));
  return a;
}

// ONNX Runtime's kernels for the CPU have neither third matrices nor the gate in halves.
bool mixture_of_experts(Builder& b, std::int64_t bits) {
  DrawnExperts e{.experts = b.rng.pick(std::vector<std::int64_t>{2, 3, 4, 5, 8, 12}),
                 .width = bits == 0 ? b.rng.between(1, 9) : 16 * b.rng.between(1, 2),
                 .inner = bits == 0 ? b.rng.between(1, 9) : 16 * b.rng.between(1, 2),
                 .columns = 0,
                 .bits = bits,
                 .block = bits != 0 && b.rng.chance(0.5) ? 16 : 0};
  const bool is_batched = b.rng.chance(0.3);
  const Extent length = b.random_extent(), batch = fixed(is_batched ? 2 : 1);
  const Extent all = map_extent(length, [&](std::int64_t n) { return n * batch[0]; });
  const Extents dims =
      is_batched ? Extents{batch, length, fixed(e.width)} : Extents{length, fixed(e.width)};
  if (least(length) == 0 || !b.fits({all, fixed(2 * e.experts * e.inner)})) return false;
  const DrawnValue x = b.take_like(DType::f32, dims);
  if (x.most > 4) return false;
  const std::string_view activation =
      b.rng.pick(std::vector<std::string_view>{"relu", "gelu", "silu", "identity", "swiglu"});
  const bool has_third = b.rng.chance(0.2);
  const std::int64_t fusion = activation != "swiglu" || has_third ? 0 : b.rng.chance(0.8) ? 1 : 2;
  e.columns = fusion == 0 ? e.inner : 2 * e.inner;
  Values in = {x, router(b, all, e.experts)};
  const auto append = [&](const Values& more) { in.insert(in.end(), more.begin(), more.end()); };
  append(matrices_of_experts(b, e, e.columns, e.width));
  append(matrices_of_experts(b, e, e.width, e.inner));
  if (has_third || (activation == "swiglu" && fusion == 0))
    append(matrices_of_experts(b, e, e.inner, e.width));
  Attributes a = activation_of_experts(b, activation, fusion);
  a.push_back(Builder::integer("k", b.rng.between(1, e.experts)));
  // Without it ONNX Runtime's kernel for bits normalises, too, which its text does not say.
  if (bits != 0 || b.rng.chance(0.5)) a.push_back(Builder::integer("normalize_routing_weights", 1));
  if (bits != 0) a.push_back(Builder::integer("expert_weight_bits", bits));
  if (e.block != 0) a.push_back(Builder::integer("block_size", e.block));
  // Zero points of rows with one block lie as those without blocks there.
  const bool is_alone = e.block != 0 && (e.width == e.block || e.inner == e.block);
  if (bits != 0 && !is_alone && b.rng.chance(0.4)) {
    in.resize(11, Builder::none());
    in.push_back(zeros_of_experts(b, e, e.columns, e.width));
    in.push_back(zeros_of_experts(b, e, e.width, e.inner));
  }
  const double inner = (x.most * static_cast<double>(e.width) + 1) * static_cast<double>(1 << bits);
  const double most = inner * inner * static_cast<double>(e.inner << bits);
  b.add_of(decoder_domain, bits == 0 ? "MoE" : "QMoE", in, a, {DType::f32, dims, most});
  return true;
}

bool experts_of_floats(Builder& b) {
  return mixture_of_experts(b, 0);
}

bool experts_of_few_bits(Builder& b) {
  return mixture_of_experts(b, b.rng.chance(0.5) ? 4 : 8);
}

constexpr std::array contrib_decoder_table = {
    Family{"contrib-group-query", 0.6, group_query_attention},
    Family{"contrib-rotary", 0.4, rotary_embedding},
    Family{"contrib-few-bits", 0.5, product_of_few_bits},
    Family{"contrib-product-of-tables", 0.3, product_of_tables},
    Family{"contrib-rows-of-few-bits", 0.4, rows_of_few_bits},
    Family{"contrib-lstm", 0.4, lstm_of_bytes},
    Family{"contrib-experts", 0.4, experts_of_floats},
    Family{"contrib-experts-of-few-bits", 0.4, experts_of_few_bits},
};

}  // namespace

std::span<const Family> contrib_decoder_families() {
  return contrib_decoder_table;
}

}  // namespace quern::tools
