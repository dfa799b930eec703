// SPDX-License-Identifier: Apache-2.0
// Shapes and sizes as values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "graph/op.h"

namespace quern {

// Dimensions [start, end) of x as i64.
struct ShapeOf {
  std::int64_t start = 0;
  std::optional<std::int64_t> end;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("start", s.start), f("end", s.end);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const ShapeOf&) const = default;
};

// Number of elements of x as an i64 scalar.
struct SizeOf {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const SizeOf&) const = default;
};

// start and end count from the end when negative, and are clamped to the rank.
struct ShapePart {
  std::size_t begin, count;
};

inline ShapePart part_of(const ShapeOf& op, std::size_t rank) {
  const auto r = static_cast<std::int64_t>(rank);
  const auto clamped = [r](std::int64_t v) {
    return std::clamp<std::int64_t>(v < 0 ? v + r : v, 0, r);
  };
  const std::int64_t begin = clamped(op.start);
  const std::int64_t end = clamped(op.end.value_or(r));
  return {static_cast<std::size_t>(begin),
          static_cast<std::size_t>(std::max<std::int64_t>(end - begin, 0))};
}

using ShapeOfOps = OpList<ShapeOf, SizeOf>;

}  // namespace quern
