// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx-parser/ml_scores.h"

#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/expand.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/reduce.h"
#include "graph/ops/softmax.h"
#include "graph/ops/unary_kind.h"

namespace quern::onnx {

// ---- features ----------------------------------------------------------------------------------

namespace {

// A matrix of x, whose rank only the data tells: of the last two dimensions, 1 and the only one
// where there are fewer.
ValueId as_matrix(NodeImport& n, ValueId x) {
  const ValueId dims = concat(n, {n.ints_constant({1}), shape_of(n, x)}, 0);
  return reshape(n, x, gather(n, dims, n.ints_constant({-2, -1}), 0));
}

}  // namespace

ValueId wide_feature_rows(NodeImport& n) {
  const std::optional<std::int64_t> rank = n.rank(n.in(0));
  if (rank && rank != 1 && rank != 2)
    n.unsupported(cat("takes rows of features, its input has rank ", *rank));
  if (n.dtype(n.in(0)) == DType::string) n.fail("does not take strings");
  if (!n.ok()) return no_value;
  ValueId x = n.in(0);
  if (!rank) x = as_matrix(n, x);
  if (rank == 1) x = unsqueeze(n, x, {0});
  return n.dtype(x) == DType::f64 ? x : cast(n, x, DType::f32);
}

ValueId feature_rows(NodeImport& n) {
  const ValueId x = wide_feature_rows(n);
  return n.ok() ? cast(n, x, DType::f32) : no_value;
}

ValueId float_list(NodeImport& n, DType dtype, const std::vector<float>& values) {
  if (dtype != DType::f64) return n.constant(list_tensor(DType::f32, values));
  return n.constant(list_tensor(dtype, std::vector<double>(values.begin(), values.end())));
}

ValueId float_matrix(NodeImport& n, std::string_view attribute, const std::vector<float>& values,
                     std::int64_t rows, std::int64_t columns) {
  if (static_cast<std::int64_t>(values.size()) != rows * columns)
    n.fail(cat("attribute '", attribute, "' has ", values.size(), " numbers, wants ", rows, " x ",
               columns));
  if (!n.ok()) return no_value;
  return n.constant(Tensor::from_values<float>(DType::f32, Shape{rows, columns}, values));
}

// ---- scores ------------------------------------------------------------------------------------

PostTransform read_post_transform(NodeImport& n) {
  using P = PostTransform;
  return n.choice<P>("post_transform", "NONE",
                     {{"NONE", P::none},
                      {"SOFTMAX", P::softmax},
                      {"LOGISTIC", P::logistic},
                      {"SOFTMAX_ZERO", P::softmax_zero},
                      {"PROBIT", P::probit}});
}

namespace {

// sqrt(2) erfinv(2 p - 1), with the inverse that Winitzki gives and ONNX Runtime computes, 0.147
// and 3.14159 included: with u = log(1 - x^2) and v = 2 / (pi a) + u / 2 it is the square root of
// sqrt(v^2 - u / a) - v, with the sign of x.
ValueId probit(NodeImport& n, ValueId p) {
  constexpr double a = 0.147;
  constexpr double pi = 3.14159;
  const ValueId x = add(n, mul(n, p, 2), -1);
  const ValueId below = add(n, mul(n, x, -1), 1);
  const ValueId above = add(n, x, 1);
  const ValueId u = unary(n, UnaryKind::log, mul(n, below, above));
  const ValueId v = add(n, mul(n, u, 0.5), 2 / (pi * a));
  const ValueId squared = mul(n, v, v);
  const ValueId root = unary(n, UnaryKind::sqrt, add(n, squared, mul(n, u, -1 / a)));
  const ValueId size = unary(n, UnaryKind::sqrt, sub(n, root, v));
  return mul(n, mul(n, unary(n, UnaryKind::sign, x), size), std::numbers::sqrt2);
}

// A softmax of the scores that are not 0; those take no part in the sum and stay 0.
ValueId softmax_zero(NodeImport& n, ValueId x) {
  const ValueId most = reduce(n, ReduceKind::max, x, {-1});
  const ValueId size = unary(n, UnaryKind::abs, x);
  const ValueId counts = binary(n, BinaryKind::greater, size, n.scalar_like(x, 1e-7));
  const ValueId power = unary(n, UnaryKind::exp, sub(n, x, most));
  const ValueId sum =
      reduce(n, ReduceKind::sum, where(n, counts, power, n.scalar_like(x, 0)), {-1});
  const ValueId rest = mul(n, x, unary(n, UnaryKind::exp, mul(n, most, -1)));
  return div(n, where(n, counts, power, rest), sum);
}

}  // namespace

ValueId transformed(NodeImport& n, PostTransform p, ValueId scores, std::int64_t columns) {
  if (!n.ok()) return no_value;
  if (p == PostTransform::probit) return probit(n, scores);
  if (columns == 1) return scores;
  switch (p) {
    case PostTransform::softmax:
      return n.add(Softmax{.kind = SoftmaxKind::softmax, .axis = -1}, {scores});
    case PostTransform::logistic: return unary(n, UnaryKind::sigmoid, scores);
    case PostTransform::softmax_zero: return softmax_zero(n, scores);
    default: return scores;
  }
}

ValueId with_second_class(NodeImport& n, PostTransform p, SecondClass second, ValueId score) {
  if (p == PostTransform::probit)
    n.unsupported("post_transform 'PROBIT' of one score of two classes is not defined");
  if (!n.ok()) return no_value;
  const ValueId opposite = mul(n, score, -1);
  if (p == PostTransform::logistic)
    return unary(n, UnaryKind::sigmoid, concat(n, {opposite, score}, 1));
  const bool complement = second == SecondClass::complement;
  return concat(n, {complement ? add(n, opposite, 1) : opposite, score}, 1);
}

// ---- labels ------------------------------------------------------------------------------------

ClassLabels read_labels(NodeImport& n, std::string_view ints_name) {
  ClassLabels labels{.ints = n.ints(ints_name), .texts = n.texts("classlabels_strings")};
  if (labels.size() == 0) n.fail("has no labels of classes");
  if (!labels.ints.empty() && !labels.texts.empty())
    n.fail("has labels of classes that are integers, and others that are strings");
  return labels;
}

ValueId labels_of(NodeImport& n, const ClassLabels& labels, ValueId classes) {
  if (!n.ok()) return no_value;
  const auto count = static_cast<std::int64_t>(labels.size());
  const ValueId table = labels.texts.empty() ? n.ints_constant(labels.ints)
                                             : n.constant(string_tensor({count}, labels.texts));
  return gather(n, table, classes, 0);
}

ValueId binary_labels(NodeImport& n, const ClassLabels& labels, ValueId is_positive) {
  ClassLabels two = labels;
  if (labels.size() != 2 && labels.texts.empty()) two.ints = {0, 1};
  if (labels.size() != 2 && !labels.texts.empty()) two.texts = {"0", "1"};
  return labels_of(n, two, cast(n, is_positive, DType::i64));
}

ValueId best_class(NodeImport& n, ValueId scores) {
  if (!n.ok()) return no_value;
  return n.add(ArgReduce{.is_max = true, .axis = 1, .keepdims = false}, {scores});
}

}  // namespace quern::onnx
