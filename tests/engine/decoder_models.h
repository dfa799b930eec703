// SPDX-License-Identifier: Apache-2.0
// A small language model in the forms in which exporters keep its cache.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <quern/decoder.h>
#include <quern/graph_builder.h>

#include "graph/ops/attention.h"
#include "graph/ops/shape_of.h"
#include "tests/engine/engine_test.h"

namespace quern::testing {

struct DecoderForm {
  // buffer: as GroupQueryAttention keeps it, rows of a buffer of any length. joined: the past and
  // the new rows one behind the other, masked by positions. counted: the same, with positions that
  // are counted from the length of the mask, and embedded.
  enum class Cache : std::uint8_t { buffer, joined, counted };
  Cache cache = Cache::buffer;
  DType dtype = DType::f32;  // of the cache
  std::int64_t layers = 2;
};

inline constexpr std::int64_t decoder_vocabulary = 13;

using Tokens = std::vector<std::int64_t>;
using Logits = std::vector<float>;

inline const Tokens story = {3, 1, 12, 7, 7, 0, 5, 9, 2, 11};

// The logits behind these tokens.
inline Logits after(Decoder& d, std::span<const std::int64_t> tokens) {
  must(d.append(tokens), "append");
  return {d.logits().begin(), d.logits().end()};
}

// Heads 4 over 2, of a width of 8.
class DecoderBuilder {
 public:
  explicit DecoderBuilder(const DecoderForm& form) : form_(form) {}

  Model build() {
    ids_ = g_.input("input_ids", DType::i64, {1, "new"});
    mask_ = g_.input("attention_mask", DType::i64, {1, "total"});
    if (form_.cache == DecoderForm::Cache::joined)
      positions_ = g_.input("position_ids", DType::i64, {1, "new"});
    rows_ = dim(ids_, 1);
    total_ = dim(mask_, 1);
    Operand x = g_.gather(weight({decoder_vocabulary, width * heads}, 5), ids_);
    if (form_.cache == DecoderForm::Cache::counted) {
      const Operand one = g_.scalar(1, DType::i64), end = g_.squeeze(total_);
      positions_ = g_.unsqueeze(g_.range(g_.sub(end, g_.squeeze(rows_)), end, one), {0});
      x = g_.add(x, g_.gather(weight({64, width * heads}, 6), positions_));
    }
    for (std::int64_t i = 0; i < form_.layers; ++i) x = g_.add(x, attention(x, i));
    g_.output("logits", g_.matmul(x, weight({width * heads, decoder_vocabulary}, 7)));
    for (auto& [name, value] : presents_) g_.output(name, value);
    return must(g_.build());
  }

 private:
  static constexpr std::int64_t heads = 4, key_heads = 2, width = 8;

  Operand weight(const Shape& shape, int seed) { return g_.constant(pattern(shape, seed)); }
  Operand dim(Operand x, std::int64_t axis) {
    return g_.op(ShapeOf{.start = axis, .end = axis + 1}, {x});
  }
  Operand split(Operand x, std::int64_t n) {
    return g_.transpose(g_.reshape(x, {0, 0, n, width}), {0, 2, 1, 3});
  }

  // The cache behind the new rows, which are turned by their position in nothing: the model knows
  // of order only by what it sees.
  Operand present(Operand rows, const std::string& layer, const std::string& part) {
    const Operand past = g_.input("past_key_values." + layer + "." + part, form_.dtype,
                                  {1, key_heads, "past", width});
    const Operand narrow = g_.cast(rows, form_.dtype);
    Operand all;
    if (form_.cache != DecoderForm::Cache::buffer) {
      all = g_.concat({past, narrow}, 2);
    } else {
      const Operand length = g_.max(total_, dim(past, 2));
      all = g_.op(CacheAppend{}, {past, narrow, before(), length});
    }
    presents_.emplace_back("present." + layer + "." + part, all);
    return all;
  }
  Operand before() { return g_.sub(g_.reduce("sum", mask_, {1}, {.keepdims = false}), rows_); }

  Operand attention(Operand x, std::int64_t layer) {
    const int seed = static_cast<int>(layer) * 10;
    const auto project = [&](std::int64_t n, int at) {
      return split(g_.matmul(x, weight({width * heads, n * width}, seed + at)), n);
    };
    const Operand q = project(heads, 1);
    const std::string number = std::to_string(layer);
    const Operand k = present(project(key_heads, 2), number, "key");
    const Operand v = present(project(key_heads, 3), number, "value");
    const Operand y = form_.cache == DecoderForm::Cache::buffer ? cached(q, k, v) : masked(q, k, v);
    const Operand joined = g_.reshape(g_.transpose(y, {0, 2, 1, 3}), {0, 0, width * heads});
    return g_.matmul(joined, weight({width * heads, width * heads}, seed + 4));
  }
  Operand cached(Operand q, Operand k, Operand v) {
    return g_.op(CachedAttention{.scale = 0.5F},
                 {q, g_.cast(k, DType::f32), g_.cast(v, DType::f32), before()});
  }
  Operand masked(Operand q, Operand k, Operand v) {
    const Operand zero = g_.scalar(0, DType::i64), one = g_.scalar(1, DType::i64);
    const Operand column = g_.range(zero, g_.squeeze(total_), one);
    const Operand sees = g_.less_equal(column, g_.unsqueeze(positions_, {1, 3}));
    const Operand hidden = g_.scalar(-std::numeric_limits<double>::infinity());
    const Operand bias = g_.where(sees, g_.scalar(0), hidden);
    return g_.op(Attention{.scale = 0.5F},
                 {q, g_.cast(k, DType::f32), g_.cast(v, DType::f32), bias});
  }

  DecoderForm form_;
  GraphBuilder g_;
  Operand ids_, mask_, positions_, rows_, total_;
  std::vector<std::pair<std::string, Operand>> presents_;
};

inline Model decoder_model(const DecoderForm& form = {}) {
  return DecoderBuilder(form).build();
}

}  // namespace quern::testing
