// SPDX-License-Identifier: Apache-2.0
// Elements to places that indices name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op.h"

namespace quern {

enum class ScatterKind : std::uint8_t { elements, nd };
std::span<const std::string_view> enum_names(ScatterKind);
enum class ScatterReduction : std::uint8_t { none, add, mul, max, min };
std::span<const std::string_view> enum_names(ScatterReduction);
// ONNX ScatterElements (and Scatter), ScatterND: (data, indices, updates).
struct Scatter {
  ScatterKind kind = ScatterKind::elements;
  std::int64_t axis = 0;
  ScatterReduction reduction = ScatterReduction::none;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("axis", s.axis), f("reduction", s.reduction);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Scatter&) const = default;
};

using ScatterOps = OpList<Scatter>;

}  // namespace quern
