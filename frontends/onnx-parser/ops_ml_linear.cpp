// SPDX-License-Identifier: Apache-2.0
// ai.onnx.ml: linear models and support vector machines.
#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/ml_scores.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/features.h"
#include "graph/ops/matmul.h"
#include "graph/ops/reduce.h"
#include "graph/ops/unary_kind.h"

namespace quern::onnx {
namespace {

// x w^T, of w [rows, columns].
ValueId product(NodeImport& n, ValueId x, ValueId w) {
  return n.add(MatMul{.transpose_b = true}, {x, w});
}

// The number of columns of a matrix with so many rows.
std::int64_t columns_of(NodeImport& n, std::string_view name, const std::vector<float>& values,
                        std::int64_t rows) {
  const auto count = static_cast<std::int64_t>(values.size());
  if (rows < 1 || count == 0 || count % rows != 0)
    n.fail(cat("attribute '", name, "' has ", count, " numbers, wants a multiple of ", rows));
  return n.ok() ? count / rows : 0;
}

// x w^T + offset, for `rows` rows of coefficients.
ValueId linear(NodeImport& n, ValueId x, const std::vector<float>& coefficients,
               const std::vector<float>& offset, std::int64_t rows) {
  const std::int64_t columns = columns_of(n, "coefficients", coefficients, rows);
  const ValueId w = float_matrix(n, "coefficients", coefficients, rows, columns);
  if (!n.ok()) return no_value;
  const ValueId y = product(n, x, w);
  return offset.empty() ? y : add(n, y, float_list(n, DType::f32, offset));
}

void import_linear_regressor(NodeImport& n) {
  const std::vector<float> coefficients = n.numbers("coefficients");
  std::vector<float> intercepts = n.numbers("intercepts");
  const std::int64_t targets = n.integer("targets", 1);
  const PostTransform post = read_post_transform(n);
  const ValueId x = feature_rows(n);
  // ONNX Runtime passes over a list of another length.
  if (static_cast<std::int64_t>(intercepts.size()) != targets) intercepts.clear();
  const ValueId y = linear(n, x, coefficients, intercepts, targets);
  n.set(0, transformed(n, post, y, targets));
}

// ONNX Runtime reads as many coefficients as the input has features for each score, from the first
// on, and leaves the rest: public models have inputs that are declared too narrow.
void drop_surplus(NodeImport& n, ValueId x, std::int64_t scores, std::vector<float>& coefficients) {
  const Dim features = n.ok() ? n.dim(x, 1) : Dim();
  const auto count = static_cast<std::int64_t>(coefficients.size());
  if (!features.known() || scores < 1 || features.value() >= count / scores) return;
  n.warn(cat("has ", count / scores, " coefficients a score for ", features.value(),
             " features: the first ", features.value() * scores, " are taken in their order"));
  coefficients.resize(static_cast<std::size_t>(features.value() * scores));
}

void import_linear_classifier(NodeImport& n) {
  std::vector<float> coefficients = n.numbers("coefficients");
  const std::vector<float> intercepts = n.numbers("intercepts");
  const ClassLabels labels = read_labels(n, "classlabels_ints");
  const PostTransform post = read_post_transform(n);
  n.ignore("multi_class");
  const ValueId x = feature_rows(n);
  const auto scores_count =
      static_cast<std::int64_t>(intercepts.empty() ? labels.size() : intercepts.size());
  if (scores_count > 1 && scores_count > static_cast<std::int64_t>(labels.size()))
    n.fail(cat("has ", labels.size(), " labels for ", scores_count, " scores"));
  drop_surplus(n, x, scores_count, coefficients);
  const ValueId scores = linear(n, x, coefficients, intercepts, scores_count);
  if (!n.ok()) return;
  if (scores_count > 1) {
    n.set(0, labels_of(n, labels, best_class(n, scores)));
    return n.set(1, transformed(n, post, scores, scores_count));
  }
  const ValueId list = squeeze(n, scores, {1});
  const ValueId positive = binary(n, BinaryKind::greater, list, n.scalar_like(list, 0));
  n.set(0, binary_labels(n, labels, positive));
  n.set(1, labels.size() == 2 ? with_second_class(n, post, SecondClass::complement, scores)
                              : transformed(n, post, scores, 1));
}

// ---- support vectors ---------------------------------------------------------------------------

enum class SvmKernel : std::uint8_t { linear, poly, rbf, sigmoid };

struct Svm {
  SvmKernel kernel = SvmKernel::linear;
  float gamma = 0, coef0 = 0, degree = 0;
  std::vector<float> vectors, coefficients, rho;
};

Svm read_svm(NodeImport& n) {
  using K = SvmKernel;
  Svm s{.kernel = n.choice<K>(
            "kernel_type", "LINEAR",
            {{"LINEAR", K::linear}, {"POLY", K::poly}, {"RBF", K::rbf}, {"SIGMOID", K::sigmoid}}),
        .vectors = n.numbers("support_vectors"),
        .coefficients = n.numbers("coefficients"),
        .rho = n.numbers("rho")};
  const std::vector<float> parameters = n.numbers("kernel_params");
  if (!parameters.empty() && parameters.size() != 3)
    n.fail(cat("attribute 'kernel_params' has ", parameters.size(), " numbers, wants 3"));
  if (parameters.size() == 3) {
    s.gamma = parameters[0];
    s.coef0 = parameters[1];
    s.degree = parameters[2];
  }
  if (s.rho.empty()) n.fail("attribute 'rho' has no numbers");
  return s;
}

// The kernel function of each row of x and each support vector.
ValueId kernel_matrix(NodeImport& n, const Svm& s, ValueId x, std::int64_t count) {
  const std::int64_t features = columns_of(n, "support_vectors", s.vectors, count);
  const ValueId vectors = float_matrix(n, "support_vectors", s.vectors, count, features);
  if (!n.ok()) return no_value;
  if (s.kernel == SvmKernel::rbf) {
    const ValueId distance = n.add(SquaredDistance{}, {x, vectors});
    return unary(n, UnaryKind::exp, mul(n, distance, -static_cast<double>(s.gamma)));
  }
  const ValueId dot = product(n, x, vectors);
  if (s.kernel == SvmKernel::linear) return dot;
  const ValueId y = add(n, mul(n, dot, s.gamma), s.coef0);
  if (s.kernel == SvmKernel::sigmoid) return unary(n, UnaryKind::tanh, y);
  return binary(n, BinaryKind::pow, y, n.scalar_like(y, s.degree));
}

void import_svm_regressor(NodeImport& n) {
  const Svm s = read_svm(n);
  const std::int64_t count = n.integer("n_supports", 0);
  const bool one_class = n.integer("one_class", 0) != 0;
  read_post_transform(n);  // ONNX Runtime applies none
  const ValueId x = feature_rows(n);
  if (!n.ok()) return;
  const std::vector<float> rho = {s.rho.front()};
  ValueId y = no_value;
  if (count > 0 && static_cast<std::int64_t>(s.coefficients.size()) != count)
    n.fail(cat("has ", s.coefficients.size(), " coefficients for ", count, " support vectors"));
  if (count > 0)
    y = linear(n, kernel_matrix(n, s, x, count), s.coefficients, rho, 1);
  else
    y = linear(n, x, s.coefficients, rho, 1);
  if (!n.ok()) return;
  if (one_class) {
    const ValueId inside = binary(n, BinaryKind::greater, y, n.scalar_like(y, 0));
    y = where(n, inside, n.scalar_like(y, 1), n.scalar_like(y, -1));
  }
  n.set(0, y);
}

// ---- classes -----------------------------------------------------------------------------------

// The support vectors of each class follow one another.
struct ClassRanges {
  Ints begins;
  std::int64_t classes;

  std::int64_t vectors() const { return begins.back(); }
  std::int64_t pairs() const { return classes * (classes - 1) / 2; }
};

ClassRanges read_ranges(NodeImport& n, std::size_t labels) {
  ClassRanges r{.begins = {0}, .classes = static_cast<std::int64_t>(labels)};
  for (std::int64_t count : n.ints("vectors_per_class")) {
    if (count < 0 || count > (std::int64_t{1} << 31))
      n.fail(cat("attribute 'vectors_per_class' holds ", count));
    r.begins.push_back(r.begins.back() + (n.ok() ? count : 0));
  }
  if (r.begins.size() > 1 && r.begins.size() != labels + 1)
    n.fail(cat("attribute 'vectors_per_class' has ", r.begins.size() - 1, " numbers for ", labels,
               " classes"));
  return r;
}

// f(i, j, p) for the pairs (0, 1), (0, 2), ..., (1, 2), ..., p being 0, 1, ...
template <class F>
void for_each_pair(std::int64_t classes, const F& f) {
  std::int64_t p = 0;
  for (std::int64_t i = 0; i < classes; ++i)
    for (std::int64_t j = i + 1; j < classes; ++j) f(i, j, p++);
}

// The scores of pairs of classes: sums of the kernel functions of their vectors, whose coefficients
// against class j are row j - 1 for the classes before j and row j for those behind it.
ValueId pair_scores(NodeImport& n, const Svm& s, const ClassRanges& r, ValueId kernels) {
  const std::int64_t count = r.vectors();
  if (static_cast<std::int64_t>(s.coefficients.size()) != (r.classes - 1) * count)
    n.fail(
        cat("has ", s.coefficients.size(), " coefficients, wants ", r.classes - 1, " x ", count));
  if (static_cast<std::int64_t>(s.rho.size()) < r.pairs())
    n.fail(cat("attribute 'rho' has ", s.rho.size(), " numbers for ", r.pairs(), " pairs"));
  const auto size = static_cast<std::size_t>(r.pairs() * count);
  if (!n.ok() || !n.charge(size * sizeof(float))) return no_value;
  std::vector<float> weights(size);
  const auto copy = [&](std::int64_t pair, std::int64_t of, std::int64_t row) {
    const auto begin = static_cast<std::size_t>(r.begins[static_cast<std::size_t>(of)]);
    const auto end = static_cast<std::size_t>(r.begins[static_cast<std::size_t>(of) + 1]);
    for (std::size_t v = begin; v < end; ++v)
      weights[static_cast<std::size_t>(pair * count) + v] =
          s.coefficients[static_cast<std::size_t>(row * count) + v];
  };
  for_each_pair(r.classes, [&](std::int64_t i, std::int64_t j, std::int64_t p) {
    copy(p, i, j - 1);
    copy(p, j, i);
  });
  const std::vector<float> rho(s.rho.begin(), s.rho.begin() + r.pairs());
  return linear(n, kernels, weights, rho, r.pairs());
}

// The class that wins most pairs, the first of several: a score above 0 is for the first class of a
// pair.
ValueId winner(NodeImport& n, const ClassRanges& r, ValueId scores) {
  const auto size = static_cast<std::size_t>(r.classes * r.pairs());
  if (!n.charge(2 * size * sizeof(float))) return no_value;
  std::vector<float> gains(size);  // [classes, pairs]: what a vote for i instead of j changes
  std::vector<float> losses(static_cast<std::size_t>(r.classes));
  for_each_pair(r.classes, [&](std::int64_t i, std::int64_t j, std::int64_t p) {
    gains[static_cast<std::size_t>(i * r.pairs() + p)] = 1;
    gains[static_cast<std::size_t>(j * r.pairs() + p)] = -1;
    losses[static_cast<std::size_t>(j)] += 1;
  });
  const ValueId first = binary(n, BinaryKind::greater, scores, n.scalar_like(scores, 0));
  return best_class(n, linear(n, cast(n, first, DType::f32), gains, losses, r.classes));
}

// Probabilities of the classes from the scores of pairs.
ValueId coupled(NodeImport& n, const ClassRanges& r, ValueId scores, const std::vector<float>& a,
                const std::vector<float>& b) {
  if (static_cast<std::int64_t>(a.size()) != r.pairs() || a.size() != b.size())
    n.fail(cat("has ", a.size(), " numbers for 'prob_a' and ", b.size(), " for 'prob_b', wants ",
               r.pairs()));
  if (!n.ok()) return no_value;
  const ValueId scaled = mul(n, scores, float_list(n, DType::f32, a));
  const ValueId v = add(n, scaled, float_list(n, DType::f32, b));
  const ValueId p = unary(n, UnaryKind::sigmoid, mul(n, v, -1));
  const ValueId clipped = unary(n, UnaryKind::clip, p, 1e-7, 1 - 1e-7);
  return n.add(PairwiseCoupling{.classes = r.classes}, {clipped});
}

// The result of a model with support vectors.
void classify_by_vectors(NodeImport& n, const Svm& s, const ClassRanges& r,
                         const ClassLabels& labels, ValueId x) {
  const std::vector<float> a = n.numbers("prob_a");
  const std::vector<float> b = n.numbers("prob_b");
  const PostTransform post = read_post_transform(n);
  if (r.classes < 2) n.fail(cat("has ", r.classes, " classes, wants 2 at least"));
  const ValueId kernels = n.ok() ? kernel_matrix(n, s, x, r.vectors()) : no_value;
  const ValueId scores = pair_scores(n, s, r, kernels);
  if (!n.ok()) return;
  n.set(0, labels_of(n, labels, winner(n, r, scores)));
  if (!a.empty() || !b.empty()) {
    const ValueId p = coupled(n, r, scores, a, b);
    return n.set(1, transformed(n, post, p, r.classes));
  }
  if (r.classes > 2) return n.set(1, transformed(n, post, scores, r.pairs()));
  const bool plain = post == PostTransform::none;
  n.set(1, with_second_class(n, post, plain ? SecondClass::negative : SecondClass::complement,
                             scores));
}

// A linear model: the class of the greatest score, and of two classes the second one where that is
// above 0, or 0.5 where no coefficient is negative.
void classify_by_planes(NodeImport& n, const Svm& s, const ClassLabels& labels, ValueId x) {
  const bool has_probabilities = !n.numbers("prob_a").empty();
  n.ignore("prob_b");
  const PostTransform post = read_post_transform(n);
  const auto classes = static_cast<std::int64_t>(labels.size());
  const ValueId scores = linear(n, x, s.coefficients, {s.rho.front()}, classes);
  if (!n.ok()) return;
  ValueId best = best_class(n, scores);
  if (classes == 2 && !has_probabilities) {
    const bool positive = std::ranges::all_of(s.coefficients, [](float c) { return c >= 0; });
    const ValueId most = squeeze(n, reduce(n, ReduceKind::max, scores, {1}), {1});
    const ValueId second = binary(n, positive ? BinaryKind::greater_equal : BinaryKind::greater,
                                  most, n.scalar_like(most, positive ? 0.5 : 0));
    best = where(n, second, n.constant(Tensor::scalar<std::int64_t>(DType::i64, 1)), best);
  }
  n.set(0, labels_of(n, labels, best));
  n.set(1, transformed(n, post, scores, classes));
}

void import_svm_classifier(NodeImport& n) {
  const Svm s = read_svm(n);
  const ClassLabels labels = read_labels(n, "classlabels_ints");
  const ClassRanges ranges = read_ranges(n, labels.size());
  const ValueId x = feature_rows(n);
  if (!n.ok()) return;
  if (ranges.vectors() > 0)
    classify_by_vectors(n, s, ranges, labels, x);
  else
    classify_by_planes(n, s, labels, x);
}

constexpr OpRow ml_linear_rows[] = {
    {"LinearClassifier", 1, import_linear_classifier, {1, 1}, two},
    {"LinearRegressor", 1, import_linear_regressor},
    {"SVMClassifier", 1, import_svm_classifier, {1, 1}, two},
    {"SVMRegressor", 1, import_svm_regressor},
};

}  // namespace

OpRows ml_linear_ops() {
  return ml_linear_rows;
}

}  // namespace quern::onnx
