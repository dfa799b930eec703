// SPDX-License-Identifier: Apache-2.0
// Attention (opsets 23 to 25), FlexAttention and RotaryEmbedding; LinearAttention is in
// ops_linear_attention.cpp.
#include <cmath>
#include <limits>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/attention_parts.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/attention.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/matmul.h"
#include "graph/ops/pad.h"
#include "graph/ops/reduce.h"
#include "graph/ops/shape_of.h"
#include "graph/ops/softmax.h"
#include "graph/ops/unary_kind.h"
#include "graph/type.h"

namespace quern::onnx {

namespace {

// ---- operands

struct Operands {
  ValueId q;
  ValueId k;  // with the past keys in front
  ValueId v;
  bool packed = false;  // rank 3: heads lie in the last dimension
};

Operands read_operands(NodeImport& n) {
  Operands o{.q = n.in(0), .k = n.in(1), .v = n.in(2), .packed = n.known_rank(n.in(0)) == 3};
  if (o.packed) {
    const std::int64_t q_heads = head_count(n, "q_num_heads");
    const std::int64_t kv_heads = head_count(n, "kv_num_heads");
    o.q = split_heads(n, o.q, q_heads);
    o.k = split_heads(n, o.k, kv_heads);
    o.v = split_heads(n, o.v, kv_heads);
  } else {
    n.ignore("q_num_heads");
    n.ignore("kv_num_heads");
  }
  if (n.has(4) != n.has(5)) n.fail("past key and past value must come together");
  if (n.has(4) && n.has(5)) {
    o.k = concat(n, {n.in(4), o.k}, 2);
    o.v = concat(n, {n.in(5), o.v}, 2);
  }
  return o;
}

// ---- masks

struct WindowLimits {
  bool causal = false;
  std::int64_t left = -1;   // visible keys before the query's position; -1: all
  std::int64_t right = -1;  // and after
};

WindowLimits read_limits(NodeImport& n) {
  return {.causal = n.flag("is_causal", Flag::off),
          .left = n.integer("left_window_size", -1),
          .right = n.integer("right_window_size", -1)};
}

ValueId both(NodeImport& n, ValueId a, ValueId b) {
  if (a == no_value) return b;
  return b == no_value ? a : binary(n, BinaryKind::logical_and, a, b);
}

// The keys visible to a query by its position and the number of valid keys, as bools that broadcast
// to [batch, heads, rows, keys]; no_value: all keys.
ValueId visible_keys(NodeImport& n, const Operands& o, const WindowLimits& limits) {
  const bool positional = limits.causal || limits.left >= 0 || limits.right >= 0;
  const bool external_cache = n.has(6);
  if (!positional && !external_cache) return no_value;
  const ValueId column = counting(n, scalar_dim(n, o.k, 2));
  const ValueId valid = external_cache ? unsqueeze(n, n.in(6), {1, 2, 3}) : no_value;
  ValueId visible = external_cache ? binary(n, BinaryKind::less, column, valid) : no_value;
  if (!positional) return visible;
  ValueId row = unsqueeze(n, counting(n, scalar_dim(n, o.q, 2)), {1});
  if (n.has(4)) {
    row = add(n, row, dims_of(n, n.in(4), 2, 3));
  } else if (external_cache) {
    row = add(n, row, sub(n, valid, dims_of(n, o.q, 2, 3)));
  }
  const ValueId distance = sub(n, row, column);
  const auto bound = [&](BinaryKind kind, std::int64_t limit) {
    const ValueId l = n.scalar(DType::i64, static_cast<double>(limit));
    visible = both(n, visible, binary(n, kind, distance, l));
  };
  if (limits.causal) bound(BinaryKind::greater_equal, 0);
  if (limits.left >= 0) bound(BinaryKind::less_equal, limits.left);
  if (limits.right >= 0) bound(BinaryKind::greater_equal, -limits.right);
  return visible;
}

// From opset 24 on a mask may cover fewer keys than there are; the other keys are hidden.
ValueId padded_mask(NodeImport& n, ValueId mask, ValueId k) {
  const Dim keys = n.dim(k, 2);
  if (n.version() < 24 || n.dim(mask, -1).same(keys)) return mask;
  const ValueId given = n.add(ShapeOf{.start = -1}, {mask});
  const ValueId missing = sub(n, dims_of(n, k, 2, 3), given);
  const ValueId pads = join_dims(n, {n.ints_constant({0}), missing});
  const bool is_bool = n.dtype(mask) == DType::boolean;
  const ValueId hidden =
      n.scalar(n.dtype(mask), is_bool ? 0 : -std::numeric_limits<double>::infinity());
  return n.add(Pad{}, {mask, pads, hidden, n.ints_constant({-1})});
}

// Returns the term added to the scores; no_value if there is none.
ValueId score_bias(NodeImport& n, const Operands& o, const WindowLimits& limits) {
  const DType dtype = n.dtype(o.q);
  ValueId visible = visible_keys(n, o, limits);
  ValueId given = no_value;
  if (n.has(3)) {
    const ValueId mask = padded_mask(n, n.in(3), o.k);
    if (n.dtype(mask) == DType::boolean) {
      visible = both(n, visible, mask);
    } else {
      given = cast(n, mask, dtype);
    }
  }
  if (visible == no_value) return given;
  const ValueId bias = where(n, visible, n.scalar(dtype, 0),
                             n.scalar(dtype, -std::numeric_limits<double>::infinity()));
  return given == no_value ? bias : add(n, given, bias);
}

// Returns x, with zeros in rows where the bias hides every key, since softmax is NaN there.
ValueId zero_hidden_rows(NodeImport& n, ValueId x, ValueId bias) {
  if (bias == no_value) return x;
  const ValueId best = reduce(n, ReduceKind::max, bias, {-1});
  const ValueId hidden = n.scalar_like(bias, -std::numeric_limits<double>::infinity());
  return where(n, binary(n, BinaryKind::equal, best, hidden), n.scalar_like(x, 0), x);
}

// ---- attention

ScoreScale read_scale(NodeImport& n, ValueId q) {
  const float given = n.number("scale", 0);
  return score_scale(n, q, n.has_attribute("scale") ? std::optional(given) : std::nullopt);
}

enum class ScoreOutput : std::int64_t { raw, capped, biased, softmax };

// Attention in separate steps, for models that use intermediate results.
ValueId spelled_out(NodeImport& n, const Operands& o, const ScoreScale& scale, ValueId bias,
                    float softcap, DType precision) {
  const auto mode = static_cast<ScoreOutput>(n.integer("qk_matmul_output_mode", 0));
  const ValueId k = repeat_heads(n, o.k, o.q);
  const ValueId v = repeat_heads(n, o.v, o.q);
  const ValueId raw = n.add(MatMul{.transpose_b = true, .alpha = scale.factor}, {scale.q, k});
  ValueId capped = raw;
  if (softcap != 0) capped = mul(n, unary(n, UnaryKind::tanh, mul(n, raw, 1.0 / softcap)), softcap);
  const ValueId biased = bias == no_value ? capped : add(n, capped, bias);
  ValueId p = n.add(Softmax{}, {cast(n, biased, precision)});
  p = zero_hidden_rows(n, cast(n, p, n.dtype(o.q)), bias);
  switch (mode) {
    case ScoreOutput::raw: n.set(3, raw); break;
    case ScoreOutput::capped: n.set(3, capped); break;
    case ScoreOutput::biased: n.set(3, biased); break;
    case ScoreOutput::softmax: n.set(3, p); break;
    default: n.fail("attribute 'qk_matmul_output_mode' wants 0 to 3");
  }
  return n.add(MatMul{}, {p, v});
}

void import_attention(NodeImport& n) {
  const WindowLimits limits = read_limits(n);
  const float softcap = n.number("softcap", 0);
  const DType precision = n.dtype_attribute("softmax_precision", n.dtype(n.in(0)));
  const Operands o = read_operands(n);
  const ScoreScale scale = read_scale(n, o.q);
  const ValueId bias = score_bias(n, o, limits);
  n.ignore("qk_matmul_output_mode");
  ValueId y = no_value;
  if (softcap == 0 && !n.wants(3) && precision != DType::f64) {
    std::vector<ValueId> inputs = {scale.q, o.k, o.v};
    if (bias != no_value) inputs.push_back(bias);
    y = zero_hidden_rows(n, n.add(Attention{.scale = scale.factor}, std::move(inputs)), bias);
  } else {
    y = spelled_out(n, o, scale, bias, softcap, precision);
  }
  if (o.packed) y = join_heads(n, y);
  n.set(0, y);
  n.set(1, o.k);
  n.set(2, o.v);
}

// ---- rotary embedding

void import_rotary_embedding(NodeImport& n) {
  const Pairs pairs = n.flag("interleaved", Flag::off) ? Pairs::neighbours : Pairs::of_halves;
  const std::int64_t turned = n.integer("rotary_embedding_dim", 0);
  const bool packed = n.known_rank(n.in(0)) == 3;
  if (turned < 0 || turned % 2 != 0)
    return n.fail("attribute 'rotary_embedding_dim' must be even and not negative");
  const std::int64_t heads = packed ? head_count(n, "num_heads") : n.integer("num_heads", 0);
  const ValueId x = packed ? reshape(n, n.in(0), Ints{0, 0, heads, -1}) : n.in(0);
  // The caches have no head dimension: [batch, rows, width] is broadcast to [batch, rows, heads,
  // width] if packed, and to [batch, heads, rows, width] otherwise.
  const auto cache = [&](std::size_t i) {
    ValueId c = n.has(3) ? gather(n, n.in(i), n.in(3), 0) : n.in(i);
    if (turned > 0) c = slice(n, c, 0, turned / 2, -1);
    return unsqueeze(n, c, {packed ? 2 : 1});
  };
  const ValueId cos = cache(1);
  const ValueId sin = cache(2);
  const ValueId y = rotated(n, x, {cos, sin, turned}, pairs);
  n.set(0, packed ? reshape(n, y, shape_of(n, n.in(0))) : y);
}

// ---- ai.onnx.preview FlexAttention: its scores and probabilities pass through graphs of the model

// x as the graph of an attribute changes it, which keeps type and shape; x where there is none.
ValueId modified(NodeImport& n, std::string_view attribute, ValueId x) {
  if (!n.has_attribute(attribute)) return x;
  const GraphProto* proto = n.graph(attribute);
  if (!n.ok()) return x;
  const ValueId inputs[] = {x};
  const std::vector<ValueId> outputs = n.inlined(*proto, inputs);
  if (!n.ok()) return x;
  const auto fits = [&](const ValueType& y, const ValueType& wanted) {
    return y.dtype == wanted.dtype && (!y.dims || !wanted.dims || meet(*wanted.dims, *y.dims));
  };
  if (outputs.size() != 1 || !fits(n.type(outputs[0]), n.type(x)))
    n.fail(cat("attribute '", attribute,
               "' wants a graph with one output of the type and shape of its input"));
  return outputs.empty() ? x : outputs[0];
}

void import_flex_attention(NodeImport& n) {
  for (std::size_t i : {0, 1, 2})
    if (const std::int64_t rank = n.known_rank(n.in(i)); n.ok() && rank != 4)
      return n.fail(cat("input ", i, " has rank ", rank, ", wants 4"));
  if (!n.ok()) return;
  const ValueId v = n.in(2);
  const DType type = n.dtype(n.in(0));
  const DType precision =
      n.dtype_attribute("softmax_precision", type == DType::f64 ? DType::f64 : DType::f32);
  const ScoreScale scale = read_scale(n, n.in(0));
  const bool is_plain = !n.has_attribute("score_mod") && !n.has_attribute("prob_mod");
  if (is_plain && precision == DType::f32)
    return n.emit(Attention{.scale = scale.factor}, {scale.q, n.in(1), v});
  const ValueId k = repeat_heads(n, n.in(1), n.in(0));
  const ValueId raw = n.add(MatMul{.transpose_b = true, .alpha = scale.factor}, {scale.q, k});
  const ValueId scores = modified(n, "score_mod", cast(n, raw, precision));
  const ValueId p = modified(n, "prob_mod", n.add(Softmax{}, {scores}));
  const ValueId y = n.add(MatMul{}, {p, cast(n, repeat_heads(n, v, n.in(0)), precision)});
  n.set(0, cast(n, y, type));
}

}  // namespace

void import_linear_attention(NodeImport& n);

namespace {

constexpr OpRow attention_rows[] = {
    {"Attention", 23, import_attention, {3, 7}, {1, 4}},
    {"LinearAttention", 27, import_linear_attention, {3, 6}, {1, 2}},
    {"RotaryEmbedding", 23, import_rotary_embedding, {3, 4}},
};
constexpr OpRow preview_rows[] = {{"FlexAttention", 1, import_flex_attention, three}};

}  // namespace

OpRows attention_ops() {
  return attention_rows;
}

OpRows preview_ops() {
  return preview_rows;
}

}  // namespace quern::onnx
