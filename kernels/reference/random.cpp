// SPDX-License-Identifier: Apache-2.0
// Random: (shape) -> elements uniform in [low, high) or normal. The counter generator is our own
// (philox.h), its normal numbers by the method of Box and Muller: element i depends on the seed and
// on i alone. The mersenne generator (mersenne.h) is a sequence in the order of the elements.
//
// ONNX RandomUniform, RandomNormal and their Like forms, opsets 1 to 22; Bernoulli and
// Dropout in training import as comparisons with uniform elements. The specification
// leaves the generator free: with a seed, it is that of ONNX's reference, and so is each rounding:
// a number is rounded to the element type, multiplied and rounded, added to and rounded (uniform
// numbers may therefore be `high`). Of the counter, f32 and the 16-bit types compute in float from
// 24 bits, f64 in double from 53.
#include "graph/ops/random.h"

#include <cmath>
#include <numbers>

#include "graph/numeric.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/reference/mersenne.h"
#include "kernels/reference/philox.h"

namespace quern {
namespace {

// ---- reference

// Two independent uniform numbers.
template <class C>
struct Pair {
  C first, second;
};
template <class C>
Pair<C> uniform_pair(std::uint64_t seed, std::uint64_t index) {
  const PhiloxBlock w = random_words(seed, index);
  if constexpr (std::is_same_v<C, double>) {
    return {uniform_double(w[0], w[1]), uniform_double(w[2], w[3])};
  } else {
    return {uniform_float(w[0]), uniform_float(w[1])};
  }
}

template <class C>
C standard_normal(Pair<C> u) {
  const C radius = std::sqrt(-2 * std::log(1 - u.first));  // 1 - u is never 0
  return radius * std::cos(2 * std::numbers::pi_v<C> * u.second);
}

template <class T>
void draw_in_order(const Random& op, const MutableTensorView& out, StopCheck& check) {
  const bool uniform = op.kind == RandomKind::uniform;
  const double low_or_mean = op.low_or_mean;
  const T factor(uniform ? op.high_or_scale - low_or_mean : double{op.high_or_scale});
  const T offset(low_or_mean);
  MersenneNumbers numbers(op.seed);
  for_each_until(out.type.shape.elements(), 64, check, [&](std::int64_t i) {
    const T drawn(uniform ? numbers.uniform() : numbers.normal());
    const T scaled(drawn * factor);
    out.as<T>()[i] = T(scaled + offset);
  });
}

template <class T>
void draw(const Random& op, const MutableTensorView& out, StopCheck& check) {
  using C = ComputeType<T>;
  const C a = op.low_or_mean;
  const C b = op.high_or_scale;
  for_each_until(out.type.shape.elements(), 32, check, [&](std::int64_t i) {
    const Pair<C> u = uniform_pair<C>(op.seed, static_cast<std::uint64_t>(i));
    out.as<T>()[i] =
        T(op.kind == RandomKind::uniform ? a + (b - a) * u.first : a + b * standard_normal(u));
  });
}

Status random_reference(const ReferenceCall& call) {
  const auto& op = call.as<Random>();
  StopCheck check(call.stop);
  visit_float(op.dtype, [&]<class T>(TypeTag<T>) {
    if (op.generator == RandomGenerator::mersenne)
      draw_in_order<T>(op, call.outputs[0], check);
    else
      draw<T>(op, call.outputs[0], check);
  });
  return {};
}

}  // namespace

const OpKernels& Random::kernels() {
  static constexpr OpKernels table{.reference = {random_reference}};
  return table;
}

}  // namespace quern
