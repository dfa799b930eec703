// SPDX-License-Identifier: Apache-2.0
// Adds up the partial sums of a product (product.glsl), then applies steps: partial
// [part][result as y has it]. An invocation has four neighbours.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#define FIRST_STEP_BINDING 2
#define FEW_STEPS
#include "steps.glsl"

layout(constant_id = 1) const bool VECTORS_ALL = false;  // elements are a multiple of four

layout(std430, binding = 0) readonly buffer P { float partial[]; };
layout(std430, binding = 0) readonly buffer Pv { vec4 partial_v[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
layout(std430, binding = 1) writeonly buffer Yv { vec4 y_v[]; };
layout(push_constant) uniform Push {
  uint elements;  // of y
  uint parts;
  Step steps[4];
};

vec4 four_of(uint at, uint last) {
  return vec4(partial[at], partial[min(at + 1, last)], partial[min(at + 2, last)],
              partial[min(at + 3, last)]);
}

void main() {
  const uint at = 4 * invocation_index();
  if (at >= elements) return;
  vec4 v = vec4(0.0);
  for (uint p = 0; p < parts; ++p) {
    const uint first = p * elements;
    if (VECTORS_ALL) {
      v += partial_v[(first + at) / 4];
    } else {
      v += four_of(first + at, first + elements - 1);
    }
  }
  APPLY_STEPS(v, at)
  if (VECTORS_ALL) {
    y_v[at / 4] = v;
  } else {
    y[at] = v.x;
    if (at + 1 < elements) y[at + 1] = v.y;
    if (at + 2 < elements) y[at + 2] = v.z;
    if (at + 3 < elements) y[at + 3] = v.w;
  }
}
