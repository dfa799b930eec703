// SPDX-License-Identifier: Apache-2.0
// The search of operators that generate text: what is done to the scores of the next token, and
// which tokens come next. Sources: docs/ContribOperators.md of ONNX Runtime; what its text leaves
// open is as its CPU kernels have it.
//
// batch B, beams K, rows R = B * K, tokens so far L, vocabulary V, tokens at most T.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "frontends/onnx-parser/node_import.h"

namespace quern::onnx {

enum class Choice : std::uint8_t { greatest, drawn, beams };

// The rules of a search, and their operands. Operands that are absent are no_value.
struct Search {
  Choice choice = Choice::greatest;
  std::int64_t eos = -1;
  std::int64_t pad = -1;
  std::int64_t vocabulary = 0;  // 0: as many as there are scores
  std::int64_t ngram = 0;       // runs of so many tokens stand once; 0: as often as they come
  bool early_stopping = false;
  // These are of draws.
  float top_p = 0;
  float filter_value = 0;
  std::int64_t least_kept = 0;
  bool custom = false;

  ValueId max_length = no_value;   // T: i64 [1]
  ValueId min_length = no_value;   // i64 [1]
  ValueId beams = no_value;        // K: i64 [1]
  ValueId returned = no_value;     // sequences of a prompt that are results: i64 [1]
  ValueId repetition = no_value;   // f32 [1]: the penalty of tokens that are there
  ValueId length = no_value;       // f32 [1]: the penalty's exponent
  ValueId temperature = no_value;  // f32 [1]
  ValueId presence = no_value;     // f32 [R, V]: what scores lose
  ValueId allowed = no_value;      // bool [1, V]
  ValueId first = no_value;        // bool [R, V]: allowed as the first token
  ValueId draws = no_value;        // f32 [T, B, 1]: from 0 to below 1, for each step

  // The same in a body of the graph that has the operands.
  Search inside(NodeImport& body) const;
};

// ---- shapes

// Each row of x K times, one after the other: [B, ...] -> [R, ...]
ValueId for_each_beam(NodeImport& n, const Search& s, ValueId x);
// The rows of x that `rows` lists, along `axis`; x, where that is no_value.
ValueId reordered(NodeImport& n, ValueId x, ValueId rows, std::int64_t axis);

// ---- steps

// The values that a search hands on from token to token; the first are the tokens so far, i64 [R,
// L].
using SearchState = std::vector<ValueId>;
// The state of a search that begins with these tokens, for B `prompts`: i64 [1].
SearchState begin_search(NodeImport& n, const Search& s, ValueId tokens, ValueId prompts);

struct Step {
  SearchState state;
  ValueId tokens = no_value;   // the next ones: i64 [R, 1]
  ValueId rows = no_value;     // the rows that they continue: i64 [R]; no_value: each its own
  ValueId goes_on = no_value;  // bool []
  ValueId scores = no_value;   // f32 [R, V]
};
// One step; `iteration`, i64 [], is 0 at the first.
Step next_step(NodeImport& n, const Search& s, const SearchState& state, ValueId logits,
               ValueId iteration);

// ---- results

struct Found {
  ValueId sequences = no_value;  // i32 [B, T], with beams [B, K, T]: the best first
  ValueId scores = no_value;     // of beams: f32 [B, K]
};
Found end_search(NodeImport& n, const Search& s, SearchState state);
// x with `value` behind it along `axis` up to a length, i64 [1].
ValueId padded_to(NodeImport& n, ValueId x, std::int64_t axis, ValueId length, double value);

}  // namespace quern::onnx
