// SPDX-License-Identifier: Apache-2.0
// Points of products of many choices, and the bound that a kernel's result with a chain of post-ops
// is held to: derived from the operation, not guessed.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/unary.h"
#include "kernels/contract/binary_math.h"
#include "kernels/contract/unary_math.h"
#include "tests/kernels/kernel_test.h"
#include "tests/sanitized.h"

namespace quern::testing {

// One point of a product of lists, drawn by its number: the same on every machine.
class Point {
 public:
  explicit Point(std::uint64_t number) : state_(number * 0x9e3779b97f4a7c15ULL) {}
  template <class T>
  T of(const std::vector<T>& list) {
    return list[next() % list.size()];
  }

 private:
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

// QUERN_SWEEP=N takes N times as many points as usual.
inline std::uint64_t sweep_factor() {
  const char* asked = std::getenv("QUERN_SWEEP");
  return asked ? std::max<std::uint64_t>(std::strtoull(asked, nullptr, 10), 1) : 1;
}

// body(Point) for `usual` points, or as many times that as is asked for; under a sanitizer, where
// the references are slow, for a twentieth.
template <class F>
void sweep(std::uint64_t usual, const F& body) {
  const std::uint64_t points = sanitized ? usual / 20 + 1 : usual;
  for (std::uint64_t i = 0; i < points * sweep_factor(); ++i) {
    Point point(i * 7919 + usual);
    body(point);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// Who computed how much of a sweep, for its last words.
class Tally {
 public:
  explicit Tally(const char* what) : what_(what) {}
  ~Tally() {
    if (!std::getenv("QUERN_SWEEP")) return;
    for (const auto& [name, count] : by_implementation_)
      std::printf("%s: %s %lld, with post-ops %lld\n", what_, name.c_str(), count[0], count[1]);
  }
  void add(const SelectedRun& run) {
    ++by_implementation_[run.implementation][run.post_ops_taken > 0 ? 1 : 0];
    taken_ += run.implementation.empty() ? 0 : 1;
  }
  // Problems that the implementation that was asked has taken.
  int taken() const { return taken_; }

 private:
  const char* what_;
  int taken_ = 0;
  std::map<std::string, std::array<long long, 2>> by_implementation_;
};

// ---- bounds

// An element and how far from it a float computation may end up.
struct Bounded {
  double value, error;
};

inline constexpr double float_step = 1.2e-7;

// Operands of the reference, as magnitudes: its result is then the sum of |products|.
inline std::vector<Tensor> magnitudes(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> all;
  for (const Tensor& t : inputs) {
    all.push_back(t.valid() ? Tensor::zeros(t.type()).value() : Tensor());
    if (!t.valid()) continue;
    const auto from = t.span<float>();
    auto* to = reinterpret_cast<float*>(all.back().mutable_data());
    std::transform(from.begin(), from.end(), to, [](float v) { return std::fabs(v); });
  }
  return all;
}

// Sums of `length` products each, in any order.
inline std::vector<Bounded> bounded_sums(const Op& op, const std::vector<Tensor>& inputs,
                                         std::int64_t length, double growth) {
  const Tensor sums = run_reference(op, inputs).value()[0];
  const Tensor sizes = run_reference(op, magnitudes(inputs)).value()[0];
  std::vector<Bounded> all;
  const double factor = growth * float_step * static_cast<double>(length + 4);
  for (std::int64_t i = 0; i < sums.shape().elements(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    all.push_back({sums.span<float>()[at], factor * std::fabs(sizes.span<float>()[at]) + 1e-37});
  }
  return all;
}

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
