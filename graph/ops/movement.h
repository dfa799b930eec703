// SPDX-License-Identifier: Apache-2.0
// Operators that move or repeat elements without computing with them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op.h"

namespace quern {

// Permutation of the dimensions; an empty one reverses them.
struct Transpose {
  Ints perm;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("perm", s.perm);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Transpose&) const = default;
};

struct Concat {
  std::int64_t axis = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Concat&) const = default;
};

// (x, sizes?): without sizes, splits into one part per output, the last one smaller.
struct Split {
  std::int64_t axis = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Split&) const = default;
};

// (x, starts, ends, axes?, steps?)
struct Slice {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Slice&) const = default;
};

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

// (x, shape): numpy broadcast to the larger of both.
struct Expand {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Expand&) const = default;
};

// (x, repeats)
struct Tile {
  template <class S, class F>
  static void fields(S&, F&&) {}
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Tile&) const = default;
};

enum class DepthSpaceKind : std::uint8_t { depth_to_space_dcr, depth_to_space_crd, space_to_depth };
std::span<const std::string_view> enum_names(DepthSpaceKind);
struct DepthSpace {
  DepthSpaceKind kind = DepthSpaceKind::depth_to_space_dcr;
  std::int64_t block = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("block", s.block);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const DepthSpace&) const = default;
};

// (x, k?): keeps the upper or the lower triangle.
struct Trilu {
  bool upper = true;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("upper", s.upper);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Trilu&) const = default;
};

// (x, lengths)
struct ReverseSequence {
  std::int64_t batch_axis = 1;
  std::int64_t time_axis = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("batch_axis", s.batch_axis), f("time_axis", s.time_axis);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const ReverseSequence&) const = default;
};

// One dimension of a Slice.
struct Cut {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t step = 1;
};

// The bounds for a dimension of d elements: start is a position unless the slice is empty.
inline Cut clamped(Cut cut, std::int64_t d) {
  if (cut.start < 0) cut.start += d;
  if (cut.end < 0) cut.end += d;
  if (cut.step > 0) {
    cut.start = std::clamp<std::int64_t>(cut.start, 0, d);
    cut.end = std::clamp<std::int64_t>(cut.end, 0, d);
  } else {
    cut.start = std::min(std::max<std::int64_t>(cut.start, 0), d - 1);
    cut.end = std::min(std::max<std::int64_t>(cut.end, -1), d - 1);
  }
  return cut;
}

// The dimension of the input that becomes dimension i of the output.
inline std::size_t source_of(const Transpose& op, std::size_t i, std::size_t rank) {
  return op.perm.empty() ? rank - 1 - i : static_cast<std::size_t>(op.perm[i]);
}

using MovementOps =
    OpList<Transpose, Concat, Split, Slice, Pad, Expand, Tile, DepthSpace, Trilu, ReverseSequence>;

}  // namespace quern
