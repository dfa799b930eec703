// SPDX-License-Identifier: Apache-2.0
// Elements by their indices.
#pragma once

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

using GatherOps = OpList<Gather>;

}  // namespace quern
