// SPDX-License-Identifier: Apache-2.0
// com.microsoft: attention of decoders as onnxruntime-genai exports it, and rotary positions.
// Source: docs/ContribOperators.md of ONNX Runtime; what its text leaves open is as its CPU kernels
// have it.
//
// batch B, heads N over KV heads of keys, new rows S, rows M of the past's buffer, width H.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/attention_parts.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/attention.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/in_range.h"
#include "graph/ops/pad.h"
#include "graph/ops/reduce.h"
#include "graph/ops/scatter.h"

namespace quern::onnx {
namespace {

constexpr std::int64_t to_last = std::numeric_limits<std::int64_t>::max();

struct Decoder {
  std::int64_t heads = 1, kv = 1;
  ValueId q = no_value, k = no_value, v = no_value;  // [B, N or KV, S, H]
  ValueId rows = no_value;                           // S, i64 [1]
  ValueId before = no_value;                         // rows of the past that count, i64 [B, 1]
  ValueId at = no_value;                             // positions of the new rows, i64 [B, S]
};

// The query, key and value: three inputs, or one with all heads side by side.
void read_rows(NodeImport& n, Decoder& d) {
  if (n.has(1) != n.has(2)) return n.fail("key and value must come together");
  if (n.has(1)) {
    d.q = split_heads(n, n.in(0), d.heads);
    d.k = split_heads(n, n.in(1), d.kv);
    d.v = split_heads(n, n.in(2), d.kv);
    return;
  }
  const ValueId all = split_heads(n, n.in(0), d.heads + 2 * d.kv);
  d.q = slice(n, all, 0, d.heads, 1);
  d.k = slice(n, all, d.heads, d.heads + d.kv, 1);
  d.v = slice(n, all, d.heads + d.kv, d.heads + 2 * d.kv, 1);
}

// Input 5 holds the keys of each sequence, less one: those in front of the new ones are the past's.
// The first of a prompt may be less than its rows, which are padded then.
void find_positions(NodeImport& n, Decoder& d) {
  d.rows = dims_of(n, d.q, 2, 3);
  const ValueId lengths = reshape(n, cast(n, n.in(5), DType::i64), Ints{-1, 1});
  const ValueId one = n.ints_constant({1});
  const ValueId before = sub(n, add(n, lengths, one), d.rows);
  const ValueId zero = n.ints_constant({0});
  d.before = binary(n, BinaryKind::max, before, zero);
  d.at = add(n, d.before, counting(n, scalar_dim(n, d.q, 2)));
}

// Positions of the rotation. Those that are given count from the first of them in a prompt.
ValueId rotary_positions(NodeImport& n, const Decoder& d) {
  if (!n.has(9)) return d.at;
  const ValueId total = reshape(n, cast(n, n.in(6), DType::i64), Ints{1});
  const ValueId is_prompt = binary(n, BinaryKind::equal, total, d.rows);
  const ValueId first = slice(n, reshape(n, n.in(9), Ints{-1}), 0, 1, 0);
  const ValueId counted = add(n, first, counting(n, scalar_dim(n, d.q, 2)));
  return where(n, is_prompt, counted, n.in(9));
}

ValueId twice(NodeImport& n, ValueId x) {
  const ValueId two = n.ints_constant({2});
  return mul(n, x, two);
}

// Input `cos` and the next one hold the angles of each position.
void rotate(NodeImport& n, Decoder& d, std::size_t cos, ValueId at) {
  if (!n.has(cos) || !n.has(cos + 1)) return n.fail("do_rotary wants cos_cache and sin_cache");
  const Pairs pairs =
      n.flag("rotary_interleaved", Flag::off) ? Pairs::neighbours : Pairs::of_halves;
  const Dim half = n.dim(n.in(cos), 1);
  const Dim width = n.dim(d.q, 3);
  const auto rows_of = [&](std::size_t i) { return unsqueeze(n, gather(n, n.in(i), at, 0), {1}); };
  Rotation r{.cos = rows_of(cos), .sin = no_value};
  r.sin = rows_of(cos + 1);
  constexpr std::int64_t most_pairs = std::int64_t{1} << 40;  // others are counted at run time
  if (half.known() && width.known() && half.value() < most_pairs) {
    if (!width.is(2 * half.value())) r.width = 2 * half.value();
  } else {
    r.width_at_run = twice(n, dims_of(n, n.in(cos), 1, 2));
  }
  d.q = rotated(n, d.q, r, pairs);
  d.k = rotated(n, d.k, r, pairs);
}

// The past with the new rows behind what counts of it, [B, KV, max(total, M), H]; zeros elsewhere.
// A plan depends on that maximum alone: where M is a buffer for all that is to come, it is M for
// every number of keys.
ValueId present_of(NodeImport& n, const Decoder& d, ValueId past, ValueId fresh) {
  if (past == no_value) return fresh;
  const ValueId room = dims_of(n, past, 2, 3);
  const ValueId total = reshape(n, cast(n, n.in(6), DType::i64), Ints{1});
  const ValueId length = binary(n, BinaryKind::max, total, room);
  return n.add(CacheAppend{}, {past, fresh, reshape(n, d.before, Ints{-1}), length});
}

// The bias that is given may have fewer keys than the present has rows.
ValueId given_bias(NodeImport& n, const Decoder& d) {
  const ValueId given = n.in(10);
  const ValueId missing = sub(n, dims_of(n, d.k, 2, 3), dims_of(n, given, 3, 4));
  const ValueId zero = n.ints_constant({0});
  const ValueId pads = join_dims(n, {zero, missing});
  const ValueId last = n.ints_constant({-1});
  return n.add(Pad{}, {given, pads, n.scalar(n.dtype(given), 0), last});
}

// A score of 0 for each head: [N]
ValueId no_sink(NodeImport& n, const Decoder& d) {
  const ValueId heads = n.ints_constant({d.heads});
  return filled(n, heads, n.dtype(d.q), 0);
}

void import_group_query_attention(NodeImport& n) {
  Decoder d{.heads = head_count(n, "num_heads"), .kv = head_count(n, "kv_num_heads")};
  const float given_scale = n.number("scale", 0);
  const float softcap = n.number("softcap", 0);
  const std::int64_t window = n.integer("local_window_size", -1);
  const bool has_sink = n.integer("smooth_softmax", 0) == 1 || n.has(11);
  const bool rotates = n.flag("do_rotary", Flag::off);
  if (window == 0 || window < -1)
    return n.fail(cat("local_window_size = ", window, ", wants -1 (all) or a positive number"));
  if (n.integer("qk_output", 0) != 0) return n.unsupported("'qk_output' is not supported");
  for (const char* words : {"k_quant_type", "v_quant_type"})
    if (n.text(words, "NONE") != "NONE") return n.unsupported("a quantised cache is not supported");
  n.ignore("kv_cache_bit_width");
  if (n.has(3) != n.has(4)) return n.fail("past key and past value must come together");
  if (!n.ok()) return;
  read_rows(n, d);
  if (!n.ok()) return;
  find_positions(n, d);
  if (rotates) rotate(n, d, 7, rotary_positions(n, d));
  n.ignore("rotary_interleaved");
  d.k = present_of(n, d, n.in(3), d.k);
  d.v = present_of(n, d, n.in(4), d.v);
  const ScoreScale scale =
      score_scale(n, d.q, given_scale != 0 ? std::optional(given_scale) : std::nullopt);
  std::vector<ValueId> operands = {scale.q, d.k, d.v, reshape(n, d.before, Ints{-1})};
  if (n.has(10) || has_sink) operands.push_back(n.has(10) ? given_bias(n, d) : no_value);
  if (has_sink) operands.push_back(n.has(11) ? reshape(n, n.in(11), Ints{-1}) : no_sink(n, d));
  const ValueId y = n.add(
      CachedAttention{
          .scale = scale.factor, .softcap = softcap, .window = std::max<std::int64_t>(window, 0)},
      std::move(operands));
  n.set(0, join_heads(n, y));
  n.set(1, d.k);
  n.set(2, d.v);
}

// ---- SparseAttention: (query, key?, value?, past key, past value, rows and columns of blocks,
// keys at most, keys of each sequence, cos?, sin?)

// All of the rows of a prompt are new; else those in front of the new ones are the past's.
void find_sparse_positions(NodeImport& n, Decoder& d) {
  d.rows = dims_of(n, d.q, 2, 3);
  const ValueId lengths = reshape(n, cast(n, n.in(8), DType::i64), Ints{-1, 1});
  const ValueId total = reshape(n, cast(n, n.in(7), DType::i64), Ints{1});
  const ValueId is_prompt = binary(n, BinaryKind::equal, total, d.rows);
  const ValueId zero = n.ints_constant({0});
  const ValueId before = binary(n, BinaryKind::max, sub(n, lengths, d.rows), zero);
  d.before = where(n, is_prompt, zero, before);
  d.at = add(n, d.before, counting(n, scalar_dim(n, d.q, 2)));
}

// The buffer with the new rows in it.
ValueId updated(NodeImport& n, const Decoder& d, ValueId past, ValueId fresh) {
  const ValueId room = dims_of(n, past, 2, 3);
  return n.add(CacheAppend{}, {past, fresh, reshape(n, d.before, Ints{-1}), room});
}

// Which blocks of keys each block of queries sees, bool [layouts, blocks, blocks], of rows
// [layouts, blocks + 1] and columns [layouts, most], which are as in compressed sparse rows.
ValueId seen_blocks(NodeImport& n) {
  const ValueId ends = slice(n, cast(n, n.in(5), DType::i64), 1, to_last, 1);
  const ValueId columns = cast(n, n.in(6), DType::i64);
  const ValueId blocks = dims_of(n, ends, 1, 2);
  const ValueId place = unsqueeze(n, counting(n, scalar_dim(n, columns, 1)), {1});
  const ValueId is_before = binary(n, BinaryKind::less_equal, unsqueeze(n, ends, {1}), place);
  const ValueId rows =
      squeeze(n, reduce(n, ReduceKind::sum, cast(n, is_before, DType::i64), {2}), {2});
  const ValueId is_padding = binary(n, BinaryKind::equal, rows, blocks);
  const ValueId zero = n.ints_constant({0});
  const ValueId used = where(n, is_padding, zero, columns);
  const ValueId checked =
      n.add(InRange{.what = "a column of a block"}, {used, zero, add(n, blocks, -1)});
  const ValueId at = add(n, mul(n, rows, blocks), checked);
  // Padding is in a row of its own behind the others.
  const ValueId layouts = dims_of(n, columns, 0, 1);
  const ValueId room = mul(n, blocks, add(n, blocks, 1));
  const ValueId none = filled(n, join_dims(n, {layouts, room}), DType::i32, 0);
  const ValueId one = filled(n, shape_of(n, at), DType::i32, 1);
  const ValueId marks = n.add(Scatter{.axis = 1}, {none, at, one});
  const ValueId each = n.ints_constant({-1});
  const ValueId table = reshape(n, marks, join_dims(n, {layouts, each, blocks}));
  return cast(n, table, DType::boolean);
}

// What the scores of heads that do not see a key get: [B, N, S, M]. Heads take the layouts in turn.
ValueId block_bias(NodeImport& n, const Decoder& d, std::int64_t size) {
  const ValueId seen = seen_blocks(n);
  const ValueId width = n.scalar(DType::i64, static_cast<double>(size));
  const ValueId of_queries = gather(n, seen, div(n, d.at, width), 1);  // [layouts, B, S, blocks]
  const ValueId key = counting(n, scalar_dim(n, d.k, 2));
  const ValueId blocks = scalar_dim(n, n.in(5), 1);
  const ValueId last = add(n, blocks, -2);
  const ValueId block = binary(n, BinaryKind::min, div(n, key, width), last);
  const ValueId of_keys = transpose(n, gather(n, of_queries, block, 3), {1, 0, 2, 3});
  const ValueId head = counting(n, n.scalar(DType::i64, static_cast<double>(d.heads)));
  const ValueId layouts = scalar_dim(n, n.in(5), 0);
  const ValueId of_heads = gather(n, of_keys, binary(n, BinaryKind::mod, head, layouts), 1);
  const bool is_half = n.dtype(d.q) == DType::f16;
  const double lowest = is_half ? -65504.0 : std::numeric_limits<float>::lowest();
  const ValueId hidden = n.scalar(n.dtype(d.q), lowest);
  return where(n, of_heads, n.scalar(n.dtype(d.q), 0), hidden);
}

void check_blocks(NodeImport& n, const Decoder& d) {
  if (n.known_rank(n.in(5)) != 2 || n.known_rank(n.in(6)) != 2)
    return n.fail("rows and columns of blocks want rank 2");
  const Dim layouts = n.dim(n.in(5), 0), others = n.dim(n.in(6), 0), ends = n.dim(n.in(5), 1);
  if (layouts.known() && others.known() && layouts.value() != others.value())
    return n.fail(cat("rows of ", layouts.value(), " layouts and columns of ", others.value()));
  if (layouts.known() && (layouts.value() < 1 || d.heads % layouts.value() != 0))
    return n.fail(cat(layouts.value(), " layouts for ", d.heads, " heads"));
  if (ends.known() && ends.value() < 2) n.fail("its layouts have no blocks");
}

void import_sparse_attention(NodeImport& n) {
  Decoder d{.heads = head_count(n, "num_heads"), .kv = head_count(n, "kv_num_heads")};
  const float given_scale = n.number("scale", 0);
  const bool rotates = n.flag("do_rotary", Flag::off);
  const std::int64_t size = n.integer("sparse_block_size");
  if (n.ok() && size != 16 && size != 32 && size != 64 && size != 128)
    return n.fail(cat("attribute 'sparse_block_size' is ", size, ", wants 16, 32, 64 or 128"));
  for (const std::size_t i : {3, 4, 5, 6, 7, 8})
    if (!n.has(i)) return n.fail(cat("input ", i, " is left out, but it is not optional"));
  check_blocks(n, d);
  if (n.ok()) read_rows(n, d);
  if (!n.ok()) return;
  find_sparse_positions(n, d);
  if (rotates) rotate(n, d, 9, d.at);
  n.ignore("rotary_interleaved");
  d.k = updated(n, d, n.in(3), d.k);
  d.v = updated(n, d, n.in(4), d.v);
  const ValueId bias = block_bias(n, d, size);
  const ScoreScale scale =
      score_scale(n, d.q, given_scale != 0 ? std::optional(given_scale) : std::nullopt);
  const ValueId before = reshape(n, d.before, Ints{-1});
  const ValueId y =
      n.add(CachedAttention{.scale = scale.factor}, {scale.q, d.k, d.v, before, bias});
  n.set(0, join_heads(n, y));
  n.set(1, d.k);
  n.set(2, d.v);
}

// ---- RotaryEmbedding: (x [B, S, hidden] or [B, N, S, H], positions [1] or [B, S], cos, sin)

void import_microsoft_rotary(NodeImport& n) {
  const Pairs pairs = n.flag("interleaved", Flag::off) ? Pairs::neighbours : Pairs::of_halves;
  const std::int64_t turned = n.integer("rotary_embedding_dim", 0);
  const std::int64_t heads = n.integer("num_heads", 0);
  n.ignore("scale");
  n.ignore("is_packed_batching");
  const bool packed = n.known_rank(n.in(0)) == 3;
  if (turned < 0 || turned % 2 != 0 || heads < 0)
    return n.fail("'rotary_embedding_dim' must be even, and nothing negative");
  ValueId x = n.in(0);
  if (packed && heads > 0) {
    x = split_heads(n, x, heads);
  } else if (packed) {  // heads as wide as cos_cache says
    const ValueId kept = n.ints_constant({0, 0, -1});
    const ValueId shape = join_dims(n, {kept, twice(n, dims_of(n, n.in(2), 1, 2))});
    x = transpose(n, reshape(n, x, shape), {0, 2, 1, 3});
  }
  ValueId at = n.in(1);
  if (n.known_rank(at) < 2) at = add(n, at, counting(n, scalar_dim(n, x, 2)));
  const auto rows_of = [&](std::size_t i) {
    const ValueId rows = gather(n, n.in(i), at, 0);
    return n.rank(at) == 2 ? unsqueeze(n, rows, {1}) : rows;
  };
  Rotation r{.cos = rows_of(2), .sin = no_value};
  r.sin = rows_of(3);
  if (turned > 0 && !n.dim(x, 3).is(turned)) r.width = turned;
  const ValueId y = rotated(n, x, r, pairs);
  n.set(0, packed ? join_heads(n, y) : y);
}

constexpr OpRow microsoft_decoder_rows[] = {
    {"GroupQueryAttention", 1, import_group_query_attention, {1, 14}, {1, 4}},
    {"RotaryEmbedding", 1, import_microsoft_rotary, {4, 4}},
    {"SparseAttention", 1, import_sparse_attention, {1, 11}, three},
};

}  // namespace

OpRows microsoft_decoder_ops() {
  return microsoft_decoder_rows;
}

}  // namespace quern::onnx
