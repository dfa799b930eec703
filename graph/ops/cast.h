// SPDX-License-Identifier: Apache-2.0
// Changes of type.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <quern/dtype.h>

#include "graph/op.h"

namespace quern {

// How a number between two powers of two becomes one of them: the middle of both goes up.
enum class PowerRounding : std::uint8_t { up, nearest, down };
std::span<const std::string_view> enum_names(PowerRounding);

// ONNX Cast, CastLike. Float to integer truncates and saturates, NaN gives 0.
struct Cast {
  DType to = DType::f32;
  bool saturate = true;                        // for the 8-bit floats
  PowerRounding rounding = PowerRounding::up;  // for f8e8m0

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("to", s.to), f("saturate", s.saturate), f("rounding", s.rounding);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Cast&) const = default;
};

// Reinterprets the bits; both types have the same size.
struct BitCast {
  DType to = DType::f32;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("to", s.to);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const BitCast&) const = default;
};

enum class Bf16Factor : std::uint8_t { left, right };
std::span<const std::string_view> enum_names(Bf16Factor);

// f32 as two numbers of bf16, which have 16 significant bits together: x = high + low, where high
// is x rounded to bf16 and low the rest, rounded too. The result is three times as long along
// `axis`: (high, high, low) of a left factor, (high, low, high) of a right one. A product of such
// factors sums high high + high low + low high, all of (high + low)(high + low) but low low
// (graph/passes/narrow.h).
struct Bf16Parts {
  std::int64_t axis = 0;
  Bf16Factor factor = Bf16Factor::left;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis), f("factor", s.factor);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Bf16Parts&) const = default;
};

using CastOps = OpList<Cast, BitCast, Bf16Parts>;

}  // namespace quern
