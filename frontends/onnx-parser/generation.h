// SPDX-License-Identifier: Apache-2.0
// The search of operators that generate text: what is done to the scores of the next token, and
// which tokens come next. Sources: docs/ContribOperators.md of ONNX Runtime; what its text leaves
// open is as its CPU kernels have it.
//
// batch B, beams K, rows R = B * K, tokens so far L, vocabulary V, tokens at most T.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "frontends/onnx-parser/node_import.h"

namespace quern {
enum class BinaryKind : std::uint8_t;
}  // namespace quern

namespace quern::onnx {

enum class Choice : std::uint8_t { greatest, drawn, beams };

// Tokens of Whisper; -1 where there is none. Those from `first_time` on are times.
struct TimeTokens {
  std::int64_t end = -1;
  std::int64_t start = -1;
  std::int64_t translate = -1;
  std::int64_t transcribe = -1;
  std::int64_t language_model = -1;
  std::int64_t no_times = -1;
  std::int64_t first_time = 0;
};

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
  std::optional<TimeTokens> times;  // with the rules of times

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
  ValueId timed = no_value;        // bool [1]: the rules of times hold; no_value: they do
  ValueId draws = no_value;        // f32 [T, B, 1]: from 0 to below 1, for each step

  // The same in a body of the graph that has the operands.
  Search inside(NodeImport& body) const;
};

// ---- shapes

// Each row of x K times, one after the other: [B, ...] -> [R, ...]
ValueId for_each_beam(NodeImport& n, const Search& s, ValueId x);
// The rows of x that `rows` lists, along `axis`; x, where that is no_value.
ValueId reordered(NodeImport& n, ValueId x, ValueId rows, std::int64_t axis);

// ---- scores

// That of a token that is refused.
inline constexpr double lowest_score = std::numeric_limits<float>::lowest();

// The scores [R, V] behind the last token, in f32.
ValueId last_scores(NodeImport& n, const Search& s, ValueId logits);
ValueId compared(NodeImport& n, BinaryKind kind, ValueId x, double y);
// x, or a number where the condition holds.
ValueId unless(NodeImport& n, ValueId condition, ValueId x, double number);
// Those of x that `places` lists, row by row.
ValueId elements_at(NodeImport& n, ValueId x, ValueId places);
// Tokens that would end a run of `length` of them which is there already: bool [R, V], the shape of
// `scores`, for tokens so far, i64 [R, L].
ValueId ends_of_runs(NodeImport& n, std::int64_t length, ValueId scores, ValueId tokens);
// Scores [R, V] without what times forbid behind tokens, i64 [R, L]: they come in pairs and never
// fall, the first one soon, and a text that is less likely than all times together not at all.
ValueId refuse_by_times(NodeImport& n, const TimeTokens& times, ValueId scores, ValueId tokens);

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
