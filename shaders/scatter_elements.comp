// SPDX-License-Identifier: Apache-2.0
// Updates to the coordinates along one axis that indices hold, in a copy of the data. An invocation
// has all updates of one line along the axis, in order: no two lines meet.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reductions.glsl"

layout(constant_id = 1) const uint INDEX_WORDS = 2;  // 1: of i32
layout(constant_id = 2) const uint REDUCTION = UPDATE_NONE;
layout(constant_id = 3) const bool INTEGERS = false;

layout(std430, binding = 0) readonly buffer Indices { int indices[]; };
layout(std430, binding = 1) readonly buffer Updates { uint updates[]; };
layout(std430, binding = 2) buffer Y { uint y[]; };
layout(push_constant) uniform Push {
  uint lines;
  uint count;     // of updates along the axis
  uint size;      // of the axis in y
  uint y_stride;  // along it
  uint stride;    // of indices and updates along it
  uint dims[6];   // the others, innermost first
  uint y_strides[6];
  uint strides[6];
};

void main() {
  uint i = invocation_index();
  if (i >= lines) return;
  uint to = 0, from = 0;
  [[unroll]] for (uint d = 0; d < 6; ++d) {
    const uint at = i % dims[d];
    i /= dims[d];
    to += at * y_strides[d];
    from += at * strides[d];
  }
  for (uint k = 0; k < count; ++k, from += stride) {
    int index = indices[from * INDEX_WORDS];
    if (index < 0) index += int(size);
    const uint at = to + uint(clamp(index, 0, int(size) - 1)) * y_stride;
    y[at] = updated(REDUCTION, INTEGERS, y[at], updates[from]);
  }
}
