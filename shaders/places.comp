// SPDX-License-Identifier: Apache-2.0
// Coordinates that are data to numbers of slices: a coordinate outside is moved to the end of its
// dimension.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint INDEX_WORDS = 2;  // 1: of i32

layout(std430, binding = 0) readonly buffer Indices { int indices[]; };
layout(std430, binding = 1) writeonly buffer Places { uint places[]; };
layout(push_constant) uniform Push {
  uint tuples;
  uint depth;         // coordinates of one
  uint batch_tuples;  // that belong to one batch
  uint batch_slices;
  uint sizes[6];
  uint strides[6];  // in slices
};

void main() {
  const uint i = invocation_index();
  if (i >= tuples) return;
  uint at = i / batch_tuples * batch_slices;
  [[unroll]] for (uint d = 0; d < 6; ++d) {
    if (d < depth) {
      int index = indices[(i * depth + d) * INDEX_WORDS];
      if (index < 0) index += int(sizes[d]);
      at += uint(clamp(index, 0, int(sizes[d]) - 1)) * strides[d];
    }
  }
  places[i] = at;
}
