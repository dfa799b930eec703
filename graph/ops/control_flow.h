// SPDX-License-Identifier: Apache-2.0
// Operators with bodies.
#pragma once

#include <cstdint>
#include <string_view>

#include "graph/op.h"

namespace quern {
// Bodies are graphs owned by the node. A value of the outer scope that a body reads (a capture) is
// an explicit input of the node, after the op's own inputs, and an input of the body, after its
// own.

// (condition, captures...); bodies: then, else, each with the captures as inputs.
struct If {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const If&) const = default;
};

// (trip count?, condition?, carried..., captures...); body: (iteration, condition, carried...,
// captures...) -> (condition, carried..., scanned...)
struct Loop {
  std::int64_t carried = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("carried", s.carried);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Loop&) const = default;
};

// (states..., scanned inputs..., captures...); body: (states..., elements..., captures...) ->
// (states..., elements...). axes and directions as in opset 9 and later.
struct Scan {
  std::int64_t states = 0;
  std::int64_t scanned_inputs = 0;
  Ints input_axes;
  Ints input_directions;
  Ints output_axes;
  Ints output_directions;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("states", s.states), f("scanned_inputs", s.scanned_inputs), f("input_axes", s.input_axes);
    f("input_directions", s.input_directions), f("output_axes", s.output_axes);
    f("output_directions", s.output_directions);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Scan&) const = default;
};

using ControlFlowOps = OpList<If, Loop, Scan>;

}  // namespace quern
