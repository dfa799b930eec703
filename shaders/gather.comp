// SPDX-License-Identifier: Apache-2.0
// Elements at indices that are data: y[o, j, i] = x[o, index, i] with index = indices[j] (Gather),
// or indices[o, j, i] (GatherElements). An index outside of the axis is moved to its end.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const bool BY_ELEMENT = false;
layout(constant_id = 2) const uint INDEX_WORDS = 2;  // 1: of i32

layout(std430, binding = 0) readonly buffer X { ELEMENT x[]; };
layout(std430, binding = 1) readonly buffer Indices { int indices[]; };
layout(std430, binding = 2) writeonly buffer Y { ELEMENT y[]; };
layout(push_constant) uniform Push {
  uint work;
  uint inner;    // of y
  uint count;    // indices along the axis
  uint size;     // of the axis
  uint x_inner;  // elements of x after the axis: inner, unless GatherElements takes fewer
};

void main() {
  const uint i = invocation_index();
  if (i >= work) return;
  const uint at = i % inner;
  const uint j = i / inner % count;
  const uint outer = i / inner / count;
  int index = indices[(BY_ELEMENT ? i : j) * INDEX_WORDS];
  if (index < 0) index += int(size);
  index = clamp(index, 0, int(size) - 1);
  y[i] = x[(outer * size + uint(index)) * x_inner + at];
}
