// SPDX-License-Identifier: Apache-2.0
// Repetition along dimensions.
#pragma once

#include "graph/op.h"

namespace quern {

// (x, shape): numpy broadcast to the larger of both.
struct Expand {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Expand&) const = default;
};

// (x, repeats)
struct Tile {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Tile&) const = default;
};

using TileOps = OpList<Expand, Tile>;

}  // namespace quern
