// SPDX-License-Identifier: Apache-2.0
// com.microsoft: paths through costs, tokens of texts, and tokens that a decoder guessed. Source:
// docs/ContribOperators.md of ONNX Runtime, and its kernels where the text says nothing.
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/cumulative.h"
#include "graph/ops/data_dependent.h"
#include "graph/ops/in_range.h"
#include "graph/ops/reduce.h"
#include "graph/ops/reshape.h"
#include "graph/ops/slice.h"
#include "graph/ops/strings.h"
#include "graph/ops/unary_kind.h"

namespace quern::onnx {
namespace {

void import_time_warping(NodeImport& n) {
  n.emit(TimeWarping{}, {n.in(0)});
}

// ---- Tokenizer

// The width is the greatest number of tokens, with the marks; without tokens it is 0 in any case.
void import_tokenizer(NodeImport& n) {
  const bool marks = n.integer("mark") != 0;
  TokenRule rule{.separators = n.texts("separators"),
                 .token = n.text("tokenexp", ""),
                 .least = n.integer("mincharnum")};
  if (!rule.separators.empty()) rule.token.clear();  // as in ONNX Runtime
  if (!n.has_attribute("pad_value")) return n.fail("attribute 'pad_value' is missing");
  const std::string padding = n.text("pad_value", "");
  if (!n.ok()) return;
  const ValueId counts = reshape(n, n.add(TokenCount{rule}, {n.in(0)}), Ints{-1});
  const ValueId all = concat(n, {counts, n.ints_constant({0})}, 0);
  ValueId width = reduce(n, ReduceKind::max, all, {0});
  if (marks) {
    const ValueId none = binary(n, BinaryKind::equal, width, n.scalar(DType::i64, 0));
    width = where(n, none, width, add(n, width, 2));
  }
  n.set(0, n.add(Tokens{rule, marks, padding}, {n.in(0), width}));
}

// ---- BifurcationDetector: (source [S], tokens so far [C], where the source goes on, guesses [P]?)

// The guesses that are the source's from `from`, i64 [1], on, and one more.
ValueId accepted(NodeImport& n, ValueId from) {
  const ValueId source = n.in(0), guesses = n.in(3);
  const ValueId length = dims_of(n, source, 0, 1);
  const ValueId zero = n.ints_constant({0});
  const ValueId start = n.add(InRange{.what = "prev_suffix_match_idx"}, {from, zero, length});
  const ValueId left = sub(n, length, start);
  const ValueId wanted = add(n, left, 1);
  const ValueId found = dims_of(n, guesses, 0, 1);
  const ValueId count =
      n.add(InRange{.what = "the number of pred_tokens"}, {found, wanted, wanted});
  const ValueId rest = n.add(Slice{}, {source, start, length});
  const ValueId guessed = n.add(Slice{}, {guesses, zero, add(n, count, -1)});
  const ValueId same = binary(n, BinaryKind::equal, guessed, rest);
  const ValueId differs = cast(n, unary(n, UnaryKind::logical_not, same), DType::i64);
  const ValueId differing = n.add(Cumulative{}, {differs, n.scalar(DType::i64, 0)});
  const ValueId is_kept = binary(n, BinaryKind::equal, differing, zero);
  const ValueId kept = reduce(n, ReduceKind::sum, cast(n, is_kept, DType::i64), {0});
  return n.add(Slice{}, {guesses, zero, add(n, kept, 1)});
}

// The search for the end of the tokens in the source, by runs of more and more tokens.
struct EndSearch {
  ValueId ends = no_value;     // bool [S]: the last tokens of the run end at this one
  ValueId at = no_value;       // i64 [1]: where the source goes on; -1: nowhere
  ValueId goes_on = no_value;  // bool [1]
};

// Extends the runs to `size` tokens.
void extend(NodeImport& n, EndSearch& s, ValueId tokens, std::int64_t size) {
  const ValueId zero = n.ints_constant({0});
  const ValueId back = n.ints_constant({size - 1});
  const ValueId place = counting(n, scalar_dim(n, n.in(0), 0));
  const ValueId first = binary(n, BinaryKind::max, sub(n, place, back), zero);
  const ValueId there = gather(n, n.in(0), first, 0);
  const ValueId length = dims_of(n, tokens, 0, 1);
  const ValueId some = concat(n, {tokens, zero}, 0);  // for runs that are longer than the tokens
  const ValueId token_at =
      binary(n, BinaryKind::max, add(n, length, -static_cast<double>(size)), zero);
  const ValueId token = gather(n, some, token_at, 0);
  const ValueId same = binary(n, BinaryKind::equal, there, token);
  const ValueId fits = binary(n, BinaryKind::greater_equal, place, back);
  const ValueId is_run = binary(n, BinaryKind::logical_and, same, fits);
  s.ends = binary(n, BinaryKind::logical_and, s.ends, is_run);
}

// Looks where runs of `size` tokens end: at one place, at several or nowhere.
void look(NodeImport& n, EndSearch& s, ValueId tokens, std::int64_t size) {
  const ValueId source_length = dims_of(n, n.in(0), 0, 1);
  const ValueId none = n.ints_constant({-1});
  const ValueId one = n.ints_constant({1});
  const ValueId count = reduce(n, ReduceKind::sum, cast(n, s.ends, DType::i64), {0});
  const ValueId place = counting(n, scalar_dim(n, n.in(0), 0));
  const ValueId later = n.scalar(DType::i64, static_cast<double>(std::int64_t{1} << 52));
  const ValueId found = where(n, s.ends, place, later);
  const ValueId ends = concat(n, {found, n.ints_constant({std::int64_t{1} << 52})}, 0);
  const ValueId next = add(n, reduce(n, ReduceKind::min, ends, {0}), 1);
  const ValueId is_alone = binary(n, BinaryKind::equal, count, one);
  const ValueId at = where(n, is_alone, next, none);
  const ValueId wanted = n.ints_constant({size});
  const ValueId length = dims_of(n, tokens, 0, 1);
  const ValueId has_tokens = binary(n, BinaryKind::greater_equal, length, wanted);
  const ValueId may_be = binary(n, BinaryKind::logical_and, s.goes_on, has_tokens);
  const ValueId is_there = binary(n, BinaryKind::greater_equal, count, one);
  const ValueId is_new = binary(n, BinaryKind::logical_and, may_be, is_there);
  s.at = where(n, is_new, at, s.at);
  const ValueId is_inside = binary(n, BinaryKind::less, next, source_length);
  s.goes_on = binary(n, BinaryKind::logical_and, is_new, is_inside);
}

void import_bifurcation_detector(NodeImport& n) {
  constexpr std::int64_t most = 128;
  const std::int64_t least = n.integer("min_ngram_size"), greatest = n.integer("max_ngram_size");
  if (!n.ok()) return;
  if (least < 1 || greatest < least)
    return n.fail(cat("runs of ", least, " to ", greatest, " tokens, wants 1 or more"));
  if (greatest > most)
    return n.unsupported(cat("runs of ", greatest, " tokens are not supported, at most ", most));
  for (const std::size_t i : {0, 1, 3})
    if (n.has(i) && (n.known_rank(n.in(i)) != 1 || n.dtype(n.in(i)) != DType::i64))
      return n.fail(cat("input ", i, " wants a list of i64"));
  const ValueId before = reshape(n, n.in(2), Ints{1});
  const ValueId tokens = n.has(3) ? concat(n, {n.in(1), accepted(n, before)}, 0) : n.in(1);
  EndSearch s;
  s.ends = filled(n, dims_of(n, n.in(0), 0, 1), DType::boolean, 1);
  s.at = n.ints_constant({-1});
  const ValueId one = n.ints_constant({1});
  s.goes_on = filled(n, one, DType::boolean, 1);
  for (std::int64_t size = 1; size <= greatest && n.ok(); ++size) {
    extend(n, s, tokens, size);
    if (size >= least) look(n, s, tokens, size);
  }
  n.set(0, n.has(3) ? tokens : n.add(Identity{}, {tokens}));
  n.set(1, reshape(n, s.at, shape_of(n, n.in(2))));
}

constexpr OpRow microsoft_sequence_rows[] = {
    {"BifurcationDetector", 1, import_bifurcation_detector, {3, 4}, two},
    {"DynamicTimeWarping", 1, import_time_warping},
    {"Tokenizer", 1, import_tokenizer},
};

}  // namespace

OpRows microsoft_sequence_ops() {
  return microsoft_sequence_rows;
}

}  // namespace quern::onnx
