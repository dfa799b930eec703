// SPDX-License-Identifier: Apache-2.0
// Softmax, its logarithm, and Hardmax.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op.h"

namespace quern {

enum class SoftmaxKind : std::uint8_t { softmax, log_softmax, hardmax };
std::span<const std::string_view> enum_names(SoftmaxKind);
// Along one axis, or with `flatten` (opsets below 13) over all dimensions from it on.
struct Softmax {
  SoftmaxKind kind = SoftmaxKind::softmax;
  std::int64_t axis = -1;
  bool flatten = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("axis", s.axis), f("flatten", s.flatten);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Softmax&) const = default;
};

using SoftmaxOps = OpList<Softmax>;

}  // namespace quern
