// SPDX-License-Identifier: Apache-2.0
// Multinomial: draws sample_size classes for each row of unnormalised log probabilities, with
// replacement: the first class at which the running sum of exp(x - max x) passes u times the whole.
//
// ONNX Multinomial, opsets 7 and 22. u is element (row * sample_size + sample) of our generator
// (philox.h), in double. A row of NaN, or of nothing but -inf, gives the last class.
#include <cmath>
#include <limits>

#include "graph/numeric.h"
#include "graph/ops/random.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/reference/philox.h"

namespace quern {
namespace {

// ---- reference

template <class T>
double largest(const T* row, std::int64_t classes, StopCheck& check) {
  double m = -std::numeric_limits<double>::infinity();
  // Passes over NaN as std::fmax does, whose vectors gcc 12 cannot make for ARM64.
  for_each_until(classes, 2, check, [&](std::int64_t k) {
    const auto x = static_cast<double>(row[k]);
    m = x > m ? x : m;
  });
  return m;
}

template <class T>
std::int64_t draw(const T* row, std::int64_t classes, double m, double target, StopCheck& check) {
  double sum = 0;
  for (std::int64_t k = 0; k < classes && !check.spend(8); ++k) {
    sum += std::exp(static_cast<double>(row[k]) - m);
    if (sum > target) return k;
  }
  return classes - 1;
}

template <class T, class Y>
void draw_all(const ReferenceCall& call) {
  const auto& op = call.as<Multinomial>();
  const Shape& xs = call.inputs[0].type.shape;
  Y* y = call.outputs[0].as<Y>();
  StopCheck check(call.stop);
  for (std::int64_t r = 0; r < xs[0] && !check.spend(8); ++r) {
    const T* row = call.inputs[0].as<T>() + r * xs[1];
    const double m = largest(row, xs[1], check);
    double whole = 0;
    for_each_until(xs[1], 8, check,
                   [&](std::int64_t k) { whole += std::exp(static_cast<double>(row[k]) - m); });
    for (std::int64_t s = 0; s < op.sample_size && !check.spend(32); ++s) {
      const PhiloxBlock w =
          random_words(op.seed, static_cast<std::uint64_t>(r * op.sample_size + s));
      *y++ = static_cast<Y>(draw(row, xs[1], m, uniform_double(w[0], w[1]) * whole, check));
    }
  }
}

Status multinomial_reference(const ReferenceCall& call) {
  const bool wide = call.outputs[0].type.dtype == DType::i64;
  visit_float(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    wide ? draw_all<T, std::int64_t>(call) : draw_all<T, std::int32_t>(call);
  });
  return {};
}

}  // namespace

const OpKernels& Multinomial::kernels() {
  static constexpr OpKernels table{.reference = {multinomial_reference}};
  return table;
}

}  // namespace quern
