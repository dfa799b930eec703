// SPDX-License-Identifier: Apache-2.0
// Moves elements by strides: transpose, slice, concat, expand, tile, reorder.
// An invocation moves up to RUN neighbours along the innermost dimension.
#version 450
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint RUN = 8;

layout(std430, binding = 0) readonly buffer Source { ELEMENT source[]; };
layout(std430, binding = 1) writeonly buffer Target { ELEMENT target[]; };
layout(push_constant) uniform Push {
  uint chunks;           // invocations that have work
  uint source_base;      // elements
  uint target_base;
  uint inner_chunks;     // along the innermost dimension
  uint dims[6];          // innermost first
  uint source_strides[6];
  uint target_strides[6];
};

void main() {
  uint i = invocation_index();
  if (i >= chunks) return;
  uint first = i % inner_chunks * RUN;
  i /= inner_chunks;
  uint from = source_base + first * source_strides[0];
  uint to = target_base + first * target_strides[0];
  [[unroll]] for (uint d = 1; d < 6; ++d) {
    const uint at = i % dims[d];
    i /= dims[d];
    from += at * source_strides[d];
    to += at * target_strides[d];
  }
  const uint end = min(first + RUN, dims[0]);
  for (; first < end; ++first) {
    target[to] = source[from];
    from += source_strides[0];
    to += target_strides[0];
  }
}
