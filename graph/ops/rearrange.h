// SPDX-License-Identifier: Apache-2.0
// Blocks as channels, triangles, reversed sequences.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op.h"

namespace quern {

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

using RearrangeOps = OpList<DepthSpace, Trilu, ReverseSequence>;

}  // namespace quern
