// SPDX-License-Identifier: Apache-2.0
// Operators that access elements by index: gather, scatter, one-hot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op.h"

namespace quern {

enum class GatherKind : std::uint8_t { axis, elements, nd };
std::span<const std::string_view> enum_names(GatherKind);
// ONNX Gather, GatherElements, GatherND: (data, indices). Negative indices count from the end; one
// out of range is an error of the run.
struct Gather {
  GatherKind kind = GatherKind::axis;
  std::int64_t axis = 0;
  std::int64_t batch_dims = 0;  // of nd

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("axis", s.axis), f("batch_dims", s.batch_dims);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Gather&) const = default;
};

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

// (indices, depth, values [off, on])
struct OneHot {
  std::int64_t axis = -1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const OneHot&) const = default;
};

// The position of the new dimension in the result.
std::size_t new_axis(const OneHot& op, std::size_t rank);

using IndexingOps = OpList<Gather, Scatter, OneHot>;

}  // namespace quern
