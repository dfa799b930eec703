// SPDX-License-Identifier: Apache-2.0
// Slices of updates to the places that places.comp has found, in a copy of the data. With a
// reduction an invocation has one element of all slices, so that updates apply in order.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "reductions.glsl"

layout(constant_id = 1) const uint REDUCTION = UPDATE_NONE;
layout(constant_id = 2) const bool INTEGERS = false;
layout(constant_id = 3) const bool HAS_OWNERS = false;  // else a place is in one tuple's name

layout(std430, binding = 0) readonly buffer Places { uint places[]; };
layout(std430, binding = 1) readonly buffer Updates { uint updates[]; };
layout(std430, binding = 2) buffer Y { uint y[]; };
layout(std430, binding = 3) readonly buffer Owners { uint owners[]; };
layout(push_constant) uniform Push {
  uint work;
  uint tuples;
  uint run;  // elements of a slice
};

void main() {
  const uint i = invocation_index();
  if (i >= work) return;
  if (REDUCTION == UPDATE_NONE) {
    const uint k = i / run;
    const uint place = places[k];
    const bool owns = HAS_OWNERS ? owners[place] == k + 1 : place != 0xffffffffu;
    if (owns) y[place * run + i % run] = updates[i];
    return;
  }
  for (uint k = 0; k < tuples; ++k) {
    const uint at = places[k] * run + i;
    y[at] = updated(REDUCTION, INTEGERS, y[at], updates[k * run + i]);
  }
}
