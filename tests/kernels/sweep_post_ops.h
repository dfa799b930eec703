// SPDX-License-Identifier: Apache-2.0
// Chains of post-ops in a sweep, and the bound that a kernel's result with them is held to.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/unary.h"
#include "kernels/contract/binary_math.h"
#include "kernels/contract/unary_math.h"
#include "tests/kernels/sweep.h"

namespace quern::testing {

// The operand's error goes through as far as the function is steep around it; what evaluates the
// function adds some steps of its own, in terms of what it is made of.
inline Bounded apply(const Unary& u, const Bounded& x) {
  const double y = apply_float(u, x.value);
  const double around = std::max(std::fabs(apply_float(u, x.value - x.error) - y),
                                 std::fabs(apply_float(u, x.value + x.error) - y));
  const bool exact = u.kind == UnaryKind::relu || u.kind == UnaryKind::clip ||
                     u.kind == UnaryKind::abs || u.kind == UnaryKind::neg;
  const double own = std::fabs(y) + std::fabs(u.alpha * x.value) + std::fabs(u.beta);
  // Approximations of exp and erf: some 16 steps of their range around 0 and of their result.
  const double steps = exact ? 1 : u.kind == UnaryKind::affine ? 4 : 32;
  const double floor = exact || u.kind == UnaryKind::affine ? 0 : 16 * float_step;
  return {y, std::max(around, x.error * (exact ? 1 : 0)) + steps * float_step * own + floor +
                 (exact ? 0 : x.error)};
}

inline Bounded apply(const BinaryPostOp& b, const Bounded& x, double operand) {
  const Bounded o{operand, 0};
  const Bounded& l = b.swapped ? o : x;
  const Bounded& r = b.swapped ? x : o;
  const auto rounded = [](double y, double error) {
    return Bounded{y, error + 2 * float_step * (std::fabs(y) + error)};
  };
  switch (b.kind) {
    case BinaryKind::add: return rounded(l.value + r.value, x.error);
    case BinaryKind::sub: return rounded(l.value - r.value, x.error);
    case BinaryKind::mul: return rounded(l.value * r.value, x.error * std::fabs(operand));
    case BinaryKind::div: {
      if (!b.swapped) return rounded(l.value / r.value, x.error / std::fabs(operand));
      const double least = std::fabs(x.value) - x.error;
      if (least <= 0) return {0, std::numeric_limits<double>::infinity()};
      return rounded(l.value / r.value, std::fabs(operand) * x.error / (least * least));
    }
    case BinaryKind::min: return {std::fmin(l.value, r.value), x.error};
    case BinaryKind::max: return {std::fmax(l.value, r.value), x.error};
    case BinaryKind::prelu:  // x, slope: around 0 the slope may or may not apply
      return rounded(x.value < 0 ? x.value * operand : x.value,
                     x.error * std::max(1.0, std::fabs(operand)));
    default: return {0, std::numeric_limits<double>::infinity()};
  }
}

// Element `flat` of a result of shape `dst`, as the operand has it.
inline float broadcast_element(const Tensor& operand, const Shape& dst, std::int64_t flat) {
  const std::size_t lead = dst.rank() - operand.shape().rank();
  std::int64_t at = 0;
  std::int64_t stride = 1;
  for (std::size_t d = dst.rank(); d-- > lead;) {
    const std::int64_t extent = operand.shape()[d - lead];
    if (extent != 1) at += flat % dst[d] * stride;
    stride *= extent;
    flat /= dst[d];
  }
  return operand.span<float>()[static_cast<std::size_t>(at)];
}

inline Bounded apply(const PostOp& p, const std::vector<Tensor>& operands, const Shape& dst,
                     std::int64_t flat, const Bounded& x) {
  if (const Unary* u = unary_of(p)) return apply(*u, x);
  const auto& b = std::get<BinaryPostOp>(p);
  return apply(b, x, broadcast_element(operands[b.operand], dst, flat));
}

// How many elements of `got`, a result with the first `taken` post-ops, are not within the bound.
// Elements of which the bound knows nothing (a root of less than 0) may be anything.
inline std::size_t count_wrong(const SelectedRun& got, const PostOps& post_ops,
                               const std::vector<Tensor>& operands,
                               const std::vector<Bounded>& sums) {
  const Tensor& t = got.outputs[0];
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    Bounded want = sums[i];
    for (std::size_t k = 0; k < got.post_ops_taken; ++k)
      want = apply(post_ops[k], operands, t.shape(), static_cast<std::int64_t>(i), want);
    if (std::isnan(want.value) || !std::isfinite(want.error)) continue;
    if (!(std::fabs(t.span<float>()[i] - want.value) <= want.error)) ++wrong;
  }
  return wrong;
}

// ---- chains

// A step of a chain before the result's shape is known.
struct Step {
  std::optional<Unary> unary;
  BinaryKind binary = BinaryKind::add;
  unsigned spread = 0;   // dimensions of the result that the operand has, from the last on by bits
  bool trimmed = false;  // without the operand's leading ones
  bool swapped = false;
  bool overwritten = false;  // nobody needs the operand later
};

inline std::string text_of(const Step& s) {
  if (s.unary)
    return cat("unary", static_cast<int>(s.unary->kind), "(", s.unary->alpha, ",", s.unary->beta,
               ")");
  return cat("binary", static_cast<int>(s.binary), "[", s.spread, s.trimmed ? " trimmed" : "",
             s.swapped ? " swapped" : "", s.overwritten ? " dies" : "", "]");
}

inline Shape operand_shape(const Step& s, const Shape& dst) {
  Shape shape = dst;
  for (std::size_t d = 0; d < dst.rank(); ++d)
    if (!(s.spread >> (dst.rank() - 1 - d) & 1)) shape[d] = 1;
  while (s.trimmed && shape.rank() > 0 && shape[0] == 1) shape.erase(0);
  return shape;
}

}  // namespace quern::testing
