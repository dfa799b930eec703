// SPDX-License-Identifier: Apache-2.0
// Rows of a cache: those of the past that count, with zeros behind the new ones; or (NEW) the new
// ones behind them. Neither writes what the other does, so that a cache that is its own past takes
// the new rows alone. Numbers out of range are moved to its end; rows without room are left out.
#version 450
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const bool NEW = false;

layout(std430, binding = 0) readonly buffer Source { ELEMENT source[]; };  // the past, or the rows
layout(std430, binding = 1) readonly buffer Before { int before[]; };      // i64
layout(std430, binding = 2) writeonly buffer Y { ELEMENT y[]; };
layout(push_constant) uniform Push {
  uint work;
  uint run;    // elements of a row
  uint count;  // rows of a head that invocations stand for: those of y, or the new ones
  uint heads;
  uint past;  // rows of a head
  uint rows;
  uint all;
  uint strides[3];  // of the source: from sequence to sequence, head, row
  uint zero;  // 0, which as a constant of 8 or 16 bits would ask for arithmetic of such
};

void main() {
  const uint i = invocation_index();
  if (i >= work) return;
  const uint at = i % run;
  const uint r = i / run % count;
  const uint head = i / run / count;  // of all sequences
  const uint b = head / heads;
  const uint first = uint(clamp(before[2 * b], 0, int(min(past, all))));
  const uint from = b * strides[0] + head % heads * strides[1] + r * strides[2] + at;
  const uint to = (head * all + r) * run + at;
  if (NEW) {
    if (first + r < all) y[to + first * run] = source[from];
  } else if (r < first) {
    y[to] = source[from];
  } else if (r - first >= rows) {
    y[to] = ELEMENT(zero);
  }
}
