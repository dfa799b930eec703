// SPDX-License-Identifier: Apache-2.0
// Operators of classical machine learning.
#include <cmath>

#include "graph/ops/features.h"
#include "graph/ops/trees.h"
#include "tools/oracle/rules.h"

namespace quern::tools::rules {
namespace {

// A result that is computed in f64 from exact operands, and rounded once; what jumps where an
// operand moves has no bound.
Status rounded_once(Evaluated& e) {
  if (!e.exact()) {
    e.undetermined(0);
    return {};
  }
  const Rounding r = e.rounding();
  const Numbers y = as_numbers(e.out[0].value);
  for (std::size_t i = 0; i < y.size(); ++i)
    e.bound()[i] = r.represents(y[i]) ? 0 : r.rounded(y[i], 0).e;
  return {};
}

}  // namespace

// Sums of weights in f64: those of a few thousand trees are exact to the last bit but one.
Status bound(const TreeEnsemble&, Evaluated& e) {
  return rounded_once(e);
}

Status bound(const PairwiseCoupling&, Evaluated& e) {
  return rounded_once(e);
}

// Each square moves by 2 |d| m + m^2 where its difference d moves by m.
Status bound(const SquaredDistance&, Evaluated& e) {
  const Traced& a = *e.in[0];
  const Traced& b = *e.in[1];
  const auto depth = static_cast<std::size_t>(a.value.shape()[1]);
  const auto columns = static_cast<std::size_t>(b.value.shape()[0]);
  const Rounding r = e.rounding();
  for (std::size_t i = 0; i < e.bound().size(); ++i) {
    double sum = 0;
    double moved = 0;
    for (std::size_t k = 0; k < depth; ++k) {
      const Ball x = a.at(i / columns * depth + k);
      const Ball w = b.at(i % columns * depth + k);
      const double d = std::fabs(x.v - w.v);
      const double m = x.e + w.e;
      sum += d * d;
      moved += 2 * d * m + m * m;
    }
    e.bound()[i] = r.rounded(sum, moved, 2).e;
  }
  return {};
}

}  // namespace quern::tools::rules
