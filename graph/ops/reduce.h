// SPDX-License-Identifier: Apache-2.0
// Sums, means, extremes and norms along axes, and where extremes are.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op.h"

namespace quern {

enum class ReduceKind : std::uint8_t {
  sum,
  mean,
  max,
  min,
  prod,
  l1,
  l2,
  log_sum,
  log_sum_exp,
  sum_square
};
std::span<const std::string_view> enum_names(ReduceKind);
// (data, axes?). No axes: all of them, or none with noop_with_empty_axes. max and min propagate
// NaN.
struct Reduce {
  ReduceKind kind = ReduceKind::sum;
  bool keepdims = true;
  bool noop_with_empty_axes = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("keepdims", s.keepdims);
    f("noop_with_empty_axes", s.noop_with_empty_axes);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Reduce&) const = default;
};

// ONNX ArgMax, ArgMin: i64 indices. NaN counts as the greatest (least) element.
struct ArgReduce {
  bool is_max = true;
  std::int64_t axis = 0;
  bool keepdims = true;
  bool select_last_index = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("is_max", s.is_max), f("axis", s.axis), f("keepdims", s.keepdims);
    f("select_last_index", s.select_last_index);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const ArgReduce&) const = default;
};

using ReduceOps = OpList<Reduce, ArgReduce>;

}  // namespace quern
