// SPDX-License-Identifier: Apache-2.0
// Tensors that are made of a shape.
#pragma once

#include <cstdint>
#include <optional>

#include <quern/dtype.h>

#include "graph/op.h"

namespace quern {

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

using FillOps = OpList<ConstantOfShape, Range, EyeLike>;

}  // namespace quern
