// SPDX-License-Identifier: Apache-2.0
// Numbers with a bound on their error, and the roundings that a run adds to them.
//
// A Ball is every number within `e` of `v`. Operations on balls give a ball that holds whatever a
// run may get: the exact result of any operands in the balls, rounded as the run rounds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <quern/dtype.h>

#include "tools/oracle/error_bounds.h"

namespace quern::tools {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

struct Ball {
  double v = 0;
  double e = 0;

  double size() const { return std::fabs(v) + e; }
  double low() const { return v - e; }
  double high() const { return v + e; }
  bool exact() const { return e == 0; }
};

// NaN bounds come of 0 * infinity and the like: nothing is known then.
inline double or_infinite(double bound) {
  return std::isnan(bound) ? infinity : bound;
}

// At least e^x - 1 for x >= 0, and cheap where x is small: e^x <= 1 + x + x^2 up to 1.
inline double growth(double x) {
  return x < 1 ? x + x * x : std::expm1(x);
}

// Rounding bounds of operations on values of one type, on any device.
class Rounding {
 public:
  Rounding(DType type, Arithmetic arithmetic);

  DType type() const { return type_; }
  Arithmetic arithmetic() const { return arithmetic_; }
  // Half a unit in the last place, relative: of f32 for the 16-bit floats too, which are computed
  // in it; doubled for f64, where the oracle itself rounds as often.
  double unit() const { return unit_; }
  // Everything below may have become 0.
  double tiny() const { return tiny_; }
  // k roundings one after the other: k u / (1 - k u) (Higham, Accuracy and Stability, lemma 3.1).
  double gamma(double k) const {
    const double ku = k * unit_;
    return ku < 0.5 ? ku / (1 - ku) : infinity;
  }
  // True if `v` is a number of the type and not one that a device may flush to zero.
  bool represents(double v) const;
  // The error after storing a result in its type: 16-bit floats round once more, and overflow.
  double stored(Ball b) const;

  Ball rounded(double v, double e, double roundings = 1) const {
    return {v, or_infinite(e + roundings * unit_ * (std::fabs(v) + e) + tiny_)};
  }
  // A result of exact operands that is a number of the type is exact: these three are correctly
  // rounded everywhere.
  bool is_exact(Ball a, Ball b, double y) const { return a.exact() && b.exact() && represents(y); }
  Ball add(Ball a, Ball b) const {
    const double y = a.v + b.v;
    return is_exact(a, b, y) ? Ball{y, 0} : rounded(y, a.e + b.e);
  }
  Ball sub(Ball a, Ball b) const { return add(a, {-b.v, b.e}); }
  Ball mul(Ball a, Ball b) const {
    const double y = a.v * b.v;
    return is_exact(a, b, y) ? Ball{y, 0} : rounded(y, product_error(a, b));
  }
  Ball div(Ball a, Ball b) const;
  Ball square_root(Ball a) const;
  Ball power(Ball a, Ball b) const;
  Ball unary(const Unary& op, Ball x) const;

  static double product_error(Ball a, Ball b) {
    // 0 * infinity: an exact factor of 0 leaves no error, however large the other one is.
    const double one = b.e == 0 ? 0 : std::fabs(a.v) * b.e;
    const double two = a.e == 0 ? 0 : std::fabs(b.v) * a.e;
    return one + two + (a.e == 0 || b.e == 0 ? 0 : a.e * b.e);
  }

 private:
  DType type_;
  Arithmetic arithmetic_;
  double unit_;
  double tiny_;
};

// f(x) of the float functions, in f64: a definition of its own, so that a mistake in the engine's
// is found.
double apply(const Unary& op, double x);

// A sum in any order, of any grouping, with or without fused multiply-adds: n terms round at most
// n times each (Higham, section 4.2).
class Sum {
 public:
  void add(Ball b) { add(b.v, b.e, b.size()); }
  void add_product(Ball a, Ball b) {
    add(a.v * b.v, Rounding::product_error(a, b), a.size() * b.size());
  }
  double magnitude() const { return magnitude_; }
  // `more`: roundings of each term before it is added, and of the sum after.
  Ball total(const Rounding& r, double more = 0) const {
    const double k = count_ + more;
    return {value_, or_infinite(error_ + r.gamma(k) * magnitude_ + k * r.tiny())};
  }

 private:
  void add(double v, double e, double size) {
    value_ += v, error_ += e, magnitude_ += size, count_ += 1;
  }

  double value_ = 0;
  double error_ = 0;
  double magnitude_ = 0;
  double count_ = 0;
};

// The roundings allowed to every sum of products beside its own terms: a factor per channel
// multiplied into the weights (graph/passes/affine.cpp: fold_scale, fold_input_scale,
// expand_batch_norm) rounds twice, alpha of a product once, the bias once.
inline constexpr double folded_roundings = 4;

}  // namespace quern::tools
