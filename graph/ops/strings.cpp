// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/strings.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"
#include "graph/ops/windows.h"
#include "graph/regex/program.h"

namespace quern {
namespace {

// ---- names of enumerators

constexpr EnumNames<3> case_action_names = {"none", "lower", "upper"};
constexpr EnumNames<3> tf_idf_names = {"tf", "idf", "tfidf"};

// ---- strings

Status infer_with(InferContext& c, Dim n) {
  QUERN_TRY(c.want_dtype(0, DType::string));
  const Dims* x = c.dims(0);
  if (x &&
      (x->size() > 2 || x->empty() || (x->size() == 2 && x->front().known() && !x->front().is(1))))
    return c.error(cat(c.describe(0), " must be [n] or [1,n]"));
  std::optional<Dims> out;
  if (x) out = x->size() == 2 ? Dims{1, n} : Dims{n};
  c.set(0, DType::string, std::move(out));
  return {};
}

Status infer_strings(InferContext& c) {
  return infer_with(c, Dim());
}

Status bound_strings(InferContext& c) {
  const Dims* x = c.dims(0);
  const Dim n = x && !x->empty() ? x->back() : Dim();
  return infer_with(c, n.is(0) ? Dim(1) : n);
}

// ---- tf_idf

Status check_pool(const InferContext& c, const TfIdfVectorizer& op) {
  std::int64_t last = 0;
  for (std::int64_t v : op.ngram_counts) {
    if (v < last || v > static_cast<std::int64_t>(pool_size(op)))
      return c.error(cat("ngram_counts holds ", v, " after ", last, ", the pool has ",
                         pool_size(op), " items"));
    last = v;
  }
  std::size_t grams = 0;
  for (std::size_t i = 0; i < op.ngram_counts.size(); ++i) {
    const NgramSection s = section_of(op, i);
    if ((s.end - s.begin) % s.length != 0)
      return c.error(cat(s.end - s.begin, " items of the pool are no n-grams of ", s.length));
    grams += (s.end - s.begin) / s.length;
  }
  if (grams != op.ngram_indexes.size())
    return c.error(
        cat("ngram_indexes has ", op.ngram_indexes.size(), " entries for ", grams, " n-grams"));
  return {};
}

Status check_op(const InferContext& c, const TfIdfVectorizer& op) {
  if (op.min_gram_length < 1 || op.max_gram_length < op.min_gram_length ||
      op.max_gram_length > static_cast<std::int64_t>(op.ngram_counts.size()))
    return c.error(cat("n-grams of ", op.min_gram_length, " to ", op.max_gram_length,
                       " items, ngram_counts has ", op.ngram_counts.size(), " entries"));
  if (op.max_skip_count < 0) return c.error(cat("max_skip_count is ", op.max_skip_count));
  if (!op.weights.empty() && op.weights.size() != op.ngram_indexes.size())
    return c.error(cat(op.weights.size(), " weights for ", op.ngram_indexes.size(), " n-grams"));
  if (std::any_of(op.ngram_indexes.begin(), op.ngram_indexes.end(),
                  [](std::int64_t v) { return v < 0; }))
    return c.error("ngram_indexes holds a negative number");
  return check_pool(c, op);
}

Status infer_tf_idf(InferContext& c) {
  const auto& op = c.op<TfIdfVectorizer>();
  const DType t = c.dtype(0);
  if (t != DType::i32 && t != DType::i64 && t != DType::string)
    return c.error(cat(c.describe(0), " must be of i32, i64 or strings"));
  if (t == DType::string ? !op.pool_int64s.empty() : !op.pool_strings.empty())
    return c.error(cat(c.describe(0), " is not of the pool's type"));
  QUERN_TRY(check_op(c, op));
  Dim width = 0;
  if (!op.ngram_indexes.empty())
    width = Dim(*std::max_element(op.ngram_indexes.begin(), op.ngram_indexes.end())) + Dim(1);
  const Dims* x = c.dims(0);
  if (x && x->size() != 1 && x->size() != 2)
    return c.error(cat(c.describe(0), " must have rank 1 or 2"));
  std::optional<Dims> out;
  if (x) out = x->size() == 2 ? Dims{x->front(), width} : Dims{width};
  c.set(0, DType::f32, std::move(out));
  return {};
}

// ---- string_concat, string_part_count, string_split

Status infer_string_concat(InferContext& c) {
  for (std::size_t i = 0; i < 2; ++i) QUERN_TRY(c.want_dtype(i, DType::string));
  return infer_broadcast(c, DType::string);
}

Status infer_string_part_count(InferContext& c) {
  QUERN_TRY(c.want_dtype(0, DType::string));
  c.set(0, DType::i64, c.dims(0) ? std::optional(*c.dims(0)) : std::nullopt);
  return {};
}

// [shape of input 0, the number in input 1]
Status infer_with_width(InferContext& c) {
  QUERN_TRY(c.want_dtype(0, DType::string));
  QUERN_TRY(want_single(c, 1));
  QUERN_ASSIGN(const ListOperand width, list_operand(c, 1));
  Dim parts;
  if (width.values && width.values->size() == 1) {
    const std::int64_t n = width.values->front();
    if (n < 0 || n > max_extent) return c.error(cat("the width is ", n));
    parts = n;
  }
  std::optional<Dims> out;
  if (c.dims(0)) {
    out = *c.dims(0);
    out->push_back(parts);
  }
  c.set(0, DType::string, std::move(out));
  return {};
}

// ---- token_count, tokens, string_hash

Status check_expression(const InferContext& c, const std::string& pattern) {
  const Status compiled = regex::Program::compile(pattern).status();
  if (compiled.code() == Code::unsupported) return c.unsupported(compiled.message());
  if (!compiled.ok()) return c.error(compiled.message());
  return {};
}

Status check_rule(const InferContext& c, const TokenRule& rule) {
  constexpr std::size_t most_separators = 64;  // pieces of pieces are cut by calls in calls
  if (rule.separators.size() > most_separators)
    return c.unsupported(cat(rule.separators.size(), " separators, at most ", most_separators));
  if (rule.least < 1) return c.error(cat("tokens of at least ", rule.least, " characters"));
  if (rule.separators.empty() && rule.token.empty())
    return c.error("it has neither separators nor an expression of tokens");
  if (!rule.separators.empty() && !rule.token.empty())
    return c.error("it has both separators and an expression of tokens");
  if (rule.is_of_characters()) {
    if (rule.least > 1)
      return c.error(cat("characters are no tokens of ", rule.least, " characters"));
    return {};
  }
  for (const std::string& separator : rule.separators) QUERN_TRY(check_expression(c, separator));
  if (rule.separators.empty()) QUERN_TRY(check_expression(c, rule.token));
  const Dims* x = c.dims(0);
  if (x && x->size() != 1 && x->size() != 2)
    return c.error(cat(c.describe(0), " must have rank 1 or 2"));
  return {};
}

Status infer_token_count(InferContext& c) {
  QUERN_TRY(check_rule(c, c.op<TokenCount>()));
  return infer_string_part_count(c);
}

Status infer_tokens(InferContext& c) {
  QUERN_TRY(check_rule(c, c.op<Tokens>()));
  return infer_with_width(c);
}

Status infer_string_hash(InferContext& c) {
  QUERN_TRY(c.want_dtype(0, DType::string));
  c.set(0, DType::u32, c.dims(0) ? std::optional(*c.dims(0)) : std::nullopt);
  return {};
}

// ---- regex_full_match

Status infer_regex_full_match(InferContext& c) {
  QUERN_TRY(c.want_dtype(0, DType::string));
  QUERN_TRY(check_expression(c, c.op<RegexFullMatch>().pattern));
  c.set(0, DType::boolean, c.dims(0) ? std::optional(*c.dims(0)) : std::nullopt);
  return {};
}

}  // namespace

std::span<const std::string_view> enum_names(CaseAction) {
  return case_action_names;
}
std::span<const std::string_view> enum_names(TfIdfMode) {
  return tf_idf_names;
}

const OpDef& StringNormalizer::def() {
  static constexpr OpDef def{.name = "StringNormalizer",
                             .traits = OpTrait::data_dependent,
                             .infer = infer_strings,
                             .bound = bound_strings,
                             .attributes = &op_struct<StringNormalizer>};
  return def;
}

const OpDef& TfIdfVectorizer::def() {
  static constexpr OpDef def{
      .name = "TfIdfVectorizer", .infer = infer_tf_idf, .attributes = &op_struct<TfIdfVectorizer>};
  return def;
}

const OpDef& RegexFullMatch::def() {
  static constexpr OpDef def{.name = "RegexFullMatch",
                             .infer = infer_regex_full_match,
                             .attributes = &op_struct<RegexFullMatch>};
  return def;
}

const OpDef& StringConcat::def() {
  static constexpr OpDef def{.name = "StringConcat",
                             .inputs = {2, 2},
                             .traits = OpTrait::makes_text,
                             .infer = infer_string_concat,
                             .attributes = &op_struct<StringConcat>,
                             .onnx = {"StringConcat", 20}};
  return def;
}

const OpDef& StringPartCount::def() {
  static constexpr OpDef def{.name = "StringPartCount",
                             .infer = infer_string_part_count,
                             .attributes = &op_struct<StringPartCount>};
  return def;
}

const OpDef& StringSplit::def() {
  static constexpr OpDef def{.name = "StringSplit",
                             .inputs = {2, 2},
                             .plan_operands = 1u << 1,
                             .infer = infer_with_width,
                             .attributes = &op_struct<StringSplit>};
  return def;
}

const OpDef& TokenCount::def() {
  static constexpr OpDef def{
      .name = "TokenCount", .infer = infer_token_count, .attributes = &op_struct<TokenCount>};
  return def;
}

const OpDef& Tokens::def() {
  static constexpr OpDef def{.name = "Tokens",
                             .inputs = {2, 2},
                             .traits = OpTrait::makes_text,
                             .plan_operands = 1u << 1,
                             .infer = infer_tokens,
                             .attributes = &op_struct<Tokens>};
  return def;
}

const OpDef& StringHash::def() {
  static constexpr OpDef def{
      .name = "StringHash", .infer = infer_string_hash, .attributes = &op_struct<StringHash>};
  return def;
}

}  // namespace quern
