// SPDX-License-Identifier: Apache-2.0
// What Whisper's times forbid, as ONNX Runtime's CPU kernel of WhisperBeamSearch has it.
#include <initializer_list>
#include <limits>

#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/generation.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/cumulative.h"
#include "graph/ops/reduce.h"
#include "graph/ops/unary_kind.h"

namespace quern::onnx {
namespace {

// The first time is one of so many after the first of all.
constexpr std::int64_t latest_start = 50;

ValueId all_hold(NodeImport& n, ValueId a, ValueId b) {
  return binary(n, BinaryKind::logical_and, a, b);
}

ValueId one_holds(NodeImport& n, ValueId a, ValueId b) {
  return binary(n, BinaryKind::logical_or, a, b);
}

ValueId fails(NodeImport& n, ValueId x) {
  return unary(n, UnaryKind::logical_not, x);
}

// What is known of each sequence: bool [R, 1].
struct Past {
  ValueId is_later;    // a token stands behind the first time
  ValueId ends_timed;  // the last token is a time
  ValueId is_pair;     // so is the one before, or nothing stands behind the first
  ValueId has_time;
  ValueId least;  // the least time that may come: i64 [R, 1]
};

Past past_of(NodeImport& n, const TimeTokens& t, ValueId tokens) {
  const ValueId is_time =
      compared(n, BinaryKind::greater_equal, tokens, static_cast<double>(t.first_time));
  const ValueId length = dims_of(n, tokens, 1, 2);
  const ValueId zero = n.ints_constant({0});
  const auto at_end = [&](double before) {
    const ValueId place = binary(n, BinaryKind::max, add(n, length, -before), zero);
    return gather(n, is_time, place, 1);
  };
  const ValueId ones = cast(n, is_time, DType::i64);
  const ValueId times_before =
      n.add(Cumulative{.exclusive = true}, {ones, n.scalar(DType::i64, 1)});
  const ValueId is_start = compared(n, BinaryKind::equal, times_before, 0);
  const ValueId start = reduce(n, ReduceKind::sum, cast(n, is_start, DType::i64), {1});
  Past p{.is_later = binary(n, BinaryKind::less, start, length), .ends_timed = at_end(1)};
  p.is_pair = one_holds(n, fails(n, p.is_later), at_end(2));
  const ValueId places = counting(n, scalar_dim(n, tokens, 1));
  const ValueId timed_places = where(n, is_time, places, n.scalar(DType::i64, -1));
  const ValueId last = reduce(n, ReduceKind::max, timed_places, {1});
  p.has_time = compared(n, BinaryKind::greater_equal, last, 0);
  const ValueId time = elements_at(n, tokens, binary(n, BinaryKind::max, last, zero));
  // A single time may come once more.
  const ValueId is_single = all_hold(n, p.ends_timed, fails(n, p.is_pair));
  p.least = where(n, is_single, time, add(n, time, 1));
  return p;
}

// bool [R, V]
ValueId forbidden(NodeImport& n, const TimeTokens& t, const Past& p, ValueId ids) {
  const auto is = [&](BinaryKind kind, std::int64_t token) {
    return compared(n, kind, ids, static_cast<double>(token));
  };
  const auto any_of = [&](std::initializer_list<std::int64_t> tokens) {
    ValueId found = no_value;
    for (const std::int64_t token : tokens) {
      const ValueId equal = is(BinaryKind::equal, token);
      found = found == no_value ? equal : one_holds(n, found, equal);
    }
    return found;
  };
  const ValueId is_time = is(BinaryKind::greater_equal, t.first_time);
  const ValueId never = any_of({t.no_times, t.language_model});
  const ValueId tasks = any_of({t.start, t.translate, t.transcribe});
  const ValueId later = one_holds(n, never, all_hold(n, p.is_later, tasks));
  const ValueId paired = all_hold(n, all_hold(n, p.ends_timed, p.is_pair), is_time);
  const ValueId single = all_hold(n, p.ends_timed, fails(n, p.is_pair));
  const ValueId unpaired = all_hold(n, single, is(BinaryKind::less, t.end));
  const ValueId falls = all_hold(n, is_time, binary(n, BinaryKind::less, ids, p.least));
  const ValueId is_late = is(BinaryKind::greater, t.first_time + latest_start);
  const ValueId begins_late = all_hold(n, fails(n, p.is_later), is_late);
  ValueId all = one_holds(n, later, one_holds(n, paired, unpaired));
  all = one_holds(n, all, all_hold(n, p.has_time, falls));
  return one_holds(n, all, begins_late);
}

// The logarithm of the sum of all shares of times: f32 [R, 1]; the lowest number for none.
ValueId score_of_times(NodeImport& n, ValueId scores) {
  const ValueId greatest = reduce(n, ReduceKind::max, scores, {1});
  const ValueId shares = unary(n, UnaryKind::exp, sub(n, scores, greatest));
  const ValueId is_none = compared(n, BinaryKind::less_equal, scores, lowest_score);
  const ValueId sum = reduce(n, ReduceKind::sum, unless(n, is_none, shares, 0), {1});
  const ValueId score = add(n, unary(n, UnaryKind::log, sum), greatest);
  return unless(n, compared(n, BinaryKind::less_equal, sum, 0), score, lowest_score);
}

}  // namespace

ValueId refuse_by_times(NodeImport& n, const TimeTokens& t, ValueId scores, ValueId tokens) {
  const Dim vocabulary = n.dim(scores, 1);
  if (vocabulary.known() && vocabulary.value() <= t.first_time)
    n.fail("'beginning_timestamp_token_id' is behind the last token");
  const ValueId ids = counting(n, scalar_dim(n, scores, 1));
  const Past past = past_of(n, t, tokens);
  scores = unless(n, forbidden(n, t, past, ids), scores, lowest_score);
  constexpr auto to_the_end = std::numeric_limits<std::int64_t>::max();
  const ValueId times = score_of_times(n, slice(n, scores, t.first_time, to_the_end, 1));
  const ValueId text = reduce(n, ReduceKind::max, slice(n, scores, 0, t.first_time, 1), {1});
  const ValueId is_text = compared(n, BinaryKind::less, ids, static_cast<double>(t.first_time));
  const ValueId wins = binary(n, BinaryKind::greater, times, text);
  return unless(n, all_hold(n, wins, is_text), scores, lowest_score);
}

}  // namespace quern::onnx
