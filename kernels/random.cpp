// SPDX-License-Identifier: Apache-2.0
// Random: (shape) -> elements of our own generator (philox.h), uniform in [low, high) or normal by
// the method of Box and Muller. Element i depends on the seed and on i alone.
//
// ONNX RandomUniform, RandomNormal and their Like forms, opsets 1 to 22; Bernoulli imports as a
// comparison with uniform elements. The specification leaves the generator free. f32 and the 16-bit
// types compute in float from 24 bits, f64 in double from 53.
#include <cmath>
#include <numbers>

#include "graph/numeric.h"
#include "graph/text_util.h"
#include "kernels/infer.h"
#include "kernels/kernel.h"
#include "kernels/philox.h"

namespace quern {
namespace {

Status infer(InferContext& c) {
  const auto& op = c.op<Random>();
  if (!is_number_float(op.dtype)) return c.error(cat("makes no elements of ", name_of(op.dtype)));
  const Dims* dims = c.dims(0);
  if ((c.dtype(0) != DType::i64 && c.dtype(0) != DType::i32) || (dims && dims->size() != 1))
    return c.error(cat(c.describe(0), " must be a list of i64 or i32"));
  c.set(0, op.dtype, std::nullopt);
  if (const auto shape = c.ints(0)) {
    for (std::int64_t d : *shape)
      if (d < 0) return c.error(cat("shape holds ", d));
    c.set(0, op.dtype, Dims(shape->begin(), shape->end()));
  } else if (dims && dims->front().known() &&
             dims->front().value() <= static_cast<std::int64_t>(Shape::max_rank)) {
    c.set(0, op.dtype, Dims(static_cast<std::size_t>(dims->front().value())));
  }
  return {};
}

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
void draw(const Random& op, const MutableTensorView& out) {
  using C = ComputeType<T>;
  const auto n = static_cast<std::uint64_t>(out.type.shape.elements());
  const C a = op.low_or_mean;
  const C b = op.high_or_scale;
  for (std::uint64_t i = 0; i < n; ++i) {
    const Pair<C> u = uniform_pair<C>(op.seed, i);
    out.as<T>()[i] =
        T(op.kind == RandomKind::uniform ? a + (b - a) * u.first : a + b * standard_normal(u));
  }
}

Status reference(const ReferenceCall& call) {
  const auto& op = call.as<Random>();
  visit_float(op.dtype, [&]<class T>(TypeTag<T>) { draw<T>(op, call.outputs[0]); });
  return {};
}

}  // namespace

const OpDef& Random::def() {
  static constexpr OpDef def{.name = "Random",
                             .inputs = {1, 1},
                             .outputs = {1, 1},
                             .traits = OpTrait::random,
                             .plan_operands = 0b1,
                             .infer = infer,
                             .reference = reference};
  return def;
}

}  // namespace quern
