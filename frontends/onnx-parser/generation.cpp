// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx-parser/generation.h"

#include <limits>
#include <utility>

#include "frontends/onnx-parser/expand.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/cumulative.h"
#include "graph/ops/data_dependent.h"
#include "graph/ops/gather.h"
#include "graph/ops/pad.h"
#include "graph/ops/reduce.h"
#include "graph/ops/reshape.h"
#include "graph/ops/scatter.h"
#include "graph/ops/slice.h"
#include "graph/ops/softmax.h"
#include "graph/ops/unary_kind.h"

namespace quern::onnx {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();

ValueId negated(NodeImport& n, ValueId x) {
  return unary(n, UnaryKind::logical_not, x);
}

ValueId all_of(NodeImport& n, ValueId x, const Ints& axes) {
  const ValueId ones = cast(n, x, DType::i32);
  return cast(n, reduce(n, ReduceKind::min, ones, axes), DType::boolean);
}

// Counts 0, 1, ... as often as a list of one element says.
ValueId counting_to(NodeImport& n, ValueId limit) {
  return counting(n, reshape(n, limit, Ints{}));
}

struct Top {
  ValueId values, places;
};
// The greatest along axis 1; of equal ones the first.
Top top_of(NodeImport& n, ValueId x, ValueId count) {
  const auto both = n.add_many(TopK{.axis = 1}, {x, count}, 2);
  return {both[0], both[1]};
}

// ---- scores

// Tokens that are there count as less likely.
ValueId penalise_repetition(NodeImport& n, const Search& s, ValueId scores, ValueId tokens) {
  const ValueId there = elements_at(n, scores, tokens);
  const ValueId is_negative = compared(n, BinaryKind::less, there, 0);
  const ValueId lower = mul(n, there, s.repetition);
  const ValueId higher = div(n, there, s.repetition);
  const ValueId penalised = where(n, is_negative, lower, higher);
  return n.add(Scatter{.axis = 1}, {scores, tokens, penalised});
}

ValueId refuse_early_end(NodeImport& n, const Search& s, ValueId scores, ValueId tokens) {
  const ValueId length = dims_of(n, tokens, 1, 2);
  const ValueId is_early = binary(n, BinaryKind::less, length, s.min_length);
  const ValueId ids = counting(n, scalar_dim(n, scores, 1));
  const ValueId is_end = compared(n, BinaryKind::equal, ids, static_cast<double>(s.eos));
  return unless(n, binary(n, BinaryKind::logical_and, is_early, is_end), scores, lowest_score);
}

ValueId refuse_all_but(NodeImport& n, ValueId scores, ValueId allowed) {
  return unless(n, negated(n, allowed), scores, lowest_score);
}

// The scores with everything that the node asks to do to them, in this order.
ValueId processed(NodeImport& n, const Search& s, ValueId scores, ValueId tokens,
                  ValueId iteration) {
  // No sequence is as long as that.
  constexpr std::int64_t most_ngram = 1 << 16;
  if (s.repetition != no_value) scores = penalise_repetition(n, s, scores, tokens);
  if (s.ngram > 0 && s.ngram < most_ngram)
    scores = unless(n, ends_of_runs(n, s.ngram, scores, tokens), scores, lowest_score);
  if (s.allowed != no_value) scores = refuse_all_but(n, scores, s.allowed);
  if (s.first != no_value) {
    const ValueId is_later = compared(n, BinaryKind::greater, iteration, 0);
    scores = refuse_all_but(n, scores, binary(n, BinaryKind::logical_or, s.first, is_later));
  }
  if (s.min_length != no_value) scores = refuse_early_end(n, s, scores, tokens);
  if (s.temperature != no_value) scores = div(n, scores, s.temperature);
  if (s.presence != no_value) scores = sub(n, scores, s.presence);
  if (!s.times) return scores;
  const ValueId timed = refuse_by_times(n, *s.times, scores, tokens);
  return s.timed == no_value ? timed : where(n, s.timed, timed, scores);
}

// ---- one sequence for each prompt: tokens, and bool [B, 1] that is true at the end

Step next_of_one(NodeImport& n, const Search& s, const SearchState& state, ValueId tokens,
                 ValueId scores) {
  const ValueId ends = compared(n, BinaryKind::equal, tokens, static_cast<double>(s.eos));
  const ValueId ended = binary(n, BinaryKind::logical_or, state[1], ends);
  Step step{.tokens = unless(n, ended, tokens, static_cast<double>(s.pad)), .scores = scores};
  step.state = {concat(n, {state[0], step.tokens}, 1), ended};
  step.goes_on = reshape(n, negated(n, all_of(n, ended, {0, 1})), Ints{});
  return step;
}

// ---- beams: tokens, scores of beams [B, K], bool [B, 1] where no better end can come; the best
// ends so far, sorted: scores [B, K], tokens [B, K, T] and their number [B, 1]

enum BeamState : std::uint8_t { beam_tokens, beam_scores, done, end_scores, end_tokens, ends };

// The divisor of a sum of scores: (length of the sequences) ^ penalty, f32 [1].
ValueId length_divisor(NodeImport& n, const Search& s, ValueId tokens) {
  const ValueId length = cast(n, dims_of(n, tokens, 1, 2), DType::f32);
  return s.length == no_value ? length : binary(n, BinaryKind::pow, length, s.length);
}

// Candidates for ends: each [B, N], tokens [B, N, L].
struct Ends {
  ValueId scores, tokens;
  ValueId are_real;  // bool
};

// Puts them among the best ends. A score may be -inf: still it is better than no end.
void keep_best(NodeImport& n, const Search& s, const Ends& found, SearchState& state) {
  const ValueId places_there = counting_to(n, s.beams);
  const ValueId there = binary(n, BinaryKind::less, places_there, state[ends]);
  const ValueId missing = negated(n, concat(n, {there, found.are_real}, 1));
  const ValueId scores = concat(n, {state[end_scores], found.scores}, 1);
  const ValueId least = n.scalar(DType::f32, lowest_score);
  const ValueId order = unless(n, missing, binary(n, BinaryKind::max, scores, least), -infinity);
  const ValueId places = top_of(n, order, s.beams).places;
  const ValueId padded = padded_to(n, found.tokens, 2, s.max_length, static_cast<double>(s.pad));
  const ValueId all = concat(n, {state[end_tokens], padded}, 1);
  const ValueId rows = unsqueeze(n, places, {2});
  state[end_scores] = elements_at(n, scores, places);
  state[end_tokens] = n.add(Gather{.kind = GatherKind::nd, .batch_dims = 1}, {all, rows});
}

// The 2 K best continuations of the beams of a prompt: each [B, 2 K].
struct Candidates {
  ValueId scores, tokens, beams;
  ValueId ranks;     // 0, 1, ...: [2 K]
  ValueId are_ends;  // bool
};

Candidates best_candidates(NodeImport& n, const Search& s, ValueId scores) {
  const ValueId vocabulary = dims_of(n, scores, 1, 2);
  const ValueId all = mul(n, vocabulary, s.beams);
  const ValueId each = n.ints_constant({-1});
  const ValueId of_prompts = reshape(n, scores, join_dims(n, {each, all}));
  const Top top = top_of(n, of_prompts, mul(n, s.beams, 2));
  Candidates c{.scores = top.values, .beams = div(n, top.places, vocabulary)};
  c.tokens = sub(n, top.places, mul(n, c.beams, vocabulary));
  c.ranks = counting(n, scalar_dim(n, c.tokens, 1));
  c.are_ends = compared(n, BinaryKind::equal, c.tokens, static_cast<double>(s.eos));
  return c;
}

// The row of the first beam of each prompt: [B, 1]
ValueId first_rows(NodeImport& n, const Search& s, ValueId per_prompt) {
  const ValueId prompts = counting(n, scalar_dim(n, per_prompt, 0));
  return unsqueeze(n, mul(n, prompts, s.beams), {1});
}

// Those candidates that end their sequence, if they are among the K best, are ends.
void add_ends(NodeImport& n, const Search& s, const Candidates& c, SearchState& state) {
  const ValueId is_high = binary(n, BinaryKind::less, c.ranks, s.beams);
  const ValueId is_open = negated(n, state[done]);
  const ValueId counts = binary(n, BinaryKind::logical_and, is_high, is_open);
  const ValueId found = binary(n, BinaryKind::logical_and, c.are_ends, counts);
  const ValueId divided = div(n, c.scores, length_divisor(n, s, state[beam_tokens]));
  const ValueId rows = add(n, c.beams, first_rows(n, s, c.beams));
  const ValueId sequences = gather(n, state[beam_tokens], rows, 0);
  keep_best(n, s, {.scores = divided, .tokens = sequences, .are_real = found}, state);
  const ValueId fresh = reduce(n, ReduceKind::sum, cast(n, found, DType::i64), {1});
  state[ends] = binary(n, BinaryKind::min, add(n, state[ends], fresh), s.beams);
}

// True for a prompt that has K ends and can get no better one: bool [B, 1]. The best candidate is
// looked for among 2 K that begin at candidate K * (number of the prompt) of all prompts, as ONNX
// Runtime's CPU kernel does it: from the second prompt on, the last of the prompt before are among
// them.
ValueId now_done(NodeImport& n, const Search& s, const Candidates& c, const SearchState& state) {
  ValueId stops = binary(n, BinaryKind::equal, state[ends], s.beams);
  if (!s.early_stopping) {
    const ValueId window = add(n, c.ranks, first_rows(n, s, c.scores));
    const ValueId seen = gather(n, reshape(n, c.scores, Ints{-1}), window, 0);
    const ValueId best = reduce(n, ReduceKind::max, seen, {1});
    const ValueId reachable = div(n, best, length_divisor(n, s, state[beam_tokens]));
    const ValueId worst = reduce(n, ReduceKind::min, state[end_scores], {1});
    const ValueId improves = binary(n, BinaryKind::less, worst, reachable);
    stops = binary(n, BinaryKind::logical_and, stops, negated(n, improves));
  }
  return binary(n, BinaryKind::logical_or, state[done], stops);
}

Step next_of_beams(NodeImport& n, const Search& s, const SearchState& state, ValueId scores) {
  const ValueId so_far = reshape(n, state[beam_scores], Ints{-1, 1});
  Step step{.state = state, .scores = add(n, scores, so_far)};
  const Candidates c = best_candidates(n, s, step.scores);
  add_ends(n, s, c, step.state);
  // The first K candidates that go on, by their rank.
  const ValueId order = unless(n, c.are_ends, c.ranks, infinity);
  const ValueId places = n.add_many(TopK{.axis = 1, .largest = false}, {order, s.beams}, 2)[1];
  const ValueId was_done = state[done];
  const ValueId beams = elements_at(n, c.beams, places);
  const ValueId rows = add(n, beams, first_rows(n, s, beams));
  step.rows = reshape(n, unless(n, was_done, rows, 0), Ints{-1});
  const ValueId tokens = elements_at(n, c.tokens, places);
  const ValueId chosen = unless(n, was_done, tokens, static_cast<double>(s.pad));
  step.tokens = reshape(n, chosen, Ints{-1, 1});
  step.state[done] = now_done(n, s, c, step.state);
  step.state[beam_scores] = unless(n, was_done, elements_at(n, c.scores, places), 0);
  const ValueId continued = reordered(n, state[beam_tokens], step.rows, 0);
  step.state[beam_tokens] = concat(n, {continued, step.tokens}, 1);
  step.goes_on = reshape(n, negated(n, all_of(n, step.state[done], {0, 1})), Ints{});
  return step;
}

// ---- draws

// Places [R, 1] in rows of scores, each as likely as its softmax says.
ValueId drawn_places(NodeImport& n, const Search& s, ValueId scores, ValueId iteration) {
  const ValueId last = n.ints_constant({1});
  const ValueId sums =
      n.add(Cumulative{}, {n.add(Softmax{.axis = 1}, {scores}), n.scalar(DType::i64, 1)});
  const ValueId whole = gather(n, sums, sub(n, dims_of(n, sums, 1, 2), last), 1);
  const ValueId targets = mul(n, gather(n, s.draws, iteration, 0), whole);
  const ValueId passed = binary(n, BinaryKind::less_equal, sums, targets);
  return reduce(n, ReduceKind::sum, cast(n, passed, DType::i64), {1});
}

// A token that is drawn among the likeliest whose shares sum up to top_p.
ValueId drawn_tokens(NodeImport& n, const Search& s, ValueId scores, ValueId iteration) {
  const auto sorted =
      n.add_many(TopK{.axis = 1, .largest = s.custom}, {scores, dims_of(n, scores, 1, 2)}, 2);
  const ValueId shares = n.add(Softmax{.axis = 1}, {sorted[0]});
  const ValueId sums = n.add(Cumulative{.exclusive = s.custom}, {shares, n.scalar(DType::i64, 1)});
  ValueId removed = no_value;
  if (s.custom) {
    removed = compared(n, BinaryKind::greater, sums, s.top_p);
  } else {
    const ValueId kept = n.ints_constant({s.least_kept});
    const ValueId ranks = counting(n, scalar_dim(n, scores, 1));
    const ValueId first_kept = sub(n, dims_of(n, scores, 1, 2), kept);
    const ValueId may_go = binary(n, BinaryKind::less, ranks, first_kept);
    const ValueId is_small = compared(n, BinaryKind::less_equal, sums, 1 - s.top_p);
    removed = binary(n, BinaryKind::logical_and, is_small, may_go);
  }
  const ValueId left = unless(n, removed, sorted[0], s.filter_value);
  return elements_at(n, sorted[1], drawn_places(n, s, left, iteration));
}

// Sequences [B, K, L] of what is there after the last step, ends or not.
void end_beams(NodeImport& n, const Search& s, SearchState& state) {
  const ValueId divided = div(n, state[beam_scores], length_divisor(n, s, state[beam_tokens]));
  const ValueId each = shape_of(n, divided);
  const ValueId is_open = expand_to(n, negated(n, state[done]), each);
  const ValueId prompts = dims_of(n, state[done], 0, 1);
  const ValueId length = dims_of(n, state[beam_tokens], 1, 2);
  const ValueId shape = join_dims(n, {prompts, s.beams, length});
  const ValueId sequences = reshape(n, state[beam_tokens], shape);
  keep_best(n, s, {.scores = divided, .tokens = sequences, .are_real = is_open}, state);
}

// The first of x along axis 1, as many as are to be returned.
ValueId returned(NodeImport& n, const Search& s, ValueId x) {
  const ValueId start = n.ints_constant({0});
  const ValueId axis = n.ints_constant({1});
  return n.add(Slice{}, {x, start, s.returned, axis});
}

}  // namespace

Search Search::inside(NodeImport& body) const {
  Search s = *this;
  for (ValueId Search::*operand :
       {&Search::max_length, &Search::min_length, &Search::beams, &Search::returned,
        &Search::repetition, &Search::length, &Search::temperature, &Search::presence,
        &Search::allowed, &Search::first, &Search::timed, &Search::draws})
    s.*operand = body.from_outside(s.*operand);
  return s;
}

ValueId compared(NodeImport& n, BinaryKind kind, ValueId x, double y) {
  const ValueId number = n.scalar_like(x, y);
  return binary(n, kind, x, number);
}

ValueId unless(NodeImport& n, ValueId condition, ValueId x, double number) {
  const ValueId other = n.scalar_like(x, number);
  return where(n, condition, other, x);
}

ValueId elements_at(NodeImport& n, ValueId x, ValueId places) {
  return n.add(Gather{.kind = GatherKind::elements, .axis = 1}, {x, places});
}

ValueId last_scores(NodeImport& n, const Search& s, ValueId logits) {
  ValueId scores = squeeze(n, slice(n, logits, -1, to_the_end, 1), {1});
  const Dim given = n.dim(scores, 1);
  if (s.vocabulary > 0 && !given.is(s.vocabulary)) {
    if (given.known() && given.value() < s.vocabulary)
      n.fail("'vocab_size' is more than its decoder has scores");
    scores = slice(n, scores, 0, s.vocabulary, 1);
  }
  return cast(n, scores, DType::f32);
}

// Each of the L - length + 1 windows is compared with the last length - 1 tokens.
ValueId ends_of_runs(NodeImport& n, std::int64_t length, ValueId scores, ValueId tokens) {
  const ValueId all = dims_of(n, tokens, 1, 2);
  const ValueId zero = n.ints_constant({0});
  const ValueId prefix = n.ints_constant({length - 1});
  const ValueId before = sub(n, all, prefix);
  const ValueId windows = binary(n, BinaryKind::max, before, zero);
  // A run that is longer than all tokens has no windows.
  const ValueId offsets = counting_to(n, binary(n, BinaryKind::min, prefix, all));
  const ValueId starts = unsqueeze(n, counting_to(n, windows), {1});
  const ValueId runs = gather(n, tokens, add(n, starts, offsets), 1);  // [R, windows, length - 1]
  const ValueId last_places = binary(n, BinaryKind::max, add(n, offsets, before), zero);
  const ValueId last = unsqueeze(n, gather(n, tokens, last_places, 1), {1});
  const ValueId same = cast(n, binary(n, BinaryKind::equal, runs, last), DType::i32);
  const ValueId all_same = squeeze(n, reduce(n, ReduceKind::prod, same, {2}), {2});
  const ValueId followers = slice(n, tokens, length - 1, to_the_end, 1);
  const ValueId none = filled(n, shape_of(n, scores), DType::i32, 0);
  const Scatter marks{.axis = 1, .reduction = ScatterReduction::max};
  return cast(n, n.add(marks, {none, followers, all_same}), DType::boolean);
}

ValueId for_each_beam(NodeImport& n, const Search& s, ValueId x) {
  if (s.beams == no_value || x == no_value) return x;
  const std::int64_t rank = n.known_rank(x);
  const ValueId rows = dims_of(n, x, 0, 1);
  const ValueId rest = dims_of(n, x, 1, rank);
  const ValueId wide = join_dims(n, {rows, s.beams, rest});
  const ValueId copies = expand_to(n, unsqueeze(n, x, {1}), wide);
  const ValueId all = join_dims(n, {mul(n, rows, s.beams), rest});
  return n.add(Reshape{.allow_zero = true}, {copies, all});
}

ValueId reordered(NodeImport& n, ValueId x, ValueId rows, std::int64_t axis) {
  return rows == no_value ? x : gather(n, x, rows, axis);
}

ValueId padded_to(NodeImport& n, ValueId x, std::int64_t axis, ValueId length, double value) {
  const ValueId missing = sub(n, length, dims_of(n, x, axis, axis + 1));
  const ValueId zero = n.ints_constant({0});
  const ValueId pads = join_dims(n, {zero, missing});
  const ValueId filler = n.scalar_like(x, value);
  return n.add(Pad{}, {x, pads, filler, n.ints_constant({axis})});
}

SearchState begin_search(NodeImport& n, const Search& s, ValueId tokens, ValueId prompts) {
  const ValueId one = n.ints_constant({1});
  const ValueId for_each = join_dims(n, {prompts, one});
  const ValueId never = filled(n, for_each, DType::boolean, 0);
  if (s.choice != Choice::beams) return {tokens, never};
  const ValueId for_beams = join_dims(n, {prompts, s.beams});
  // All beams of a prompt are the same at first: only one of them may be continued.
  const ValueId is_other = compared(n, BinaryKind::greater, counting_to(n, s.beams), 0);
  const ValueId first = n.scalar(DType::f32, 0);
  const ValueId scores = expand_to(n, unless(n, is_other, first, -1e9), for_beams);
  const ValueId no_scores = filled(n, for_beams, DType::f32, -infinity);
  const ValueId room = join_dims(n, {for_beams, s.max_length});
  const ValueId no_tokens = filled(n, room, DType::i64, static_cast<double>(s.pad));
  const ValueId none = filled(n, for_each, DType::i64, 0);
  return {tokens, scores, never, no_scores, no_tokens, none};
}

Step next_step(NodeImport& n, const Search& s, const SearchState& state, ValueId logits,
               ValueId iteration) {
  ValueId scores = last_scores(n, s, logits);
  if (s.choice == Choice::beams)
    scores = n.add(Softmax{.kind = SoftmaxKind::log_softmax, .axis = 1}, {scores});
  scores = processed(n, s, scores, state[0], iteration);
  if (s.choice == Choice::beams) return next_of_beams(n, s, state, scores);
  const ValueId tokens = s.choice == Choice::greatest ? n.add(ArgReduce{.axis = 1}, {scores})
                                                      : drawn_tokens(n, s, scores, iteration);
  return next_of_one(n, s, state, tokens, scores);
}

Found end_search(NodeImport& n, const Search& s, SearchState state) {
  if (s.choice != Choice::beams) {
    // No step pads what is behind the last one, where all sequences ended early: it is 0.
    const ValueId all = padded_to(n, state[0], 1, s.max_length, 0);
    return {.sequences = cast(n, all, DType::i32)};
  }
  end_beams(n, s, state);
  Found found{.sequences = cast(n, returned(n, s, state[end_tokens]), DType::i32)};
  found.scores = returned(n, s, state[end_scores]);
  return found;
}

}  // namespace quern::onnx
