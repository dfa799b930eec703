// SPDX-License-Identifier: Apache-2.0
// Operators whose output shapes depend on the elements of their inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "graph/op.h"

namespace quern {

// (x, k) -> values, i64 indices. NaN counts as the greatest element.
struct TopK {
  std::int64_t axis = -1;
  bool largest = true;
  bool sorted = true;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis), f("largest", s.largest), f("sorted", s.sorted);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const TopK&) const = default;
};

struct NonZero {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const NonZero&) const = default;
};

// -> values, first indices?, inverse indices?, counts?
struct Unique {
  std::optional<std::int64_t> axis;
  bool sorted = true;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis), f("sorted", s.sorted);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Unique&) const = default;
};

// (x, condition)
struct Compress {
  std::optional<std::int64_t> axis;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Compress&) const = default;
};

// (boxes, scores, max_output_boxes?, iou_threshold?, score_threshold?) -> i64 [n, 3]
struct NonMaxSuppression {
  bool center_point_box = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("center_point_box", s.center_point_box);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const NonMaxSuppression&) const = default;
};

// costs f32 [M, N] or [1, M, N] -> i32 [2, n]: rows and columns of the cheapest path from the first
// element to the last one, each step of which goes on by a row, by a column or by both.
// com.microsoft DynamicTimeWarping.
struct TimeWarping {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const TimeWarping&) const = default;
};

using DataDependentOps = OpList<TopK, NonZero, Unique, Compress, NonMaxSuppression, TimeWarping>;

}  // namespace quern
