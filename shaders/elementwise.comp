// SPDX-License-Identifier: Apache-2.0
// A chain of functions over the elements of one tensor, four an invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#define FIRST_STEP_BINDING 2
#include "steps.glsl"

layout(std430, binding = 0) readonly buffer X { vec4 x_in[]; };
layout(std430, binding = 1) writeonly buffer Y { vec4 y_out[]; };
layout(push_constant) uniform Push {
  uint vectors;
  Step steps[4];
};

void main() {
  const uint i = invocation_index();
  if (i >= vectors) return;
  vec4 v = x_in[i];
  APPLY_STEPS(v, i * 4)
  y_out[i] = v;
}
