// SPDX-License-Identifier: Apache-2.0
// Running sums and products.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op.h"

namespace quern {

enum class CumulativeKind : std::uint8_t { sum, prod };
std::span<const std::string_view> enum_names(CumulativeKind);
// ONNX CumSum, CumProd: (x, axis).
struct Cumulative {
  CumulativeKind kind = CumulativeKind::sum;
  bool exclusive = false;
  bool reverse = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("exclusive", s.exclusive), f("reverse", s.reverse);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Cumulative&) const = default;
};

using CumulativeOps = OpList<Cumulative>;

}  // namespace quern
