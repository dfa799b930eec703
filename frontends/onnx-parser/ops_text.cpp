// SPDX-License-Identifier: Apache-2.0
// Operators on strings.
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/concat.h"
#include "graph/ops/reduce.h"
#include "graph/ops/reshape.h"
#include "graph/ops/strings.h"

namespace quern::onnx {
namespace {

// Case changes do not depend on a locale here.
void import_string_normalizer(NodeImport& n) {
  n.ignore("locale");
  n.emit(StringNormalizer{.case_change = n.choice<CaseAction>("case_change_action", "NONE",
                                                              {{"NONE", CaseAction::none},
                                                               {"LOWER", CaseAction::lower},
                                                               {"UPPER", CaseAction::upper}}),
                          .case_sensitive = n.flag("is_case_sensitive", Flag::off),
                          .stopwords = n.texts("stopwords")},
         {n.in(0)});
}

void import_tf_idf(NodeImport& n) {
  if (!n.has_attribute("mode")) return n.fail("attribute 'mode' is missing");
  n.emit(TfIdfVectorizer{.mode = n.choice<TfIdfMode>("mode", "",
                                                     {{"TF", TfIdfMode::tf},
                                                      {"IDF", TfIdfMode::idf},
                                                      {"TFIDF", TfIdfMode::tfidf}}),
                         .min_gram_length = n.integer("min_gram_length"),
                         .max_gram_length = n.integer("max_gram_length"),
                         .max_skip_count = n.integer("max_skip_count"),
                         .ngram_counts = n.ints("ngram_counts"),
                         .ngram_indexes = n.ints("ngram_indexes"),
                         .pool_int64s = n.ints("pool_int64s"),
                         .pool_strings = n.texts("pool_strings"),
                         .weights = n.numbers("weights")},
         {n.in(0)});
}

// The number of parts of each string is the second output, the greatest of them the width of the
// first.
void import_string_split(NodeImport& n) {
  const SplitRule rule{.delimiter = n.text("delimiter", ""),
                       .max_splits = n.has_attribute("maxsplit")
                                         ? std::optional(n.integer("maxsplit", 0))
                                         : std::nullopt};
  const ValueId counts = n.add(StringPartCount{rule}, {n.in(0)});
  const ValueId flat = n.add(Reshape{}, {counts, n.ints_constant(Ints{-1})});
  const ValueId padded = n.add(Concat{.axis = 0}, {flat, n.ints_constant(Ints{0})});
  const ValueId width = n.add(Reduce{.kind = ReduceKind::max, .keepdims = false}, {padded});
  n.set(0, n.add(StringSplit{rule}, {n.in(0), width}));
  n.set(1, counts);
}

void import_regex_full_match(NodeImport& n) {
  n.emit(RegexFullMatch{.pattern = n.text("pattern")}, {n.in(0)});
}

constexpr OpRow text_rows[] = {
    {"RegexFullMatch", 20, import_regex_full_match},
    {"StringNormalizer", 10, import_string_normalizer},
    {"StringSplit", 20, import_string_split, {1, 1}, one_or_two},
    {"TfIdfVectorizer", 9, import_tf_idf},
};

}  // namespace

OpRows text_ops() {
  return text_rows;
}

}  // namespace quern::onnx
