// SPDX-License-Identifier: Apache-2.0
// Another order of dimensions.
#pragma once

#include <cstddef>

#include "graph/op.h"

namespace quern {

// Permutation of the dimensions; an empty one reverses them.
struct Transpose {
  Ints perm;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("perm", s.perm);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Transpose&) const = default;
};

// The dimension of the input that becomes dimension i of the output.
inline std::size_t source_of(const Transpose& op, std::size_t i, std::size_t rank) {
  return op.perm.empty() ? rank - 1 - i : static_cast<std::size_t>(op.perm[i]);
}

using TransposeOps = OpList<Transpose>;

}  // namespace quern
