// SPDX-License-Identifier: Apache-2.0
// The same elements in another shape.
#pragma once

#include <cstdint>

#include "graph/op.h"

namespace quern {

// Returns its input. If `rank` is set, a tensor of another rank is an error.
struct Identity {
  std::int64_t rank = -1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("rank", s.rank);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Identity&) const = default;
};

// (x, shape): 0 copies the dimension (unless allow_zero), -1 is inferred from the rest.
struct Reshape {
  bool allow_zero = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("allow_zero", s.allow_zero);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Reshape&) const = default;
};

// (x, axes?)
struct Squeeze {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Squeeze&) const = default;
};

// (x, axes)
struct Unsqueeze {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Unsqueeze&) const = default;
};

// Flattens to two dimensions, split before `axis`.
struct Flatten {
  std::int64_t axis = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Flatten&) const = default;
};

using ReshapeOps = OpList<Identity, Reshape, Squeeze, Unsqueeze, Flatten>;

}  // namespace quern
