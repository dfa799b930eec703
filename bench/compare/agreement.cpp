// SPDX-License-Identifier: Apache-2.0
#include "bench/compare/agreement.h"

#include <algorithm>

#include "engine/vocabulary/text_util.h"
#include "tools/compare.h"

namespace quern::bench {
namespace {

constexpr double max_outside = 0.01;

// Half precision has 11 bits, and engines round it in different places.
double tolerance_of(DType dtype) {
  return dtype == DType::f16 ? 1e-2 : 1e-3;
}

tools::Criterion relative_to(const TensorView& wanted) {
  using tools::Criterion;
  const auto zeros = Tensor::zeros(wanted.type);
  const double magnitude =
      zeros ? tools::compare(zeros->view(), wanted, {.kind = Criterion::Kind::statistical}).mean_abs
            : 0;
  const double tolerance = tolerance_of(wanted.type.dtype);
  return {.kind = Criterion::Kind::statistical,
          .rtol = tolerance,
          .atol = tolerance * magnitude,
          .mean_abs = tolerance * magnitude,
          .max_outside = max_outside};
}

}  // namespace

std::string disagreement(const std::vector<NamedTensor>& got,
                         const std::vector<NamedTensor>& wanted) {
  for (const NamedTensor& w : wanted) {
    const auto g = std::ranges::find(got, w.name, &NamedTensor::name);
    if (g == got.end()) return cat("output '", printable(w.name), "' is missing");
    const auto comparison =
        tools::compare(g->tensor.view(), w.tensor.view(), relative_to(w.tensor.view()));
    if (!comparison.ok) return cat("output '", printable(w.name), "': ", comparison.reason);
  }
  return "";
}

}  // namespace quern::bench
