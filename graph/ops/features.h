// SPDX-License-Identifier: Apache-2.0
// Operators on features, as classical machine learning has them: keys, distances, couplings.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op.h"

namespace quern {

// (x, keys [n] of its type) -> i64 of the shape of x: the position of the first key that is equal
// to an element, or n where none is. NaN is equal to NaN; -0 to 0. Integers and strings, f32 and
// f64.
struct KeyIndex {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const KeyIndex&) const = default;
};

// (a T [n, features], b T [m, features]) -> T [n, m]: the sums of the squares of differences, of
// each row of a with each row of b. T is f32 or f64.
struct SquaredDistance {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const SquaredDistance&) const = default;
};

// f32 [rows, classes (classes - 1) / 2] -> f32 [rows, classes]: the probabilities of the classes
// that agree best with the probabilities of pairs, of i against j for (0, 1), (0, 2), ... (1, 2),
// ...: the second method of Wu, Lin and Weng, "Probability Estimates for Multi-class Classification
// by Pairwise Coupling" (2004), by at most 100 passes.
struct PairwiseCoupling {
  std::int64_t classes = 2;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("classes", s.classes);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const PairwiseCoupling&) const = default;
};

using FeaturesOps = OpList<KeyIndex, SquaredDistance, PairwiseCoupling>;

}  // namespace quern
