// SPDX-License-Identifier: Apache-2.0
// Slices of updates to the places that places.comp has found, in a copy of the data. With a
// reduction an invocation has one element of all slices, so that updates apply in order.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reductions.glsl"

layout(constant_id = 1) const uint REDUCTION = UPDATE_NONE;
layout(constant_id = 2) const bool INTEGERS = false;

layout(std430, binding = 0) readonly buffer Places { uint places[]; };
layout(std430, binding = 1) readonly buffer Updates { uint updates[]; };
layout(std430, binding = 2) buffer Y { uint y[]; };
layout(push_constant) uniform Push {
  uint work;
  uint tuples;
  uint run;  // elements of a slice
};

void main() {
  const uint i = invocation_index();
  if (i >= work) return;
  if (REDUCTION == UPDATE_NONE) {
    const uint place = places[i / run];
    if (place != 0xffffffffu) y[place * run + i % run] = updates[i];
    return;
  }
  for (uint k = 0; k < tuples; ++k) {
    const uint at = places[k] * run + i;
    y[at] = updated(REDUCTION, INTEGERS, y[at], updates[k * run + i]);
  }
}
