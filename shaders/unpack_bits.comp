// SPDX-License-Identifier: Apache-2.0
// y[i] = number i of a row of BITS bits each, bytes in words on both sides: an invocation makes four.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint BITS = 4;  // 2, 4 or 8

layout(std430, binding = 0) readonly buffer X { uint x[]; };
layout(std430, binding = 1) writeonly buffer Y { uint y[]; };
layout(push_constant) uniform Push {
  uint work;  // words of y, each of BITS bits of x for each of its bytes
};

void main() {
  const uint w = invocation_index();
  if (w >= work) return;
  const uint first = w * 4 * BITS;  // bit of x; all of them lie in one word
  const uint bits = x[first / 32] >> first % 32;
  uint bytes = 0;
  [[unroll]] for (uint k = 0; k < 4; ++k)
    bytes |= bitfieldExtract(bits, int(k * BITS), int(BITS)) << 8 * k;
  y[w] = bytes;
}
