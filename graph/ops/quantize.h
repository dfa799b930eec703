// SPDX-License-Identifier: Apache-2.0
// Between numbers and integers with scales and zero points.
#pragma once

#include <cstdint>

#include <quern/dtype.h>

#include "graph/op.h"

namespace quern {

// (x, scale, zero_point?). scale: scalar, per axis, or blocked along it.
struct Quantize {
  std::int64_t axis = 1;
  std::int64_t block_size = 0;
  DType to = DType::u8;
  bool saturate = true;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis), f("block_size", s.block_size), f("to", s.to), f("saturate", s.saturate);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Quantize&) const = default;
};

// (x, scale, zero_point?) -> the type of scale
struct Dequantize {
  std::int64_t axis = 1;
  std::int64_t block_size = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis), f("block_size", s.block_size);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Dequantize&) const = default;
};

// x -> (u8 y, scale, zero_point)
struct DynamicQuantize {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const DynamicQuantize&) const = default;
};

// How a scale applies to x[outer][axis][inner].
struct Granularity {
  std::int64_t axis = 1;
  std::int64_t block_size = 0;
};

using QuantizeOps = OpList<Quantize, Dequantize, DynamicQuantize>;

}  // namespace quern
