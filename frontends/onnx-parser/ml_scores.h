// SPDX-License-Identifier: Apache-2.0
// What the operators of ai.onnx.ml share: features, scores and their transforms, labels of classes.
// Where the specification leaves a case open, the rule is that of ONNX Runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/onnx-parser/node_import.h"

namespace quern::onnx {

// Input 0 as rows, f32 [rows, features]; a list is one row.
ValueId feature_rows(NodeImport& n);
// The same with f64 left as it is.
ValueId wide_feature_rows(NodeImport& n);

enum class PostTransform : std::uint8_t { none, softmax, logistic, softmax_zero, probit };
PostTransform read_post_transform(NodeImport& n);

// Scores [rows, columns] after the transform. Of one column only PROBIT changes anything.
ValueId transformed(NodeImport& n, PostTransform p, ValueId scores, std::int64_t columns);
// What becomes of one score s of two classes: (1 - s, s), or (-s, s).
enum class SecondClass : std::uint8_t { complement, negative };
// [rows, 1] -> [rows, 2]. LOGISTIC takes (-s, s) in either case, SOFTMAX and SOFTMAX_ZERO change
// nothing; PROBIT, which leaves the second one undefined there, is refused.
ValueId with_second_class(NodeImport& n, PostTransform p, SecondClass second, ValueId score);

// The labels of classes, integers or strings.
struct ClassLabels {
  Ints ints;
  std::vector<std::string> texts;

  std::size_t size() const { return texts.empty() ? ints.size() : texts.size(); }
};
// Fails without labels, and with both kinds.
ClassLabels read_labels(NodeImport& n, std::string_view ints_name);
// The labels of classes by their numbers.
ValueId labels_of(NodeImport& n, const ClassLabels& labels, ValueId classes);
// Labels of (score > 0), [rows]: the two there are, or 1 and 0.
ValueId binary_labels(NodeImport& n, const ClassLabels& labels, ValueId is_positive);
// The column of the greatest score of each row, the first of equal ones: i64 [rows].
ValueId best_class(NodeImport& n, ValueId scores);

// A list of numbers as a constant of a float type.
ValueId float_list(NodeImport& n, DType dtype, const std::vector<float>& values);
// [rows, columns]; fails if the values do not fill it.
ValueId float_matrix(NodeImport& n, std::string_view attribute, const std::vector<float>& values,
                     std::int64_t rows, std::int64_t columns);

}  // namespace quern::onnx
