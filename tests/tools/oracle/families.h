// SPDX-License-Identifier: Apache-2.0
// One small graph for each family of operators that computes with floats, and how its operands are
// drawn.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tests/tools/oracle/judging.h"

namespace quern::testing {

struct Family {
  std::string name;
  std::string graph;
  Draw draw;
  // The least share of a bound that some element of some run must use up: how far from vacuous
  // bounds may be. Sums of random terms stay far below their worst case.
  double least_ratio = 0.01;
};
const std::vector<Family>& families();
inline void PrintTo(const Family& family, std::ostream* out) {
  *out << family.name;
}

}  // namespace quern::testing
