// SPDX-License-Identifier: Apache-2.0
// Operators on strings.
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
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

constexpr OpRow text_rows[] = {
    {"StringNormalizer", 10, import_string_normalizer},
    {"TfIdfVectorizer", 9, import_tf_idf},
};

}  // namespace

OpRows text_ops() {
  return text_rows;
}

}  // namespace quern::onnx
