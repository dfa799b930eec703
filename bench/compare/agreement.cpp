// SPDX-License-Identifier: Apache-2.0
#include "bench/compare/agreement.h"

#include <algorithm>
#include <cmath>

#include "engine/vocabulary/text_util.h"
#include "tools/compare.h"

namespace quern::bench {
namespace {

constexpr double max_outside = 0.01;

// Half precision has 11 bits, and engines round it in different places.
double tolerance_of(DType dtype, Rounding rounding) {
  if (rounding == Rounding::bf16) return 1e-1;
  return dtype == DType::f16 ? 1e-2 : 1e-3;
}

tools::Criterion relative_to(const TensorView& wanted, Rounding rounding) {
  using tools::Criterion;
  const auto zeros = Tensor::zeros(wanted.type);
  const double magnitude =
      zeros ? tools::compare(zeros->view(), wanted, {.kind = Criterion::Kind::statistical}).mean_abs
            : 0;
  const double tolerance = tolerance_of(wanted.type.dtype, rounding);
  return {.kind = Criterion::Kind::statistical,
          .rtol = tolerance,
          .atol = tolerance * magnitude,
          .mean_abs = tolerance * magnitude,
          .max_outside = max_outside};
}

}  // namespace

std::string disagreement(const std::vector<NamedTensor>& got,
                         const std::vector<NamedTensor>& wanted, Rounding rounding) {
  for (const NamedTensor& w : wanted) {
    const auto g = std::ranges::find(got, w.name, &NamedTensor::name);
    if (g == got.end()) return cat("output '", printable(w.name), "' is missing");
    const auto comparison =
        tools::compare(g->tensor.view(), w.tensor.view(), relative_to(w.tensor.view(), rounding));
    if (!comparison.ok) return cat("output '", printable(w.name), "': ", comparison.reason);
  }
  if (got.size() > wanted.size()) return cat("gives ", got.size(), " tensors, not ", wanted.size());
  return "";
}

double one_minus_cosine(const std::vector<NamedTensor>& got,
                        const std::vector<NamedTensor>& wanted) {
  double greatest = -1;
  for (const NamedTensor& w : wanted) {
    const auto g = std::ranges::find(got, w.name, &NamedTensor::name);
    if (g == got.end() || w.tensor.dtype() != DType::f32 || g->tensor.type() != w.tensor.type())
      continue;
    const auto a = g->tensor.span<float>();
    const auto b = w.tensor.span<float>();
    double ab = 0, aa = 0, bb = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      ab += double{a[i]} * b[i];
      aa += double{a[i]} * a[i];
      bb += double{b[i]} * b[i];
    }
    if (aa > 0 && bb > 0) greatest = std::max(greatest, 1 - ab / std::sqrt(aa * bb));
  }
  return greatest;
}

}  // namespace quern::bench
