// SPDX-License-Identifier: Apache-2.0
// Models of what decoders do with their caches: rows that are appended, and attention to those that
// count.
#pragma once

#include <string>

#include "graph/ops/attention.h"
#include "tests/engine/family.h"

namespace quern::testing {

inline void append_to_caches(GraphBuilder& g) {
  const Operand before = g.integers({3, 0});
  const auto append = [&](const char* name, DType type, std::int64_t room, std::int64_t width,
                          std::int64_t length) {
    const std::string past = std::string("past of ") + name;
    const Operand rows = floats(g, std::string("rows of ") + name, {2, 3, 2, width});
    const auto cast = [&](Operand x) { return type == DType::f32 ? x : g.cast(x, type); };
    g.output(name, g.op(CacheAppend{},
                        {cast(floats(g, past, {2, 2, room, width})),
                         cast(g.transpose(rows, {0, 2, 1, 3})), before, g.integers({length})}));
  };
  append("fours", DType::f32, 6, 8, 6);
  append("longer", DType::f32, 6, 4, 9);
  append("words", DType::f32, 7, 5, 7);
  append("halves", DType::f16, 6, 3, 6);
  append("pairs of halves", DType::f16, 6, 6, 8);
  append("bytes", DType::boolean, 6, 3, 6);
  append("longs", DType::i64, 6, 1, 6);
}

inline void attend_to_caches(GraphBuilder& g) {
  const auto list = [&](std::int64_t a, std::int64_t b) { return g.integers({a, b}); };
  const auto attend = [&](const char* name, const CachedAttention& op, Shape q, Shape k,
                          std::int64_t columns, Operand before, DType cache = DType::f32,
                          Operands more = {}) {
    const auto of = [&](const char* part, const Shape& shape) {
      return floats(g, std::string(part) + " of " + name, shape);
    };
    const auto cast = [&](Operand x) { return cache == DType::f32 ? x : g.cast(x, cache); };
    Operands in = {of("q", q), cast(of("k", k)), cast(of("v", {k[0], k[1], k[2], columns})),
                   before};
    in.insert(in.end(), more.begin(), more.end());
    g.output(name, g.op(op, in));
  };
  const Shape q{2, 6, 3, 8}, k{2, 2, 40, 8};
  attend("plain", {.scale = 0.5F}, q, k, 8, list(0, 37));
  attend("one row", {.scale = 0.5F}, {2, 2, 1, 12}, {2, 1, 70, 12}, 4, list(69, 33));
  attend("a window", {.scale = 0.5F, .window = 5}, q, k, 12, list(30, 1));
  attend("a cap", {.scale = 2, .softcap = 1.5F}, q, k, 40, list(30, 1));
  attend("odd widths", {.scale = 0.3F}, {2, 3, 5, 7}, {2, 3, 19, 7}, 5, list(4, 11));
  attend("halves", {.scale = 0.3F}, q, k, 12, list(4, 11), DType::f16);
  attend("odd halves", {.scale = 0.3F}, {2, 3, 2, 7}, {2, 1, 9, 7}, 3, list(4, 7), DType::f16);
  attend("wide", {.scale = 0.1F}, {1, 2, 2, 4}, {1, 2, 20, 4}, 150, g.integers({9}));
  // More keys than a device in software counts, and enough to share out among many units.
  attend("parts", {.scale = 0.4F}, {1, 1, 2, 1}, {1, 1, 60000, 1}, 20, g.integers({59000}));
  const Operand sink = floats(g, "sink", {6});
  attend("a bias and a sink", {.scale = 0.5F}, q, k, 8, list(20, 3), DType::f32,
         {floats(g, "bias", {6, 1, 40}), sink});
  attend("a bias of rows", {.scale = 0.5F}, q, k, 8, list(20, 3), DType::f32,
         {floats(g, "rows", {2, 1, 3, 40})});
  attend("a sink of parts", {.scale = 0.4F}, {1, 6, 1, 1}, {1, 1, 60000, 1}, 20,
         g.integers({59999}), DType::f32, {floats(g, "all", {60000}), sink});
}

}  // namespace quern::testing
