// SPDX-License-Identifier: Apache-2.0
// y[o, d, i] is `on` where d is the index [o, i], else `off`.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

const uint F32 = 1, I32 = 2, I64 = 4;
layout(constant_id = 1) const uint INDEX_TYPE = I64;
layout(constant_id = 2) const uint WORDS = 1;  // of an element

layout(std430, binding = 0) readonly buffer Indices { uint indices[]; };
layout(std430, binding = 1) readonly buffer Values { uint values[]; };  // off, on
layout(std430, binding = 2) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform Push {
  uint work;  // words
  uint inner;
  uint depth;
};

// In range, or -1.
int index_at(uint i) {
  int index = int(indices[INDEX_TYPE == I64 ? 2 * i : i]);
  if (INDEX_TYPE == I64 && int(indices[2 * i + 1]) != index >> 31) return -1;
  if (INDEX_TYPE == F32) {
    const float f = trunc(uintBitsToFloat(indices[i]));
    if (!(abs(f) <= float(depth))) return -1;
    index = int(f);
  }
  if (index < 0) index += int(depth);
  return index >= 0 && index < int(depth) ? index : -1;
}

void main() {
  const uint i = invocation_index();
  if (i >= work) return;
  const uint e = i / WORDS;
  const uint at = e / inner % depth;
  const int index = index_at(e / inner / depth * inner + e % inner);
  y[i] = values[(index == int(at) ? WORDS : 0) + i % WORDS];
}
