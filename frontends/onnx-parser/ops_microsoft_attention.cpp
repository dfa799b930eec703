// SPDX-License-Identifier: Apache-2.0
// com.microsoft: attention as ONNX Runtime's optimiser fuses it for BERT, GPT-2 and their kin, and
// the embeddings in front of it. Source: docs/ContribOperators.md of ONNX Runtime; what its text
// leaves open is as its CPU kernels have it.
//
// batch B, heads N, query rows S, new keys L, past keys P, all keys T = P + L, width H.
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/attention_parts.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/attention.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/gather.h"
#include "graph/ops/layer_norm.h"
#include "graph/ops/matmul.h"
#include "graph/ops/quantize.h"
#include "graph/ops/reduce.h"
#include "graph/ops/slice.h"
#include "graph/ops/softmax.h"
#include "graph/ops/split.h"
#include "graph/ops/unary_kind.h"

namespace quern::onnx {
namespace {

// Queries [B, N, S, H], keys [B, N, T, H] and values [B, N, T, Hv].
struct Heads {
  ValueId q = no_value;
  ValueId k = no_value;
  ValueId v = no_value;
  ValueId past = no_value;  // i64 [1]: with how many rows of the past `k` begins
};

struct MaskOptions {
  std::int64_t heads;
  double filter;  // added to the scores of masked keys
  bool causal;
  std::optional<float> scale;
};

MaskOptions read_options(NodeImport& n) {
  MaskOptions o{.heads = head_count(n, "num_heads"),
                .filter = n.number("mask_filter_value", -10000),
                .causal = n.flag("unidirectional", Flag::off),
                .scale = std::nullopt};
  if (const float scale = n.number("scale", 0); scale != 0) o.scale = scale;
  return o;
}

// ---- masks

// From [B] ends, or [2 B] ends and then beginnings, the keys that count: bool [B, T].
ValueId keys_within(NodeImport& n, ValueId limits, const Heads& h) {
  const ValueId batch = dims_of(n, h.q, 0, 1);
  const ValueId column = counting(n, scalar_dim(n, h.k, 2));
  const ValueId minus_one = n.ints_constant({-1});
  const ValueId shape = join_dims(n, {minus_one, batch});
  const ValueId table = reshape(n, cast(n, limits, DType::i64), shape);  // [1 or 2, B]
  const auto as_column = [&](ValueId row) { return unsqueeze(n, row, {1}); };
  const ValueId ends = as_column(squeeze(n, slice(n, table, 0, 1, 0), {0}));
  const ValueId before_end = binary(n, BinaryKind::less, column, ends);
  if (n.dim(limits, 0).same(n.dim(h.q, 0))) return before_end;
  // Zeros stand in where there are no beginnings.
  const ValueId one = n.ints_constant({1});
  const ValueId zeros = filled(n, join_dims(n, {one, batch}), DType::i64, 0);
  const ValueId all = concat(n, {zeros, slice(n, table, 1, 2, 0)}, 0);
  const ValueId begins = as_column(squeeze(n, reduce(n, ReduceKind::max, all, {0}), {0}));
  return binary(n, BinaryKind::logical_and, before_end,
                binary(n, BinaryKind::greater_equal, column, begins));
}

// Of a mask [B, 1, M, M], M rows at least, those of the queries and the columns of the keys.
ValueId window_of(NodeImport& n, ValueId mask, const Heads& h) {
  const ValueId zero = n.ints_constant({0});
  const ValueId first = h.past == no_value ? zero : h.past;
  const ValueId end = add(n, first, dims_of(n, h.q, 2, 3));
  return n.add(Slice{}, {mask, join_dims(n, {first, zero}),
                         join_dims(n, {end, dims_of(n, h.k, 2, 3)}), n.ints_constant({2, 3})});
}

// The bias of the scores for a mask of one to four dimensions; broadcasts to [B, N, S, T].
ValueId filter_bias(NodeImport& n, ValueId mask, const Heads& h, double filter) {
  const std::int64_t rank = n.known_rank(mask);
  if (rank < 1 || rank > 4) {
    n.unsupported(cat("a mask of rank ", rank, " is not supported"));
    return no_value;
  }
  ValueId keeps = no_value;
  if (rank == 1) {
    keeps = keys_within(n, mask, h);
  } else {
    if (rank == 4) mask = window_of(n, mask, h);
    keeps = binary(n, BinaryKind::greater, mask, n.scalar_like(mask, 0));
  }
  const DType dtype = n.dtype(h.q);
  const ValueId zero = n.scalar(dtype, 0);
  const ValueId bias = where(n, keeps, zero, n.scalar(dtype, filter));
  if (rank == 4) return bias;
  return unsqueeze(n, bias, rank == 3 ? Ints{1} : Ints{1, 2});
}

ValueId plus(NodeImport& n, ValueId a, ValueId b) {
  if (a == no_value) return b;
  return b == no_value ? a : add(n, a, b);
}

// Keys that a causal query sees, [rows, keys]: those up to `past` plus its own row. `past`: i64 of
// one element, or no_value for none.
ValueId causal_keys(NodeImport& n, ValueId q, ValueId k, ValueId past) {
  const ValueId column = counting(n, scalar_dim(n, k, 2));
  ValueId row = unsqueeze(n, counting(n, scalar_dim(n, q, 2)), {1});
  if (past != no_value) row = add(n, row, past);
  return binary(n, BinaryKind::less_equal, column, row);
}

// All that is added to the scores; no_value: nothing.
ValueId score_bias_of(NodeImport& n, const Heads& h, const MaskOptions& o, std::size_t mask,
                      std::size_t given) {
  ValueId bias = no_value;
  if (n.has(mask)) bias = filter_bias(n, n.in(mask), h, o.filter);
  if (o.causal) {
    const ValueId sees = causal_keys(n, h.q, h.k, h.past);
    const DType dtype = n.dtype(h.q);
    const ValueId zero = n.scalar(dtype, 0);
    const ValueId never = n.scalar(dtype, -std::numeric_limits<double>::infinity());
    bias = plus(n, bias, where(n, sees, zero, never));
  }
  return plus(n, bias, n.has(given) ? n.in(given) : no_value);
}

// [B, S, N * Hv]. Output `scores`, where one is wanted: what the softmax is taken of.
ValueId attend(NodeImport& n, const Heads& h, const MaskOptions& o, ValueId bias,
               std::optional<std::size_t> scores) {
  const ScoreScale scale = score_scale(n, h.q, o.scale);
  ValueId y = no_value;
  if (scores && n.wants(*scores)) {
    const ValueId raw = n.add(MatMul{.transpose_b = true, .alpha = scale.factor}, {scale.q, h.k});
    const ValueId biased = plus(n, raw, bias);
    n.set(*scores, biased);
    y = n.add(MatMul{}, {n.add(Softmax{}, {biased}), h.v});
  } else {
    std::vector<ValueId> inputs = {scale.q, h.k, h.v};
    if (bias != no_value) inputs.push_back(bias);
    y = n.add(Attention{.scale = scale.factor}, std::move(inputs));
  }
  return join_heads(n, y);
}

// ---- Attention, QAttention: x [B, S, D] times weights [D, Dq + Dk + Dv], q, k and v side by side

struct Projection {
  ValueId product;  // without the bias
  std::size_t bias, mask, past, score_bias;
};

// Turns the first `turned` elements (0: all) of new queries and keys by their places behind the
// past, as the text and the CUDA kernel of ONNX Runtime have it; its CPU kernel passes over
// do_rotary.
void rotate_new_rows(NodeImport& n, Heads& h, std::int64_t turned) {
  constexpr std::int64_t most = 1 << 16;
  const Dim width = n.dim(h.q, 3);
  if (!width.known()) return n.unsupported("rotary positions want a known width of heads");
  if (turned == 0) turned = width.value();
  if (turned < 2 || turned % 2 != 0 || turned > width.value() || turned > most)
    return n.fail(cat("'rotary_embedding_dim' is ", turned, " in heads of ", width.value()));
  std::vector<float> steps;
  for (std::int64_t i = 0; i < turned; i += 2)
    steps.push_back(static_cast<float>(
        std::pow(10000.0, static_cast<double>(i) / static_cast<double>(turned))));
  ValueId at = counting(n, scalar_dim(n, h.q, 2));
  if (h.past != no_value) at = add(n, at, h.past);
  const ValueId row = unsqueeze(n, cast(n, at, DType::f32), {1});
  const ValueId angles = div(n, row, n.constant(list_tensor(DType::f32, steps)));
  const DType type = n.dtype(h.q);
  Rotation r{.cos = cast(n, unary(n, UnaryKind::cos, angles), type), .sin = no_value};
  r.sin = cast(n, unary(n, UnaryKind::sin, angles), type);
  if (turned != width.value()) r.width = turned;
  h.q = rotated(n, h.q, r, Pairs::of_halves);
  h.k = rotated(n, h.k, r, Pairs::of_halves);
}

void attention_of(NodeImport& n, const Projection& p) {
  const MaskOptions o = read_options(n);
  const Ints sizes = n.ints("qkv_hidden_sizes");
  const bool rotates = n.flag("do_rotary", Flag::off);
  const std::int64_t turned = n.integer("rotary_embedding_dim", 0);
  if (n.integer("past_present_share_buffer", 0) != 0)
    return n.unsupported("shared buffers inside Attention are not supported");
  if (!sizes.empty() && sizes.size() != 3)
    return n.fail(cat("attribute 'qkv_hidden_sizes' has ", sizes.size(), " numbers, wants 3"));
  const ValueId all = n.has(p.bias) ? add(n, p.product, n.in(p.bias)) : p.product;
  std::vector<ValueId> qkv;
  if (sizes.empty()) {
    qkv = n.add_many(Split{.axis = 2}, {all}, 3);
  } else {
    const ValueId parts = n.ints_constant(sizes);
    qkv = n.add_many(Split{.axis = 2}, {all, parts}, 3);
  }
  if (!n.ok() || qkv.size() != 3) return;
  Heads h;
  h.q = split_heads(n, qkv[0], o.heads);
  h.k = split_heads(n, qkv[1], o.heads);
  h.v = split_heads(n, qkv[2], o.heads);
  if (n.has(p.past)) h.past = dims_of(n, n.in(p.past), 3, 4);
  if (rotates) rotate_new_rows(n, h, turned);
  if (!n.ok()) return;
  if (n.has(p.past)) {
    const auto past = [&](std::int64_t i) {
      return squeeze(n, slice(n, n.in(p.past), i, i + 1, 0), {0});
    };
    const ValueId past_keys = past(0);
    h.k = concat(n, {past_keys, h.k}, 2);
    const ValueId past_values = past(1);
    h.v = concat(n, {past_values, h.v}, 2);
  }
  n.set(0, attend(n, h, o, score_bias_of(n, h, o, p.mask, p.score_bias), std::nullopt));
  if (!n.wants(1)) return;
  const ValueId k = unsqueeze(n, h.k, {0});
  const ValueId v = unsqueeze(n, h.v, {0});
  n.set(1, concat(n, {k, v}, 0));
}

constexpr std::size_t absent = 100;  // no operator has so many inputs

void import_microsoft_attention(NodeImport& n) {
  const ValueId product = n.add(MatMul{}, {n.in(0), n.in(1)});
  attention_of(n, {.product = product, .bias = 2, .mask = 3, .past = 4, .score_bias = 5});
}

// (x, weights, bias, x scale, weight scale, mask, x zero, weight zero, past)
void import_qattention(NodeImport& n) {
  const ValueId scale = mul(n, n.in(3), n.in(4));
  const ValueId product = scaled_product(n, {n.in(0), n.in(1), n.in(6), n.in(7)}, scale);
  attention_of(n, {.product = product, .bias = 2, .mask = 5, .past = 8, .score_bias = absent});
}

// ---- MultiHeadAttention, DecoderMaskedMultiHeadAttention

// Where an operator has its inputs; the past value is behind the past key.
struct MultiHeadInputs {
  std::size_t bias, mask, score_bias, past, counted;
};
constexpr MultiHeadInputs multi_head{
    .bias = 3, .mask = 4, .score_bias = 5, .past = 6, .counted = 8};
constexpr MultiHeadInputs masked_decoder{
    .bias = 10, .mask = 3, .score_bias = 4, .past = 5, .counted = 7};

// [B, S, N, parts, H] -> part i, [B, N, S, H]
ValueId unpacked(NodeImport& n, ValueId x, std::int64_t i) {
  return transpose(n, squeeze(n, slice(n, x, i, i + 1, 3), {3}), {0, 2, 1, 3});
}

// Wider heads are counted at run time, where sums are checked.
constexpr std::int64_t most_width = std::int64_t{1} << 40;

// Adds a part of the bias [D + D + Dv] to heads [B, N, S, H]; `part`: 0 to 2. That of the values,
// which may be wider, is the last.
ValueId biased_heads(NodeImport& n, ValueId x, ValueId bias, std::int64_t heads,
                     std::int64_t part) {
  if (bias == no_value) return x;
  const ValueId width = dims_of(n, x, 3, 4);
  const auto times = [&](std::int64_t factor) {
    const Dim known = n.dim(x, 3);
    if (known.known() && known.value() < most_width)
      return n.ints_constant({factor * known.value()});
    const ValueId number = n.ints_constant({factor});
    return mul(n, width, number);
  };
  constexpr auto to_end = std::numeric_limits<std::int64_t>::max();
  const ValueId begin = part == 0 ? n.ints_constant({0}) : times(part == 1 ? heads : -heads);
  const ValueId end = part == 2 ? n.ints_constant({to_end}) : times((part + 1) * heads);
  const ValueId axis = n.ints_constant({0});
  const ValueId mine = n.add(Slice{}, {bias, begin, end, axis});
  return add(n, x, reshape(n, mine, Ints{heads, 1, -1}));
}

// Query, key and value in the forms of the operator.
Heads read_heads(NodeImport& n, std::int64_t heads, ValueId bias) {
  Heads h;
  const std::int64_t query_rank = n.known_rank(n.in(0));
  const std::int64_t key_rank = n.has(1) ? n.known_rank(n.in(1)) : 0;
  if (n.has(2) != (key_rank == 3 || key_rank == 4) || (query_rank == 5) == n.has(1) ||
      (query_rank != 3 && query_rank != 5)) {
    n.fail(cat("a query of rank ", query_rank, " with a key of rank ", key_rank,
               n.has(2) ? " and a value" : " and no value", " is none of the operator's forms"));
    return h;
  }
  h.q = query_rank == 5 ? unpacked(n, n.in(0), 0) : split_heads(n, n.in(0), heads);
  h.q = biased_heads(n, h.q, bias, heads, 0);
  if (key_rank == 4) {  // [B, N, L, H] as they are
    h.k = n.in(1);
    h.v = n.in(2);
    return h;
  }
  const std::size_t packed = query_rank == 5 ? 0 : 1;
  if (query_rank == 5 || key_rank == 5) {
    const std::int64_t first = query_rank == 5 ? 1 : 0;
    h.k = unpacked(n, n.in(packed), first);
    h.v = unpacked(n, n.in(packed), first + 1);
  } else {
    h.k = split_heads(n, n.in(1), heads);
    h.v = split_heads(n, n.in(2), heads);
  }
  h.k = biased_heads(n, h.k, bias, heads, 1);
  h.v = biased_heads(n, h.v, bias, heads, 2);
  return h;
}

// ---- a past in a buffer of M rows, of which `past`, i64 [1], count

// With the new rows behind those that count, and zeros behind them: [B, N, M, H].
ValueId appended(NodeImport& n, ValueId buffer, ValueId rows, ValueId past) {
  const ValueId before = expand_to(n, past, dims_of(n, buffer, 0, 1));
  return n.add(CacheAppend{}, {buffer, rows, before, dims_of(n, buffer, 2, 3)});
}

// Row t of the past of each beam is that of beam input 9 [sentence, beam, t] of its sentence.
ValueId rows_of_beams(NodeImport& n, ValueId buffer, ValueId past) {
  const ValueId own = counting(n, scalar_dim(n, buffer, 0));
  const ValueId beams = dims_of(n, n.in(9), 1, 2);
  const ValueId first = mul(n, div(n, own, beams), beams);
  const ValueId minus_one = n.ints_constant({-1});
  const ValueId shape = join_dims(n, {minus_one, dims_of(n, n.in(9), 2, 3)});
  const ValueId from = reshape(n, cast(n, n.in(9), DType::i64), shape);
  const ValueId other = add(n, from, unsqueeze(n, first, {1}));
  const ValueId row = counting(n, scalar_dim(n, buffer, 2));
  const ValueId is_past = binary(n, BinaryKind::less, row, past);
  const ValueId beam = where(n, is_past, other, unsqueeze(n, own, {1}));
  const ValueId rows = expand_to(n, row, shape_of(n, beam));
  const ValueId places = concat(n, {unsqueeze(n, beam, {2}), unsqueeze(n, rows, {2})}, 2);
  const ValueId by_row = transpose(n, buffer, {0, 2, 1, 3});
  return transpose(n, n.add(Gather{.kind = GatherKind::nd}, {by_row, places}), {0, 2, 1, 3});
}

// The rows that count of a buffer with the new ones.
ValueId counted_rows(NodeImport& n, const Heads& h, ValueId buffer, ValueId fresh) {
  if (n.has(9)) buffer = rows_of_beams(n, buffer, h.past);
  const ValueId zero = n.ints_constant({0});
  const ValueId end = add(n, h.past, dims_of(n, fresh, 2, 3));
  const ValueId axis = n.ints_constant({2});
  return n.add(Slice{}, {buffer, zero, end, axis});
}

// The input `counted`: how many rows of the past count. The buffers are the presents; a plan
// depends on it.
void attend_in_buffers(NodeImport& n, Heads h, const MaskOptions& o, const MultiHeadInputs& in) {
  h.past = reshape(n, cast(n, n.in(in.counted), DType::i64), Ints{1});
  const ValueId keys = appended(n, n.in(in.past), h.k, h.past);
  const ValueId values = appended(n, n.in(in.past + 1), h.v, h.past);
  h.k = counted_rows(n, h, keys, h.k);
  h.v = counted_rows(n, h, values, h.v);
  n.set(0, attend(n, h, o, score_bias_of(n, h, o, in.mask, in.score_bias), 3));
  n.set(1, keys);
  n.set(2, values);
}

// The past that there is, with the new rows behind it, is the present.
void attend_after_past(NodeImport& n, Heads h, const MaskOptions& o, const MultiHeadInputs& in) {
  if (n.has(in.past)) {
    h.past = dims_of(n, n.in(in.past), 2, 3);
    h.k = concat(n, {n.in(in.past), h.k}, 2);
    h.v = concat(n, {n.in(in.past + 1), h.v}, 2);
  }
  n.set(0, attend(n, h, o, score_bias_of(n, h, o, in.mask, in.score_bias), 3));
  n.set(1, h.k);
  n.set(2, h.v);
}

// A causal query sees the keys up to its own row. Where there are more keys than past and rows, the
// CPU kernel of ONNX Runtime shows all of them to the last row, which its text does not say.
void import_multi_head_attention(NodeImport& n) {
  const MaskOptions o = read_options(n);
  if (n.has(6) != n.has(7)) return n.fail("past key and past value must come together");
  if (n.has(6) && n.has(9) && !n.has(8))
    return n.fail("the beams of a past (input 9) want its number of rows (input 8)");
  const Heads h = read_heads(n, o.heads, n.in(3));
  if (!n.ok()) return;
  if (n.has(6) && n.has(8)) return attend_in_buffers(n, h, o, multi_head);
  attend_after_past(n, h, o, multi_head);  // without one, inputs 8 and 9 say nothing
}

// Queries, keys and values side by side, or three inputs; keys [B, N, L, H] are those of an
// encoder.
Heads read_decoder_heads(NodeImport& n, std::int64_t heads) {
  const ValueId bias = n.in(masked_decoder.bias);
  if (n.has(1) || n.has(2)) return read_heads(n, heads, bias);
  const auto parts = n.add_many(Split{.axis = 2}, {n.in(0)}, 3);
  Heads h;
  if (!n.ok()) return h;
  const auto part = [&](std::size_t i) {
    return biased_heads(n, split_heads(n, parts[i], heads), bias, heads,
                        static_cast<std::int64_t>(i));
  };
  h.q = part(0);
  h.k = part(1);
  h.v = part(2);
  return h;
}

// The scores that are handed out are those that the softmax is taken of.
void import_decoder_masked_attention(NodeImport& n) {
  const MaskOptions o = read_options(n);
  const bool is_buffer = n.flag("past_present_share_buffer", Flag::off);
  n.ignore("output_qk");
  const MultiHeadInputs& in = masked_decoder;
  if (n.has(in.past) != n.has(in.past + 1))
    return n.fail("past key and past value must come together");
  if (n.has(in.past) && is_buffer && !n.has(in.counted))
    return n.fail("a past in a buffer wants its number of rows (input 7)");
  if (n.has(in.past) && !is_buffer && n.has(9))
    return n.unsupported("the beams of a past (input 9) want it in a buffer");
  if (!n.ok()) return;
  const Heads h = read_decoder_heads(n, o.heads);
  if (!n.ok()) return;
  if (n.has(in.past) && is_buffer) return attend_in_buffers(n, h, o, in);
  attend_after_past(n, h, o, in);
}

// ---- EmbedLayerNormalization, in floats and in bytes

// (ids, segment ids?, words, positions, segments?, gamma, beta, mask?). `rows_at` gives the rows of
// a table, input i, at indices, and all of it for no_value; `at`: the positions.
template <class RowsAt>
void embed(NodeImport& n, ValueId at, RowsAt rows_at) {
  for (const std::size_t i : {2, 3, 5, 6})
    if (!n.has(i)) return n.fail(cat("input ", i, " is left out, but it is not optional"));
  const ValueId ids = n.in(0);
  const ValueId words = rows_at(2, ids);
  if (at == no_value) at = counting(n, scalar_dim(n, ids, 1));
  ValueId sum = add(n, words, rows_at(3, at));
  if (n.has(4)) {
    // Without ids all are of segment 0.
    const ValueId segment = n.has(1) ? n.in(1) : n.ints_constant({0});
    sum = add(n, sum, rows_at(4, segment));
  }
  const ValueId gamma = rows_at(5, no_value), beta = rows_at(6, no_value);
  n.set(0, n.add(LayerNorm{.epsilon = n.number("epsilon", 1e-12f)}, {sum, gamma, beta}));
  n.set(2, sum);
  if (!n.wants(1)) return;
  if (!n.has(7)) return n.set(1, filled(n, dims_of(n, ids, 0, 1), DType::i32, 0));
  const ValueId one = n.scalar_like(n.in(7), 1);
  const ValueId counts = cast(n, binary(n, BinaryKind::equal, n.in(7), one), DType::i32);
  n.set(1, squeeze(n, reduce(n, ReduceKind::sum, counts, {1}), {1}));
}

// As input 8: the positions.
void import_embed_layer_norm(NodeImport& n) {
  n.ignore("mask_index_type");
  embed(n, n.in(8), [&](std::size_t i, ValueId at) {
    return at == no_value ? n.in(i) : gather(n, n.in(i), at, 0);
  });
}

// Behind the mask: the scales of inputs 2 to 6, and their zero points.
void import_qembed_layer_norm(NodeImport& n) {
  for (std::size_t i = 8; i < 18; ++i)
    if (!n.has(i) && (n.has(4) || (i != 10 && i != 15)))
      return n.fail(cat("input ", i, " is left out, but it is not optional"));
  embed(n, no_value, [&](std::size_t i, ValueId at) {
    const ValueId rows = at == no_value ? n.in(i) : gather(n, n.in(i), at, 0);
    return n.add(Dequantize{}, {rows, n.in(i + 6), n.in(i + 11)});
  });
}

// ---- PackedAttention, PackedMultiHeadAttention: rows of tokens without padding. Input `offsets`
// [B, S] lists where they stand with it, the next one [B + 1] where each sequence begins

// The heads are [B, N, S, H]; those of padding count for nothing.
void attend_packed(NodeImport& n, const Heads& h, const MaskOptions& o, std::size_t offsets) {
  constexpr auto to_end = std::numeric_limits<std::int64_t>::max();
  const ValueId begins = cast(n, n.in(offsets + 1), DType::i64);
  const ValueId ends = slice(n, begins, 1, to_end, 0);
  const ValueId lengths = sub(n, ends, slice(n, begins, 0, -1, 0));
  const ValueId given = n.has(offsets + 2) ? n.in(offsets + 2) : no_value;
  const ValueId bias = plus(n, filter_bias(n, lengths, h, o.filter), given);
  const ValueId y = attend(n, h, o, bias, std::nullopt);
  n.set(0, without_padding(n, y, n.in(offsets), dims_of(n, n.in(0), 0, 1)));
}

bool has_offsets(NodeImport& n, std::size_t offsets) {
  for (const std::size_t i : {offsets, offsets + 1})
    if (!n.has(i)) n.fail(cat("input ", i, " is left out, but it is not optional"));
  if (n.ok() && (n.known_rank(n.in(offsets)) != 2 || n.known_rank(n.in(offsets + 1)) != 1))
    n.fail("offsets of tokens want [batch, rows], and beginnings of sequences rank 1");
  return n.ok();
}

void import_packed_attention(NodeImport& n) {
  const MaskOptions o = read_options(n);
  const Ints sizes = n.ints("qkv_hidden_sizes");
  if (!has_offsets(n, 3)) return;
  if (!sizes.empty() && sizes.size() != 3)
    return n.fail(cat("attribute 'qkv_hidden_sizes' has ", sizes.size(), " numbers, wants 3"));
  const ValueId rows = add(n, n.add(MatMul{}, {n.in(0), n.in(1)}), n.in(2));
  std::vector<ValueId> inputs = {with_padding(n, rows, n.in(3))};
  if (!sizes.empty()) inputs.push_back(n.ints_constant(sizes));
  const auto qkv = n.add_many(Split{.axis = 2}, std::move(inputs), 3);
  if (!n.ok()) return;
  Heads h;
  h.q = split_heads(n, qkv[0], o.heads);
  h.k = split_heads(n, qkv[1], o.heads);
  h.v = split_heads(n, qkv[2], o.heads);
  attend_packed(n, h, o, 3);
}

void import_packed_multi_head(NodeImport& n) {
  const MaskOptions o = read_options(n);
  if (!has_offsets(n, 4)) return;
  const std::int64_t rank = n.known_rank(n.in(0));
  if (n.has(1) != n.has(2) || rank != (n.has(1) ? 2 : 4))
    return n.fail(cat("a query of rank ", rank, n.has(1) ? " with a key" : " without a key",
                      " is none of the operator's forms"));
  Heads h;
  if (n.has(1)) {
    h.q = split_heads(n, with_padding(n, n.in(0), n.in(4)), o.heads);
    h.k = split_heads(n, with_padding(n, n.in(1), n.in(4)), o.heads);
    h.v = split_heads(n, with_padding(n, n.in(2), n.in(4)), o.heads);
  } else {
    const ValueId dims = dims_of(n, n.in(0), 1, 4);
    const ValueId flat = reshape(n, n.in(0), Ints{0, -1});
    const ValueId all = with_padding(n, flat, n.in(4));
    const ValueId wide = reshape(n, all, join_dims(n, {dims_of(n, n.in(4), 0, 2), dims}));
    h.q = unpacked(n, wide, 0);
    h.k = unpacked(n, wide, 1);
    h.v = unpacked(n, wide, 2);
  }
  h.q = biased_heads(n, h.q, n.in(3), o.heads, 0);
  h.k = biased_heads(n, h.k, n.in(3), o.heads, 1);
  h.v = biased_heads(n, h.v, n.in(3), o.heads, 2);
  attend_packed(n, h, o, 4);
}

// ---- parts of attention

// (angles [B, S, H], q, q with its halves changed, k, k likewise): both turned.
void import_gemma_rotary(NodeImport& n) {
  const ValueId angles = unsqueeze(n, n.in(0), {1});
  const DType type = n.dtype(n.in(1));
  const ValueId cos = cast(n, unary(n, UnaryKind::cos, angles), type);
  const ValueId sin = cast(n, unary(n, UnaryKind::sin, angles), type);
  const auto turned = [&](std::size_t i) {
    const ValueId real = mul(n, n.in(i), cos);
    return add(n, real, mul(n, n.in(i + 1), sin));
  };
  n.set(0, turned(1));
  n.set(1, turned(3));
}

// (query [B, S, N H], its bias, positions [1, N, S, S], weights [H, D], bias [D], factors
// [1, N, 1, 1]): the positions, each row times a gate of its query.
void import_gated_position_bias(NodeImport& n) {
  const std::int64_t heads = head_count(n, "num_heads");
  if (n.has(6)) return n.unsupported("queries without padding (input 6) are not supported");
  if (n.known_rank(n.in(0)) != 3) return n.fail("input 0 wants [batch, rows, hidden]");
  if (const Dim d = n.dim(n.in(3), 1); d.known() && d.value() % 2 != 0)
    return n.fail(cat("weights of ", d.value(), " columns, wants an even number"));
  const ValueId query = split_heads(n, add(n, n.in(0), n.in(1)), heads);
  const ValueId gates = add(n, n.add(MatMul{}, {query, n.in(3)}), n.in(4));
  const ValueId each = reshape(n, gates, Ints{0, 0, 0, 2, -1});
  const ValueId sums = squeeze(n, reduce(n, ReduceKind::sum, each, {4}), {4});
  const ValueId opened = unary(n, UnaryKind::sigmoid, sums);
  const ValueId scaled = mul(n, slice(n, opened, 1, 2, 3), n.in(5));
  const ValueId inner = mul(n, slice(n, opened, 0, 1, 3), add(n, scaled, -1));
  n.set(0, mul(n, add(n, inner, 2), n.in(2)));
}

constexpr OpRow microsoft_attention_rows[] = {
    {"Attention", 1, import_microsoft_attention, {2, 7}, {1, 2}},
    {"DecoderMaskedMultiHeadAttention", 1, import_decoder_masked_attention, {1, 11}, {1, 4}},
    {"EmbedLayerNormalization", 1, import_embed_layer_norm, {1, 9}, {1, 3}},
    {"GatedRelativePositionBias", 1, import_gated_position_bias, {6, 7}},
    {"GemmaRotaryEmbedding", 1, import_gemma_rotary, {5, 5}, two},
    {"MultiHeadAttention", 1, import_multi_head_attention, {1, 10}, {1, 4}},
    {"PackedAttention", 1, import_packed_attention, {3, 6}},
    {"PackedMultiHeadAttention", 1, import_packed_multi_head, {1, 7}},
    {"QAttention", 1, import_qattention, {5, 9}, {1, 2}},
    {"QEmbedLayerNormalization", 1, import_qembed_layer_norm, {1, 18}, {1, 2}},
};

}  // namespace

OpRows microsoft_attention_ops() {
  return microsoft_attention_rows;
}

}  // namespace quern::onnx
