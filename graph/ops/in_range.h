// SPDX-License-Identifier: Apache-2.0
// Checks of numbers that only a run knows.
#pragma once

#include <string>

#include "graph/op.h"

namespace quern {

// (x, least, most) -> x, all i64: an element below `least` or above `most` is an error of the run,
// which says that `what` is out of range.
struct InRange {
  std::string what;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("what", s.what);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const InRange&) const = default;
};

using InRangeOps = OpList<InRange>;

}  // namespace quern
