// SPDX-License-Identifier: Apache-2.0
// com.microsoft: sequences of tokens and of words, and paths through costs. The data are made here
// where they decide a shape.
#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "tools/random/families.h"
#include "tools/random/fill.h"

namespace quern::tools {
namespace {

constexpr std::string_view sequence_domain = "com.microsoft";

// Of few tokens, so that runs of them come again.
bool refused_runs(Builder& b) {
  const Extent rows = fixed(b.rng.between(1, 3)), length = b.random_extent();
  const Extent vocabulary = fixed(b.rng.between(2, 5));
  if (!b.fits({rows, length}) || !b.fits({rows, vocabulary})) return false;
  const DrawnValue tokens = b.indices(DType::i64, {rows, length}, fixed(0), vocabulary);
  const DrawnValue scores = b.take_like(DType::f32, {rows, vocabulary});
  b.add_of(sequence_domain, "NGramRepeatBlock", {tokens, scores},
           {Builder::integer("ngram_size", b.rng.between(1, 4))},
           {DType::f32, scores.dims, std::numeric_limits<double>::infinity(), false});
  return true;
}

// The path is known before: it goes on by both as long as it can, costs 0 and elsewhere 1.
bool time_warping(Builder& b) {
  const Extent rows = b.random_extent(), columns = b.random_extent();
  if (least(rows) == 0 || least(columns) == 0 || !b.fits({rows, columns})) return false;
  Extent length = fixed(0);
  const DrawnValue costs =
      b.input_of(DType::f32, {rows, columns}, [&](std::size_t run, const Shape& shape) {
        std::vector<double> all(static_cast<std::size_t>(shape.elements()), 1);
        std::int64_t i = 0, j = 0;
        for (length[run] = 1;; ++length[run]) {
          all[static_cast<std::size_t>(i * shape[1] + j)] = 0;
          if (i == shape[0] - 1 && j == shape[1] - 1) break;
          i += i < shape[0] - 1;
          j += j < shape[1] - 1;
        }
        return tensor_of(DType::f32, shape,
                         [&](std::int64_t at) { return all[static_cast<std::size_t>(at)]; });
      });
  for (std::size_t run = b.runs(); run < most_runs; ++run) length[run] = length[0];
  b.add_of(sequence_domain, "DynamicTimeWarping", {b.steady(costs)}, {},
           {DType::i32, {fixed(2), length}, 1e3, false, true});
  return true;
}

// Texts of words whose numbers are known.
bool tokens(Builder& b) {
  const bool by_separators = b.rng.chance(0.5), marks = b.rng.chance(0.4);
  const std::int64_t least = b.rng.between(1, 2);
  const Extent length = fixed(b.rng.between(1, 4));
  Extent width = fixed(0);
  const DrawnValue x =
      b.input_of(DType::string, {length}, [&](std::size_t run, const Shape& shape) {
        std::vector<std::string> texts;
        width[run] = 0;
        for (std::int64_t i = 0; i < shape.elements(); ++i) {
          const std::int64_t words = b.rng.between(0, 5);
          std::int64_t count = 0;
          std::string text;
          for (std::int64_t k = 0; k < words; ++k) {
            const bool is_long = b.rng.chance(0.6);
            count += is_long || least == 1;
            text += is_long ? "\u00e4b;" : "c, ";
          }
          texts.push_back(std::move(text));
          width[run] = std::max(width[run], count);
        }
        if (marks && width[run] > 0) width[run] += 2;
        return string_tensor(shape, std::move(texts));
      });
  for (std::size_t run = b.runs(); run < most_runs; ++run) width[run] = width[0];
  Attributes a = {Builder::integer("mark", marks), Builder::integer("mincharnum", least),
                  Builder::text("pad_value", "-")};
  static constexpr std::array<std::string_view, 2> separators = {"[;,]", " +"};
  a.push_back(by_separators ? onnx::texts_attribute("separators", separators)
                            : Builder::text("tokenexp", "[^;, ]+"));
  b.add_of(sequence_domain, "Tokenizer", {x}, a, {DType::string, {length, width}, 1, false});
  return true;
}

bool hashed_texts(Builder& b) {
  const DrawnValue x = b.take({.types = {DType::string}});
  const bool positive = b.rng.chance(0.6);
  Attributes a = {Builder::integer("positive", positive)};
  if (b.rng.chance(0.5)) a.push_back(Builder::integer("seed", b.rng.between(0, 1 << 30)));
  b.add_of(sequence_domain, "MurmurHash3", {x}, a,
           {positive ? DType::u32 : DType::i32, x.dims, 4e9, false, true});
  return true;
}

// Guesses of which as many are the source's as each run says.
bool bifurcation(Builder& b) {
  const std::int64_t source = b.rng.between(1, 8), from = b.rng.between(0, source);
  const Extent before = b.random_extent();
  const DrawnValue tokens = b.indices(DType::i64, {before}, fixed(0), fixed(4));
  const DrawnValue all =
      b.steady(b.input_of(DType::i64, {fixed(source)}, [&](std::size_t, const Shape& shape) {
        return tensor_of(DType::i64, shape,
                         [](std::int64_t i) { return static_cast<double>(i % 3); });
      }));
  Values in = {all, tokens, b.scalar(DType::i64, static_cast<double>(from))};
  Extents dims = {before};
  if (b.rng.chance(0.7)) {
    Extent kept = fixed(0);
    in.push_back(b.steady(b.input_of(
        DType::i64, {fixed(source - from + 1)}, [&](std::size_t run, const Shape& shape) {
          kept[run] = b.rng.between(0, source - from);
          return tensor_of(DType::i64, shape, [&](std::int64_t i) {
            return i < kept[run] ? static_cast<double>((from + i) % 3) : 3.0;
          });
        })));
    for (std::size_t run = b.runs(); run < most_runs; ++run) kept[run] = kept[0];
    for (std::size_t run = 0; run < most_runs; ++run) dims[0][run] += kept[run] + 1;
  }
  b.add_many("BifurcationDetector", in,
             {Builder::integer("min_ngram_size", b.rng.between(1, 2)),
              Builder::integer("max_ngram_size", b.rng.between(2, 4))},
             {{DType::i64, dims, 9, false, true}, {DType::i64, {}, 9, false, true}},
             sequence_domain);
  return true;
}

// ONNX Runtime's kernel wants the presents in the memory of the pasts, and refuses these models.
bool sparse_attention(Builder& b) {
  const std::int64_t batch = b.rng.between(1, 2), kv = b.rng.between(1, 2), width = 8;
  const std::int64_t heads = 2 * kv, layouts = b.rng.between(1, 2);
  const Extent rows = b.random_extent();
  const auto wide = [&](std::int64_t n) { return Extents{fixed(batch), rows, fixed(n * width)}; };
  const Extents cache = fixed_dims(std::array{batch, kv, std::int64_t{48}, width});
  if (least(rows) == 0 || most(rows) > 40 || !b.fits(wide(heads)) || !b.fits(cache) ||
      !b.fits({fixed(batch), fixed(heads), rows, fixed(48)}))
    return false;
  const bool is_prompt = b.rng.chance(0.5);
  const Extent total = is_prompt ? rows : fixed(48);
  Values in = {b.take_like(DType::f32, wide(heads)), b.take_like(DType::f32, wide(kv)),
               b.take_like(DType::f32, wide(kv)), b.root(DType::f32, cache),
               b.root(DType::f32, cache)};
  if (in[0].most > 3 || in[1].most > 3) return false;
  std::vector<std::int64_t> ends, columns;
  for (std::int64_t l = 0; l < layouts; ++l) {
    ends.insert(ends.end(), {0, 1, 3, 5});
    columns.insert(columns.end(), {0, 0, 1, l, 2});
  }
  const auto table = [&](const std::vector<std::int64_t>& v) {
    Tensor t = tensor_of(
        DType::i32, Shape{layouts, static_cast<std::int64_t>(v.size()) / layouts},
        [&](std::int64_t i) { return static_cast<double>(v[static_cast<std::size_t>(i)]); });
    return b.constant_of(std::move(t));
  };
  in.push_back(table(ends));
  in.push_back(table(columns));
  in.push_back(b.input_of(DType::i32, {fixed(1)}, [&](std::size_t run, const Shape& shape) {
    return tensor_of(DType::i32, shape,
                     [&](std::int64_t) { return static_cast<double>(total[run]); });
  }));
  in.push_back(b.indices(DType::i32, {fixed(batch)}, is_prompt ? rows : fixed(40),
                         map_extent(total, [](auto n) { return n + 1; })));
  b.add_many("SparseAttention", in,
             {Builder::integer("num_heads", heads), Builder::integer("kv_num_heads", kv),
              Builder::integer("sparse_block_size", 16)},
             {{DType::f32, wide(heads), 6}, {DType::f32, cache, 6}, {DType::f32, cache, 6}},
             sequence_domain);
  return true;
}

// An LSTM that attends to a memory.
bool attentive_lstm(Builder& b) {
  const Extent length = b.random_extent();
  const std::int64_t batch = b.rng.between(1, 2), width = b.rng.between(1, 4),
                     hidden = b.rng.between(1, 4), memory = b.rng.between(1, 5),
                     depth = b.rng.between(1, 4), inner = b.rng.between(1, 4),
                     mixed = b.rng.chance(0.5) ? b.rng.between(1, 4) : 0;
  const std::int64_t state = mixed > 0 ? mixed : depth;
  static constexpr std::array<std::string_view, 3> ways = {"forward", "reverse", "bidirectional"};
  const auto way = static_cast<std::size_t>(b.rng.below(3));
  const std::int64_t directions = way == 2 ? 2 : 1;
  const Extents yd = {length, fixed(directions), fixed(batch), fixed(hidden)};
  const Extents xd = {length, fixed(batch), fixed(width)};
  if (least(length) == 0 || !b.fits(xd) || !b.fits(yd)) return false;
  const DrawnValue x = b.take_like(DType::f32, xd);
  if (x.most > 4) return false;
  const auto some = [&](const std::vector<std::int64_t>& dims) {
    return b.root(DType::f32, fixed_dims(dims));
  };
  const auto perhaps = [&](const std::vector<std::int64_t>& dims) {
    return b.rng.chance(0.5) ? some(dims) : Builder::none();
  };
  Values in = {x, some({directions, 4 * hidden, width + state}),
               some({directions, 4 * hidden, hidden})};
  in.push_back(perhaps({directions, 8 * hidden}));
  in.push_back(b.rng.chance(0.5) ? b.indices(DType::i32, {fixed(batch)}, fixed(1),
                                             map_extent(length, [](auto n) { return n + 1; }))
                                 : Builder::none());
  for (int k = 0; k < 2; ++k) in.push_back(perhaps({directions, batch, hidden}));
  in.push_back(perhaps({directions, 3 * hidden}));
  in.push_back(some({directions, hidden, inner}));
  in.push_back(some({directions, depth, inner}));
  in.push_back(some({directions, inner}));
  in.push_back(some({batch, memory, depth}));
  in.push_back(b.rng.chance(0.5)
                   ? b.indices(DType::i32, {fixed(batch)}, fixed(1), fixed(memory + 1))
                   : Builder::none());
  if (mixed > 0) in.push_back(some({directions, hidden + depth, mixed}));
  const Extents last = {fixed(directions), fixed(batch), fixed(hidden)};
  Attributes a = {Builder::integer("hidden_size", hidden), Builder::text("direction", ways[way])};
  if (b.rng.chance(0.2)) a.push_back(b.number("clip", 0.5));
  if (b.rng.chance(0.2)) a.push_back(Builder::integer("input_forget", 1));
  b.add_many("AttnLSTM", in, a,
             {{DType::f32, yd, 1}, {DType::f32, last, 1}, {DType::f32, last, 100}},
             sequence_domain);
  return true;
}

constexpr std::array contrib_sequence_table = {
    Family{"contrib-attentive-lstm", 0.2, attentive_lstm},
    Family{"contrib-time-warping", 0.2, time_warping},
    Family{"contrib-tokens", 0.2, tokens},
    Family{"contrib-hashed-texts", 0.1, hashed_texts},
    Family{"contrib-bifurcation", 0.2, bifurcation},
    Family{"contrib-sparse-attention", 0.2, sparse_attention},
    Family{"contrib-refused-runs", 0.2, refused_runs},
};

}  // namespace

std::span<const Family> contrib_sequence_families() {
  return contrib_sequence_table;
}

}  // namespace quern::tools
