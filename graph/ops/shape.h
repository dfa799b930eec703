// SPDX-License-Identifier: Apache-2.0
// Views of the same elements, shapes as tensors, and tensors made from shapes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <quern/dtype.h>

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

// (shape) -> a tensor filled with `value`, given as raw bits of one element of `dtype`.
struct ConstantOfShape {
  DType dtype = DType::f32;
  std::uint64_t bits = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("dtype", s.dtype), f("bits", s.bits);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const ConstantOfShape&) const = default;
};

// (start, limit, delta) scalars
struct Range {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Range&) const = default;
};

// (x): ones on the k-th diagonal of a matrix of x's shape.
struct EyeLike {
  std::int64_t k = 0;
  std::optional<DType> dtype;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("k", s.k), f("dtype", s.dtype);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const EyeLike&) const = default;
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

using ShapeOps = OpList<Identity, Reshape, Squeeze, Unsqueeze, Flatten, ShapeOf, SizeOf,
                        ConstantOfShape, Range, EyeLike>;

}  // namespace quern
