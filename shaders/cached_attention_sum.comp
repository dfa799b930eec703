// SPDX-License-Identifier: Apache-2.0
// Puts together what cached_attention.comp found in parts of the keys, an element an invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "running_maximum.glsl"

layout(constant_id = 1) const bool HAS_SINK = false;

layout(std430, binding = 0) readonly buffer Parts { float found[]; };  // [rows][parts][record]
layout(std430, binding = 1) readonly buffer Sink { float sink[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push {
  uint work;
  uint columns;
  uint parts;
  uint new_rows;  // of a head
  uint heads;
  uint y_strides[3];  // from sequence to sequence, head, row
};

void main() {
  const uint i = invocation_index();
  if (i >= work) return;
  const uint column = i % columns;
  const uint row = i / columns;
  const uint head = row / new_rows % heads;
  const uint record = record_size(columns);
  const uint first = row * parts * record;
  float highest = HAS_SINK ? sink[head] : NOTHING;
  for (uint p = 0; p < parts; ++p) highest = max(highest, found[first + p * record + columns]);
  float all = HAS_SINK ? share_of(sink[head], highest) : 0.0;
  float sum = 0.0;
  for (uint p = 0; p < parts; ++p) {
    const uint at = first + p * record;
    const float share = share_of(found[at + columns], highest);
    all += share * found[at + columns + 1];
    sum += share * found[at + column];
  }
  const uint b = row / new_rows / heads;
  y[b * y_strides[0] + head * y_strides[1] + row % new_rows * y_strides[2] + column] =
      all == 0.0 ? 0.0 : sum / all;
}
