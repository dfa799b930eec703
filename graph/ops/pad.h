// SPDX-License-Identifier: Apache-2.0
// Elements around a tensor.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op.h"

namespace quern {

enum class PadMode : std::uint8_t { constant, reflect, edge, wrap };
std::span<const std::string_view> enum_names(PadMode);
// (x, pads, value?, axes?): pads may be negative (they crop).
struct Pad {
  PadMode mode = PadMode::constant;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("mode", s.mode);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Pad&) const = default;
};

using PadOps = OpList<Pad>;

}  // namespace quern
