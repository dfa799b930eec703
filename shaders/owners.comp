// SPDX-License-Identifier: Apache-2.0
// Who writes to a place that several name: the last of them. Two passes, of which the first makes
// all places nobody's; then each tuple k lays claim to its own as k + 1.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const bool CLAIM = false;

layout(std430, binding = 0) readonly buffer Places { uint places[]; };  // 0xffffffff: nowhere
layout(std430, binding = 1) buffer Owners { uint owners[]; };
layout(push_constant) uniform Push {
  uint work;  // tuples, or all places
};

void main() {
  const uint i = invocation_index();
  if (i >= work) return;
  if (!CLAIM) owners[i] = 0;
  else if (places[i] != 0xffffffffu) atomicMax(owners[places[i]], i + 1);
}
